// From CUDA C++ text to a compiled unit: compiler options, the caches, what ptxas reported.
#include "jit/compile.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/hash.h"
#include "core/log.h"
#include "jit/compiler_identity.h"
#include "jit/device_sources.h"
#include "jit/unit_memory.h"

namespace estoc::jit {
namespace {

// Raised when the meaning of a key or an entry changes.
constexpr std::string_view kKeySchema = "estoc unit 2";

std::vector<std::string> options_for(const UnitRequest& request) {
  std::vector<std::string> options{
      "--gpu-architecture=" + request.target.name(),
      "--std=c++20",
      // Generic lambdas cannot say that they are device code.
      "--device-as-default-execution-space",
      "--ptxas-options=-v",
  };
  if (request.lineinfo) options.emplace_back("-lineinfo");
  return options;
}

NvrtcJob job_for(const UnitRequest& request, const std::string& file_name) {
  NvrtcJob job{.file_name = file_name,
               .source = request.source,
               .headers = device_sources().headers,
               .options = options_for(request),
               .want_ptx = request.target.is_ptx()};
  // Files of the working folder would be no part of the key.
  job.options.emplace_back("--no-source-include");
  return job;
}

void require_known(Target target) {
  if (nvrtc_knows(target)) return;
  const NvrtcInfo* info = nvrtc_info();
  throw Error(ErrorKind::unsupported,
              fmt::format("target {}: NVRTC {}.{} does not compile for it; a newer one does",
                          target.name(), info->major, info->minor));
}

Unit to_unit(const UnitRequest& request, CacheEntry entry) {
  return {.name = request.name,
          .target = request.target,
          .code = {.format = request.target.is_ptx() ? "ptx" : "cubin",
                   .compiler = std::move(entry.compiler),
                   .bytes = std::move(entry.cubin),
                   .resources = entry.resources,
                   .log = std::move(entry.log)}};
}

CacheEntry compile_now(const UnitRequest& request) {
  require_known(request.target);
  const std::string file_name = request.name + ".cu";
  NvrtcResult result = nvrtc_compile(job_for(request, file_name));
  return {.kernel = request.name,
          .target = request.target.name(),
          .compiler = compiler_name(*nvrtc_info()),
          .resources = parse_resources(result.log),
          .log = std::move(result.log),
          .cubin = std::move(request.target.is_ptx() ? result.ptx : result.cubin)};
}

std::shared_ptr<const Unit> from_disk_or_compiler(const UnitRequest& request,
                                                  const core::Hash128& content,
                                                  const CompilePolicy& policy, UnitOrigin& origin) {
  const DiskCache* cache = policy.use_disk ? disk_cache() : nullptr;
  if (cache != nullptr) {
    if (auto entry = cache->find(content, known_compiler(*cache))) {
      origin = UnitOrigin::disk;
      return std::make_shared<const Unit>(to_unit(request, std::move(*entry)));
    }
  }
  origin = UnitOrigin::compiler;
  CacheEntry entry = compile_now(request);
  if (cache != nullptr) {
    cache->store(content, entry);
    remember_compiler(*cache);
  }
  return std::make_shared<const Unit>(to_unit(request, std::move(entry)));
}

// Some hundreds of kernels: enough for those that are requested by name again and again.
constexpr std::size_t kUnitMemoryBytes = std::size_t{64} << 20;

UnitMemory& unit_memory() {
  static auto* instance = new UnitMemory(kUnitMemoryBytes);
  return *instance;
}

// The number before `unit` in a line such as "    400 bytes stack frame, 8 bytes spill stores".
int number_before(std::string_view text, std::string_view unit) {
  const std::size_t at = text.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t end = at;
  while (end > 0 && text[end - 1] == ' ')
    --end;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0)
    --begin;
  int value = 0;
  for (std::size_t i = begin; i < end; ++i)
    value = 10 * value + (text[i] - '0');
  return value;
}

template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

core::Hash128 content_key(const UnitRequest& request) {
  core::Hasher hasher;
  hasher.field(kKeySchema).field(request.source);
  hasher.field(device_sources().includes.hash(request.source).hex());
  for (const std::string& option : options_for(request))
    hasher.field(option);
  return hasher.digest();
}

std::shared_ptr<const Unit> compile_unit(const UnitRequest& request, const CompilePolicy& policy,
                                         UnitOrigin* origin) {
  UnitOrigin ignored{};
  UnitOrigin& from = origin != nullptr ? *origin : ignored;
  const core::Hash128 content = content_key(request);
  if (!policy.use_memory) return from_disk_or_compiler(request, content, policy, from);
  bool made = false;
  auto unit = unit_memory().get_or_make(
      content, [&] { return from_disk_or_compiler(request, content, policy, from); }, made);
  if (!made) from = UnitOrigin::memory;
  return unit;
}

std::string compile_to_ptx(const UnitRequest& request) {
  require_known(request.target);
  const std::string file_name = request.name + ".cu";
  NvrtcJob job = job_for(request, file_name);
  job.want_ptx = true;
  return nvrtc_compile(job).ptx;
}

void clear_unit_memory() {
  unit_memory().clear();
}

const DiskCache* disk_cache() {
  static const DiskCache* instance = []() -> const DiskCache* {
    const auto folder = DiskCache::default_folder();
    if (!folder) return nullptr;
    std::string problem;
    const std::int64_t limit = DiskCache::default_limit(&problem);
    if (!problem.empty()) core::log(LogLevel::warning, "{}", problem);
    return new DiskCache(*folder, limit);
  }();
  return instance;
}

KernelResources parse_resources(std::string_view log) {
  KernelResources most;
  for_each_line(log, [&](std::string_view line) {
    auto raise = [&](int& figure, std::string_view unit) {
      figure = std::max(figure, number_before(line, unit));
    };
    raise(most.registers, " registers");
    raise(most.barriers, " barriers");
    raise(most.shared_bytes, " bytes smem");
    raise(most.stack_bytes, " bytes stack frame");
    raise(most.spill_store_bytes, " bytes spill stores");
    raise(most.spill_load_bytes, " bytes spill loads");
  });
  return most;
}

std::vector<std::string> performance_warnings(std::string_view log) {
  std::vector<std::string> warnings;
  for_each_line(log, [&](std::string_view line) {
    if (line.find("(C75") != std::string_view::npos ||
        line.find("(C76") != std::string_view::npos) {
      warnings.emplace_back(line);
    }
  });
  return warnings;
}

}  // namespace estoc::jit

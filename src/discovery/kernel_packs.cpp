// Opens packs, finds kernels in them, and reports what is in them.
#include "discovery/kernel_packs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <vector>

#include "core/fork.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/posix.h"
#include "core/read_file.h"
#include "discovery/bundle_file.h"
#include "discovery/pack_places.h"
#include "estoc/device.hpp"
#include "estoc/discovery.hpp"
#include "estoc/kernel_pack.hpp"

namespace estoc::discovery {
namespace {

/// A kernel of a pack; its code stays in the file until it is needed.
struct PackedKernel {
  StoredArtifact stored;  ///< without the code
  std::size_t offset = 0;
  std::size_t bytes = 0;
  core::Hash128 hash{};  ///< of the code
};

/// Of "nvrtc-13.0-65be0db3" 13; 0 of any other text.
int nvrtc_major(std::string_view compiler) {
  constexpr std::string_view kPrefix = "nvrtc-";
  int major = 0;
  if (compiler.starts_with(kPrefix)) {
    compiler.remove_prefix(kPrefix.size());
    (void)std::from_chars(compiler.data(), compiler.data() + compiler.size(), major);
  }
  return major;
}

/// Whether the driver, where there is one, is as new as the compiler of the code.
bool suits_driver(const std::string& compiler) {
  const std::vector<DeviceInfo>& devices = cuda_devices();
  if (devices.empty() || devices.front().driver.empty()) return true;
  const std::string& text = devices.front().driver;
  int driver = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), driver);
  return nvrtc_major(compiler) <= driver;
}

/// A file's table of contents.
class Pack {
 public:
  /// Throws Error for a file that cannot be read or is no bundle.
  explicit Pack(std::filesystem::path path) : path_(std::move(path)) {
    const std::string file = core::read_file(path_);
    file_bytes_ = static_cast<std::int64_t>(file.size());
    for (StoredArtifact& stored : decode(file).artifacts) {
      PackedKernel kernel;
      kernel.bytes = stored.bytes.size();
      kernel.offset = static_cast<std::size_t>(stored.bytes.data() - file.data());
      kernel.hash = core::hash(stored.bytes);
      stored.bytes = {};
      kernel.stored = std::move(stored);
      kernels_.push_back(std::move(kernel));
    }
    for (const PackedKernel& kernel : kernels_)
      by_key_.emplace(kernel.stored.code_key, &kernel);
  }
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::int64_t file_bytes() const { return file_bytes_; }
  const std::vector<PackedKernel>& kernels() const { return kernels_; }

  const PackedKernel* find(const std::string& code_key, const std::string& abi,
                           const std::string& target) const {
    const auto [begin, end] = by_key_.equal_range(code_key);
    const auto found = std::find_if(begin, end, [&](const auto& each) {
      const StoredArtifact& stored = each.second->stored;
      return stored.abi == abi && stored.target == target;
    });
    return found == end ? nullptr : found->second;
  }

  /// The code of one of its kernels, read anew. Throws Error.
  std::string code(const PackedKernel& kernel) const {
    const core::FileDescriptor file = core::open_file(path_, O_RDONLY);
    if (!file) core::throw_file_error("open", path_, errno);
    std::string code(kernel.bytes, '\0');
    for (std::size_t done = 0; done < code.size();) {
      const ssize_t got = ::pread(file.get(), code.data() + done, code.size() - done,
                                  static_cast<off_t>(kernel.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) core::throw_file_error("read", path_, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (core::hash(code) != kernel.hash) {
      core::throw_file_error("read", path_, "it changed since this process opened it");
    }
    return code;
  }

  /// Says once that a kernel of this name is there, but another version's.
  void note_miss(const std::string& kernel, const std::string& target) const {
    const bool outdated = std::any_of(kernels_.begin(), kernels_.end(), [&](const auto& each) {
      return each.stored.kernel == kernel && each.stored.target == target &&
             each.stored.epilogue.empty();
    });
    if (!outdated || noted_.exchange(true)) return;
    core::log(LogLevel::warning,
              "kernel pack {}: kernels such as {} were compiled by another version of Estoc or of "
              "their class and are ignored: make the pack again",
              path_.string(), kernel);
  }

 private:
  std::filesystem::path path_;
  std::int64_t file_bytes_ = 0;
  std::vector<PackedKernel> kernels_;
  std::multimap<std::string, const PackedKernel*> by_key_;
  mutable std::atomic<bool> noted_ = false;
};

using PackList = std::vector<std::shared_ptr<const Pack>>;

/// The packs of each target, opened when the first kernel of the target is compiled.
class OpenPacks {
 public:
  OpenPacks() { core::hold_at_fork(std::span(&mutex_, 1)); }

  std::shared_ptr<const PackList> of(Target target) {
    const std::string name = target.name();
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = packs_.find(name); known != packs_.end()) return known->second;
    }
    // Without the lock, as it may call the user's log; of two threads, the first's packs are kept.
    auto opened = open(target);
    const std::lock_guard lock(mutex_);
    return packs_.try_emplace(name, std::move(opened)).first->second;
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    packs_.clear();
  }

 private:
  static std::shared_ptr<const PackList> open(Target target) {
    auto packs = std::make_shared<PackList>();
    for (PackFile& file : pack_files(target)) {
      const std::string name = file.path.string();
      try {
        if (!file.problem.empty()) throw Error(ErrorKind::value, file.problem);
        packs->push_back(std::make_shared<const Pack>(std::move(file.path)));
      } catch (const Error& error) {
        core::log(LogLevel::warning, "kernel pack {}: {}", name, error.what());
      }
    }
    return packs;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const PackList>> packs_;
};

OpenPacks& open_packs() {
  static auto* instance = new OpenPacks;
  return *instance;
}

std::shared_ptr<const CompiledObject> load_packed(const Pack& pack, const PackedKernel& kernel,
                                                  const KernelClass& kernel_class,
                                                  const CompileRequest& request) {
  try {
    CompiledCode code = kernel.stored.code;
    code.bytes = pack.code(kernel);
    return kernel_class.load(request, std::move(code));
  } catch (const Error& error) {
    core::log(LogLevel::warning, "kernel pack {}: {}", pack.path().string(), error.what());
    return nullptr;
  }
}

/// Whether this version would compile the kernel from the same text.
bool is_current(const StoredArtifact& stored) {
  try {
    Kernel kernel = kernel_by_name(stored.kernel);
    if (!stored.epilogue.empty())
      kernel = kernel.with_epilogue(parse_epilogue_graph(stored.epilogue));
    const std::optional<Target> target = Target::parse(stored.target);
    const KernelClass& kernel_class = kernel.kernel_class();
    return target && kernel_class.abi() == stored.abi &&
           kernel_class.code_key({kernel.point(), *target, {}, kernel.epilogue().get()}) ==
               stored.code_key;
  } catch (const Error&) {
    return false;
  }
}

std::string problem_of(const KernelPack& pack, const std::filesystem::path& path,
                       std::size_t newer) {
  const std::string target = path.stem().string();
  if (Target::parse(target) &&
      std::find(pack.targets.begin(), pack.targets.end(), target) == pack.targets.end()) {
    return fmt::format("it has no kernel for {}, after which it is named", target);
  }
  if (pack.outdated > 0) {
    return fmt::format(
        "{} of its {} kernels were compiled by another version of Estoc or of their "
        "class and are ignored: make the pack again",
        pack.outdated, pack.kernels);
  }
  if (newer == 0) return {};
  return fmt::format(
      "{} of its {} kernels were compiled by an NVRTC that is newer than the driver "
      "and are ignored",
      newer, pack.kernels);
}

KernelPack reported(const PackFile& file) {
  KernelPack report;
  report.path = file.path.string();
  report.problem = file.problem;
  if (!report.problem.empty()) return report;
  try {
    const Pack pack(file.path);
    report.bytes = pack.file_bytes();
    report.kernels = pack.kernels().size();
    std::size_t newer = 0;
    for (const PackedKernel& kernel : pack.kernels()) {
      const StoredArtifact& stored = kernel.stored;
      if (!is_current(stored)) ++report.outdated;
      if (!suits_driver(stored.code.compiler)) ++newer;
      if (std::find(report.targets.begin(), report.targets.end(), stored.target) ==
          report.targets.end()) {
        report.targets.push_back(stored.target);
      }
    }
    report.problem = problem_of(report, file.path, newer);
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::shared_ptr<const CompiledObject> packed_object(const KernelClass& kernel_class,
                                                    const std::string& kernel,
                                                    const CompileRequest& request) {
  if (request.target.is_cpu() || kernel_class.needs_device()) return nullptr;
  const auto packs = open_packs().of(request.target);
  if (packs->empty()) return nullptr;
  const std::string key = kernel_class.code_key(request);
  if (key.empty()) return nullptr;
  const std::string target = request.target.name();
  for (const auto& pack : *packs) {
    const PackedKernel* const packed = pack->find(key, kernel_class.abi(), target);
    if (packed == nullptr) {
      if (request.epilogue == nullptr) pack->note_miss(kernel, target);
      continue;
    }
    if (!suits_driver(packed->stored.code.compiler)) continue;
    if (auto object = load_packed(*pack, *packed, kernel_class, request)) return object;
  }
  return nullptr;
}

void forget_packs() {
  open_packs().clear();
}

}  // namespace estoc::discovery

namespace estoc {

std::vector<KernelPack> kernel_packs() {
  std::vector<KernelPack> packs;
  for (const discovery::PackFile& file : discovery::pack_files())
    packs.push_back(discovery::reported(file));
  return packs;
}

}  // namespace estoc

// NVRTC, opened at run time: CUDA C++ text in, cubin and PTX out.
#include "jit/nvrtc.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "jit/driver.h"
#include "jit/shared_library.h"

namespace estoc::jit {
namespace {

struct ProgramHandle;
using Program = ProgramHandle*;
using Result = int;
constexpr Result kOutOfMemory = 1;
constexpr Result kCompilation = 6;

// Functions of NVRTC 12.0 and later; reference: NVRTC documentation, "User interface".
struct Table {
  Result (*version)(int*, int*);
  const char* (*get_error_string)(Result);
  Result (*create_program)(Program*, const char*, const char*, int, const char* const*,
                           const char* const*);
  Result (*destroy_program)(Program*);
  Result (*compile_program)(Program, int, const char* const*);
  Result (*get_log_size)(Program, std::size_t*);
  Result (*get_log)(Program, char*);
  Result (*get_cubin_size)(Program, std::size_t*);
  Result (*get_cubin)(Program, char*);
  Result (*get_ptx_size)(Program, std::size_t*);
  Result (*get_ptx)(Program, char*);
  Result (*get_num_supported_archs)(int*);
  Result (*get_supported_archs)(int*);
};

bool load_functions(const SharedLibrary& library, Table& t) {
  return library.load(t.version, "nvrtcVersion") &&
         library.load(t.get_error_string, "nvrtcGetErrorString") &&
         library.load(t.create_program, "nvrtcCreateProgram") &&
         library.load(t.destroy_program, "nvrtcDestroyProgram") &&
         library.load(t.compile_program, "nvrtcCompileProgram") &&
         library.load(t.get_log_size, "nvrtcGetProgramLogSize") &&
         library.load(t.get_log, "nvrtcGetProgramLog") &&
         library.load(t.get_cubin_size, "nvrtcGetCUBINSize") &&
         library.load(t.get_cubin, "nvrtcGetCUBIN") &&
         library.load(t.get_ptx_size, "nvrtcGetPTXSize") &&
         library.load(t.get_ptx, "nvrtcGetPTX") &&
         library.load(t.get_num_supported_archs, "nvrtcGetNumSupportedArchs") &&
         library.load(t.get_supported_archs, "nvrtcGetSupportedArchs");
}

struct OpenedNvrtc {
  Table table{};
  NvrtcInfo info;
  std::vector<int> archs;
  std::string problem;
};

/// One whose code the driver loads, else any.
std::optional<SharedLibrary> find_nvrtc(std::string& problem) {
  LibrarySpec spec = nvrtc_spec();
  const std::size_t all = spec.file_names.size();
  spec.file_names = nvrtc_suited_to(installed_driver_version(), std::move(spec.file_names));
  if (spec.file_names.empty()) return find_library(nvrtc_spec(), problem);
  auto library = find_library(spec, problem);
  if (library || spec.file_names.size() == all) return library;
  return find_library(nvrtc_spec(), problem);
}

void open_into(OpenedNvrtc& result) {
  const auto library = find_nvrtc(result.problem);
  if (!library) return;
  result.info.path = library->path();
  if (!load_functions(*library, result.table)) {
    result.problem = fmt::format("{} lacks functions of NVRTC 12.0", result.info.path);
    return;
  }
  result.table.version(&result.info.major, &result.info.minor);
  int count = 0;
  result.table.get_num_supported_archs(&count);
  result.archs.resize(static_cast<std::size_t>(count));
  if (count > 0) result.table.get_supported_archs(result.archs.data());
}

const OpenedNvrtc& opened_nvrtc() {
  static const OpenedNvrtc* instance = [] {
    auto* result = new OpenedNvrtc;
    open_into(*result);
    return result;
  }();
  return *instance;
}

const OpenedNvrtc& require() {
  const OpenedNvrtc& nvrtc = opened_nvrtc();
  if (!nvrtc.problem.empty()) throw Error(ErrorKind::not_found, nvrtc.problem);
  return nvrtc;
}

// An nvrtcProgram; destroyed on every path.
class ProgramOwner {
 public:
  ProgramOwner(const Table& table, const NvrtcJob& job) : table_(table) {
    const std::string source(job.source);
    const std::string name(job.file_name);
    std::vector<std::string> storage;
    storage.reserve(2 * job.headers.size());
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const HeaderText& header : job.headers) {
      names.push_back(storage.emplace_back(header.name).c_str());
      texts.push_back(storage.emplace_back(header.text).c_str());
    }
    check(table.create_program(&program_, source.c_str(), name.c_str(),
                               static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~ProgramOwner() { table_.destroy_program(&program_); }
  ProgramOwner(const ProgramOwner&) = delete;
  ProgramOwner& operator=(const ProgramOwner&) = delete;

  Result compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options)
      pointers.push_back(option.c_str());
    return table_.compile_program(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  std::string log() { return read(table_.get_log_size, table_.get_log, true); }
  std::string cubin() { return read(table_.get_cubin_size, table_.get_cubin, false); }
  std::string ptx() { return read(table_.get_ptx_size, table_.get_ptx, true); }

  void check(Result result, std::string_view call) const {
    if (result == 0) return;
    throw Error(result == kOutOfMemory ? ErrorKind::memory : ErrorKind::compile,
                fmt::format("{}: {}", call, table_.get_error_string(result)));
  }

 private:
  std::string read(Result (*size)(Program, std::size_t*), Result (*get)(Program, char*),
                   bool zero_terminated) {
    std::size_t bytes = 0;
    check(size(program_, &bytes), "nvrtcGet...Size");
    std::string text(bytes, '\0');
    if (bytes > 0) check(get(program_, text.data()), "nvrtcGet...");
    if (zero_terminated && !text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  const Table& table_;
  Program program_ = nullptr;
};

// The first line of a log that reports an error, for a message of one sentence.
std::string first_error(const std::string& log) {
  std::size_t begin = 0;
  while (begin < log.size()) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line(log.data() + begin, end - begin);
    if (line.find("error") != std::string_view::npos) return std::string(line);
    begin = end + 1;
  }
  return log.empty() ? "the compiler gave no reason" : log.substr(0, log.find('\n'));
}

}  // namespace

std::vector<std::string> nvrtc_suited_to(int driver_version, std::vector<std::string> file_names) {
  if (driver_version == 0) return file_names;
  std::erase_if(file_names, [&](const std::string& name) {
    const char* const digits = name.data() + name.rfind('.') + 1;
    int major = 0;
    (void)std::from_chars(digits, name.data() + name.size(), major);
    return major > driver_version / 1000;
  });
  return file_names;
}

const NvrtcInfo* nvrtc_info(std::string* problem) {
  const OpenedNvrtc& nvrtc = opened_nvrtc();
  if (nvrtc.problem.empty()) return &nvrtc.info;
  if (problem != nullptr) *problem = nvrtc.problem;
  return nullptr;
}

bool nvrtc_knows(Target target) {
  const OpenedNvrtc& nvrtc = require();
  return std::find(nvrtc.archs.begin(), nvrtc.archs.end(), target.cc()) != nvrtc.archs.end();
}

NvrtcResult nvrtc_compile(const NvrtcJob& job) {
  const OpenedNvrtc& nvrtc = require();
  ProgramOwner program(nvrtc.table, job);
  const Result result = program.compile(job.options);
  NvrtcResult output;
  output.log = program.log();
  if (result == kCompilation) {
    throw CompileError(
        fmt::format("{} does not compile: {}", job.file_name, first_error(output.log)), output.log,
        std::string(job.source));
  }
  program.check(result, fmt::format("nvrtcCompileProgram with {}", fmt::join(job.options, " ")));
  output.cubin = program.cubin();
  if (job.want_ptx) output.ptx = program.ptx();
  return output;
}

}  // namespace estoc::jit

// From CUDA C++ text to a compiled unit: compiler options, the caches, what ptxas reported.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "estoc/target.hpp"
#include "jit/disk_cache.h"
#include "jit/nvrtc.h"

namespace estoc::jit {

/// Name of the entry every generated unit exports.
inline constexpr const char* kEntryName = "estoc_kernel";

/// What to compile. The source may include the library's device headers with angle brackets.
struct UnitRequest {
  std::string name;  ///< the kernel's, for diagnostics
  std::string source;
  Target target = Target::cpu();
  bool lineinfo = false;
};

/// A compiled unit. Immutable and shared.
struct Unit {
  std::string name;
  Target target = Target::cpu();
  CompiledCode code;
};

/// Hash of everything that the code of a unit depends on but the compiler.
core::Hash128 content_key(const UnitRequest& request);

/// Where a unit came from, for reports.
enum class UnitOrigin { memory, disk, compiler };

/// How compile_unit may be served.
struct CompilePolicy {
  bool use_memory = true;
  bool use_disk = true;
};

/// Compiles, or finds the result of an earlier compilation in memory or on disk. Of several
/// threads that request the same unit, one compiles and the others wait. Throws CompileError, and
/// Error{not_found} where NVRTC is needed and absent, Error{unsupported} when this NVRTC does not
/// know the target.
std::shared_ptr<const Unit> compile_unit(const UnitRequest& request,
                                         const CompilePolicy& policy = {},
                                         UnitOrigin* origin = nullptr);

/// The PTX of a request, compiled anew.
std::string compile_to_ptx(const UnitRequest& request);

/// Forgets the units kept in memory; those in use stay alive.
void clear_unit_memory();

/// The process's disk cache; null when no folder for it is known.
const DiskCache* disk_cache();

/// Reads registers, spills and stack from the log that `--ptxas-options=-v` gives. Of several
/// functions, the largest figures count.
KernelResources parse_resources(std::string_view log);

/// Lines of a log that mean slow code: serialised wgmma, ignored setmaxnreg and others of ptxas'
/// C75xx and C76xx family.
std::vector<std::string> performance_warnings(std::string_view log);

}  // namespace estoc::jit

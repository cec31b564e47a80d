// cuBLASLt, opened at run time.
#include "providers/cublaslt/lt_library.h"

#include <fmt/core.h>

#include <mutex>
#include <vector>

#include "estoc/status.hpp"
#include "jit/shared_library.h"

namespace estoc::cublaslt {
namespace {

bool load_symbols(const jit::SharedLibrary& library, LtTable& t) {
  return library.load(t.create, "cublasLtCreate") && library.load(t.destroy, "cublasLtDestroy") &&
         library.load(t.get_version, "cublasLtGetVersion") &&
         library.load(t.get_status_name, "cublasLtGetStatusName") &&
         library.load(t.desc_create, "cublasLtMatmulDescCreate") &&
         library.load(t.desc_destroy, "cublasLtMatmulDescDestroy") &&
         library.load(t.desc_set, "cublasLtMatmulDescSetAttribute") &&
         library.load(t.layout_create, "cublasLtMatrixLayoutCreate") &&
         library.load(t.layout_destroy, "cublasLtMatrixLayoutDestroy") &&
         library.load(t.layout_set, "cublasLtMatrixLayoutSetAttribute") &&
         library.load(t.preference_create, "cublasLtMatmulPreferenceCreate") &&
         library.load(t.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
         library.load(t.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
         library.load(t.get_heuristic, "cublasLtMatmulAlgoGetHeuristic") &&
         library.load(t.matmul, "cublasLtMatmul");
}

struct Opened {
  LtTable table{};
  std::string problem;
};

const Opened& opened() {
  static const Opened* instance = [] {
    auto* result = new Opened;
    const auto library = jit::find_library(jit::cublaslt_spec(), result->problem);
    if (!library) return result;
    if (!load_symbols(*library, result->table)) {
      result->problem = fmt::format("{} lacks functions of cuBLASLt 12.0", library->path());
    } else {
      result->table.path = library->path();
    }
    return result;
  }();
  return *instance;
}

}  // namespace

void LtTable::check(Status status, std::string_view call) const {
  if (status == kLtSuccess) return;
  throw Error(ErrorKind::driver, fmt::format("{}: {}", call, get_status_name(status)));
}

const LtTable* lt_table(std::string* problem) {
  const Opened& library = opened();
  if (library.problem.empty()) return &library.table;
  if (problem != nullptr) *problem = library.problem;
  return nullptr;
}

std::string lt_version() {
  const LtTable* table = lt_table();
  return table != nullptr ? std::to_string(table->get_version()) : std::string{};
}

LtContext* lt_context(int device) {
  static std::mutex mutex;
  static std::vector<LtContext*> contexts;
  const std::lock_guard lock(mutex);
  const auto slot = static_cast<std::size_t>(device);
  if (contexts.size() <= slot) contexts.resize(slot + 1, nullptr);
  if (contexts[slot] == nullptr) {
    const LtTable& table = *lt_table();
    table.check(table.create(&contexts[slot]), "cublasLtCreate");
  }
  return contexts[slot];
}

}  // namespace estoc::cublaslt

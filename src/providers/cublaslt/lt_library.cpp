// cuBLASLt, opened at run time.
#include "providers/cublaslt/lt_library.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <utility>

#include "estoc/status.hpp"
#include "jit/driver.h"
#include "jit/shared_library.h"

namespace estoc::cublaslt {
namespace {

bool load_symbols(const jit::SharedLibrary& library, LtTable& t) {
  (void)library.load(t.algo_get, "cublasLtMatmulAlgoConfigGetAttribute");
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

/// Of the current context, which has that id.
LtContext* lt_context_of(unsigned long long id) {
  static std::mutex mutex;
  static auto* contexts = new std::map<unsigned long long, LtContext*>;
  const std::lock_guard lock(mutex);
  LtContext*& context = (*contexts)[id];
  if (context == nullptr) {
    const LtTable& table = *lt_table();
    table.check(table.create(&context), "cublasLtCreate");
  }
  return context;
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

LtContext* lt_context() {
  const jit::DriverTable& driver = jit::driver();
  unsigned long long id = 0;
  driver.check(driver.ctx_get_id(nullptr, &id), "cuCtxGetId");
  // By id, since a context may get the address of one that was destroyed.
  thread_local std::pair<unsigned long long, LtContext*> latest{};
  if (latest.second == nullptr || latest.first != id) latest = {id, lt_context_of(id)};
  return latest.second;
}

}  // namespace estoc::cublaslt

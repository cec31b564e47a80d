// Keeps ranked lists of kernels by the arguments' dtypes, shapes, strides, alignments and wishes.
#include "remembered_lists.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace estoc::python {
namespace {

constexpr std::size_t kMostLists = 64;

using Lists = std::unordered_map<std::string, std::shared_ptr<const KernelList>>;

/// Never destroyed: kernel classes of Python's may be gone by then.
Lists& lists() {
  static auto* const map = new Lists;
  return *map;
}

/// What is known of kernel classes from outside.
struct Registry {
  std::uint64_t state = 0;
  int classes = 0;
};

Registry& registry() {
  static Registry one;
  return one;
}

template <typename T>
void add(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_view(std::string& key, const TensorView& view) {
  add(key, view.dtype());
  add(key, view.rank());
  add(key, view.alignment());
  // Strides bound the alignment of a view, but kernels of merged modes look at the address alone.
  const auto address = reinterpret_cast<std::uintptr_t>(view.data());
  add(key, std::min(address & -address, std::uintptr_t{256}));
  add(key, view.described());
  for (const auto extents : {view.shape(), view.strides()})
    key.append(reinterpret_cast<const char*>(extents.data()), extents.size_bytes());
}

void add_text(std::string& key, const std::string& text) {
  add(key, text.size());
  key += text;
}

void add_query(std::string& key, const KernelQuery& query) {
  add(key, query.portable);
  add_text(key, query.target ? query.target->name() : "");
  for (const std::string& provider : query.providers)
    add_text(key, provider);
}

bool add_operands(std::string& key, const RuntimeArguments& arguments) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&arguments)) {
    if (gemm->a().is_scaled() || gemm->b().is_scaled()) return false;
    add(key, gemm->accumulator_type());
    add_view(key, gemm->a().tensor());
    add_view(key, gemm->b().tensor());
    add_view(key, gemm->out());
    return true;
  }
  const auto* elementwise = dynamic_cast<const ElementwiseArguments*>(&arguments);
  if (elementwise == nullptr) return false;
  add(key, elementwise->op());
  add_view(key, elementwise->a());
  add_view(key, elementwise->b());
  add_view(key, elementwise->out());
  return true;
}

}  // namespace

std::optional<std::string> list_key(const RuntimeArguments& arguments, const KernelQuery& query) {
  if (registry().classes > 0) return std::nullopt;
  if (!query.filter.accepts_all() || arguments.epilogue_binding() != nullptr) return std::nullopt;
  std::string key;
  key.reserve(384);
  add(key, arguments.operation());
  add(key, arguments.device().kind);
  add(key, arguments.device().index);
  const PerformanceControls& controls = arguments.controls();
  for (const bool wish : {controls.allow_tf32, controls.fast_accumulation, controls.deterministic,
                          controls.batch_invariant, controls.workspace_limit.has_value()})
    add(key, wish);
  add(key, controls.workspace_limit.value_or(0));
  if (!add_operands(key, arguments)) return std::nullopt;
  add_query(key, query);
  return key;
}

std::shared_ptr<const KernelList> remembered_list(const std::string& key) {
  const auto found = lists().find(key);
  return found == lists().end() ? nullptr : found->second;
}

void remember_list(std::string key, std::shared_ptr<const KernelList> list) {
  if (lists().size() >= kMostLists) Lists().swap(lists());
  lists().insert_or_assign(std::move(key), std::move(list));
}

void forget_lists() {
  Lists().swap(lists());
  ++registry().state;
}

std::uint64_t registry_state() {
  return registry().state;
}

void count_classes(int change) {
  registry().classes += change;
  forget_lists();
}

}  // namespace estoc::python

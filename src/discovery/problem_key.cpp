// Turns queries into keys. Structures are taken apart by name, so that a member that is added to
// one of them does not compile until it is handled here.
#include "discovery/problem_key.h"

#include <algorithm>

namespace estoc::discovery {
namespace {

using ProblemKey = RankedListCache::Key;

void add(ProblemKey& key, std::int64_t number) {
  key.push_back(static_cast<std::uint64_t>(number));
}

/// The largest power of two up to 256 that divides the address; 0 for none.
std::int64_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address == 0
             ? 0
             : static_cast<std::int64_t>(std::min(address & -address, std::uintptr_t{256}));
}

void add_device(ProblemKey& key, Device device) {
  const auto [kind, index] = device;
  add(key, index * 2 + (kind == Device::Kind::cuda ? 1 : 0));
}

void add_controls(ProblemKey& key, const PerformanceControls& controls) {
  const auto& [allow_tf32, fast_accumulation, deterministic, batch_invariant, allow_bf16x6,
               workspace_limit] = controls;
  add(key, (allow_tf32 ? 1 : 0) | (fast_accumulation ? 2 : 0) | (deterministic ? 4 : 0) |
               (workspace_limit ? 8 : 0) | (batch_invariant ? 16 : 0) | (allow_bf16x6 ? 32 : 0));
  add(key, workspace_limit.value_or(0));
}

/// Strides bound the alignment of a view but not that of its address, which both count.
void add_view(ProblemKey& key, const TensorView& view) {
  add(key, static_cast<std::int64_t>(view.dtype()) << 32 | view.rank() << 1 |
               (view.described() ? 1 : 0));
  add(key, view.alignment());
  add(key, alignment_of(view.data()));
  for (const std::int64_t extent : view.shape())
    add(key, extent);
  for (const std::int64_t stride : view.strides())
    add(key, stride);
}

/// Scales that are not of blocks are inputs of the epilogue.
void add_operand(ProblemKey& key, const NamedOperand& operand) {
  add_view(key, *operand.tensor);
  if (operand.scaled == nullptr) return add(key, -1);
  const auto& [data, scale, mode, swizzle, tensor_scale, powers_of_two] = *operand.scaled;
  add(key, static_cast<std::int64_t>(mode) * 8 + (powers_of_two ? 4 : 0) +
               static_cast<std::int64_t>(swizzle) * 2 + (tensor_scale ? 1 : 0));
  if (operand.scaled->has_blocks()) add_view(key, scale);
}

void add_addresses(ProblemKey& key, const std::vector<EpilogueAddress>& addresses) {
  add(key, static_cast<std::int64_t>(addresses.size()));
  for (const auto& [data, batch_stride, row_stride, column_stride, alignment] : addresses) {
    add(key, alignment_of(data));
    add(key, batch_stride);
    add(key, row_stride);
    add(key, column_stride);
    add(key, alignment);
  }
}

/// False for scalars by value. Of a graph its address is enough: equal ones are one object.
bool add_epilogue(ProblemKey& key, const EpilogueBinding* binding) {
  if (binding == nullptr) return true;
  const auto& [graph, tensors, scalars, stores, reduced] = *binding;
  const bool by_value = std::ranges::any_of(
      scalars, [](const EpilogueScalarValue& scalar) { return scalar.data == nullptr; });
  if (by_value) return false;
  add(key, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(graph.get())));
  for (const auto* addresses : {&tensors, &stores, &reduced})
    add_addresses(key, *addresses);
  return true;
}

}  // namespace

std::optional<RankedListCache::Key> problem_key(const ClassQuery& class_query,
                                                const ClassEntries& classes) {
  ProblemKey key;
  key.reserve(64);
  for (const auto& entry : classes)
    add(key, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(entry.get())));
  // No address is 0: what follows is no further class.
  add(key, 0);
  add(key, class_query.target.cc() * 4 + (class_query.target.arch_specific() ? 1 : 0) +
               (class_query.target.is_ptx() ? 2 : 0));
  key.push_back(class_query.signature.head());
  add_device(key, class_query.arguments.device());
  add_controls(key, class_query.arguments.controls());
  for (const NamedOperand& operand : class_query.arguments.operands())
    add_operand(key, operand);
  if (!add_epilogue(key, class_query.arguments.epilogue_binding())) return std::nullopt;
  if (class_query.arguments.operation() == Operation::elementwise) {
    // Addresses of its epilogue have no strides.
    const auto& elementwise = static_cast<const ElementwiseArguments&>(class_query.arguments);
    for (std::size_t i = 0; i < elementwise.tensor_count(); ++i)
      add_view(key, *elementwise.tensor(i).tensor);
  }
  return key;
}

}  // namespace estoc::discovery

// Remembers expert layers. What is dropped is destroyed after the lock is released, because kernels
// may hold the last reference to their class.
#include "moe/plan_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "discovery/registry.h"
#include "moe/operands.h"

namespace estoc::experts {
namespace {

std::uint64_t as_word(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::uint64_t bits_of(const PerformanceControls& controls) {
  const auto& [allow_tf32, fast_accumulation, deterministic, batch_invariant, allow_bf16x6,
               workspace_limit] = controls;
  return (allow_tf32 ? 1U : 0U) | (fast_accumulation ? 2U : 0U) | (deterministic ? 4U : 0U) |
         (batch_invariant ? 8U : 0U) | (allow_bf16x6 ? 16U : 0U) | (workspace_limit ? 32U : 0U);
}

/// Layers are requested by one thread after the other, or at once: workspace of the caller's comes
/// by a function.
void launch(Moe& layer, const MoeOperands& operands, const MoeCallOptions& options) {
  const std::size_t bytes = options.workspace ? layer.workspace_size() : 0;
  const Workspace workspace = bytes > 0 ? options.workspace(bytes) : Workspace{};
  layer.run(operands, workspace, options.stream, options.check_device);
}

}  // namespace

Key::Key(const MoeOperands& operands, const MoeOptions& options) {
  for (const model::NamedView operand : named(operands))
    add(*operand.view);
  add(static_cast<std::uint64_t>(options.activation) | (options.interleaved ? 0x100U : 0U) |
      bits_of(options.controls) << 16 | as_word(options.threads) << 32);
  add(as_word(options.controls.workspace_limit.value_or(0)));
}

void Key::add(const TensorView& view) {
  const Device device = view.device();
  add(static_cast<std::uint64_t>(view.dtype()) | static_cast<std::uint64_t>(device.kind) << 8 |
      as_word(view.alignment()) << 16 | as_word(device.index) << 32);
  for (int mode = 0; mode < view.rank(); ++mode) {
    add(as_word(view.shape(mode)));
    add(as_word(view.stride(mode)));
  }
}

Remembered::Remembered(const Key& key, std::uint64_t generation, Moe layer)
    : key_(key), generation_(generation) {
  slots_[0].layer = std::make_unique<Moe>(std::move(layer));
}

void Remembered::run(const MoeOperands& operands, const MoeCallOptions& options) {
  for (Slot& slot : slots_) {
    if (slot.is_taken.exchange(true, std::memory_order_acquire)) continue;
    struct Release {
      Slot& slot;
      ~Release() { slot.is_taken.store(false, std::memory_order_release); }
    } const release{slot};
    if (slot.layer == nullptr) slot.layer = std::make_unique<Moe>(operands, options.layer);
    launch(*slot.layer, operands, options);
    return;
  }
  Moe own(operands, options.layer);
  launch(own, operands, options);
}

PlanCache& PlanCache::instance() {
  static PlanCache* const cache = [] {
    auto* const made = new PlanCache;
    discovery::Registry::instance().at_forget([] { instance().clear(); });
    return made;
  }();
  return *cache;
}

std::shared_ptr<Remembered> PlanCache::find(const Key& key, std::uint64_t generation) const {
  const std::shared_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& each) { return each->key() == key; });
  if (found == entries_.end() || (*found)->generation() != generation) return nullptr;
  return *found;
}

void PlanCache::insert(std::shared_ptr<Remembered> remembered) {
  std::shared_ptr<Remembered> dropped;
  const std::lock_guard lock(mutex_);
  if (remembered->generation() != discovery::Registry::instance().generation()) return;
  const auto known = std::ranges::find_if(
      entries_, [&](const auto& each) { return each->key() == remembered->key(); });
  const auto gone =
      known != entries_.end() || entries_.size() < kMaxEntries ? known : entries_.begin();
  if (gone != entries_.end()) {
    dropped = std::move(*gone);
    entries_.erase(gone);
  }
  entries_.push_back(std::move(remembered));
}

void PlanCache::clear() {
  decltype(entries_) dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

}  // namespace estoc::experts

namespace estoc {

bool moe(const MoeOperands& operands, const MoeCallOptions& options) {
  const std::uint64_t generation = discovery::Registry::instance().generation();
  // Ranks are what a key does not show, and what the constructor checks first.
  (void)experts::checked_extents(operands, options.layer);
  const experts::Key key(operands, options.layer);
  if (const auto known = experts::PlanCache::instance().find(key, generation)) {
    known->run(operands, options);
    return false;
  }
  const auto made =
      std::make_shared<experts::Remembered>(key, generation, Moe(operands, options.layer));
  made->run(operands, options);
  experts::PlanCache::instance().insert(made);
  return true;
}

}  // namespace estoc

// The plans that matmul remembers, used last first. What is dropped is destroyed after the lock is
// released, because kernels may hold the last reference to their class.
#include "run/plan_cache.h"

#include <algorithm>
#include <mutex>

#include "discovery/registry.h"

namespace estoc::run {
namespace {

/// A number that few threads share.
std::size_t thread_number() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

Remembered::Remembered(const Artifact& artifact, const RuntimeArguments& arguments,
                       const PlanOptions& options, std::string_view epilogue,
                       std::uint64_t generation)
    : artifact_(artifact),
      arguments_(arguments.clone()),
      options_(options),
      epilogue_(epilogue),
      generation_(generation) {}

bool Remembered::matches(const MatmulOptions& options) const {
  return epilogue_ == options.epilogue &&
         std::ranges::equal(arguments_->epilogue().operands(), options.operands, {},
                            &EpilogueOperand::name, &EpilogueOperand::name);
}

Remembered::Lease::Lease(Remembered& remembered) {
  const std::size_t first = thread_number();
  for (std::size_t i = 0; i < kPlans && slot_ == nullptr; ++i) {
    Slot& slot = remembered.slots_[(first + i) % kPlans];
    if (!slot.is_taken.exchange(true, std::memory_order_acquire)) slot_ = &slot;
  }
  std::unique_ptr<Plan>& place = slot_ != nullptr ? slot_->plan : own_;
  try {
    if (place == nullptr) place = std::make_unique<Plan>(remembered.make_plan());
  } catch (...) {
    if (slot_ != nullptr) slot_->is_taken.store(false, std::memory_order_release);
    throw;
  }
  plan_ = place.get();
}

Remembered::Lease::~Lease() {
  if (slot_ != nullptr) slot_->is_taken.store(false, std::memory_order_release);
}

PlanCache& PlanCache::instance() {
  static PlanCache* const cache = [] {
    auto* const made = new PlanCache;
    discovery::Registry::instance().at_forget([] { instance().clear(); });
    return made;
  }();
  return *cache;
}

/// The entry used last is not noted again, so that threads with equal products write to no shared
/// memory.
void PlanCache::note_use(const Entry& entry) const {
  const std::uint64_t last = uses_.load(std::memory_order_relaxed);
  if (entry.used.load(std::memory_order_relaxed) == last) return;
  entry.used.store(uses_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::shared_ptr<Remembered> PlanCache::find(const Signature& signature,
                                            std::uint64_t generation) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(signature);
  if (found == entries_.end() || found->second.remembered->generation() != generation) {
    return nullptr;
  }
  note_use(found->second);
  return found->second.remembered;
}

void PlanCache::insert(const Signature& signature, std::shared_ptr<Remembered> remembered) {
  decltype(entries_)::node_type dropped;
  const std::lock_guard lock(mutex_);
  if (remembered->generation() != discovery::Registry::instance().generation()) return;
  Entry& entry = entries_[signature];
  entry.remembered.swap(remembered);
  note_use(entry);
  if (entries_.size() <= kMaxEntries) return;
  const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& each) {
    return each.second.used.load(std::memory_order_relaxed);
  });
  dropped = entries_.extract(oldest);
}

void PlanCache::clear() {
  decltype(entries_) dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

}  // namespace estoc::run

// One compilation for each target, however many threads request it.
#include "discovery/compile_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "core/fork.h"

namespace estoc::discovery {
namespace {

/// Of the caches at some addresses: kernels are many and compile seldom, so that they share locks.
std::mutex& lock_of(const void* cache) {
  static auto& locks = []() -> auto& {
    auto& made = *new std::array<std::mutex, 16>;
    core::hold_at_fork(made);
    return made;
  }
  ();
  return locks[std::hash<const void*>{}(cache) / 64 % locks.size()];
}

}  // namespace

CompileCache::~CompileCache() {
  const Known* known = known_.load(std::memory_order_acquire);
  while (known != nullptr)
    delete std::exchange(known, known->next);
}

const CompileCache::Known* CompileCache::find(Target target) const {
  const Known* known = known_.load(std::memory_order_acquire);
  while (known != nullptr && known->target != target)
    known = known->next;
  return known;
}

CompileCache::Running* CompileCache::running(Target target) {
  std::erase_if(running_, [](const Running& each) { return each.forks != core::fork_count(); });
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [target](const Running& each) { return each.target == target; });
  return found == running_.end() ? nullptr : &*found;
}

void CompileCache::end(Target target, const Object* object) {
  const std::lock_guard lock(lock_of(this));
  std::erase_if(running_, [target](const Running& each) { return each.target == target; });
  if (object == nullptr) return;
  known_.store(new Known{target, *object, known_.load(std::memory_order_relaxed)},
               std::memory_order_release);
}

CompileCache::Object CompileCache::compile_now(Target target,
                                               const std::function<Object()>& compile,
                                               std::promise<void>& over) {
  try {
    Object object = compile();
    end(target, &object);
    over.set_value();
    return object;
  } catch (...) {
    end(target, nullptr);
    over.set_value();
    throw;
  }
}

CompileCache::Object CompileCache::get_or_compile(Target target,
                                                  const std::function<Object()>& compile) {
  if (const Known* known = find(target)) return known->object;
  std::promise<void> over;
  for (;;) {
    std::shared_future<void> other;
    {
      const std::lock_guard lock(lock_of(this));
      if (const Known* known = find(target)) return known->object;
      if (const Running* one = running(target)) {
        if (one->thread == std::this_thread::get_id()) {
          throw Error(ErrorKind::compile,
                      fmt::format("target {}: the kernel's class asks for the kernel that it is "
                                  "compiling",
                                  target.name()));
        }
        other = one->over;
      } else {
        running_.push_back(
            {target, std::this_thread::get_id(), core::fork_count(), over.get_future().share()});
      }
    }
    if (!other.valid()) return compile_now(target, compile, over);
    other.wait();
  }
}

}  // namespace estoc::discovery

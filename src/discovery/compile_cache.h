// Remembers what compiling one kernel gave, for each target.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc::discovery {

/// Any number of threads may request one target at once: one of them compiles, without a lock, the
/// others wait for it. A compilation that throws is forgotten, and the next thread tries. What is
/// known is found without a lock. A child of a fork forgets what its parent was compiling.
class CompileCache {
 public:
  using Object = std::shared_ptr<const CompiledObject>;

  CompileCache() = default;
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// What is remembered for `target`, else what `compile` gives. Throws Error{compile} when
  /// `compile` itself requests the same.
  Object get_or_compile(Target target, const std::function<Object()>& compile);

 private:
  struct Known {
    Target target;
    Object object;
    const Known* next = nullptr;
  };
  struct Running {
    Target target;
    std::thread::id thread;
    unsigned forks = 0;
    std::shared_future<void> over;
  };

  const Known* find(Target target) const;
  Running* running(Target target);
  Object compile_now(Target target, const std::function<Object()>& compile,
                     std::promise<void>& over);
  void end(Target target, const Object* object);

  std::atomic<const Known*> known_{nullptr};
  std::vector<Running> running_;
};

}  // namespace estoc::discovery

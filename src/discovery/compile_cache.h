// Remembers what compiling one kernel gave, for each target.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc::discovery {

/// Any number of threads may ask for one target at once: one of them compiles, without a lock, the
/// others wait for it. A compilation that throws is forgotten, and the next thread tries.
class CompileCache {
 public:
  using Object = std::shared_ptr<const CompiledObject>;

  /// What is remembered for `target`, else what `compile` gives.
  Object get_or_compile(Target target, const std::function<Object()>& compile);

 private:
  enum class Progress : std::uint8_t { idle, compiling, done };
  struct Slot {
    Target target;
    Progress progress = Progress::idle;
    Object object;
  };

  Slot& slot(Target target);
  void finish(Target target, Progress progress, Object object);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
};

}  // namespace estoc::discovery

// One compilation for each target, however many threads ask.
#include "discovery/compile_cache.h"

#include <algorithm>

namespace estoc::discovery {

CompileCache::Slot& CompileCache::slot(Target target) {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [target](const Slot& each) { return each.target == target; });
  if (found != slots_.end()) return *found;
  return slots_.emplace_back(Slot{target, Progress::idle, nullptr});
}

void CompileCache::finish(Target target, Progress progress, Object object) {
  const std::lock_guard lock(mutex_);
  Slot& mine = slot(target);
  mine.progress = progress;
  mine.object = std::move(object);
  changed_.notify_all();
}

CompileCache::Object CompileCache::get_or_compile(Target target,
                                                  const std::function<Object()>& compile) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot(target).progress != Progress::compiling; });
    Slot& mine = slot(target);
    if (mine.progress == Progress::done) return mine.object;
    mine.progress = Progress::compiling;
  }
  try {
    Object object = compile();
    finish(target, Progress::done, object);
    return object;
  } catch (...) {
    finish(target, Progress::idle, nullptr);
    throw;
  }
}

}  // namespace estoc::discovery

// Implements the sharing of tasks among threads.
#include "check/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "core/threads.h"
#include "estoc/status.hpp"

namespace estoc::check {
namespace {

/// Remembers the first exception of any thread.
class FirstFailure {
 public:
  void keep_current() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

std::int64_t thread_count(int wanted, std::int64_t tasks) {
  const std::int64_t threads = wanted > 0 ? wanted : std::int64_t{core::hardware_threads()};
  return std::max<std::int64_t>(1, std::min(threads, tasks));
}

}  // namespace

std::optional<std::int64_t> TaskSource::next() {
  if (stopped_) return std::nullopt;
  const std::int64_t task = next_.fetch_add(1);
  if (task >= count_) return std::nullopt;
  if (progress_ && std::this_thread::get_id() == caller_) {
    if (!progress_(static_cast<double>(task) / static_cast<double>(count_))) {
      cancelled_ = true;
      stop();
      return std::nullopt;
    }
  }
  return task;
}

void run_tasks(std::int64_t count, int threads, const std::function<bool(double)>& progress,
               const std::function<void(TaskSource&)>& work) {
  TaskSource source(count, progress);
  FirstFailure failure;
  const auto guarded = [&] {
    try {
      work(source);
    } catch (...) {
      failure.keep_current();
      source.stop();
    }
  };
  core::run_on_threads(static_cast<std::size_t>(thread_count(threads, count)), guarded);
  failure.rethrow();
  if (source.cancelled()) throw Error(ErrorKind::cancelled, "the check was cancelled");
}

}  // namespace estoc::check

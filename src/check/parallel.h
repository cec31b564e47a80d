// Numbered tasks handed to several threads, with progress and cancellation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

namespace estoc::check {

/// Hands out the numbers 0 to count - 1, each once, to whichever thread calls next().
class TaskSource {
 public:
  TaskSource(std::int64_t count, const std::function<bool(double)>& progress)
      : progress_(progress), caller_(std::this_thread::get_id()), count_(count) {}

  /// The next task; nullopt when there is none left or the work was stopped. On the thread that
  /// made the source it reports progress first.
  std::optional<std::int64_t> next();

  /// Makes next() return nullopt from now on.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  /// True when `progress` returned false.
  bool cancelled() const { return cancelled_; }

 private:
  const std::function<bool(double)>& progress_;
  std::thread::id caller_;
  std::int64_t count_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cancelled_{false};
};

/// Calls work(source) on `threads` threads (0: one for each core), this one among them, and waits.
/// `work` takes tasks from the source until there are no more. Throws what `work` or `progress`
/// throws first, and Error{cancelled} when `progress` returned false.
void run_tasks(std::int64_t count, int threads, const std::function<bool(double)>& progress,
               const std::function<void(TaskSource&)>& work);

}  // namespace estoc::check

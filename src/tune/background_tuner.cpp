// Tuning on a thread of its own: a queue of problems, each met once.
#include "estoc/background_tuner.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "core/fork.h"
#include "core/log.h"
#include "estoc/tune.hpp"

namespace estoc {
namespace {

struct Work {
  Device device;
  Problem problem;
};

/// Of this thread, and of those that it starts. Threads of no priority at all would hold locks that
/// others wait for.
void take_lowest_priority() {
  constexpr int kLowest = 19;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLowest);
}

void require(bool holds, const char* what, double got) {
  if (!holds) {
    throw Error(ErrorKind::value, fmt::format("{}: expected more than 0, got {}", what, got));
  }
}

}  // namespace

struct BackgroundTuner::State {
  explicit State(const BackgroundTuning& given) : options(given) {}

  bool is_of_this_process() const { return core::fork_count() == forks; }
  bool should_stop() const { return stopping.load(std::memory_order_relaxed); }

  void add(Work work) {
    {
      const std::lock_guard lock(mutex);
      if (met.size() >= options.limit) return;
      if (!met.insert(work.device.name() + ' ' + work.problem.to_string()).second) return;
      ++progress.waiting;
      queue.push_back(std::move(work));
    }
    changed.notify_all();
  }

  /// The next problem; nullopt at the end. `idle` is called before it waits.
  template <typename Idle>
  std::optional<Work> take(const Idle& idle) {
    std::unique_lock lock(mutex);
    if (queue.empty()) {
      lock.unlock();
      idle();
      lock.lock();
    }
    changed.wait(lock, [&] { return should_stop() || !queue.empty(); });
    if (should_stop()) return std::nullopt;
    Work work = std::move(queue.front());
    queue.pop_front();
    return work;
  }

  /// `failure` is empty where there is a record now.
  void note(const std::string& failure, bool was_waiting) {
    {
      const std::lock_guard lock(mutex);
      if (was_waiting) --progress.waiting;
      ++(failure.empty() ? progress.tuned : progress.failed);
      if (!failure.empty()) progress.last_failure = failure;
    }
    changed.notify_all();
    if (!failure.empty()) core::log(LogLevel::warning, "tuning in the background: {}", failure);
  }

  void search(std::optional<TuneSession>& session, std::optional<Device>& of, const Work& work) {
    std::string failure;
    try {
      if (!session || of != work.device) session.emplace(work.device);
      of = work.device;
      TuneOptions tuning;
      tuning.budget_seconds = options.budget_seconds;
      tuning.top = options.top;
      tuning.threads = options.threads;
      tuning.progress = [this](TuneStage /*stage*/, double /*fraction*/) { return !should_stop(); };
      session->tune(work.problem, tuning);
    } catch (const std::exception& error) {
      if (should_stop()) return;
      failure = work.problem.to_string() + ": " + error.what();
      session.reset();  // also what a failed launch has spoiled
    }
    note(failure, true);
  }

  void work() {
    take_lowest_priority();
    std::optional<TuneSession> session;
    std::optional<Device> of;
    // Nothing is held while nothing waits: a session has memory of the device.
    while (const auto next = take([&] { session.reset(); }))
      search(session, of, *next);
  }

  const BackgroundTuning options;
  const unsigned forks = core::fork_count();
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<Work> queue;
  std::unordered_set<std::string> met;
  BackgroundProgress progress;
  std::atomic<bool> stopping = false;
  std::thread thread;
};

BackgroundTuner::BackgroundTuner(const BackgroundTuning& options)
    : state_(std::make_unique<State>(options)) {
  require(options.budget_seconds > 0, "budget_seconds", options.budget_seconds);
  require(options.top > 0, "top", static_cast<double>(options.top));
  require(options.threads > 0, "threads", options.threads);
  store_tuned({});
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

BackgroundTuner::~BackgroundTuner() {
  if (!state_->is_of_this_process()) {
    // The thread is not here, and may have held the lock.
    state_->thread.detach();
    (void)state_.release();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping.store(true, std::memory_order_relaxed);
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void BackgroundTuner::add(const RuntimeArguments& arguments) noexcept {
  if (!state_->is_of_this_process()) return;
  try {
    try {
      state_->add({arguments.device(), Problem::of(arguments)});
    } catch (const Error& error) {
      state_->note(error.what(), false);
    }
  } catch (...) {
    // Without memory for a message the problem is left as it is.
  }
}

BackgroundProgress BackgroundTuner::progress() const {
  if (!state_->is_of_this_process()) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->progress;
}

void BackgroundTuner::wait() const {
  if (!state_->is_of_this_process()) return;
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->progress.waiting == 0; });
}

}  // namespace estoc

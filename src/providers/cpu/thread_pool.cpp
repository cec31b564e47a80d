// A pool of threads that share the tasks of a launch with the thread that launches.
#include "providers/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/threads.h"

namespace estoc::cpu {
namespace {

/// The most workers that are started, whatever number a caller requests.
constexpr int kMaxWorkers = 1023;

/// The pool of this process; a forked child has to make a new one, as no thread survives a fork.
std::atomic<ThreadPool*> shared_pool{nullptr};
std::mutex* shared_mutex = new std::mutex;

void forget_pool_in_child() {
  shared_pool.store(nullptr, std::memory_order_release);
  shared_mutex = new std::mutex;  // a thread that is gone may have held the old one
}

/// Leaves the signals of the process to the threads of the user.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

int available_threads() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return static_cast<int>(core::hardware_threads());
}

/// One call of run, on its caller's stack.
struct ThreadPool::Job {
  Job(TaskBody what, std::int64_t count, int helpers) : body(what), tasks(count), seats(helpers) {}

  const TaskBody body;
  const std::int64_t tasks;
  int seats;          ///< workers that may still join; guarded by State::mutex
  int next_slot = 1;  ///< guarded by State::mutex
  int working = 0;    ///< workers that joined and have not left; guarded by State::mutex
  Job* next = nullptr;
  std::exception_ptr error;  ///< guarded by State::mutex
  std::atomic<std::int64_t> taken{0};
  std::condition_variable left;

  /// Takes tasks until none are left.
  void work(int slot) {
    for (;;) {
      const std::int64_t task = taken.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks) return;
      body(task, slot);
    }
  }
};

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable wake;
  Job* jobs = nullptr;  ///< those that may have free seats
  int workers = 0;

  /// The first job with a free seat, or null.
  Job* open_job() const {
    Job* job = jobs;
    while (job != nullptr && job->seats == 0)
      job = job->next;
    return job;
  }

  void remove(Job* job) {
    Job** link = &jobs;
    while (*link != job)
      link = &(*link)->next;
    *link = job->next;
  }
};

ThreadPool::ThreadPool() : state_(new State) {}

ThreadPool& ThreadPool::shared() {
  ThreadPool* pool = shared_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  const std::lock_guard lock(*shared_mutex);
  pool = shared_pool.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    static const int registered = pthread_atfork(nullptr, nullptr, forget_pool_in_child);
    static_cast<void>(registered);
    pool = new ThreadPool;
    shared_pool.store(pool, std::memory_order_release);
  }
  return *pool;
}

void ThreadPool::start_workers(int wanted) {
  wanted = std::min(wanted, kMaxWorkers);
  while (state_->workers < wanted) {
    try {
      std::thread([this] {
        block_signals();
        work();
      }).detach();
    } catch (const std::system_error&) {
      return;  // the caller's thread does what the missing ones would have done
    }
    ++state_->workers;
  }
}

void ThreadPool::work() {
  std::unique_lock lock(state_->mutex);
  for (;;) {
    Job* job = nullptr;
    state_->wake.wait(lock, [&] { return (job = state_->open_job()) != nullptr; });
    --job->seats;
    ++job->working;
    const int slot = job->next_slot++;
    lock.unlock();
    std::exception_ptr error;
    try {
      job->work(slot);
    } catch (...) {
      error = std::current_exception();
      job->taken.store(job->tasks, std::memory_order_relaxed);
    }
    lock.lock();
    if (error && !job->error) job->error = error;
    error = nullptr;
    if (--job->working == 0) job->left.notify_one();
  }
}

void ThreadPool::run(int threads, std::int64_t tasks, TaskBody body) {
  const int helpers = static_cast<int>(std::min<std::int64_t>(threads, tasks)) - 1;
  if (helpers <= 0) {
    for (std::int64_t task = 0; task < tasks; ++task)
      body(task, 0);
    return;
  }
  Job job(body, tasks, helpers);
  {
    const std::lock_guard lock(state_->mutex);
    start_workers(helpers);
    job.next = state_->jobs;
    state_->jobs = &job;
  }
  for (int helper = 0; helper < helpers; ++helper)
    state_->wake.notify_one();

  std::exception_ptr error;
  try {
    job.work(0);
  } catch (...) {
    error = std::current_exception();
    job.taken.store(tasks, std::memory_order_relaxed);
  }
  std::unique_lock lock(state_->mutex);
  state_->remove(&job);
  job.left.wait(lock, [&] { return job.working == 0; });
  if (!error) error = job.error;
  job.error = nullptr;
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

}  // namespace estoc::cpu

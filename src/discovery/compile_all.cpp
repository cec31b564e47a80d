// Compiling several kernels at once, on threads that live as long as the call.
#include "estoc/compile_all.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "core/env.h"
#include "core/threads.h"
#include "estoc/status.hpp"

namespace estoc {
namespace {

std::size_t default_threads() {
  if (const auto text = core::env("ESTOC_THREADS")) {
    std::size_t count = 0;
    const auto result = std::from_chars(text->data(), text->data() + text->size(), count);
    if (result.ec == std::errc() && count > 0) return count;
  }
  return core::hardware_threads();
}

CompileOutcome compile_one(const Kernel& kernel, Target target, const CompileOptions& options) {
  try {
    return {kernel.compile(target, options), {}, {}};
  } catch (const Error& error) {
    return {std::nullopt, error.what(), error.kind()};
  } catch (const std::bad_alloc&) {
    return {std::nullopt, "out of memory", ErrorKind::memory};
  } catch (const std::exception& error) {
    return {std::nullopt, error.what(), {}};
  } catch (...) {
    return {std::nullopt, "the kernel's class threw something that is no std::exception", {}};
  }
}

/// The kernels still to be taken, and what the threads report.
class Queue {
 public:
  Queue(std::span<const Kernel> kernels, Target target, const CompileAllOptions& options)
      : kernels_(kernels), target_(target), options_(options), outcomes_(kernels.size()) {}

  void work() {
    try {
      for (std::size_t i = next_++; i < kernels_.size() && !cancelled_; i = next_++) {
        outcomes_[i] = compile_one(kernels_[i], target_, options_.compile);
        report();
      }
    } catch (...) {
      // Too little memory to say what failed.
      stop(std::current_exception());
    }
  }

  std::vector<CompileOutcome> take() {
    if (failure_) std::rethrow_exception(failure_);
    if (cancelled_) throw Error(ErrorKind::cancelled, "compiling was cancelled");
    return std::move(outcomes_);
  }

 private:
  void report() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (!options_.progress || cancelled_) return;
    try {
      if (!options_.progress(done_, kernels_.size())) cancelled_ = true;
    } catch (...) {
      failure_ = std::current_exception();
      cancelled_ = true;
    }
  }

  void stop(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    cancelled_ = true;
  }

  std::span<const Kernel> kernels_;
  Target target_;
  const CompileAllOptions& options_;
  std::vector<CompileOutcome> outcomes_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<CompileOutcome> compile_all(std::span<const Kernel> kernels, Target target,
                                        const CompileAllOptions& options) {
  Queue queue(kernels, target, options);
  const std::size_t wanted =
      options.threads > 0 ? static_cast<std::size_t>(options.threads) : default_threads();
  core::run_on_threads(std::min(wanted, kernels.size()), [&] { queue.work(); });
  return queue.take();
}

}  // namespace estoc

// estoc.compile_all: many kernels on threads of the library, while Python can be interrupted.
#include "estoc/compile_all.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "errors.h"
#include "kernels.h"
#include "numbers.h"

namespace estoc::python {
namespace {

/// One run of the library's compile_all on a thread of its own.
class Batch {
 public:
  Batch(std::vector<Kernel> kernels, Target target, CompileAllOptions options)
      : kernels_(std::move(kernels)), options_(std::move(options)) {
    options_.progress = [this](std::size_t done, std::size_t /*total*/) {
      const std::lock_guard lock(mutex_);
      done_ = done;
      changed_.notify_one();
      return !cancelled_;
    };
    try {
      thread_ = std::jthread([this, target] { work(target); });
    } catch (const std::system_error&) {  // no thread to be had: here, where Ctrl-C is not heard
      const nb::gil_scoped_release unlocked;
      work(target);
    }
  }

  /// Waits until more than `seen` are done, all is over, or some time has passed.
  std::size_t wait(std::size_t seen) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(50),
                      [&] { return done_ > seen || finished_; });
    return done_;
  }

  bool finished() const { return finished_; }
  void cancel() { cancelled_ = true; }

  /// Throws what compile_all threw.
  std::vector<CompileOutcome>& outcomes() {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(error_);
    return outcomes_;
  }

 private:
  void work(Target target) {
    try {
      outcomes_ = compile_all(kernels_, target, options_);
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_one();
  }

  std::vector<Kernel> kernels_;
  CompileAllOptions options_;
  std::vector<CompileOutcome> outcomes_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t done_ = 0;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> cancelled_ = false;
  std::jthread thread_;  // last: it uses the others
};

/// Tells `progress` how many are done; cancels where it returns False.
void tell(nb::handle progress, std::size_t done, Batch& batch) {
  if (progress.is_none()) return;
  if (progress(done).is(Py_False)) batch.cancel();
}

/// Waits for the batch, in which Ctrl-C is heard.
void attend(Batch& batch, nb::handle progress) {
  std::size_t seen = 0;
  for (bool last = false; !last;) {
    last = batch.finished();
    std::size_t done = 0;
    {
      const nb::gil_scoped_release unlocked;
      done = batch.wait(seen);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (done > seen) tell(progress, seen = done, batch);
  }
}

nb::object error_object(const CompileOutcome& outcome) {
  set_python_error(Error(outcome.kind.value_or(ErrorKind::compile), outcome.error));
  const nb::python_error raised;
  return nb::borrow(raised.value());
}

std::vector<Kernel> natives_of(const nb::list& kernels) {
  std::vector<Kernel> result;
  for (const nb::handle kernel : kernels)
    result.push_back(*kernel_behind(kernel).native);
  return result;
}

/// An artifact or an exception for each of `kernels`, which are kernels of the library.
nb::list compile_batch(const nb::list& kernels, nb::handle target, nb::handle threads,
                       nb::handle lineinfo, nb::handle use_caches, nb::handle progress) {
  CompileAllOptions options;
  options.compile = {.lineinfo = truth(lineinfo, "lineinfo"),
                     .use_caches = truth(use_caches, "use_caches")};
  options.threads = whole_int(threads, "threads");
  Batch batch(natives_of(kernels), *to_target(nb::none(), target), options);
  try {
    attend(batch, progress);
  } catch (...) {
    batch.cancel();
    const nb::gil_scoped_release unlocked;  // those being compiled are finished
    while (!batch.finished())
      batch.wait(kernels.size());
    throw;
  }
  nb::list result;
  std::size_t position = 0;
  for (CompileOutcome& outcome : batch.outcomes()) {
    const nb::object kernel = kernels[position++];
    result.append(outcome.artifact
                      ? nb::cast(new PyArtifact{std::move(outcome.artifact), nb::object(), kernel},
                                 nb::rv_policy::take_ownership)
                      : error_object(outcome));
  }
  return result;
}

}  // namespace

void bind_compile_all(nb::module_& module) {
  module.def("_compile_batch", &compile_batch, nb::arg("kernels"), nb::arg("target"),
             nb::arg("threads").none(), nb::arg("lineinfo").none(), nb::arg("use_caches").none(),
             nb::arg("progress").none());
  module.def("_is_native", [](nb::handle_t<PyKernel> kernel) {
    return kernel_behind(kernel).native.has_value();
  });
}

}  // namespace estoc::python

// Holds the log callback; threads may log and replace it at the same time.
#include "core/log.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace estoc {
namespace {

using Callback = std::function<void(LogLevel, std::string_view)>;

/// The lock guards the pointer, never a call. Not std::atomic<std::shared_ptr>: that of GCC 12
/// unlocks without release order, a data race.
struct CallbackHolder {
  std::atomic<bool> enabled{false};
  std::mutex mutex;
  std::shared_ptr<const Callback> callback;
};

/// Never destroyed, since threads may log while the process ends.
CallbackHolder& holder() {
  static CallbackHolder& instance = *new CallbackHolder;
  return instance;
}

std::shared_ptr<const Callback> current_callback() {
  const std::lock_guard lock(holder().mutex);
  return holder().callback;
}

}  // namespace

void set_log_callback(std::function<void(LogLevel, std::string_view)> callback) {
  std::shared_ptr<const Callback> next;
  if (callback) next = std::make_shared<const Callback>(std::move(callback));
  const bool enabled = next != nullptr;
  {
    const std::lock_guard lock(holder().mutex);
    holder().callback.swap(next);
    holder().enabled = enabled;
  }
  // `next`, now the old callback, is released here: its destructor may log too.
}

namespace core {

bool log_enabled() noexcept {
  return holder().enabled.load(std::memory_order_relaxed);
}

void log_message(LogLevel level, std::string_view message) noexcept {
  try {
    if (const std::shared_ptr<const Callback> callback = current_callback()) {
      (*callback)(level, message);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): a failed message must not fail the work
  }
}

}  // namespace core
}  // namespace estoc

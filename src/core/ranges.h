// Named ranges of time on the calling thread, for profilers; none until functions for them are set.
#pragma once

#include <atomic>
#include <string>

namespace estoc::core {

/// What begins a range, whose name it copies, and what ends the last one that began.
struct RangeFunctions {
  int (*begin)(const char* name);
  int (*end)();
};

/// Null: no ranges. A pointer that is read once for each range.
std::atomic<const RangeFunctions*>& range_functions();

/// A range from here to the end of the scope. `name` is called only where functions are set, and
/// gives a std::string.
class Range {
 public:
  template <typename Name>
  explicit Range(const Name& name) : functions_(range_functions().load(std::memory_order_acquire)) {
    if (functions_ == nullptr) return;
    const std::string& text = name();
    functions_->begin(text.c_str());
  }
  ~Range() {
    if (functions_ != nullptr) functions_->end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const RangeFunctions* functions_;
};

}  // namespace estoc::core

// What a long command is doing, on a terminal's stderr; nothing in a pipe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace estoc::cli {

/// One line that is overwritten in place and gone in the end.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a stage, such as "checking".
  void stage(std::string_view name);
  /// The part of the stage that is done, 0 to 1.
  void update(double fraction);
  void clear();

 private:
  void draw(std::string_view text);

  std::string stage_;
  std::chrono::steady_clock::time_point last_{};
  bool terminal_;
  bool drawn_ = false;
};

}  // namespace estoc::cli

// What a long command is doing, on a terminal's stderr; nothing in a pipe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace estoc::cli {

/// One line that is overwritten in place and gone in the end.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What stands before the stages from now on, such as "3 of 40: ".
  void prefix(std::string text) { prefix_ = std::move(text); }
  /// Begins a stage, such as "checking".
  void stage(std::string_view name);
  /// The part of the stage that is done, 0 to 1.
  void update(double fraction);
  void clear();

 private:
  void draw(std::string_view text);

  std::string prefix_;
  std::string stage_;
  std::chrono::steady_clock::time_point last_{};
  bool terminal_;
  bool drawn_ = false;
};

}  // namespace estoc::cli

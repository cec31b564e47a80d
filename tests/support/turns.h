// Which kernels a test looks at today: those that a change reaches, and some of the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "estoc/kernel.hpp"
#include "support/program.h"

namespace estoc::testing_support {

/// What tests/emulator/run_due.py writes into a file. Without that every kernel is due.
class Turns {
 public:
  Turns() = default;
  /// Throws std::invalid_argument where the file cannot be read.
  explicit Turns(const std::string& path);

  /// Those of the file that ESTOC_TEST_TURNS names.
  static Turns of_environment();
  void add_option(Program& program);

  /// Whether it is the kernel's turn: it has one in as many days as the file says of a header that
  /// its text for the target includes, otherwise in `--rest` days.
  bool is_due(const Kernel& kernel, Target target, std::uint64_t number) const;
  /// Whether a file of tests, by its path, is one of those that changed.
  bool has_changed(std::string_view file) const;

 private:
  std::uint64_t rest_ = 1;
  std::uint64_t day_ = 0;
  std::map<std::string, std::uint64_t> days_;
};

}  // namespace estoc::testing_support

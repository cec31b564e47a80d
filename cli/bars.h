// Draws horizontal bars.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace estoc::cli {

struct Bar {
  std::string label;
  double part = 0;   ///< of the whole width
  std::string note;  ///< behind the bar
};

/// A picture with a line for each bar.
std::string bar_chart(std::string_view title, std::span<const Bar> bars);

}  // namespace estoc::cli

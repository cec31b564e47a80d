// Draws horizontal bars, labels at their left.
#include "bars.h"

#include <algorithm>

#include "svg.h"

namespace estoc::cli {
namespace {

constexpr double kBarRow = 22;
constexpr double kBarTop = 30;
constexpr double kBarWidth = 420;
constexpr double kNoteWidth = 120;
constexpr double kCharacterWidth = 8.2;

}  // namespace

std::string bar_chart(std::string_view title, std::span<const Bar> bars) {
  std::size_t longest = 10;
  for (const Bar& bar : bars)
    longest = std::max(longest, bar.label.size());
  const double left = 20 + kCharacterWidth * static_cast<double>(longest);
  Svg svg(left + kBarWidth + kNoteWidth, kBarTop + kBarRow * static_cast<double>(bars.size()) + 10);
  svg.text(left, 18, title);
  double y = kBarTop;
  for (const Bar& bar : bars) {
    svg.text(left - 8, y + 15, bar.label, Svg::Anchor::end);
    svg.rectangle(left, y + 5, bar.part * kBarWidth, kBarRow - 10, "#1f6fb4");
    svg.text(left + bar.part * kBarWidth + 8, y + 15, bar.note);
    y += kBarRow;
  }
  return svg.take();
}

}  // namespace estoc::cli

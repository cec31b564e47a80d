// Builds an SVG picture from lines, circles, rectangles and text.
#pragma once

#include <string>
#include <string_view>

namespace estoc::cli {

/// Text as XML and HTML take it: special and control characters replaced.
std::string escaped(std::string_view text);

/// Coordinates are pixels from the top left corner.
class Svg {
 public:
  enum class Anchor { start, middle, end };

  Svg(double width, double height);

  void rectangle(double x, double y, double width, double height, std::string_view fill);
  /// `title` is shown by browsers when the mouse is over it.
  void circle(double x, double y, double radius, std::string_view fill, std::string_view title);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke,
            bool dashed = false);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view fill = "#222222", double size = 12);

  /// The whole file.
  std::string take() const;

 private:
  double width_;
  double height_;
  std::string body_;
};

}  // namespace estoc::cli

// Writes the elements of an SVG picture.
#include "svg.h"

#include <fmt/format.h>

namespace estoc::cli {
namespace {

const char* anchor_text(Svg::Anchor anchor) {
  switch (anchor) {
    case Svg::Anchor::middle:
      return "middle";
    case Svg::Anchor::end:
      return "end";
    case Svg::Anchor::start:
      break;
  }
  return "start";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

Svg::Svg(double width, double height) : width_(width), height_(height) {
  rectangle(0, 0, width, height, "#ffffff");
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"{}\"/>\n",
      x, y, width, height, fill);
}

void Svg::circle(double x, double y, double radius, std::string_view fill, std::string_view title) {
  body_ += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"><title>{}"
      "</title></circle>\n",
      x, y, radius, fill, escaped(title));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, bool dashed) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
      "stroke=\"{}\"{}/>\n",
      x1, y1, x2, y2, stroke, dashed ? " stroke-dasharray=\"4 3\"" : "");
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view fill,
               double size) {
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\" "
      "font-size=\"{:.0f}\">{}</text>\n",
      x, y, anchor_text(anchor), fill, size, escaped(text));
}

std::string Svg::take() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\">\n{2}</svg>\n",
      width_, height_, body_);
}

}  // namespace estoc::cli

// Draws charts of results.
#include "bench_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench_peaks.h"
#include "estoc/problem.hpp"
#include "svg.h"

namespace estoc::cli {
namespace {

constexpr const char* kOurs = "#1f6fb4";
constexpr const char* kTheirs = "#d1761b";
constexpr const char* kOther = "#9bbcd8";
constexpr const char* kGrid = "#dddddd";
constexpr const char* kAxis = "#555555";

std::string baseline_name(const std::string& against) {
  return against.empty() ? "the kernel ranked first" : against;
}

// ---- ratio per problem

constexpr double kRow = 22;
constexpr double kTop = 40;
constexpr double kPlotWidth = 420;

/// A chart of rows: labels on the left, values from 0 on to the right.
struct RowScale {
  double left;
  double most;
  double x(double value) const { return left + value / most * kPlotWidth; }
};

void draw_row(Svg& svg, const RowScale& scale, double y, const BenchRecord& record,
              const std::string& against) {
  const Comparison comparison = compare(record, against);
  svg.text(scale.left - 8, y + 15, record.problem, Svg::Anchor::end, "#222222", 11);
  const std::optional<double> ratio = comparison.ratio();
  if (!ratio) {
    svg.text(scale.left + 4, y + 15, "nothing to compare", Svg::Anchor::start, kAxis, 11);
    return;
  }
  svg.rectangle(scale.left, y + 5, scale.x(*ratio) - scale.left, kRow - 10, kOurs);
  for (const KernelRecord& kernel : record.kernels) {
    if (!kernel.times || kernel.times->median <= 0) continue;
    const double speed = comparison.baseline->times->median / kernel.times->median;
    const bool theirs = !against.empty() && kernel.provider == against;
    svg.circle(scale.x(speed), y + kRow / 2, 3, theirs ? kTheirs : kOther,
               fmt::format("{}: {:.3f}", kernel.kernel, speed));
  }
  svg.text(scale.left + kPlotWidth + 8, y + 15, fmt::format("{:.2f}", *ratio), Svg::Anchor::start,
           "#222222", 11);
}

// ---- roofline

/// A GEMM in the roofline.
struct Point {
  const BenchRecord* record;
  Dtype dtype;
  double intensity;  ///< operations a byte
  double ours;       ///< operations a second
  double baseline;   ///< 0: none
};

/// The limits of a GPU.
struct Roof {
  double memory = 0;                    ///< bytes a second
  std::map<std::string, double> peaks;  ///< operations a second, by label
};

std::vector<Point> points_of(std::span<const BenchRecord> records, const std::string& against) {
  std::vector<Point> points;
  for (const BenchRecord& record : records) {
    const auto arguments = Problem::parse(record.problem).arguments();
    const OperationWork total = arguments->work();
    const Comparison comparison = compare(record, against);
    if (!total.flops || comparison.ours == nullptr) continue;
    const Work work = work_of(*arguments);
    if (work.amount <= 0) continue;
    const KernelRecord* baseline = comparison.baseline;
    points.push_back({.record = &record,
                      .dtype = arguments->operands()[0].tensor->dtype(),
                      .intensity = work.amount / total.bytes,
                      .ours = 1e9 * work.rate(comparison.ours->times->median),
                      .baseline = baseline ? 1e9 * work.rate(baseline->times->median) : 0});
  }
  return points;
}

/// By device.
std::map<std::string, Roof> roofs_of(const std::vector<Point>& points) {
  std::map<std::string, Roof> roofs;
  for (const Point& point : points) {
    const Surroundings& there = point.record->surroundings;
    if (there.memory_bytes_per_s <= 0) continue;
    Roof& roof = roofs[there.device];
    roof.memory = there.memory_bytes_per_s;
    if (const auto peak = peak_rate(*point.record, point.dtype)) {
      roof.peaks[rate_label(rate_class(point.dtype))] = *peak;
    }
  }
  return roofs;
}

/// Two logarithmic axes that hold some points.
class LogAxes {
 public:
  static constexpr double kLeft = 80, kRight = 700, kBottom = 380, kHigh = 40;

  void include(double x, double y) {
    low_x_ = std::min(low_x_, x);
    high_x_ = std::max(high_x_, x);
    low_y_ = std::min(low_y_, y);
    high_y_ = std::max(high_y_, y);
  }
  /// To whole powers of ten.
  void round() {
    low_x_ = std::pow(10, std::floor(std::log10(low_x_)));
    low_y_ = std::pow(10, std::floor(std::log10(low_y_)));
    high_x_ = std::max(std::pow(10, std::ceil(std::log10(high_x_))), 10 * low_x_);
    high_y_ = std::max(std::pow(10, std::ceil(std::log10(high_y_))), 10 * low_y_);
  }
  double x(double value) const { return kLeft + part(value, low_x_, high_x_) * (kRight - kLeft); }
  double y(double value) const {
    return kBottom - part(value, low_y_, high_y_) * (kBottom - kHigh);
  }
  double low_x() const { return low_x_; }
  double high_x() const { return high_x_; }
  double low_y() const { return low_y_; }
  double high_y() const { return high_y_; }

 private:
  static double part(double value, double low, double high) {
    return std::log10(value / low) / std::log10(high / low);
  }
  double low_x_ = 1e300, high_x_ = 0, low_y_ = 1e300, high_y_ = 0;
};

void draw_grid(Svg& svg, const LogAxes& axes) {
  for (double x = axes.low_x(); x <= axes.high_x() * 1.01; x *= 10) {
    svg.line(axes.x(x), LogAxes::kHigh, axes.x(x), LogAxes::kBottom, kGrid);
    svg.text(axes.x(x), LogAxes::kBottom + 16, fmt::format("{:g}", x), Svg::Anchor::middle);
  }
  for (double y = axes.low_y(); y <= axes.high_y() * 1.01; y *= 10) {
    svg.line(LogAxes::kLeft, axes.y(y), LogAxes::kRight, axes.y(y), kGrid);
    svg.text(LogAxes::kLeft - 6, axes.y(y) + 4, fmt::format("{:g}", y / 1e12), Svg::Anchor::end);
  }
  svg.text((LogAxes::kLeft + LogAxes::kRight) / 2, LogAxes::kBottom + 36,
           "operations a byte of operands and output", Svg::Anchor::middle);
  svg.text(10, 20, "TFLOP/s", Svg::Anchor::start);
}

void draw_roof(Svg& svg, const LogAxes& axes, const std::string& device, const Roof& roof) {
  double highest = 0;
  for (const auto& [dtype, peak] : roof.peaks) {
    const double knee = std::clamp(peak / roof.memory, axes.low_x(), axes.high_x());
    svg.line(axes.x(knee), axes.y(peak), axes.x(axes.high_x()), axes.y(peak), kAxis, true);
    svg.text(LogAxes::kRight + 6, axes.y(peak) + 4,
             fmt::format("{} {:.0f} TFLOP/s", dtype, peak / 1e12), Svg::Anchor::start, kAxis, 11);
    highest = std::max(highest, peak);
  }
  const double end = std::min(axes.high_x(), (highest > 0 ? highest : axes.high_y()) / roof.memory);
  const double begin = std::max(axes.low_x(), axes.low_y() / roof.memory);
  if (begin >= end) return;
  svg.line(axes.x(begin), axes.y(begin * roof.memory), axes.x(end), axes.y(end * roof.memory),
           kAxis, true);
  svg.text(axes.x(begin) + 24, axes.y(begin * roof.memory) - 6,
           fmt::format("{} {:.2f} TB/s", device, roof.memory / 1e12), Svg::Anchor::start, kAxis,
           11);
}

}  // namespace

std::string ratio_chart(std::span<const BenchRecord> records, const std::string& against) {
  std::size_t longest = 10;
  double most = 1.1;
  for (const BenchRecord& record : records) {
    longest = std::max(longest, record.problem.size());
    most = std::max(most, 1.1 * compare(record, against).ratio().value_or(0));
  }
  const RowScale scale{20 + 6.9 * static_cast<double>(longest), most};
  const double bottom = kTop + kRow * static_cast<double>(records.size());
  Svg svg(scale.left + kPlotWidth + 60, bottom + 30);
  svg.text(scale.left, 20, "speed as a multiple of " + baseline_name(against));
  const double step = most > 5     ? std::pow(10, std::floor(std::log10(most)))
                      : most > 2.5 ? 0.5
                                   : 0.2;
  for (double value = 0; value <= most; value += step) {
    svg.line(scale.x(value), kTop, scale.x(value), bottom, kGrid);
    svg.text(scale.x(value), bottom + 16, fmt::format("{:g}", value), Svg::Anchor::middle, kAxis,
             11);
  }
  for (std::size_t i = 0; i < records.size(); ++i)
    draw_row(svg, scale, kTop + kRow * static_cast<double>(i), records[i], against);
  svg.line(scale.x(1), kTop - 6, scale.x(1), bottom, kAxis, true);
  return svg.take();
}

std::string roofline_chart(std::span<const BenchRecord> records, const std::string& against) {
  const std::vector<Point> points = points_of(records, against);
  Svg svg(LogAxes::kRight + 180, LogAxes::kBottom + 60);
  if (points.empty()) {
    svg.text(20, 40, "no GEMM was timed");
    return svg.take();
  }
  const std::map<std::string, Roof> roofs = roofs_of(points);
  LogAxes axes;
  for (const Point& point : points) {
    axes.include(point.intensity, point.ours);
    if (point.baseline > 0) axes.include(point.intensity, point.baseline);
  }
  for (const auto& [device, roof] : roofs) {
    for (const auto& [dtype, peak] : roof.peaks)
      axes.include(peak / roof.memory, peak);
  }
  axes.round();
  draw_grid(svg, axes);
  for (const auto& [device, roof] : roofs)
    draw_roof(svg, axes, device, roof);
  for (const Point& point : points) {
    const auto title = [&](const char* who, double rate) {
      return fmt::format("{}, {}: {:.3g} TFLOP/s", point.record->problem, who, rate / 1e12);
    };
    if (point.baseline > 0) {
      svg.circle(axes.x(point.intensity), axes.y(point.baseline), 4, kTheirs,
                 title(baseline_name(against).c_str(), point.baseline));
    }
    svg.circle(axes.x(point.intensity), axes.y(point.ours), 4, kOurs, title("fastest", point.ours));
  }
  svg.circle(LogAxes::kLeft + 60, 16, 4, kOurs, "");
  svg.text(LogAxes::kLeft + 70, 20, "fastest");
  svg.circle(LogAxes::kLeft + 140, 16, 4, kTheirs, "");
  svg.text(LogAxes::kLeft + 150, 20, baseline_name(against));
  return svg.take();
}

}  // namespace estoc::cli

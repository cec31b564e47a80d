// Kernels whose times are known, and what they execute.
#include "measured.h"

#include <cstdlib>
#include <deque>
#include <istream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc::clock {
namespace {

/// Zeros in pages that nothing has touched.
class Zeros {
 public:
  explicit Zeros(const TensorView& view) : data_(std::calloc(1, bytes_of(view)), &std::free) {
    if (data_ == nullptr) throw std::bad_alloc();
    void* aligned = data_.get();
    std::size_t space = bytes_of(view);
    aligned = std::align(kAlignment, bytes_of(view) - kAlignment, aligned, space);
    view_ = TensorView(aligned, view.dtype(), view.shape(), view.strides());
  }
  const TensorView& view() const { return view_; }

 private:
  static constexpr std::size_t kAlignment = 256;
  static std::size_t bytes_of(const TensorView& view) {
    return static_cast<std::size_t>(view.span_bytes()) + kAlignment;
  }
  std::unique_ptr<void, decltype(&std::free)> data_;
  TensorView view_;
};

/// "m16": rasterised along M, 16 tiles of N together; "n1/4": along N, K in four parts; "n1/4x18":
/// that of the last 18 tiles.
Knobs knobs_of(const std::string& text) {
  Knobs knobs;
  knobs.raster = text.at(0) == 'm' ? Knobs::Raster::along_m : Knobs::Raster::along_n;
  knobs.swizzle = static_cast<std::int16_t>(std::stoi(text.substr(1)));
  const std::size_t split = text.find('/');
  if (split != std::string::npos) {
    knobs.split = static_cast<std::int16_t>(std::stoi(text.substr(split + 1)));
  }
  const std::size_t tiles = text.find('x');
  if (tiles != std::string::npos) knobs.split_tiles = std::stoi(text.substr(tiles + 1));
  return knobs;
}

}  // namespace

std::vector<Measured> read_measured(std::istream& lines) {
  std::vector<Measured> all;
  std::string line;
  while (std::getline(lines, line)) {
    Measured one;
    std::istringstream cells(line);
    std::string time;
    if (!std::getline(cells, time, '\t') || !std::getline(cells, one.knobs, '\t') ||
        !std::getline(cells, one.kernel, '\t') || !std::getline(cells, one.problem)) {
      throw std::runtime_error("expected microseconds, knobs, kernel and problem, got " + line);
    }
    one.microseconds = std::stod(time);
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<emulator::Recording> record(const Measured& measured, Target target,
                                        int multiprocessors) {
  Problem problem = Problem::parse(measured.problem);
  problem.complete();
  const auto described = problem.arguments(Device::cpu());
  std::deque<Zeros> zeros;
  std::vector<Operand> operands;
  for (const NamedOperand& operand : described->operands()) {
    operands.push_back(operand_with(
        operand, [&](const TensorView& view) { return zeros.emplace_back(view).view(); }));
  }
  const auto arguments = described->with_operands(operands);
  const Kernel kernel = kernel_by_name(measured.kernel).with_knobs(knobs_of(measured.knobs));
  return emulator::BuiltKernel(kernel, target).record(*arguments, multiprocessors);
}

}  // namespace estoc::clock

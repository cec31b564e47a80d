// Peak rates of GPUs by their data sheets.
#include "bench_peaks.h"

#include <fmt/format.h>

#include <algorithm>

#include "estoc/problem.hpp"
#include "estoc/target.hpp"

namespace estoc::cli {
namespace {

/// Operations that a multiprocessor carries out in a clock, sums in 32 bits (f64: 64), dense. From
/// the data sheets of A100, H100 and B200.
struct Throughput {
  int cc;
  Dtype dtype;
  double operations;
};
constexpr Throughput kThroughput[] = {
    {80, Dtype::f64, 128},    {80, Dtype::f32, 128},   {80, Dtype::tf32, 1024},
    {80, Dtype::f16, 2048},   {80, Dtype::i8, 4096},   {90, Dtype::f64, 256},
    {90, Dtype::f32, 256},    {90, Dtype::tf32, 2048}, {90, Dtype::f16, 4096},
    {90, Dtype::e4m3, 8192},  {90, Dtype::i8, 8192},   {100, Dtype::f32, 256},
    {100, Dtype::tf32, 4096}, {100, Dtype::f16, 8192}, {100, Dtype::e4m3, 16384},
};

}  // namespace

Dtype rate_class(Dtype dtype) {
  if (dtype == Dtype::bf16) return Dtype::f16;
  if (dtype == Dtype::e5m2) return Dtype::e4m3;
  return dtype == Dtype::u8 ? Dtype::i8 : dtype;
}

std::string rate_label(Dtype rate_class) {
  if (rate_class == Dtype::f16) return "f16, bf16";
  if (rate_class == Dtype::e4m3) return "e4m3, e5m2";
  return rate_class == Dtype::i8 ? "i8, u8" : std::string(dtype_name(rate_class));
}

std::optional<double> peak_rate(const BenchRecord& record, Dtype dtype) {
  const auto target = Target::parse(record.target);
  if (!target) return std::nullopt;
  const auto* const known =
      std::ranges::find_if(kThroughput, [&, wanted = rate_class(dtype)](const Throughput& row) {
        return row.cc == target->cc() && row.dtype == wanted;
      });
  if (known == std::end(kThroughput)) return std::nullopt;
  return known->operations * record.surroundings.multiprocessors * record.surroundings.clock_hz;
}

std::optional<double> least_seconds(const BenchRecord& record) {
  const double memory = record.surroundings.memory_bytes_per_s;
  if (memory <= 0) return std::nullopt;
  const auto arguments = Problem::parse(record.problem).arguments();
  const OperationWork work = arguments->work();
  const double moved = work.bytes / memory;
  if (!work.flops) return moved;
  // The product's own rate: a wider operand is what the other is converted to, or is computed in.
  const OperandList operands = arguments->operands();
  const Dtype a = operands[0].tensor->dtype();
  const Dtype b = operands[1].tensor->dtype();
  Dtype dtype = dtype_bits(a) < dtype_bits(b) ? b : a;
  if (dtype == Dtype::f32 && arguments->controls().allow_bf16x6) return std::nullopt;
  if (dtype == Dtype::f32 && arguments->controls().allow_tf32) dtype = Dtype::tf32;
  const auto peak = peak_rate(record, dtype);
  if (!peak) return std::nullopt;
  return std::max(moved, *work.flops / *peak);
}

std::string peak_cell(const std::optional<double>& least, double seconds) {
  return least && seconds > 0 ? fmt::format("{:.0f}%", 100 * *least / seconds) : "-";
}

}  // namespace estoc::cli

// The kernel classes cpu_quantised_gemm and cpu_quantised_grouped_gemm: products on the host whose
// output is quantised.
#include "providers/cpu/quantised_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "estoc/numeric.hpp"
#include "model/dtype_rules.h"
#include "operations/gemm/lowering.h"
#include "providers/cpu/blocked_gemm.h"
#include "providers/cpu/cost_model.h"
#include "providers/cpu/host_kernel.h"
#include "providers/cpu/isa.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {
namespace {

/// Rows that one thread quantises at a time: even, so that no two share a byte of 4-bit elements.
constexpr std::int64_t kQuantisedRows = 32;

std::shared_ptr<const DesignSpace> make_quantised_space() {
  constexpr Dtype kFactors[] = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16,
                                Dtype::bf16, Dtype::e4m3, Dtype::e5m2, Dtype::e2m1,
                                Dtype::i8,   Dtype::u8,   Dtype::i4,   Dtype::u4};
  const auto is_small = [](Dtype dtype) { return dtype_bits(dtype) <= 8; };
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, kFactors)
      .dtypes(Role::b_dtype, kFactors)
      .dtypes(Role::accumulator_type, {Dtype::f64, Dtype::f32, Dtype::i32, Dtype::f16})
      .dtypes(Role::out_dtype, {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1})
      .require({"a", "b", "acc"}, [is_small](const DesignPoint& point) {
        const Dtype a = point.dtype(Role::a_dtype);
        const Dtype b = point.dtype(Role::b_dtype);
        const Dtype accumulator = point.dtype(Role::accumulator_type);
        const bool plain = multiplies(a, b) && accumulates_in(a, b, accumulator);
        return (plain && !is_packed(a) && !is_packed(b)) ||
               (is_small(a) && is_small(b) && accumulator == Dtype::f32);
      });
  return builder.build();
}

EpilogueArguments without_d(const EpilogueArguments& epilogue) {
  if (epilogue.empty()) return {};
  std::vector<EpilogueOperand> operands;
  for (const EpilogueOperand& operand : epilogue.operands())
    if (operand.name != "D") operands.push_back(operand);
  return {epilogue.text(), std::move(operands)};
}

/// The arguments with D as out, a tensor of f32, row after row.
std::unique_ptr<RuntimeArguments> unquantised(const RuntimeArguments& arguments, float* result) {
  const OperandList operands = arguments.operands();
  const TensorView out = TensorView::row_major(result, Dtype::f32, operands[2].tensor->shape());
  const EpilogueArguments epilogue = without_d(arguments.epilogue());
  if (arguments.operation() == Operation::gemm) {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    return std::make_unique<GemmArguments>(gemm.a(), gemm.b(), out, gemm.accumulator_type(),
                                           gemm.controls(), epilogue);
  }
  const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
  GroupOptions groups{
      .offsets = std::nullopt, .zero_rest = grouped.zero_rest(), .layout = grouped.layout()};
  if (grouped.offsets() != nullptr) groups.offsets = *grouped.offsets();
  return std::make_unique<GroupedGemmArguments>(grouped.a(), grouped.b(), out,
                                                grouped.accumulator_type(), groups,
                                                grouped.controls(), epilogue);
}

/// The rows of groups that leave others as they are; null where every row is computed.
const GroupedGemmArguments* grouped_rows(const RuntimeArguments& arguments) {
  if (arguments.operation() != Operation::grouped_gemm) return nullptr;
  const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
  return grouped.mode() == GroupMode::rows && !grouped.zero_rest() ? &grouped : nullptr;
}

class Quantiser {
 public:
  explicit Quantiser(const RuntimeArguments& arguments)
      : Quantiser(operations::product_of(arguments), grouped_rows(arguments)) {}

  std::int64_t tasks() const { return extents_.l * tasks_of_batch(); }

  /// Reads where groups are, as of this launch.
  void read_groups() {
    if (grouped_ != nullptr) grouped_->read_groups(ranges_);
  }

  void run(std::int64_t task, const float* result) const {
    const std::int64_t l = task / tasks_of_batch();
    const std::int64_t first = task % tasks_of_batch() * kQuantisedRows;
    for (std::int64_t m = first; m < std::min(first + kQuantisedRows, rows_); ++m) {
      const bool computed = m < extents_.m && is_computed(m);
      if (computed) quantise_row(l, m, result + (l * extents_.m + m) * extents_.n);
      fill_up(l, m, computed ? extents_.n : 0);
    }
  }

 private:
  Quantiser(const GemmArguments& gemm, const GroupedGemmArguments* grouped)
      : scaled_(*gemm.out_scaled()),
        grouped_(grouped),
        ranges_(grouped != nullptr ? static_cast<std::size_t>(grouped->groups()) : 0),
        out_(gemm.out_matrix()),
        extents_(gemm.extents()),
        scales_(operations::block_scales(Operand(scaled_), 1)),
        block_(scales_.k_block),
        rows_(scales_.k_tiles > 0 ? scaled_.scale.shape(scaled_.scale.rank() - 2) : extents_.m),
        largest_(static_cast<float>(max_finite(out_.dtype))) {}

  std::int64_t tasks_of_batch() const { return (rows_ + kQuantisedRows - 1) / kQuantisedRows; }

  bool is_computed(std::int64_t m) const {
    if (grouped_ == nullptr) return true;
    const auto group = std::ranges::upper_bound(ranges_, m, {}, &GroupRange::end);
    return group != ranges_.end() && group->begin <= m;
  }

  void quantise_row(std::int64_t l, std::int64_t m, const float* row) const {
    for (std::int64_t n = 0; n < extents_.n; n += block_)
      quantise(l, m, n, row + n, std::min(block_, extents_.n - n));
  }

  /// Of a row's scales in tiles, those behind column `n_end` are zero.
  void fill_up(std::int64_t l, std::int64_t m, std::int64_t n_end) const {
    for (std::int64_t block = (n_end + block_ - 1) / block_; block < 4 * scales_.k_tiles; ++block)
      static_cast<std::uint8_t*>(scaled_.scale.data())[scales_.at(l, m, block * block_)] = 0;
  }

  void quantise(std::int64_t l, std::int64_t m, std::int64_t n, const float* values,
                std::int64_t count) const {
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::abs(values[i]));
      finite = finite && std::isfinite(values[i]);
    }
    const float scale = finite ? scale_of(largest) : std::numeric_limits<float>::quiet_NaN();
    store_element(scales_.dtype, scaled_.scale.data(), scales_.at(l, m, n), scale);
    const std::int64_t start = l * out_.batch_stride + m * out_.row_stride + n * out_.column_stride;
    for (std::int64_t i = 0; i < count; ++i)
      store_element(out_.dtype, out_.data, start + i * out_.column_stride, values[i] / scale);
  }

  /// Of a block whose largest magnitude is `largest`, as GemmArguments says.
  float scale_of(float largest) const {
    const float quotient = largest / largest_;
    const Dtype dtype = scaled_.scale.dtype();
    if (dtype == Dtype::e4m3) {
      return static_cast<float>(round_to(Dtype::e4m3, std::clamp(quotient, 0x1p-6F, 448.0F)));
    }
    const float scale = std::max(quotient, 0x1p-126F);
    if (dtype != Dtype::e8m0 && !scaled_.powers_of_two) return scale;
    constexpr std::uint32_t kFraction = 0x7FFFFF;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(scale) + kFraction) & ~kFraction);
  }

  const ScaledTensor& scaled_;
  const GroupedGemmArguments* grouped_;  ///< null where every row is computed
  std::vector<GroupRange> ranges_;
  MatrixView out_;
  GemmExtents extents_;
  operations::BlockScales scales_;
  std::int64_t block_;
  std::int64_t rows_;  ///< of scales
  float largest_;
};

class QuantisedLaunch final : public Launch {
 public:
  QuantisedLaunch(const RuntimeArguments& arguments, bool round_to_tf32,
                  const ProductTable& products, int threads)
      : arguments_(arguments.clone()),
        result_(static_cast<std::size_t>(arguments.operands()[2].tensor->elements())),
        product_(*unquantised(arguments, result_.data()), round_to_tf32, products, threads),
        quantiser_(*arguments_),
        threads_(threads) {}

  void launch(void* /*stream*/) override {
    product_.run();
    quantiser_.read_groups();
    ThreadPool::shared().run(threads_, quantiser_.tasks(), [this](std::int64_t task, int /*slot*/) {
      quantiser_.run(task, result_.data());
    });
  }

 private:
  std::unique_ptr<const RuntimeArguments> arguments_;
  std::vector<float> result_;
  BlockedGemm product_;
  Quantiser quantiser_;
  int threads_;
};

class CpuQuantisedGemm final : public KernelClass {
 public:
  explicit CpuQuantisedGemm(Operation operation) : operation_(operation) {}

  std::string_view name() const override {
    return operation_ == Operation::gemm ? "cpu_quantised_gemm" : "cpu_quantised_grouped_gemm";
  }
  Operation operation() const override { return operation_; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return host_targets(); }
  bool takes_block_scales() const override { return true; }
  bool quantises() const override { return true; }

  Status supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                  Target /*target*/) const override {
    return processor_status();
  }
  Status supports_epilogue(const DesignPoint& /*point*/, const EpilogueGraph& /*epilogue*/,
                           Target /*target*/) const override {
    return Status::success();
  }
  std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    if (epilogue != nullptr && !epilogue->reduced.empty()) return {};
    if (point.dtype(Role::accumulator_type) == Dtype::i32) return "whole numbers";
    return "one product after the other";
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target /*target*/) const override {
    const OperationWork work = arguments.work();
    return Prediction{.seconds = predict_product_seconds(point.dtype(Role::a_dtype),
                                                         work.flops.value_or(0) / 2, work.bytes),
                      .knobs = {}};
  }

  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& options) const override {
    const ProductTable* const products = active_products();
    if (products == nullptr) throw Error(ErrorKind::unsupported, processor_status().error());
    return std::make_unique<QuantisedLaunch>(arguments, point.dtype(Role::a_dtype) == Dtype::tf32,
                                             *products, launch_threads(options));
  }

 private:
  Operation operation_;
  std::shared_ptr<const DesignSpace> space_ = make_quantised_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_cpu_quantised_gemm() {
  return std::make_shared<CpuQuantisedGemm>(Operation::gemm);
}

}  // namespace estoc::cpu

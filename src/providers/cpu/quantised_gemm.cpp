// The kernel class cpu_quantised_gemm: products on the host whose output is quantised.
#include "providers/cpu/quantised_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "estoc/numeric.hpp"
#include "model/dtype_rules.h"
#include "model/scale_rules.h"
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

/// D of the arguments as a tensor of f32, row after row.
TensorView result_view(const GemmArguments& gemm, float* data) {
  const auto shape = gemm.out().shape();
  return TensorView::row_major(data, Dtype::f32, shape);
}

GemmArguments unquantised(const GemmArguments& gemm, float* result) {
  EpilogueArguments epilogue;
  if (!gemm.epilogue().empty()) {
    std::vector<EpilogueOperand> operands;
    for (const EpilogueOperand& operand : gemm.epilogue().operands())
      if (operand.name != "D") operands.push_back(operand);
    epilogue = EpilogueArguments(gemm.epilogue().text(), std::move(operands));
  }
  return {gemm.a(),        gemm.b(),           result_view(gemm, result), gemm.accumulator_type(),
          gemm.controls(), std::move(epilogue)};
}

class Quantiser {
 public:
  explicit Quantiser(const GemmArguments& gemm)
      : scaled_(*gemm.out_scaled()),
        out_(gemm.out_matrix()),
        extents_(gemm.extents()),
        block_(model::scale_rule(scaled_.mode).k_block),
        largest_(static_cast<float>(max_finite(out_.dtype))) {}

  std::int64_t tasks() const { return extents_.l * tasks_of_batch(); }

  void run(std::int64_t task, const float* result) const {
    const std::int64_t l = task / tasks_of_batch();
    const std::int64_t first = task % tasks_of_batch() * kQuantisedRows;
    for (std::int64_t m = first; m < std::min(first + kQuantisedRows, extents_.m); ++m) {
      const float* const row = result + (l * extents_.m + m) * extents_.n;
      for (std::int64_t n = 0; n < extents_.n; n += block_)
        quantise(l, m, n, row + n, std::min(block_, extents_.n - n));
    }
  }

 private:
  std::int64_t tasks_of_batch() const { return (extents_.m + kQuantisedRows - 1) / kQuantisedRows; }

  void quantise(std::int64_t l, std::int64_t m, std::int64_t n, const float* values,
                std::int64_t count) const {
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::abs(values[i]));
      finite = finite && std::isfinite(values[i]);
    }
    const float scale = finite ? scale_of(largest) : std::numeric_limits<float>::quiet_NaN();
    const TensorView& scales = scaled_.scale;
    const int last = scales.rank() - 1;
    const std::int64_t at = (last > 1 ? l * scales.stride(0) : 0) + m * scales.stride(last - 1) +
                            n / block_ * scales.stride(last);
    store_element(scales.dtype(), scales.data(), at, scale);
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
  MatrixView out_;
  GemmExtents extents_;
  std::int64_t block_;
  float largest_;
};

class QuantisedLaunch final : public Launch {
 public:
  QuantisedLaunch(const GemmArguments& gemm, bool round_to_tf32, const ProductTable& products,
                  int threads)
      : gemm_(gemm),
        result_(static_cast<std::size_t>(gemm.out().elements())),
        product_(unquantised(gemm, result_.data()), round_to_tf32, products, threads),
        quantiser_(gemm_),
        threads_(threads) {}

  void launch(void* /*stream*/) override {
    product_.run();
    ThreadPool::shared().run(threads_, quantiser_.tasks(), [this](std::int64_t task, int /*slot*/) {
      quantiser_.run(task, result_.data());
    });
  }

 private:
  GemmArguments gemm_;
  std::vector<float> result_;
  BlockedGemm product_;
  Quantiser quantiser_;
  int threads_;
};

class CpuQuantisedGemm final : public KernelClass {
 public:
  std::string_view name() const override { return "cpu_quantised_gemm"; }
  Operation operation() const override { return Operation::gemm; }
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
    return std::make_unique<QuantisedLaunch>(static_cast<const GemmArguments&>(arguments),
                                             point.dtype(Role::a_dtype) == Dtype::tf32, *products,
                                             launch_threads(options));
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_quantised_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_cpu_quantised_gemm() {
  return std::make_shared<CpuQuantisedGemm>();
}

}  // namespace estoc::cpu

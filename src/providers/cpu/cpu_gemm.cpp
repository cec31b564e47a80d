// The kernel classes cpu_gemm, cpu_grouped_gemm and those of scaled operands: products on the host.
#include "providers/cpu/cpu_gemm.h"

#include <algorithm>

#include "model/dtype_rules.h"
#include "operations/gemm/dequantised.h"
#include "operations/gemm/lowering.h"
#include "operations/grouped_gemm/lowering.h"
#include "providers/cpu/blocked_gemm.h"
#include "providers/cpu/cost_model.h"
#include "providers/cpu/host_kernel.h"
#include "providers/cpu/isa.h"

namespace estoc::cpu {
namespace {

std::shared_ptr<const DesignSpace> make_space() {
  constexpr Dtype kFactors[] = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16, Dtype::bf16,
                                Dtype::e4m3, Dtype::e5m2, Dtype::i8,   Dtype::u8};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, kFactors)
      .dtypes(Role::b_dtype, kFactors)
      .dtypes(Role::accumulator_type, {Dtype::f64, Dtype::f32, Dtype::i32, Dtype::f16})
      .dtypes(Role::out_dtype, {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                Dtype::e5m2, Dtype::i32, Dtype::i8, Dtype::u8})
      .require({"a", "b"},
               [](const DesignPoint& point) {
                 return multiplies(point.dtype(Role::a_dtype), point.dtype(Role::b_dtype));
               })
      .require({"a", "b", "acc"},
               [](const DesignPoint& point) {
                 return accumulates_in(point.dtype(Role::a_dtype), point.dtype(Role::b_dtype),
                                       point.dtype(Role::accumulator_type));
               })
      .require({"acc", "out"}, [](const DesignPoint& point) {
        return stores(point.dtype(Role::accumulator_type), point.dtype(Role::out_dtype));
      });
  return builder.build();
}

std::shared_ptr<const DesignSpace> make_scaled_space() {
  constexpr Dtype kFactors[] = {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1, Dtype::i8,
                                Dtype::u8,   Dtype::i4,   Dtype::u4};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, kFactors)
      .dtypes(Role::b_dtype, kFactors)
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2});
  return builder.build();
}

class GemmLaunch final : public Launch {
 public:
  GemmLaunch(const RuntimeArguments& arguments, bool round_to_tf32, const ProductTable& products,
             int threads)
      : gemm_(arguments, round_to_tf32, products, threads) {}
  void launch(void* /*stream*/) override { gemm_.run(); }
  bool move_to(const RuntimeArguments& arguments) override { return gemm_.move_to(arguments); }

 private:
  BlockedGemm gemm_;
};

bool adds_floats(const EpilogueGraph& graph, const EpilogueReducedStore& reduced) {
  const EpilogueType type = graph.nodes[reduced.node].type;
  const bool adds = reduced.reduction == EpilogueReduction::sum ||
                    reduced.reduction == EpilogueReduction::sum_of_squares;
  return adds && (type == EpilogueType::f32 || type == EpilogueType::f64);
}

double bytes_of(const MatrixView& matrix) {
  return static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns) *
         static_cast<double>(matrix.batches) * dtype_bits(matrix.dtype) / 8;
}

}  // namespace

CpuGemm::CpuGemm(Operation operation) : operation_(operation), space_(make_space()) {}

CpuScaledGemm::CpuScaledGemm(Operation operation) : CpuGemm(operation, make_scaled_space()) {}

Status CpuScaledGemm::supports_any(const RuntimeArguments& arguments) const {
  if (operation() == Operation::grouped_gemm) {
    return operations::check_dequantised(static_cast<const GroupedGemmArguments&>(arguments));
  }
  return operations::check_dequantised(static_cast<const GemmArguments&>(arguments));
}

Status CpuScaledGemm::supports(const DesignPoint& point, const RuntimeArguments& arguments,
                               Target target) const {
  Status status = supports_any(arguments);
  return status.ok() ? CpuGemm::supports(point, arguments, target) : status;
}

std::span<const Target> CpuGemm::targets() const {
  return host_targets();
}

Status CpuGemm::supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                         Target /*target*/) const {
  return processor_status();
}

Status CpuGemm::supports_epilogue(const DesignPoint& /*point*/, const EpilogueGraph& /*epilogue*/,
                                  Target /*target*/) const {
  return Status::success();
}

std::string CpuGemm::summation(const DesignPoint& point, const EpilogueGraph* epilogue) const {
  if (epilogue != nullptr && std::ranges::any_of(epilogue->reduced, [&](const auto& reduced) {
        return adds_floats(*epilogue, reduced) && reduced.keeps.m;
      })) {
    return {};  // tasks cut rows where threads and M have them do so
  }
  if (point.dtype(Role::accumulator_type) == Dtype::i32) return "whole numbers";
  return "one product after the other";
}

std::optional<Prediction> CpuGemm::predict(const DesignPoint& point,
                                           const RuntimeArguments& arguments,
                                           Target /*target*/) const {
  const operations::GemmProblem problem =
      operations::lower_product(arguments, operations::Orientation::as_given);
  const double products = arguments.work().flops.value_or(0) / 2;
  const double bytes =
      bytes_of(problem.a.view) + bytes_of(problem.b.view) + bytes_of(problem.out.view);
  return Prediction{.seconds = predict_product_seconds(point.dtype(Role::a_dtype), products, bytes),
                    .knobs = {}};
}

std::unique_ptr<Launch> CpuGemm::bind(const DesignPoint& point, const Knobs& /*knobs*/,
                                      const RuntimeArguments& arguments,
                                      std::shared_ptr<const CompiledObject> /*object*/,
                                      const BindOptions& options) const {
  const ProductTable* const products = active_products();
  if (products == nullptr) throw Error(ErrorKind::unsupported, processor_status().error());
  // Where the user allows tf32, a kernel for tf32 may be given f32 operands.
  const bool round_to_tf32 = point.dtype(Role::a_dtype) == Dtype::tf32;
  return std::make_unique<GemmLaunch>(arguments, round_to_tf32, *products, launch_threads(options));
}

}  // namespace estoc::cpu

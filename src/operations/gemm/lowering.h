// Brings the arguments of a GEMM into the normal form.
#pragma once

#include "operations/gemm_problem.h"

namespace estoc::operations {

/// Whether a kernel computes the product of the arguments or its transpose.
enum class Orientation : std::uint8_t { as_given, transposed };

/// The product in the given orientation. Valid as long as the arguments are.
inline GemmProblem lower(const GemmArguments& gemm, Orientation orientation) {
  const auto& [m, n, k, l] = gemm.extents();
  const Operand& a = gemm.a();
  const Operand& b = gemm.b();
  if (orientation == Orientation::as_given) {
    return {.m = m,
            .n = n,
            .k = k,
            .l = l,
            .a = {"A", gemm.a_matrix(), a.scaled(), block_scales(a, 1)},
            .b = {"B", gemm.b_matrix(), b.scaled(), block_scales(b, 2), {}, gemm.pair_distance()},
            .out = {"out", gemm.out_matrix(), nullptr},
            .accumulator_type = gemm.accumulator_type(),
            .epilogue = gemm.epilogue_binding()};
  }
  return {.m = n,
          .n = m,
          .k = k,
          .l = l,
          .a = {"B",
                transposed(gemm.b_matrix()),
                b.scaled(),
                block_scales(b, 2),
                {},
                gemm.pair_distance()},
          .b = {"A", transposed(gemm.a_matrix()), a.scaled(), block_scales(a, 1)},
          .out = {"out", transposed(gemm.out_matrix()), nullptr},
          .accumulator_type = gemm.accumulator_type(),
          .transposed = true,
          .epilogue = gemm.epilogue_binding()};
}

/// The product with out row-major, where one of the orientations makes it so.
GemmProblem lower(const GemmArguments& gemm);

/// The same of any operation that is lowered to a product: gemm, grouped_gemm.
GemmProblem lower_product(const RuntimeArguments& arguments, Orientation orientation);

/// What such an operation has in common with a GEMM: extents, dtypes, out and the epilogue.
const GemmArguments& product_of(const RuntimeArguments& arguments);

}  // namespace estoc::operations

// The scale modes of cuBLASLt, and which scaled operands they are.
#pragma once

#include <cstdint>

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"
#include "estoc/target.hpp"

namespace estoc::cublaslt {

/// cublasLtMatmulMatrixScale_t
enum class LtScaleMode : std::int32_t {
  scalar = 0,       ///< one f32
  vec16_ue4m3 = 1,  ///< one e4m3 for 16 elements along K
  vec32_ue8m0 = 2,  ///< one e8m0 for 32 elements along K
  outer_vec = 3,    ///< one f32 for a row of A, a column of B
  vec128 = 4,       ///< one f32 for 128 elements along K
  block128 = 5      ///< one f32 for 128 elements along K and along the other mode
};

/// The scale of an operand.
struct LtScale {
  bool any = false;
  LtScaleMode mode = LtScaleMode::scalar;
  const void* data = nullptr;
  int alignment = 16;  ///< bytes
};

struct LtScales {
  LtScale a;
  LtScale b;
};

/// The scales as the library is told them. Fails, naming the operand, where an operand is scaled
/// and the library has no mode for it, for the pair, or for where its scales lie (cuBLAS reference,
/// "narrow precision data types usage"):
///  - one f32 beside e4m3 and e5m2;
///  - on sm_90 f32 for rows of A and columns of B, in both, which are contiguous;
///  - on sm_90 f32 for 128 elements along K, contiguous along M or N without padding, beside the
///    same or beside f32 for blocks of 128 x 128, which are contiguous along K, columns padded to
///    4;
///  - from sm_100 on e8m0 for 32 of e4m3 or e5m2, e4m3 for 16 of e2m1, in the blocked order.
/// All but the first need K contiguous in A and B, out wider than 8 bits and one batch.
Status describe_lt_scales(const GemmArguments& arguments, LtScales* scales);

/// Whether a device of the target and a library of that version (cublasLtGetVersion) have the
/// modes.
Status check_lt_scales(const LtScales& scales, Target target, std::size_t version);

/// Factors of the accumulator in the arguments' graph that are scales.
int scale_factors(const GemmArguments& arguments);

}  // namespace estoc::cublaslt

// The scale modes of cuBLASLt, and which scaled operands they are.
#include "providers/cublaslt/lt_scales.h"

#include <fmt/core.h>

#include <string_view>

#include "operations/gemm_problem.h"

namespace estoc::cublaslt {
namespace {

using operations::BlockScales;

// Versions of cuBLAS that a mode is in from on: 12.8, 12.9.
constexpr std::size_t kFirstOfSm100 = 120800;
constexpr std::size_t kFirstOfSm90 = 120900;
// Of the memory of scales (cuBLAS reference, table of alignments).
constexpr int kScaleAlignment = 16;

Status refuse_scale(Reason reason, const char* operand, std::string_view expected,
                    std::string_view got) {
  return Status::fail(reason, fmt::format("{}.scale: expected {}, got {}", operand, expected, got));
}

/// An operand with its mode beside K.
struct Side {
  const char* name;
  const Operand& operand;
  int k_from_end;
  std::int64_t extent;  ///< of the mode beside K
  bool k_contiguous;
};

LtScaleMode mode_of(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::tensorwise:
      return LtScaleMode::scalar;
    case ScaleMode::rowwise:
      return LtScaleMode::outer_vec;
    case ScaleMode::blockwise_1x16:
      return LtScaleMode::vec16_ue4m3;
    case ScaleMode::blockwise_1x32:
      return LtScaleMode::vec32_ue8m0;
    case ScaleMode::blockwise_1x128:
      return LtScaleMode::vec128;
    case ScaleMode::blockwise_128x128:
      return LtScaleMode::block128;
  }
  return LtScaleMode::scalar;
}

std::int64_t blocks_of_128(std::int64_t extent) {
  return (extent + 127) / 128;
}

Status check_rows(const Side& side, const TensorView& scale) {
  const std::int64_t stride = scale.stride(scale.rank() - (side.k_from_end == 1 ? 2 : 1));
  if (stride == 1 || side.extent <= 1) return Status::success();
  return refuse_scale(Reason::layout, side.name, "neighbours in memory",
                      fmt::format("a stride of {}", stride));
}

/// Contiguous along the mode beside K, columns one after the other.
Status check_vec128(const Side& side, const BlockScales& scales, std::int64_t k) {
  const bool along = scales.other_stride == 1 || side.extent <= 1;
  const bool columns = scales.k_stride == side.extent || blocks_of_128(k) <= 1;
  if (along && columns) return Status::success();
  return refuse_scale(Reason::layout, side.name,
                      fmt::format("strides of 1 and, along K, {}", side.extent),
                      fmt::format("{} and {}", scales.other_stride, scales.k_stride));
}

/// Contiguous along K, each column filled up to a multiple of 4.
Status check_block128(const Side& side, const BlockScales& scales, std::int64_t k) {
  const std::int64_t padded = (blocks_of_128(k) + 3) / 4 * 4;
  const bool along = scales.k_stride == 1 || blocks_of_128(k) <= 1;
  const bool columns = scales.other_stride == padded || blocks_of_128(side.extent) <= 1;
  if (along && columns) return Status::success();
  return refuse_scale(Reason::layout, side.name,
                      fmt::format("strides of {} and, along K, 1", padded),
                      fmt::format("{} and {}", scales.other_stride, scales.k_stride));
}

Status check_layout(const Side& side, LtScaleMode mode, std::int64_t k) {
  const ScaledTensor& scaled = *side.operand.scaled();
  const BlockScales scales = operations::block_scales(side.operand, side.k_from_end);
  switch (mode) {
    case LtScaleMode::scalar:
      return Status::success();
    case LtScaleMode::outer_vec:
      return check_rows(side, scaled.scale);
    case LtScaleMode::vec128:
      return check_vec128(side, scales, k);
    case LtScaleMode::block128:
      return check_block128(side, scales, k);
    default:
      break;
  }
  if (scaled.swizzle == ScaleSwizzle::swizzle_32x4x4) return Status::success();
  return refuse_scale(Reason::layout, side.name, "the order swizzle_32x4x4",
                      scale_swizzle_name(scaled.swizzle));
}

Status describe_side(const Side& side, std::int64_t k, LtScale* scale) {
  const ScaledTensor* const scaled = side.operand.scaled();
  if (scaled == nullptr) return Status::success();
  const Dtype dtype = scaled->data.dtype();
  const LtScaleMode mode = mode_of(scaled->mode);
  const Dtype wanted = mode == LtScaleMode::vec16_ue4m3 ? Dtype::e2m1 : Dtype::e4m3;
  if (dtype != wanted && !(wanted == Dtype::e4m3 && dtype == Dtype::e5m2)) {
    return Status::fail(
        Reason::dtype,
        fmt::format("{}.dtype: expected e4m3 or e5m2 with scales, e2m1 with blockwise_1x16, got {}",
                    side.name, dtype_name(dtype)));
  }
  if (scaled->tensor_scale) {
    return refuse_scale(Reason::dtype, side.name, "one level", "tensor_scale");
  }
  if (mode != LtScaleMode::scalar && !side.k_contiguous) {
    return Status::fail(Reason::layout,
                        fmt::format("{}: expected K contiguous with mode {}, got it not", side.name,
                                    scale_mode_name(scaled->mode)));
  }
  *scale = {true, mode, scaled->scale.data(), scaled->scale.alignment()};
  if (Status status = check_layout(side, mode, k); !status) return status;
  if (mode != LtScaleMode::scalar && scaled->scale.alignment() < kScaleAlignment) {
    return refuse_scale(Reason::layout, side.name, "memory aligned to 16 bytes",
                        fmt::format("{}", scaled->scale.alignment()));
  }
  return Status::success();
}

bool is_of_128(LtScaleMode mode) {
  return mode == LtScaleMode::vec128 || mode == LtScaleMode::block128;
}

/// Which modes go together.
Status check_pair(const LtScales& scales) {
  const auto& [a, b] = scales;
  const bool scalars = a.mode == LtScaleMode::scalar && b.mode == LtScaleMode::scalar;
  if (scalars) return Status::success();
  if (!a.any || !b.any) {
    return refuse_scale(Reason::layout, a.any ? "B" : "A",
                        "a scale where the other operand's is "
                        "not tensorwise",
                        "none");
  }
  const bool equal = a.mode == b.mode && a.mode != LtScaleMode::block128;
  const bool mixed = is_of_128(a.mode) && is_of_128(b.mode) && a.mode != b.mode;
  if (equal || mixed) return Status::success();
  return refuse_scale(Reason::layout, "B", "the mode of A's, or 1x128 beside 128x128",
                      "another pair of modes");
}

Status check_out(const GemmArguments& arguments, const LtScales& scales) {
  if (scales.a.mode == LtScaleMode::scalar) return Status::success();
  const Dtype out = arguments.out_matrix().dtype;
  if (dtype_bits(out) <= 8) {
    return Status::fail(Reason::dtype,
                        fmt::format("out.dtype: expected f32, f16 or bf16 with such scales, got {}",
                                    dtype_name(out)));
  }
  const GemmExtents& e = arguments.extents();
  if (e.l != 1) {
    return Status::fail(Reason::shape,
                        fmt::format("out.shape: expected one batch with such scales, got {}", e.l));
  }
  if (is_of_128(scales.a.mode) && (e.m % 4 != 0 || e.n % 4 != 0)) {
    return Status::fail(Reason::shape,
                        fmt::format("out.shape: expected multiples of 4 with scales of 128, got "
                                    "({}, {})",
                                    e.m, e.n));
  }
  return Status::success();
}

}  // namespace

Status describe_lt_scales(const GemmArguments& arguments, LtScales* scales) {
  *scales = {};
  const GemmExtents& e = arguments.extents();
  const Side a{"A", arguments.a(), 1, e.m, arguments.a_matrix().is_row_major()};
  const Side b{"B", arguments.b(), 2, e.n, arguments.b_matrix().is_column_major()};
  Status status = describe_side(a, e.k, &scales->a);
  if (status.ok()) status = describe_side(b, e.k, &scales->b);
  if (status.ok()) status = check_pair(*scales);
  if (status.ok()) status = check_out(arguments, *scales);
  return status;
}

Status check_lt_scales(const LtScales& scales, Target target, std::size_t version) {
  const LtScaleMode mode = scales.a.mode;
  if (mode == LtScaleMode::scalar) return Status::success();
  const bool newer = mode == LtScaleMode::vec16_ue4m3 || mode == LtScaleMode::vec32_ue8m0;
  if (newer ? target.cc() < 100 : target.cc() != 90) {
    return Status::fail(Reason::device,
                        fmt::format("target: expected {} for such scales, got {}",
                                    newer ? "sm_100 or later" : "sm_90", target.name()));
  }
  const std::size_t first = newer ? kFirstOfSm100 : kFirstOfSm90;
  if (version >= first) return Status::success();
  return Status::fail(Reason::resource,
                      fmt::format("cuBLASLt: expected version {} or later for such scales, got {}",
                                  first, version));
}

int scale_factors(const GemmArguments& arguments) {
  int count = 0;
  for (const Operand* operand : {&arguments.a(), &arguments.b()})
    if (operand->is_scaled()) {
      count += operand->scaled()->tensor_scale.has_value();
      count += !operand->scaled()->has_blocks();
    }
  return count;
}

}  // namespace estoc::cublaslt

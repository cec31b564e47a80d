// Tensor maps of the emulator: encoded from what the driver's function takes, 128 bytes as well.
#pragma once

#include <cstdint>

namespace estoc::emulator {

/// Takes what cuTensorMapEncodeTiled takes, with the driver's values of the enumerations, makes the
/// checks that the driver documents, and writes 128 bytes to `map`, which is aligned to 64. Returns
/// 0, or 1 (CUDA_ERROR_INVALID_VALUE).
int encode_tiled(void* map, int data_type, std::uint32_t rank, void* address,
                 const std::uint64_t* extents, const std::uint64_t* strides,
                 const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,
                 int swizzle, int l2_promotion, int out_of_bounds_fill);

/// What the last encode_tiled of this host thread refused, and why; empty after a success.
const char* encode_problem();

}  // namespace estoc::emulator

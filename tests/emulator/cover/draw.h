// What the files that draw problems share.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "estoc/kernel.hpp"
#include "problem.h"

namespace estoc::cover {

/// Memory for a tensor, all of it 0xa5.
HostTensor host_tensor(Dtype dtype, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides);

/// Whether with_fused_scale() can give the kernel's operands scales that it takes as an epilogue.
bool takes_fused_scales(const Kernel& kernel);

/// An operand with scales that become an epilogue, powers of two so that sums stay exact: of rows,
/// or one of all elements; behind scales of 16 elements a second level. `values`, of the operand's
/// elements in row-major order, are multiplied by them. Throws Error where it takes none.
Operand with_fused_scale(const Operand& operand, bool is_b, std::mt19937_64& random,
                         std::vector<HostTensor>& tensors, std::vector<double>& values);

}  // namespace estoc::cover

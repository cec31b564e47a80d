// What the kernel classes for sm_90 share of a launch: tensor maps, their conditions, the entry.
#pragma once

#include <string>
#include <string_view>

#include "providers/cuda/gemm_class.h"
#include "providers/cuda/sm90_space.h"

namespace estoc::cuda {

/// Fails where a kernel that stores by TMA cannot store an output.
Status check_sm90_out(const DesignPoint& point, const OperandPlane& out);

/// Fails where boxes of B cannot hold the columns of both accumulators of pairs.
Status check_tma_pairs(const DesignPoint& point, const GemmArguments& gemm);

/// Whether a kernel that stores by TMA, and else is the same, carries out the problem too.
/// `m_major`: M is the contiguous mode of its out.
bool sm90_takes_tma_stores(const GemmProblem& problem, bool m_major = false);

/// Operands and extents; the rest is 0.
abi::Sm90GemmParameters sm90_operands(const abi::Sm90GemmConfig& config, const GemmLaunch& launch);

/// The entry of a unit with an epilogue.
std::string sm90_fused_entry(std::string_view device_name, std::string_view type_name);

}  // namespace estoc::cuda

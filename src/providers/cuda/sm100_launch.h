// What the kernel classes for sm_100 share: targets, the cost of a design, and what a launch takes
// of operands.
#pragma once

#include <array>
#include <cstdint>

#include "estoc/abi/sm100_gemm.cuh"
#include "providers/cuda/gemm_class.h"

namespace estoc::cuda {

inline constexpr std::array kSm100Targets{Target::sm(100, true), Target::sm(103, true)};
/// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
inline constexpr std::int64_t kSm100Most = (std::int64_t{1} << 28) - 1;

/// The design of a configuration on this work, clocks of arithmetic and of stores included.
cost::Design sm100_design(const abi::Sm100GemmConfig& config, const cost::Work& work);

/// Rasterisation.
Knobs sm100_knobs(const abi::Sm100GemmConfig& config, const GemmProblem& problem);

/// Divides K of a plan that has design and knobs, where that is quicker.
void split_sm100(const abi::Sm100GemmConfig& config, const PerformanceControls& controls,
                 const cost::DeviceModel& device, cost::Plan& plan);

/// Operands, extents and rasterisation; the rest is 0.
abi::Sm100GemmParameters sm100_operands(const abi::Sm100GemmConfig& config,
                                        const GemmLaunch& launch);

/// As many clusters as live at once; of a dynamic kernel, one for each item.
CudaGeometry sm100_geometry(const abi::Sm100GemmConfig& config,
                            const abi::Sm100GemmParameters& parameters, const PlanDevice& device);

}  // namespace estoc::cuda

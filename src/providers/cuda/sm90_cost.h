// How sm90_gemm carries out a product, for the prediction of its time; and its knobs.
#pragma once

#include "cost/execution.h"
#include "cost/gemm_work.h"
#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// The design of a configuration on this work, clocks of arithmetic and of stores included.
cost::Design sm90_design(const abi::Sm90GemmConfig& config, const cost::Work& work);

/// Rasterisation: in the direction in which CTAs beside each other share the most of what they
/// load.
Knobs sm90_knobs(const abi::Sm90GemmConfig& config, const cost::Work& work);

/// Parts of K that a kernel of that design is predicted to be fastest with.
int sm90_parts(const abi::Sm90GemmConfig& config, const cost::Work& work, cost::Design design,
               const cost::DeviceModel& device);

}  // namespace estoc::cuda

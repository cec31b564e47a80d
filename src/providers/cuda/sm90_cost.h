// Predicts the time of an sm90_gemm kernel and chooses its knobs.
#pragma once

#include "estoc/abi.cuh"
#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"
#include "providers/cuda/device_model.h"

namespace estoc::cuda {

/// Time by the slower of tensor cores, shared memory, L2 cache and HBM, in waves of tiles.
Prediction predict_sm90(const abi::Sm90GemmConfig& config, bool transposed,
                        const GemmArguments& gemm, const DeviceModel& device);

}  // namespace estoc::cuda

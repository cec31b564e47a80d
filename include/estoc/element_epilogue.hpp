// Epilogues of custom CUDA kernels that store one element at a time (docs/adding_a_kernel.md).
#pragma once

#include <string>

#include "estoc/cuda_kernel_class.hpp"

namespace estoc {

/// Success for an epilogue that such a kernel can have; else, for one with reductions, the reason.
Status check_element_epilogue(const EpilogueGraph& epilogue);

/// The struct `Epilogue` for the source of a kernel, with what it includes. The kernel takes
/// `Epilogue::Parameters` and passes its accumulators to `estoc::epilogue::Elements<Epilogue>`.
std::string element_epilogue_source(const EpilogueGraph& epilogue);

/// Adds the `Epilogue::Parameters` of a GEMM to the kernel that was added to the plan last. Throws
/// Error{unsupported} for arguments without an epilogue, and for other operations.
void add_element_epilogue(const RuntimeArguments& arguments, LaunchPlan& plan);

}  // namespace estoc

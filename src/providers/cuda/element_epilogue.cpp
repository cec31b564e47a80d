// Epilogues of custom CUDA kernels that store one element at a time.
#include "estoc/element_epilogue.hpp"

#include <fmt/core.h>

#include "providers/cuda/epilogue_launch.h"

namespace estoc {

Status check_element_epilogue(const EpilogueGraph& epilogue) {
  if (epilogue.reduced.empty()) return Status::success();
  return Status::fail(Reason::epilogue,
                      fmt::format("epilogue: expected no reductions, got {} in {}",
                                  epilogue.reduced.size(), epilogue.canonical));
}

std::string element_epilogue_source(const EpilogueGraph& epilogue) {
  return "#include <estoc/epilogue/element.cuh>\nusing estoc::abi::Type;\n" +
         cuda::epilogue_source(&epilogue, false);
}

void add_element_epilogue(const RuntimeArguments& arguments, LaunchPlan& plan) {
  const auto* const gemm = dynamic_cast<const GemmArguments*>(&arguments);
  if (gemm == nullptr || gemm->epilogue_binding() == nullptr) {
    throw Error(ErrorKind::unsupported, "epilogue: expected a gemm with one, got none");
  }
  cuda::add_epilogue(cuda::EpilogueView(*gemm, false), {}, {}, nullptr, plan);
}

}  // namespace estoc

// What an expert layer does around its two products, on the host or on a GPU.
#pragma once

#include <memory>

#include "estoc/abi/moe.cuh"
#include "estoc/moe.hpp"

namespace estoc::experts {

/// The parameters of the steps of one run.
struct StepParameters {
  abi::MoeRoute route;
  abi::MoeGather gather;
  abi::MoeGate gate;
  abi::MoeCombine combine;
  std::int64_t tokens;
  int route_ctas;
};

/// What decides about the code of the steps.
struct StepOptions {
  Dtype dtype;
  MoeActivation activation;
  bool interleaved;
};

class Steps {
 public:
  virtual ~Steps() = default;
  /// Finds the rows of all slots and copies the tokens there.
  virtual void gather(const StepParameters& parameters, void* stream) const = 0;
  /// Of a gated activation.
  virtual void activate(const StepParameters& parameters, void* stream) const = 0;
  virtual void combine(const StepParameters& parameters, void* stream) const = 0;
};

std::unique_ptr<const Steps> host_steps(const StepOptions& options);
/// Throws Error{not_found} without NVRTC, Error{compile}.
std::unique_ptr<const Steps> device_steps(const StepOptions& options, Device device);

/// How slots are cut into runs, one for each CTA.
struct RouteCut {
  int ctas;
  int slots_per_cta;
  static RouteCut of(std::int64_t slots);
};

}  // namespace estoc::experts

// The C interface to expert layers.
#include "estoc/moe.hpp"

#include <string>

#include "c_api/support.h"

struct estoc_moe_plan : estoc::c_api::Holder<101, estoc::Moe> {
  using Holder::Holder;
};

namespace estoc::c_api {
namespace {

/// The tensors of a layer.
MoeOperands moe_operands(const estoc_moe& layer) {
  return {.x = view_of(layer.x, "x"),
          .expert_ids = view_of(layer.expert_ids, "expert_ids"),
          .weights = view_of(layer.weights, "weights"),
          .w_gate_up = view_of(layer.w_gate_up, "w_gate_up"),
          .w_down = view_of(layer.w_down, "w_down"),
          .out = view_of(layer.out, "out")};
}

MoeOptions moe_options(const estoc_moe& layer, int threads) {
  if (layer.reserved != 0) {
    throw Error(ErrorKind::value,
                "layer.reserved: expected 0, got " + std::to_string(layer.reserved));
  }
  if (threads < 0) {
    throw Error(ErrorKind::value, "threads: expected 0 or more, got " + std::to_string(threads));
  }
  MoeOptions options{.interleaved = layer.interleaved != 0,
                     .controls = controls_of(layer.controls),
                     .threads = threads};
  if (layer.activation == nullptr) return options;
  const std::optional<MoeActivation> known = parse_moe_activation(layer.activation);
  if (!known) {
    throw Error(
        ErrorKind::value,
        std::string("layer.activation: expected swiglu, geglu, relu, gelu or silu, got \"") +
            layer.activation + "\"");
  }
  options.activation = *known;
  return options;
}

void run_moe(const estoc_moe* given, const estoc_run_options* options) {
  const estoc_moe layer = read_struct(given, "layer");
  const RunOptions run = run_options(options);
  MoeCallOptions call{.layer = moe_options(layer, run.threads), .stream = run.stream};
  if (run.workspace.data != nullptr) {
    call.workspace = [&](std::size_t /*bytes*/) { return run.workspace; };
  }
  moe(moe_operands(layer), call);
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::guarded;
using c_api::value_of;

estoc_status estoc_moe_run(const estoc_moe* layer, const estoc_run_options* options) {
  return guarded([&] { c_api::run_moe(layer, options); });
}

estoc_status estoc_moe_plan_create(const estoc_moe* layer, int threads, estoc_moe_plan** plan) {
  return guarded([&] {
    const estoc_moe given = c_api::read_struct(layer, "layer");
    c_api::give(plan, "plan", [&] {
      return estoc::Moe(c_api::moe_operands(given), c_api::moe_options(given, threads));
    });
  });
}

estoc_status estoc_moe_plan_workspace_size(const estoc_moe_plan* plan, size_t* bytes) {
  return guarded(
      [&] { c_api::required(bytes, "bytes") = value_of(plan, "plan").workspace_size(); });
}

estoc_status estoc_moe_plan_run(estoc_moe_plan* plan, const estoc_moe* layer, void* stream,
                                void* workspace, size_t workspace_bytes) {
  return guarded([&] {
    estoc::Moe& planned = value_of(plan, "plan");
    planned.run(c_api::moe_operands(c_api::read_struct(layer, "layer")),
                {workspace, workspace_bytes}, stream);
  });
}

void estoc_moe_plan_destroy(estoc_moe_plan* plan) {
  c_api::destroy(plan);
}

// The work of estoc.moe and estoc.Moe: the library's expert layer on tensors of any framework.
#include "estoc/moe.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"
#include "numbers.h"
#include "streams.h"
#include "tensors.h"
#include "workspaces.h"

namespace estoc::python {
namespace {

/// The tensors of a call, in the order of MoeOperands.
struct LayerTensors {
  LayerTensors(nb::handle x, nb::handle expert_ids, nb::handle weights, nb::handle w_gate_up,
               nb::handle w_down, nb::handle out)
      : all{import_tensor(x, "x"),
            import_tensor(expert_ids, "expert_ids"),
            import_tensor(weights, "weights"),
            import_tensor(w_gate_up, "w_gate_up"),
            import_tensor(w_down, "w_down"),
            import_tensor(out, "out")} {
    if (all.back().read_only) {
      fail_value("out: expected a tensor that can be written, got a read-only one");
    }
  }

  const Tensor& out() const { return all.back(); }
  MoeOperands operands() const {
    return {all[0].view, all[1].view, all[2].view, all[3].view, all[4].view, all[5].view};
  }

  std::array<Tensor, 6> all;
};

MoeOptions layer_options(const LayerTensors& tensors, nb::handle activation,
                         nb::handle interleaved) {
  const std::string name = text(activation, "activation");
  const std::optional<MoeActivation> known = parse_moe_activation(name);
  if (!known) {
    fail_value("activation: expected swiglu, geglu, relu, gelu or silu, got \"" + name + "\"");
  }
  MoeOptions options{.activation = *known, .interleaved = truth(interleaved, "interleaved")};
  const Tensor& x = tensors.all.front();
  if (x.framework == Framework::torch && x.view.device().is_cuda()) {
    options.controls = torch_controls(x.view.dtype() == Dtype::f32);
  }
  return options;
}

/// The stream and the memory of a call; used without the GIL.
class CallPlace {
 public:
  CallPlace(const LayerTensors& tensors, nb::handle workspace, nb::handle stream)
      : out_(tensors.out()), given_(workspace) {
    std::vector<void*> awaited;
    for (const Tensor& tensor : tensors.all)
      add_awaited(awaited, tensor);
    if (!out_.view.described()) stream_ = stream_for(out_, stream, awaited);
  }

  void* stream() const { return stream_; }
  Workspace take(std::size_t bytes) {
    const nb::gil_scoped_acquire locked;
    held_ = provide_workspace(given_, bytes, out_, stream_);
    return held_.native;
  }

 private:
  const Tensor& out_;
  nb::handle given_;
  void* stream_ = nullptr;
  HeldWorkspace held_;
};

/// Whether a plan had to be made.
bool run_remembered(const MoeOperands& operands, const MoeOptions& options, CallPlace& place) {
  const auto take = [&](std::size_t bytes) { return place.take(bytes); };
  const nb::gil_scoped_release unlocked;
  return moe(operands, {.layer = options, .stream = place.stream(), .workspace = std::ref(take)});
}

bool run_moe(nb::handle x, nb::handle expert_ids, nb::handle weights, nb::handle w_gate_up,
             nb::handle w_down, nb::handle out, nb::handle activation, nb::handle interleaved,
             nb::handle workspace, nb::handle stream) {
  const LayerTensors tensors(x, expert_ids, weights, w_gate_up, w_down, out);
  const MoeOptions options = layer_options(tensors, activation, interleaved);
  CallPlace place(tensors, workspace, stream);
  return run_remembered(tensors.operands(), options, place);
}

/// A layer that is planned once.
class PlannedLayer {
 public:
  PlannedLayer(nb::handle x, nb::handle expert_ids, nb::handle weights, nb::handle w_gate_up,
               nb::handle w_down, nb::handle out, nb::handle activation, nb::handle interleaved) {
    const LayerTensors tensors(x, expert_ids, weights, w_gate_up, w_down, out);
    options_ = layer_options(tensors, activation, interleaved);
    const MoeOperands operands = tensors.operands();
    const nb::gil_scoped_release unlocked;
    layer_ = std::make_unique<Moe>(operands, options_);
  }

  std::size_t workspace_size() const { return layer_->workspace_size(); }
  nb::object first_kernel() const { return name_of(layer_->first_kernel()); }
  nb::object second_kernel() const { return name_of(layer_->second_kernel()); }

  void run(nb::handle x, nb::handle expert_ids, nb::handle weights, nb::handle w_gate_up,
           nb::handle w_down, nb::handle out, nb::handle workspace, nb::handle stream) {
    const LayerTensors tensors(x, expert_ids, weights, w_gate_up, w_down, out);
    const MoeOperands operands = tensors.operands();
    CallPlace place(tensors, workspace, stream);
    // While another thread is using it, one of those that are remembered takes its place.
    if (is_used_.exchange(true, std::memory_order_acquire)) {
      run_remembered(operands, options_, place);
      return;
    }
    struct Release {
      std::atomic<bool>& is_used;
      ~Release() { is_used.store(false, std::memory_order_release); }
    } const release{is_used_};
    const std::size_t bytes = layer_->workspace_size();
    const Workspace memory = bytes > 0 ? place.take(bytes) : Workspace{};
    const nb::gil_scoped_release unlocked;
    layer_->run(operands, memory, place.stream());
  }

 private:
  static nb::object name_of(const Kernel* kernel) {
    return kernel == nullptr ? nb::none() : nb::object(nb::str(kernel->name().c_str()));
  }

  MoeOptions options_;
  std::unique_ptr<Moe> layer_;
  std::atomic<bool> is_used_ = false;
};

}  // namespace

void bind_moe(nb::module_& module) {
  module.def("_moe", &run_moe, nb::arg("x").none(), nb::arg("expert_ids").none(),
             nb::arg("weights").none(), nb::arg("w_gate_up").none(), nb::arg("w_down").none(),
             nb::arg("out").none(), nb::arg("activation").none(), nb::arg("interleaved").none(),
             nb::arg("workspace").none(), nb::arg("stream").none());
  nb::class_<PlannedLayer>(module, "_PlannedMoe")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle, nb::handle>(),
           nb::arg("x").none(), nb::arg("expert_ids").none(), nb::arg("weights").none(),
           nb::arg("w_gate_up").none(), nb::arg("w_down").none(), nb::arg("out").none(),
           nb::arg("activation").none(), nb::arg("interleaved").none())
      .def_prop_ro("workspace_size", &PlannedLayer::workspace_size)
      .def_prop_ro("first_kernel", &PlannedLayer::first_kernel)
      .def_prop_ro("second_kernel", &PlannedLayer::second_kernel)
      .def("run", &PlannedLayer::run, nb::arg("x").none(), nb::arg("expert_ids").none(),
           nb::arg("weights").none(), nb::arg("w_gate_up").none(), nb::arg("w_down").none(),
           nb::arg("out").none(), nb::arg("workspace").none(), nb::arg("stream").none());
}

}  // namespace estoc::python

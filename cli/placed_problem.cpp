// The operands of a problem where a kernel wants them: on the host, or copied to a CUDA device.
#include "placed_problem.h"

#include "target_choice.h"

namespace estoc::cli {

PlacedProblem::PlacedProblem(HostProblem& host, Target target) : host_(host) {
  if (target.is_cpu()) return;
  const Device device = device_for(target);
  const Problem& problem = host.problem();
  const bool unary = problem.operation == Operation::elementwise && !is_binary(*problem.op);
  Copies& copies = copies_.emplace();
  copies.a = DeviceTensor::copy_of(host.a(), device);
  if (!unary) copies.b = DeviceTensor::copy_of(host.b(), device);
  copies.out = DeviceTensor::copy_of(host.out(), device);
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < host.tensors().size(); ++i) {
    const bool by_value = host.filled().operands[i].spec.value.has_value();
    copies.tensors.push_back(by_value ? DeviceTensor()
                                      : DeviceTensor::copy_of(host.tensors()[i], device));
    views.push_back(copies.tensors.back().view());
  }
  copies.arguments =
      make_arguments(host.filled(), copies.a.view(), unary ? copies.a.view() : copies.b.view(),
                     copies.out.view(), views);
}

const RuntimeArguments& PlacedProblem::arguments() const {
  return copies_ ? *copies_->arguments : host_.arguments();
}

void PlacedProblem::poison() {
  if (!copies_) return host_.poison();
  copies_->out.fill(poison_byte(copies_->out.view().dtype()));
  for (const std::size_t i : epilogue_outputs()) {
    DeviceTensor& tensor = copies_->tensors[i];
    tensor.fill(poison_byte(tensor.view().dtype()));
  }
}

void PlacedProblem::fetch_output() {
  if (!copies_) return;
  copies_->out.copy_to(host_.out());
  for (const std::size_t i : epilogue_outputs())
    copies_->tensors[i].copy_to(host_.tensors()[i]);
}

std::vector<std::size_t> PlacedProblem::epilogue_outputs() const {
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < host_.tensors().size(); ++i) {
    if (host_.filled().operands[i].is_output) outputs.push_back(i);
  }
  return outputs;
}

}  // namespace estoc::cli

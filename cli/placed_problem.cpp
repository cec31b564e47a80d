// The operands of a problem where a kernel wants them: on the host, or copied to a CUDA device.
#include "placed_problem.h"

#include <utility>

#include "target_choice.h"

namespace estoc::cli {

PlacedProblem::PlacedProblem(HostProblem& host, Target target) : host_(host) {
  if (target.is_cpu()) return;
  const Device device = device_for(target);
  Copies& copies = copies_.emplace();
  std::vector<Operand> operands;
  for (const NamedOperand& operand : host.arguments().operands()) {
    operands.push_back(operand_with(operand, [&](const TensorView& view) {
      const bool is_data = &view == operand.tensor;
      auto& held = is_data ? copies.operands : copies.scales;
      if (!is_data && operand.role == OperandRole::output) copies.out_scale = held.size();
      return held.emplace_back(DeviceTensor::copy_of(view, device)).view();
    }));
  }
  std::vector<EpilogueOperand> epilogue;
  for (const EpilogueOperand& operand : host.arguments().epilogue().operands()) {
    const TensorView* tensor = operand.tensor();
    copies.tensors.push_back(tensor == nullptr ? DeviceTensor()
                                               : DeviceTensor::copy_of(*tensor, device));
    if (tensor == nullptr) {
      epilogue.push_back(operand);
    } else {
      epilogue.emplace_back(operand.name, copies.tensors.back().view());
    }
  }
  copies.arguments = host.arguments().with_operands(operands, std::move(epilogue));
}

const RuntimeArguments& PlacedProblem::arguments() const {
  return copies_ ? *copies_->arguments : host_.arguments();
}

void PlacedProblem::poison() {
  if (!copies_) return host_.poison();
  for (const std::size_t i : outputs()) {
    DeviceTensor& tensor = copies_->operands[i];
    tensor.fill(poison_byte(tensor.view().dtype()));
  }
  if (copies_->out_scale) {
    DeviceTensor& scale = copies_->scales[*copies_->out_scale];
    scale.fill(poison_byte(scale.view().dtype()));
  }
  for (const std::size_t i : epilogue_outputs()) {
    DeviceTensor& tensor = copies_->tensors[i];
    tensor.fill(poison_byte(tensor.view().dtype()));
  }
}

void PlacedProblem::fetch_output() {
  if (!copies_) return;
  const OperandList operands = host_.arguments().operands();
  for (const std::size_t i : outputs())
    copies_->operands[i].copy_to(*operands[i].tensor);
  if (copies_->out_scale) copies_->scales[*copies_->out_scale].copy_to(host_.out_scale());
  for (const std::size_t i : epilogue_outputs())
    copies_->tensors[i].copy_to(host_.tensors()[i]);
}

std::vector<std::size_t> PlacedProblem::outputs() const {
  std::vector<std::size_t> outputs;
  const OperandList operands = host_.arguments().operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].role == OperandRole::output) outputs.push_back(i);
  return outputs;
}

std::vector<std::size_t> PlacedProblem::epilogue_outputs() const {
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < host_.tensors().size(); ++i) {
    if (host_.filled().operands[i].is_output) outputs.push_back(i);
  }
  return outputs;
}

}  // namespace estoc::cli

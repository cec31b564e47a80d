// Places random operands, runs kernels on them and judges the outputs.
#include "tune/trial.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "estoc/check.hpp"
#include "tune/epilogue_outputs.h"

namespace estoc::tuning {
namespace {

/// A NaN of every float, and no whole number that a product is likely to give.
constexpr std::uint8_t kPoison = 0xff;

}  // namespace

Trial::Trial(const Problem& problem, Device device, std::uint64_t seed, int threads)
    : threads_(threads), seed_(seed) {
  const auto described = problem.arguments(Device::cpu());
  std::vector<Operand> operands;
  for (const NamedOperand& operand : described->operands()) {
    const bool is_output = operand.role == OperandRole::output;
    operands.push_back(
        operand_with(operand, [&](const TensorView& view) { return add(view, is_output); }));
    if (!is_output && operands.back().is_scaled()) clear_scale_signs(*operands.back().scaled());
    if (operand.role == OperandRole::index) {
      problem.fill_index(operands.back().tensor(), operand.name);
    }
  }
  std::vector<EpilogueOperand> epilogue;
  for (const EpilogueOperand& operand : described->epilogue().operands()) {
    if (operand.tensor() == nullptr) {
      epilogue.push_back(operand);
    } else {
      const bool is_output = is_epilogue_output(described->epilogue(), epilogue.size());
      epilogue.emplace_back(operand.name, add(*operand.tensor(), is_output));
    }
  }
  on_host_ = described->with_operands(operands, std::move(epilogue));
  if (device.is_cuda()) copy_to(device);
}

TensorView Trial::add(const TensorView& like, bool is_output) {
  const auto bytes = static_cast<std::size_t>(like.span_bytes());
  std::byte* const data = memory_.emplace_back(new std::byte[bytes]).get();
  const TensorView view(data, like.dtype(), like.shape(), like.strides());
  if (is_output) {
    host_outputs_.push_back(view);
  } else {
    fill_random(view, seed_ + inputs_++);
  }
  return view;
}

void Trial::copy_to(Device device) {
  const auto copy = [&](const TensorView& host) {
    device_memory_.push_back(DeviceTensor::copy_of(host, device));
    const bool is_output = std::ranges::any_of(
        host_outputs_, [&](const TensorView& output) { return output.data() == host.data(); });
    if (is_output) device_outputs_.push_back(device_memory_.size() - 1);
    return device_memory_.back().view();
  };
  std::vector<Operand> operands;
  for (const NamedOperand& operand : on_host_->operands())
    operands.push_back(operand_with(operand, copy));
  std::vector<EpilogueOperand> epilogue;
  for (const EpilogueOperand& operand : on_host_->epilogue().operands()) {
    if (operand.tensor() == nullptr) {
      epilogue.push_back(operand);
    } else {
      epilogue.emplace_back(operand.name, copy(*operand.tensor()));
    }
  }
  on_device_ = on_host_->with_operands(operands, std::move(epilogue));
}

void Trial::poison() {
  if (on_device_) {
    for (const std::size_t output : device_outputs_)
      device_memory_[output].fill(kPoison);
    return;
  }
  for (const TensorView& output : host_outputs_)
    std::memset(output.data(), kPoison, static_cast<std::size_t>(output.span_bytes()));
}

std::string Trial::judge(const Kernel& kernel) {
  poison();
  kernel.run(arguments(), {.threads = threads_});
  CheckOptions options;
  options.seed = seed_;
  options.threads = threads_;
  if (!on_device_) {
    const CheckResult result = check_output(*on_host_, options);
    return result.passed ? "" : result.worst;
  }
  if (!check_) {
    DeviceCheckOptions on_device;
    on_device.host = options;
    check_.emplace(*on_device_, on_device);
  }
  const CheckResult result = check_->check();
  return result.passed ? "" : result.worst;
}

}  // namespace estoc::tuning

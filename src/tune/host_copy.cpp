// Copies arguments from a device.
#include "tune/host_copy.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "jit/driver.h"
#include "tune/epilogue_outputs.h"

namespace estoc::tuning {
namespace {

void download(const TensorView& device, const TensorView& host) {
  const auto bytes = static_cast<std::size_t>(device.span_bytes());
  if (bytes == 0) return;
  const jit::ContextScope scope(device.device().index);
  const auto address = reinterpret_cast<std::uintptr_t>(device.data());
  jit::driver().check(jit::driver().memcpy_dtoh(host.data(), address, bytes), "cuMemcpyDtoH");
}

}  // namespace

bool is_epilogue_output(const EpilogueArguments& epilogue, std::size_t operand) {
  const auto& outputs = epilogue.state().assignment_operands;
  return std::find(outputs.begin(), outputs.end(), static_cast<std::int16_t>(operand)) !=
         outputs.end();
}

HostCopy::HostCopy(const RuntimeArguments& on_device) : on_device_(on_device.clone()) {
  std::vector<Operand> operands;
  for (const NamedOperand& operand : on_device.operands()) {
    const bool is_output = operand.role == OperandRole::output;
    operands.push_back(
        operand_with(operand, [&](const TensorView& view) { return add(view, is_output); }));
  }
  std::vector<EpilogueOperand> epilogue;
  for (const EpilogueOperand& operand : on_device.epilogue().operands()) {
    if (operand.tensor() == nullptr) {
      epilogue.push_back(operand);
    } else {
      const bool is_output = is_epilogue_output(on_device.epilogue(), epilogue.size());
      epilogue.emplace_back(operand.name, add(*operand.tensor(), is_output));
    }
  }
  on_host_ = on_device.with_operands(operands, std::move(epilogue));
}

TensorView HostCopy::add(const TensorView& view, bool is_output) {
  const auto bytes = static_cast<std::size_t>(view.span_bytes());
  std::byte* const data = memory_.emplace_back(new std::byte[bytes]).get();
  const TensorView host(data, view.dtype(), view.shape(), view.strides());
  if (is_output) {
    outputs_.push_back({view, host});
  } else {
    download(view, host);
  }
  return host;
}

void HostCopy::fetch_outputs() {
  for (const Pair& output : outputs_)
    download(output.device, output.host);
}

}  // namespace estoc::tuning

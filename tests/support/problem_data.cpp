// Making operands, copying them to a device and back.
#include "support/problem_data.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "estoc/check.hpp"
#include "estoc/numeric.hpp"

namespace estoc::testing_support {
namespace {

constexpr std::size_t kOperandAlignment = 256;
// Far from the seeds of other tensors.
constexpr std::uint64_t kScaleSeed = 1000;

/// Calls action(offset in elements) for each element, in row-major order.
template <typename Action>
void for_each_element(const TensorView& view, const Action& action, int mode = 0,
                      std::int64_t offset = 0) {
  if (mode == view.rank()) {
    action(offset);
    return;
  }
  for (std::int64_t i = 0; i < view.shape(mode); ++i)
    for_each_element(view, action, mode + 1, offset + i * view.stride(mode));
}

/// Bits after the point of a number that every type of its width can hold.
int mantissa_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::e2m1:
      return 0;
    case Dtype::e5m2:
      return 2;
    case Dtype::e4m3:
      return 3;
    case Dtype::bf16:
      return 7;
    default:
      return 10;
  }
}

double draw(std::mt19937_64& random, Dtype dtype, Values values) {
  if (dtype == Dtype::e8m0) return std::ldexp(1.0, static_cast<int>(random() % 5) - 2);
  if (dtype == Dtype::boolean) return static_cast<double>(random() % 2);
  const bool whole = dtype == Dtype::i8 || dtype == Dtype::u8 || dtype == Dtype::i32;
  if (values == Values::integers || whole) {
    return static_cast<double>(random() % 7) - (dtype == Dtype::u8 ? 0 : 3);
  }
  const int bits = mantissa_bits(dtype);
  const double fraction = std::ldexp(static_cast<double>(random() % (1U << bits)), -bits);
  const double value = std::ldexp(1 + fraction, -static_cast<int>(random() % 7));
  return random() % 2 == 0 ? value : -value;
}

}  // namespace

ProblemData::ProblemData(const Problem& problem, std::uint64_t seed, Values values) {
  const auto described = problem.arguments();
  std::vector<Operand> operands;
  std::vector<EpilogueOperand> epilogue_operands;
  for (const NamedOperand& operand : described->operands()) {
    const bool input = operand.role == OperandRole::input;
    std::uint64_t of_tensor = seed + operands.size();
    operands.push_back(operand_with(operand, [&](const TensorView& view) {
      const TensorView placed = add(view, input, of_tensor, values);
      of_tensor += kScaleSeed;
      return placed;
    }));
    if (input && operands.back().is_scaled()) make_positive(*operands.back().scaled());
    if (operand.role == OperandRole::index) fill_index(problem, operand.name);
  }
  const EpilogueArguments& epilogue = described->epilogue();
  for (const EpilogueOperand& operand : epilogue.operands()) {
    if (operand.tensor() == nullptr) {
      epilogue_operands.push_back(operand);
      continue;
    }
    const auto& inputs = epilogue.program().inputs();
    const bool input = std::find(inputs.begin(), inputs.end(), operand.name) != inputs.end();
    epilogue_operands.emplace_back(operand.name, add(*operand.tensor(), input, ++seed + 1, values));
  }
  arguments_ = described->with_operands(operands, std::move(epilogue_operands));
}

void ProblemData::fill_index(const Problem& problem, const char* operand) {
  Tensor& index = *tensors_.back();
  problem.fill_index(index.view, operand);
  for_each_element(index.view, [&](std::int64_t offset) {
    index.values.push_back(load_element(Dtype::i32, index.view.data(), offset));
  });
}

void ProblemData::make_positive(const ScaledTensor& scaled) {
  if (scaled.scale.dtype() != Dtype::e4m3) return;
  clear_scale_signs(scaled);
  for (const auto& tensor : tensors_) {
    if (tensor->view.data() != scaled.scale.data()) continue;
    for (double& value : tensor->values)
      value = std::fabs(value);
  }
}

TensorView ProblemData::add(const TensorView& described, bool input, std::uint64_t seed,
                            Values values) {
  Tensor& tensor = *tensors_.emplace_back(std::make_unique<Tensor>());
  const auto bytes = static_cast<std::size_t>(described.span_bytes());
  tensor.storage.assign(bytes + kOperandAlignment, std::byte{0xa5});
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.storage.data());
  std::byte* data =
      tensor.storage.data() + (kOperandAlignment - address % kOperandAlignment) % kOperandAlignment;
  tensor.view = TensorView(data, described.dtype(), described.shape(), described.strides());
  if (!input) return tensor.view;
  std::mt19937_64 random(seed);
  for_each_element(described, [&](std::int64_t offset) {
    tensor.values.push_back(draw(random, described.dtype(), values));
    store_element(described.dtype(), data, offset, tensor.values.back());
  });
  return tensor.view;
}

void ProblemData::poison() {
  for (const auto& tensor : tensors_) {
    if (!tensor->values.empty()) continue;
    std::fill(tensor->storage.begin(), tensor->storage.end(), std::byte{0xa5});
  }
}

std::vector<std::byte> ProblemData::outputs() const {
  std::vector<std::byte> all;
  for (const auto& tensor : tensors_) {
    if (!tensor->values.empty()) continue;
    const auto* data = static_cast<const std::byte*>(tensor->view.data());
    all.insert(all.end(), data, data + tensor->view.span_bytes());
  }
  return all;
}

std::vector<double> ProblemData::magnitudes() const {
  const auto m = static_cast<std::size_t>(tensors_[2]->view.shape(0));
  const auto n = static_cast<std::size_t>(tensors_[2]->view.shape(1));
  const auto k = static_cast<std::size_t>(tensors_[0]->view.shape(1));
  std::vector<double> sums(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t at = 0; at < k; ++at)
      for (std::size_t j = 0; j < n; ++j)
        sums[i * n + j] +=
            std::fabs(tensors_[0]->values[i * k + at] * tensors_[1]->values[at * n + j]);
  return sums;
}

OnDevice::OnDevice(const ProblemData& data, Device device) {
  for (const auto& tensor : data.tensors_)
    tensors_.push_back(DeviceTensor::copy_of(tensor->view, device));
  std::size_t next = 0;
  const auto place = [&](const TensorView& /*view*/) { return tensors_[next++].view(); };
  std::vector<Operand> operands;
  for (const NamedOperand& operand : data.arguments().operands())
    operands.push_back(operand_with(operand, place));
  std::vector<EpilogueOperand> epilogue;
  for (const EpilogueOperand& operand : data.arguments().epilogue().operands()) {
    if (operand.tensor() == nullptr) {
      epilogue.push_back(operand);
    } else {
      epilogue.emplace_back(operand.name, place(*operand.tensor()));
    }
  }
  arguments_ = data.arguments().with_operands(operands, std::move(epilogue));
}

void OnDevice::read_back(ProblemData& data) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (data.tensors_[i]->values.empty()) tensors_[i].copy_to(data.tensors_[i]->view);
  }
}

}  // namespace estoc::testing_support

// The modes of an elementwise operation as simt_elementwise walks them.
#include "providers/cuda/modes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace estoc::cuda {
namespace {

static_assert(kMaxRank <= abi::kElementwiseRank);

constexpr std::size_t kOut = 0;
constexpr std::size_t kA = 1;
constexpr std::size_t kFirstTensor = 2;

unsigned long long address(const TensorView& view) {
  return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(view.data()));
}

bool is_aligned(const TensorView& view, std::int64_t bytes) {
  if (view.data() == nullptr) return view.alignment() >= bytes;
  return address(view) % static_cast<std::uint64_t>(bytes) == 0;
}

}  // namespace

Modes::Modes(const ElementwiseArguments& arguments)
    : operands_(arguments), modes_(operands_.views()) {
  const bool packed = is_packed(arguments.out().dtype());
  if (modes_.rank() == 0) {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      modes_[0].strides[i] = 1;
  } else if (packed && modes_[0].strides[kOut] != 1 && modes_.rank() < kMaxRank) {
    model::CommonModes::Mode single;
    single.strides[kOut] = 1;
    modes_.prepend(single);
  }
}

Status Modes::keeps_bytes() const {
  const TensorView& out = operands_.view(kOut);
  if (!is_packed(out.dtype())) return Status::success();
  bool whole = modes_[0].strides[kOut] == 1;
  for (int i = 1; i < rank(); ++i)
    whole = whole && modes_[i].strides[kOut] % 2 == 0;
  if (whole) return Status::success();
  return Status::fail(
      Reason::layout,
      fmt::format("out.strides: expected 1 and even ones, so that no byte of packed "
                  "{} has elements of two rows, got ({})",
                  dtype_name(out.dtype()), fmt::join(out.strides(), ", ")));
}

Status Modes::fits_vectors(int vector) const {
  for (std::size_t operand = kA; operand < operands_.size(); ++operand) {
    if (Status status = fits_vectors(operand, vector); !status.ok()) return status;
  }
  return fits_vectors(kOut, vector);
}

Status Modes::fits_vectors(std::size_t operand, int vector) const {
  const TensorView& view = operands_.view(operand);
  const std::int64_t inner = modes_[0].strides[operand];
  if (inner == 0 && operand != kOut) return Status::success();  // one element, repeated
  if (inner != 1) {
    return Status::fail(Reason::layout,
                        fmt::format("{}.strides: expected stride 1 along out's innermost mode, "
                                    "got {}",
                                    operands_.name(operand), inner));
  }
  const std::int64_t bytes = std::int64_t{vector} * dtype_bits(view.dtype()) / 8;
  bool fits = is_aligned(view, bytes);
  for (int i = 1; i < rank(); ++i)
    fits = fits && modes_[i].strides[operand] % vector == 0;
  if (fits) return Status::success();
  return Status::fail(Reason::alignment,
                      fmt::format("{}.alignment: expected a multiple of {} bytes, got {}",
                                  operands_.name(operand), bytes, view.alignment()));
}

abi::SimtElementwiseParameters Modes::parameters(int vector) const {
  abi::SimtElementwiseParameters p{};
  p.a = address(operands_.view(kA));
  p.out = address(operands_.view(kOut));
  p.row_vectors = (modes_[0].extent + vector - 1) / vector;
  p.vectors = p.row_vectors;
  for (int i = 0; i < kMaxRank; ++i) {
    p.extent[i] = modes_[i].extent;
    p.a_stride[i] = modes_[i].strides[kA];
    p.out_stride[i] = modes_[i].strides[kOut];
    if (i > 0) p.vectors *= modes_[i].extent;
  }
  return p;
}

abi::ElementwiseTensor Modes::tensor(std::size_t tensor) const {
  abi::ElementwiseTensor parameters{};
  parameters.address = address(operands_.view(kFirstTensor + tensor));
  for (int i = 0; i < kMaxRank; ++i)
    parameters.stride[i] = modes_[i].strides[kFirstTensor + tensor];
  return parameters;
}

}  // namespace estoc::cuda

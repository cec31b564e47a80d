// Allocates and fills operands.
#include "operands.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <span>
#include <utility>

#include "estoc/check.hpp"
#include "failure.h"
#include "text.h"

namespace estoc::cli {
namespace {

bool has_nan_bytes(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::e2m1;
}

// Beyond this many bytes, what lies between the elements is not touched: it takes no memory then.
constexpr std::int64_t kFilledWhole = std::int64_t{1} << 28;

bool is_sparse(const TensorView& tensor) {
  if (tensor.span_bytes() <= kFilledWhole || dtype_bits(tensor.dtype()) < 8) return false;
  std::int64_t bytes = dtype_bits(tensor.dtype()) / 8;
  for (const std::int64_t extent : tensor.shape())
    bytes *= extent;
  return tensor.span_bytes() / 4 > bytes;
}

void fill_elements(std::byte* first, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> strides, std::int64_t bytes, std::uint8_t value) {
  if (shape.empty()) {
    std::memset(first, value, static_cast<std::size_t>(bytes));
    return;
  }
  for (std::int64_t i = 0; i < shape[0]; ++i)
    fill_elements(first + i * strides[0] * bytes, shape.subspan(1), strides.subspan(1), bytes,
                  value);
}

void fill_with_poison(const TensorView& tensor) {
  if (tensor.span_bytes() == 0) return;
  const std::uint8_t value = poison_byte(tensor.dtype());
  auto* data = static_cast<std::byte*>(tensor.data());
  if (is_sparse(tensor)) {
    fill_elements(data, tensor.shape(), tensor.strides(), dtype_bits(tensor.dtype()) / 8, value);
  } else {
    std::memset(data, value, static_cast<std::size_t>(tensor.span_bytes()));
  }
}

}  // namespace

std::uint8_t poison_byte(Dtype dtype) {
  return has_nan_bytes(dtype) ? 0xFF : 0xCD;
}

HostBuffer::HostBuffer(std::int64_t bytes, const char* what) {
  if (bytes == 0) return;
  bytes_ = static_cast<std::size_t>(bytes);
  void* pages = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    throw Failure(Exit::memory, fmt::format("{}: cannot allocate {}", what, format_bytes(bytes)),
                  "the operands and the output must fit in memory together");
  }
  ::madvise(pages, bytes_, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(pages);
}

HostBuffer::~HostBuffer() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostProblem::HostProblem(FilledProblem filled, std::uint64_t seed) : filled_(std::move(filled)) {
  const Problem& problem = filled_.problem;
  const bool unary = has_one_operand(problem);
  a_ = operand(problem.a, filled_.a_shape, filled_.a, a_buffer_, "A");
  b_ = unary ? a_ : operand(problem.b, filled_.b_shape, filled_.b, b_buffer_, "B");
  out_ = operand(problem.out, filled_.out_shape, std::nullopt, out_buffer_, "out");
  for (const FilledOperand& each : filled_.operands)
    make_tensor(each);
  const std::uint64_t scale_seed = seed + 2 + filled_.operands.size();
  const Operand a = scaled(problem.a, a_, filled_.a, 1, scale_seed, "A");
  const Operand b = unary ? a : scaled(problem.b, b_, filled_.b, 2, scale_seed + 2, "B");
  arguments_ = make_arguments(
      filled_, {a, b, quantised(problem.out, out_), make_index("offsets", offsets_buffer_),
                make_index("rows", rows_buffer_), tensors_});
  if (!filled_.a) fill_random(a_, seed);
  if (!filled_.b && !unary) fill_random(b_, seed + 1);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const FilledOperand& each = filled_.operands[i];
    const bool random = !each.is_output && !each.file && !each.spec.value;
    if (random) fill_random(tensors_[i], seed + 2 + i);
  }
}

void HostProblem::poison() {
  fill_with_poison(out_);
  if (out_scale_.span_bytes() > 0) fill_with_poison(out_scale_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (filled_.operands[i].is_output) fill_with_poison(tensors_[i]);
  }
}

TensorView HostProblem::make_index(const char* name, HostBuffer& buffer) const {
  const auto described = described_index(filled_.problem, name, Device::cpu());
  if (!described) return {};
  buffer = HostBuffer(described->span_bytes(), name);
  const TensorView index = TensorView::row_major(buffer.data(), Dtype::i32, described->shape());
  filled_.problem.fill_index(index, name);
  return index;
}

Operand HostProblem::quantised(const OperandSpec& spec, const TensorView& data) {
  if (!spec.scale) return data;
  ScaledTensor tensor = describe_scaled(*spec.scale, data, data.rank() - 1, "out");
  scales_.emplace_back(tensor.scale.span_bytes(), "out.scale");
  void* const memory = tensor.scale.span_bytes() == 0 ? nullptr : scales_.back().data();
  out_scale_ = tensor.scale = tensor.scale.moved(memory, "out.scale");
  return tensor;
}

Operand HostProblem::scaled(const OperandSpec& spec, const TensorView& data,
                            const std::optional<FileOperand>& file, int k_from_end,
                            std::uint64_t seed, const char* what) {
  if (!spec.scale) return data;
  if (file && file->scale) return ScaledTensor{data, file->scale->view, file->scale->mode};
  const auto filled = [&](const TensorView& described) {
    scales_.emplace_back(described.span_bytes(), what);
    void* const memory = described.span_bytes() == 0 ? nullptr : scales_.back().data();
    const TensorView view = described.moved(memory, what);
    fill_random(view, seed++);
    return view;
  };
  ScaledTensor tensor = describe_scaled(*spec.scale, data, data.rank() - k_from_end, what);
  tensor.scale = filled(tensor.scale);
  clear_scale_signs(tensor);
  if (tensor.tensor_scale) tensor.tensor_scale = filled(*tensor.tensor_scale);
  return tensor;
}

void HostProblem::make_tensor(const FilledOperand& each) {
  HostBuffer buffer;
  TensorView tensor;
  if (each.file) {
    tensor = each.file->view();
  } else if (!each.spec.value) {
    const TensorView described = describe_operand(each, Device::cpu());
    const std::int64_t offset = each.spec.tensor.alignment.value_or(256) % 256;
    buffer = HostBuffer(described.span_bytes() + offset, each.spec.name.c_str());
    void* const data = described.span_bytes() == 0 ? nullptr : buffer.data() + offset;
    tensor = TensorView(data, described.dtype(), each.shape, each.strides, Device::cpu(),
                        each.spec.name.c_str());
  }
  buffers_.push_back(std::move(buffer));
  tensors_.push_back(tensor);
}

TensorView HostProblem::operand(const OperandSpec& spec, const std::vector<std::int64_t>& shape,
                                const std::optional<FileOperand>& file, HostBuffer& buffer,
                                const char* what) {
  if (file) return file->view;
  const std::vector<std::int64_t> strides = operand_strides(spec, shape);
  const auto described =
      TensorView::describe(*spec.dtype, shape, strides, Device::cpu(), 256, what);
  // Where the text promises little alignment, the operand gets no more than that.
  const std::int64_t offset = spec.alignment.value_or(256) % 256;
  buffer = HostBuffer(described.span_bytes() + offset, what);
  void* data = described.span_bytes() == 0 ? nullptr : buffer.data() + offset;
  return TensorView(data, *spec.dtype, shape, strides, Device::cpu(), what);
}

}  // namespace estoc::cli

// Allocates and fills operands.
#include "operands.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "estoc/check.hpp"
#include "failure.h"
#include "text.h"

namespace estoc::cli {
namespace {

bool has_nan_bytes(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::e2m1;
}

}  // namespace

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
  const bool unary = problem.operation == Operation::elementwise && !is_binary(*problem.op);
  a_ = operand(problem.a, filled_.a_shape, filled_.a, a_buffer_, "A");
  b_ = unary ? a_ : operand(problem.b, filled_.b_shape, filled_.b, b_buffer_, "B");
  out_ = operand(problem.out, filled_.out_shape, std::nullopt, out_buffer_, "out");
  arguments_ = make_arguments(problem, a_, b_, out_);
  if (!filled_.a) fill_random(a_, seed);
  if (!filled_.b && !unary) fill_random(b_, seed + 1);
}

void HostProblem::poison() {
  if (out_.span_bytes() == 0) return;
  std::memset(out_.data(), has_nan_bytes(out_.dtype()) ? 0xFF : 0xCD,
              static_cast<std::size_t>(out_.span_bytes()));
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

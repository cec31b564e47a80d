// The modes of an elementwise operation, ordered and merged so that a kernel has few to walk.
#include "providers/cuda/modes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace estoc::cuda {

static_assert(kMaxRank <= abi::kElementwiseRank);

Modes::Modes(const ElementwiseArguments& arguments) {
  const TensorView& out = arguments.out();
  for (int mode = out.rank() - 1; mode >= 0; --mode) {
    if (out.shape(mode) == 1) continue;
    modes_[static_cast<std::size_t>(rank_++)] = {out.shape(mode), arguments.a().stride(mode),
                                                 arguments.b().stride(mode), out.stride(mode)};
  }
  std::stable_sort(modes_.begin(), modes_.begin() + rank_,
                   [](const Mode& x, const Mode& y) { return x.out < y.out; });
  int kept = 0;
  for (int i = 1; i < rank_; ++i) {
    Mode& inner = modes_[static_cast<std::size_t>(kept)];
    const Mode outer = modes_[static_cast<std::size_t>(i)];
    const bool merges = outer.out == inner.out * inner.extent &&
                        outer.a == inner.a * inner.extent && outer.b == inner.b * inner.extent;
    if (merges) {
      inner.extent *= outer.extent;
    } else {
      modes_[static_cast<std::size_t>(++kept)] = outer;
    }
  }
  if (rank_ > 0) rank_ = kept + 1;
  for (std::size_t i = static_cast<std::size_t>(rank_); i < modes_.size(); ++i)
    modes_[i] = {};
  if (rank_ == 0) {
    modes_[0] = {1, 1, 1, 1};
    rank_ = 1;
  }
  if (is_packed(out.dtype()) && modes_[0].out != 1 && rank_ < abi::kElementwiseRank) {
    std::rotate(modes_.begin(), modes_.end() - 1, modes_.end());
    modes_[0] = {1, 0, 0, 1};
    ++rank_;
  }
}

Status Modes::keeps_bytes(const ElementwiseArguments& arguments) const {
  const TensorView& out = arguments.out();
  if (!is_packed(out.dtype())) return Status::success();
  bool whole = modes_[0].out == 1;
  for (int i = 1; i < rank_; ++i)
    whole = whole && modes_[static_cast<std::size_t>(i)].out % 2 == 0;
  if (whole) return Status::success();
  return Status::fail(
      Reason::layout,
      fmt::format("out.strides: expected 1 and even ones, so that no byte of packed "
                  "{} has elements of two rows, got ({})",
                  dtype_name(out.dtype()), fmt::join(out.strides(), ", ")));
}

Status Modes::fits_vectors(const ElementwiseArguments& arguments, int vector) const {
  struct Checked {
    const char* what;
    const TensorView& view;
    std::int64_t Mode::*stride;
  };
  const std::array operands{Checked{"A", arguments.a(), &Mode::a},
                            Checked{"B", arguments.b(), &Mode::b},
                            Checked{"out", arguments.out(), &Mode::out}};
  for (const auto& [what, view, stride] : operands) {
    const std::int64_t inner = modes_[0].*stride;
    const bool repeated = inner == 0 && stride != &Mode::out;
    if (inner != 1 && !repeated) {
      return Status::fail(Reason::layout,
                          fmt::format("{}.strides: expected stride 1 along out's innermost mode, "
                                      "got {}",
                                      what, inner));
    }
    if (repeated) continue;
    const std::int64_t bytes = std::int64_t{vector} * dtype_bits(view.dtype()) / 8;
    bool fits = view.data() == nullptr ? view.alignment() >= bytes
                                       : reinterpret_cast<std::uintptr_t>(view.data()) %
                                                 static_cast<std::uintptr_t>(bytes) ==
                                             0;
    for (int i = 1; i < rank_; ++i) {
      fits = fits && (modes_[static_cast<std::size_t>(i)].*stride) % vector == 0;
    }
    if (!fits) {
      return Status::fail(Reason::alignment,
                          fmt::format("{}.alignment: expected a multiple of {} bytes, got {}", what,
                                      bytes, view.alignment()));
    }
  }
  return Status::success();
}

abi::SimtElementwiseParameters Modes::parameters(const ElementwiseArguments& arguments,
                                                 int vector) const {
  auto address = [](const TensorView& view) {
    return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(view.data()));
  };
  abi::SimtElementwiseParameters p{};
  p.a = address(arguments.a());
  p.b = address(arguments.b());
  p.out = address(arguments.out());
  p.row_vectors = (modes_[0].extent + vector - 1) / vector;
  p.vectors = p.row_vectors;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    p.extent[i] = modes_[i].extent;
    p.a_stride[i] = modes_[i].a;
    p.b_stride[i] = modes_[i].b;
    p.out_stride[i] = modes_[i].out;
    if (i > 0) p.vectors *= modes_[i].extent;
  }
  return p;
}

}  // namespace estoc::cuda

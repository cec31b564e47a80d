// Drawing problems for a kernel, and judging its output.
#include "problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "estoc/check.hpp"
#include "estoc/problem.hpp"
#include "harness/tensor.h"

namespace estoc::cover {
namespace {

using Random = std::mt19937_64;

// Views are taken to be aligned as their address is.
constexpr std::size_t kAlignment = 256;

std::int64_t draw_number(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

bool one_in(Random& random, int n) {
  return draw_number(random, 1, n) == 1;
}

HostTensor host_tensor(Dtype dtype, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides) {
  HostTensor tensor;
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    elements += std::max<std::int64_t>(shape[i] - 1, 0) * strides[i];
  const auto bytes = static_cast<std::size_t>(elements * dtype_bits(dtype) / 8) + 1;
  tensor.storage.assign(bytes + kAlignment, std::byte{0xa5});
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.storage.data());
  std::byte* data = tensor.storage.data() + (kAlignment - address % kAlignment) % kAlignment;
  tensor.view = TensorView(data, dtype, shape, strides);
  return tensor;
}

/// Where a matrix operand is and what it holds.
struct Plane {
  std::int64_t rows;
  std::int64_t columns;
  Dtype dtype;
  char letter;  ///< of its layout: t, n, or x for any
  int alignment;
};

HostTensor draw_operand(const Plane& plane, std::int64_t batches, Random& random) {
  const bool row_major = plane.letter == 'x' ? one_in(random, 2) : plane.letter == 't';
  const int bits = dtype_bits(plane.dtype);
  const std::int64_t step = std::max<std::int64_t>(plane.alignment * 8 / bits, bits < 8 ? 2 : 1);
  const std::int64_t inner = row_major ? plane.columns : plane.rows;
  const std::int64_t outer = row_major ? plane.rows : plane.columns;
  const std::int64_t extra = one_in(random, 3) ? step : 0;
  const std::int64_t line = std::max<std::int64_t>((inner + step - 1) / step * step + extra, 1);
  std::vector<std::int64_t> shape{plane.rows, plane.columns};
  std::vector<std::int64_t> strides{row_major ? line : 1, row_major ? 1 : line};
  if (batches > 1) {
    shape.insert(shape.begin(), batches);
    strides.insert(strides.begin(), line * std::max<std::int64_t>(outer, 1));
  }
  return host_tensor(plane.dtype, shape, strides);
}

std::byte* element_at(const TensorView& view, std::int64_t l, std::int64_t i, std::int64_t j) {
  const auto strides = view.strides();
  const std::size_t first = strides.size() - 2;
  std::int64_t offset = i * strides[first] + j * strides[first + 1];
  if (first == 1) offset += l * strides[0];
  return static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data()))) +
         offset * dtype_bits(view.dtype()) / 8;
}

void put(Dtype dtype, std::byte* to, double value) {
  harness::put(static_cast<abi::Type>(dtype), to, value);
}

/// Values of an operand, drawn and written to its memory.
std::vector<double> fill(const HostTensor& tensor, std::int64_t batches, std::int64_t rows,
                         std::int64_t columns, Random& random) {
  const int lowest =
      tensor.view.dtype() == Dtype::u8 || tensor.view.dtype() == Dtype::boolean ? 0 : -3;
  const int count = tensor.view.dtype() == Dtype::boolean ? 2 : 7;
  std::vector<double> values;
  for (std::int64_t l = 0; l < batches; ++l) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        values.push_back(lowest + static_cast<int>(draw_number(random, 0, count - 1)));
        put(tensor.view.dtype(), element_at(tensor.view, l, i, j), values.back());
      }
    }
  }
  return values;
}

struct Extents {
  std::int64_t m, n, k, l;
};

Extents draw_extents(const DesignPoint& point, Random& random) {
  Shape3 tile{32, 32, 16};
  if (point.space().find(Role::tile) >= 0) tile = point.shape(Role::tile);
  const auto extent = [&](std::int64_t of_tile) {
    switch (draw_number(random, 0, 5)) {
      case 0:
        return draw_number(random, 1, 9);
      case 1:
        return of_tile;
      default:
        return draw_number(random, 1, of_tile + of_tile / 2 + 9);
    }
  };
  Extents e{extent(tile.m), extent(tile.n), draw_number(random, 1, 200), 1};
  if (one_in(random, 12)) e.k = draw_number(random, 0, 1);
  if (one_in(random, 5)) e.l = draw_number(random, 2, 3);
  return e;
}

std::vector<double> product(const Extents& e, const std::vector<double>& a,
                            const std::vector<double>& b) {
  std::vector<double> out(static_cast<std::size_t>(e.l * e.m * e.n));
  for (std::int64_t row = 0; row < e.l * e.m; ++row) {
    double* sums = out.data() + row * e.n;
    for (std::int64_t k = 0; k < e.k; ++k) {
      const double factor = a[static_cast<std::size_t>(row * e.k + k)];
      const double* line = b.data() + (row / e.m * e.k + k) * e.n;
      for (std::int64_t j = 0; j < e.n; ++j)
        sums[j] += factor * line[j];
    }
  }
  return out;
}

Dtype dtype_of(const DesignPoint& point, Role role, Dtype otherwise) {
  return point.space().find(role) < 0 ? otherwise : point.dtype(role);
}

int alignment_of(const DesignPoint& point, Role role) {
  return point.space().find(role) < 0 ? 1 : point.integer(role);
}

char letter_of(const DesignPoint& point, std::size_t operand) {
  return point.space().find(Role::layouts) < 0 ? 'x' : point.value(Role::layouts).text[operand];
}

// A draw for a GEMM kernel: the operands, and the expected output's bytes.
std::unique_ptr<RuntimeArguments> draw_gemm(const DesignPoint& point, Random& random,
                                            std::vector<HostTensor>& tensors,
                                            std::vector<std::byte>& expected) {
  const Extents e = draw_extents(point, random);
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = dtype_of(point, Role::b_dtype, a);
  const bool integers = a == Dtype::i8 || a == Dtype::u8 || a == Dtype::i32;
  const Dtype sums = dtype_of(point, Role::accumulator_type,
                              a == Dtype::f64 ? Dtype::f64
                              : integers      ? Dtype::i32
                                              : Dtype::f32);
  const Dtype out = dtype_of(point, Role::out_dtype, sums);
  tensors.push_back(draw_operand(
      {e.m, e.k, a, letter_of(point, 0), alignment_of(point, Role::a_alignment)}, e.l, random));
  tensors.push_back(draw_operand(
      {e.k, e.n, b, letter_of(point, 1), alignment_of(point, Role::b_alignment)}, e.l, random));
  tensors.push_back(draw_operand(
      {e.m, e.n, out, letter_of(point, 2), alignment_of(point, Role::out_alignment)}, e.l, random));
  const std::vector<double> values_a = fill(tensors[0], e.l, e.m, e.k, random);
  const std::vector<double> values_b = fill(tensors[1], e.l, e.k, e.n, random);
  const std::vector<double> values = product(e, values_a, values_b);
  std::size_t index = 0;
  for (std::int64_t l = 0; l < e.l; ++l) {
    for (std::int64_t i = 0; i < e.m; ++i) {
      for (std::int64_t j = 0; j < e.n; ++j)
        put(out, element_at(tensors[2].view, l, i, j), values[index++]);
    }
  }
  expected = tensors[2].storage;
  PerformanceControls controls;
  controls.fast_accumulation = point.space().find("sums") >= 0;
  return std::make_unique<GemmArguments>(tensors[0].view, tensors[1].view, tensors[2].view, sums,
                                         controls);
}

std::unique_ptr<RuntimeArguments> draw_elementwise(const DesignPoint& point, Random& random,
                                                   std::vector<HostTensor>& tensors) {
  const std::int64_t rows = draw_number(random, 1, 60);
  std::int64_t columns = draw_number(random, 1, 90);
  const Dtype a = point.dtype(Role::a_dtype);
  const auto op = static_cast<ElementwiseOp>(point.value(Role::op).numbers[0]);
  Plane planes[] = {{rows, columns, a, 't', alignment_of(point, Role::a_alignment)},
                    {rows, columns, dtype_of(point, Role::b_dtype, a), 't',
                     alignment_of(point, Role::b_alignment)},
                    {rows, columns, dtype_of(point, Role::out_dtype, a), 't',
                     alignment_of(point, Role::out_alignment)}};
  // Rows of types that are stored two to a byte are even.
  for (const Plane& plane : planes)
    if (dtype_bits(plane.dtype) < 8) columns = (columns + 1) / 2 * 2;
  for (Plane& plane : planes)
    plane.columns = columns;
  // One run where the kernel wants that.
  const bool flat = one_in(random, 2);
  for (const Plane& plane : planes) {
    const std::int64_t count = rows * columns;
    tensors.push_back(flat ? host_tensor(plane.dtype, {count}, {1})
                           : draw_operand(plane, 1, random));
  }
  fill_random(tensors[0].view, random());
  fill_random(tensors[1].view, random());
  if (is_binary(op)) {
    return std::make_unique<ElementwiseArguments>(op, tensors[0].view, tensors[1].view,
                                                  tensors[2].view);
  }
  return std::make_unique<ElementwiseArguments>(op, tensors[0].view, tensors[2].view);
}

}  // namespace

std::unique_ptr<CoverProblem> CoverProblem::draw(const Kernel& kernel, Target target,
                                                 Random& random, std::string& reason) {
  const DesignPoint& point = kernel.point();
  for (int attempt = 0; attempt < 60; ++attempt) {
    auto problem = std::make_unique<CoverProblem>();
    try {
      problem->arguments_ = kernel.kernel_class().operation() == Operation::gemm
                                ? draw_gemm(point, random, problem->tensors_, problem->expected_)
                                : draw_elementwise(point, random, problem->tensors_);
    } catch (const Error& error) {
      reason = error.what();
      continue;
    }
    const Status status = kernel.supports(*problem->arguments_, target);
    if (status.ok()) return problem;
    reason = status.error();
  }
  return nullptr;
}

std::string CoverProblem::text() const {
  return Problem::of(*arguments_).to_string();
}

void CoverProblem::poison() {
  std::fill(tensors_[2].storage.begin(), tensors_[2].storage.end(), std::byte{0xa5});
}

std::string CoverProblem::wrong() const {
  if (expected_.empty()) {
    const CheckResult result = check_output(*arguments_, {.threads = 1, .progress = {}});
    return result.passed ? "" : result.worst;
  }
  const std::vector<std::byte>& got = tensors_[2].storage;
  const auto at = std::mismatch(expected_.begin(), expected_.end(), got.begin()).first;
  if (at == expected_.end()) return {};
  const auto* data = static_cast<const std::byte*>(tensors_[2].view.data());
  const auto byte = (at - expected_.begin()) - (data - got.data());
  return fmt::format("byte {} of out, or of a gap between its rows, is wrong", byte);
}

}  // namespace estoc::cover

// Operands, parameters and grids of GEMM kernels, as the kernel classes make them.
#include "gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace estoc::harness {
namespace {

using abi::SimtGemmConfig;
using abi::SimtGemmParameters;
using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;
using abi::Type;
using abi::Vectors;

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

// How an operand lies in memory: which mode is contiguous, and to what lines are aligned.
struct Layout {
  bool rows_inner;
  int align;
};

struct Layouts {
  Layout a;
  Layout b;
  Layout out;
};

Layouts layouts_of(const SimtGemmConfig& c) {
  const auto align = [](Vectors v) { return v == Vectors::none ? 1 : 16; };
  return {{c.a_vectors == Vectors::next_to_last, align(c.a_vectors)},
          {c.b_vectors == Vectors::next_to_last, align(c.b_vectors)},
          {false, c.out_vectors ? 16 : 1}};
}

Layouts layouts_of(const Sm80GemmConfig& c) {
  return {{c.a_m_major, c.a_copy}, {!c.b_n_major, c.b_copy}, {false, c.out_vectors ? 16 : 1}};
}

Layouts layouts_of(const Sm90GemmConfig& c) {
  return {{c.a_m_major, 16}, {!c.b_n_major, 16}, {false, c.tma_store ? 16 : 1}};
}

// CUtensorMapDataType
int driver_type(Type type) {
  switch (type) {
    case Type::f16:
      return 6;
    case Type::f32:
      return 7;
    case Type::f64:
      return 8;
    case Type::bf16:
      return 9;
    case Type::tf32:
      return 11;
    case Type::i32:
      return 3;
    default:
      return 0;
  }
}

abi::TensorMap map_of(const Tensor& tensor, unsigned long long address, int box_inner,
                      int box_outer, int swizzle_bytes, Encode encode) {
  const auto bytes = static_cast<std::uint64_t>(abi::type_bytes(tensor.shape().type));
  const auto inner = static_cast<std::uint64_t>(tensor.inner());
  const auto outer = static_cast<std::uint64_t>(tensor.outer());
  const std::uint64_t extents[] = {inner, outer,
                                   static_cast<std::uint64_t>(tensor.shape().batches)};
  const auto batch = static_cast<std::uint64_t>(tensor.batch_stride()) * bytes;
  const std::uint64_t strides[] = {batch / outer, batch};
  const std::uint32_t box[] = {static_cast<std::uint32_t>(box_inner),
                               static_cast<std::uint32_t>(box_outer), 1};
  const std::uint32_t ones[] = {1, 1, 1};
  const int swizzle = swizzle_bytes == 128 ? 3 : swizzle_bytes == 64 ? 2 : 1;
  alignas(64) abi::TensorMap map{};
  const int result = encode(&map, driver_type(tensor.shape().type), 3,
                            reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
                            extents, strides, box, ones, 0, swizzle, 3, 0);
  if (result == 0) return map;
  throw std::invalid_argument(fmt::format("encoding a tensor map of {} x {} failed with {}",
                                          tensor.outer(), tensor.inner(), result));
}

// What simt_gemm and sm80_gemm have in common.
template <typename Parameters, typename AnyConfig>
Parameters tiled_parameters(const AnyConfig& c, const Problem& problem, const Operands& o,
                            const Addresses& at) {
  Parameters p{};
  p.a = o.a.matrix(at.a);
  p.b = o.b.matrix(at.b);
  p.out = o.out.matrix(at.out);
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.k;
  p.l = problem.l;
  p.tiles_m = static_cast<unsigned>(ceil_div(problem.m, c.tile_m));
  p.tiles_n = static_cast<unsigned>(ceil_div(problem.n, c.tile_n));
  p.group = 2;
  return p;
}

Parameters parameters_of(const SimtGemmConfig& c, const Problem& problem, const Operands& o,
                         const Addresses& at, Encode /*encode*/) {
  return tiled_parameters<SimtGemmParameters>(c, problem, o, at);
}

Parameters parameters_of(const Sm80GemmConfig& c, const Problem& problem, const Operands& o,
                         const Addresses& at, Encode /*encode*/) {
  return tiled_parameters<Sm80GemmParameters>(c, problem, o, at);
}

Parameters parameters_of(const Sm90GemmConfig& c, const Problem& problem, const Operands& o,
                         const Addresses& at, Encode encode) {
  Sm90GemmParameters p{};
  const int inner = 128 / abi::type_bytes(c.a);
  if (problem.k > 0) {
    p.a = map_of(o.a, at.a, inner, c.a_m_major ? c.tile_k() : c.tile_m / c.cluster_n, 128, encode);
    p.b = map_of(o.b, at.b, inner, c.b_n_major ? c.tile_k() : c.tile_n / c.cluster_m, 128, encode);
  }
  if (c.tma_store) {
    p.out = map_of(o.out, at.out, c.store_columns(), 64, c.store_row_bytes(), encode);
  }
  p.out_raw = o.out.matrix(at.out);
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.k;
  p.l = problem.l;
  p.tiles_m = ceil_div(problem.m, c.tile_m * c.cluster_m);
  p.tiles_n = ceil_div(problem.n, c.tile_n * c.cluster_n);
  p.along_n = problem.along_n;
  p.group = std::min(2, problem.along_n ? p.tiles_n : p.tiles_m);
  p.a_batched = p.b_batched = problem.l > 1;
  p.zigzag = true;
  return p;
}

template <typename AnyConfig>
Geometry tiled_geometry(const AnyConfig& c, const Problem& problem) {
  const auto tiles =
      static_cast<unsigned>(ceil_div(problem.m, c.tile_m) * ceil_div(problem.n, c.tile_n));
  return {{tiles, 1, problem.ctas},
          static_cast<unsigned>(c.threads()),
          static_cast<unsigned>(c.shared_bytes()),
          {1, 1, 1}};
}

Geometry geometry_of(const SimtGemmConfig& c, const Problem& problem) {
  return tiled_geometry(c, problem);
}

Geometry geometry_of(const Sm80GemmConfig& c, const Problem& problem) {
  return tiled_geometry(c, problem);
}

Geometry geometry_of(const Sm90GemmConfig& c, const Problem& problem) {
  const auto size = static_cast<unsigned>(c.cluster_size());
  return {{problem.ctas * size, 1, 1},
          static_cast<unsigned>(c.threads()),
          static_cast<unsigned>(c.shared_bytes()),
          {size, 1, 1}};
}

}  // namespace

Operands make_operands(const Config& config, const Problem& problem, unsigned seed) {
  return std::visit(
      [&](const auto& c) {
        const Layouts layouts = layouts_of(c);
        const auto [m, n, k, l, ctas, along_n] = problem;
        return Operands{Tensor({c.a, m, k, l, layouts.a.rows_inner, layouts.a.align}, seed),
                        Tensor({c.b, k, n, l, layouts.b.rows_inner, layouts.b.align}, seed + 1),
                        Tensor({c.out, m, n, l, layouts.out.rows_inner, layouts.out.align}, 0)};
      },
      config);
}

Parameters make_parameters(const Config& config, const Problem& problem, const Operands& operands,
                           const Addresses& addresses, Encode encode) {
  return std::visit(
      [&](const auto& c) { return parameters_of(c, problem, operands, addresses, encode); },
      config);
}

Geometry make_geometry(const Config& config, const Problem& problem) {
  return std::visit([&](const auto& c) { return geometry_of(c, problem); }, config);
}

void compute_product(Operands& operands) {
  const Tensor::Shape& out = operands.out.shape();
  const int k = operands.a.shape().columns;
  for (int l = 0; l < out.batches; ++l) {
    for (int i = 0; i < out.rows; ++i) {
      for (int j = 0; j < out.columns; ++j)
        operands.out.value(l, i, j) = 0;
      for (int x = 0; x < k; ++x) {
        const double factor = operands.a.value(l, i, x);
        for (int j = 0; j < out.columns; ++j)
          operands.out.value(l, i, j) += factor * operands.b.value(l, x, j);
      }
    }
  }
}

void* address_of(Parameters& parameters) {
  return std::visit([](auto& held) -> void* { return &held; }, parameters);
}

}  // namespace estoc::harness

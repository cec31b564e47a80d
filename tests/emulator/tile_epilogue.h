// Runs a problem with an epilogue by sm90_gemm on the emulator.
#pragma once

#include <stdexcept>

#include "epilogue_case.h"

#include <estoc/kernels/sm90_gemm.cuh>

namespace estoc::epilogue_test {

using abi::Schedule;
using abi::Sm90EpilogueShape;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

template <Sm90GemmConfig config, typename E>
void sm90_kernel(const Sm90GemmParameters parameters, const typename E::Parameters epilogue,
                 const typename epilogue::MappedFused<E>::Maps maps) {
  sm90_gemm<config>(parameters, epilogue::MappedFused<E>{epilogue, maps});
}

/// The configuration with the room that `E` takes.
template <typename E>
constexpr Sm90GemmConfig with(Sm90GemmConfig config, int columns, int depth, int store_depth,
                              bool rolled = false) {
  Sm90EpilogueShape& s = config.epilogue;
  s.columns = columns;
  s.store_depth = store_depth;
  s.rolled = rolled;
  for (int i = 0; i < E::kTensors; ++i) {
    const epilogue::TensorSpec spec = E::kTensor[i];
    const int held = spec.held == Type::f64 ? 8 : 4;
    const int extent = spec.n ? config.tile_n : spec.m ? config.consumer_rows() : 1;
    if (spec.m && spec.n) s.load_bytes += 64 * columns * abi::type_bytes(spec.type);
    if (!spec.m || !spec.n) s.value_bytes += (extent * held + 15) / 16 * 16;
  }
  s.load_depth = s.load_bytes > 0 ? depth : 0;
  s.value_bytes = (s.value_bytes + 8 * E::kScalars + 15) / 16 * 16;
  for (int i = 0; i < E::kStores; ++i)
    s.store_bytes += 64 * columns * abi::type_bytes(E::kStore[i].type);
  return config;
}

constexpr Sm90GemmConfig sm90(Type type, Type out, int tile_m, int tile_n, Schedule schedule,
                              int cluster_m = 1) {
  return {type,      type,   type == Type::i8 ? Type::i32 : Type::f32,
          out,       false,  false,
          tile_m,    tile_n, 3,
          cluster_m, 1,      schedule,
          false,     true};
}

inline abi::TensorMap map_of(Tensor& tensor, int columns, int rows, int batches, int box_columns,
                             int box_rows) {
  const auto size = static_cast<std::uint64_t>(tensor.size());
  const auto stride = [size](i64 elements) { return static_cast<std::uint64_t>(elements) * size; };
  const std::uint64_t extents[] = {static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(batches)};
  const std::uint64_t strides[] = {stride(tensor.at.row_stride),
                                   std::max<std::uint64_t>(stride(tensor.at.batch_stride), 16)};
  const std::uint32_t box[] = {static_cast<std::uint32_t>(box_columns),
                               static_cast<std::uint32_t>(box_rows), 1};
  const std::uint32_t ones[] = {1, 1, 1};
  const int driver_type = tensor.type == Type::bf16  ? 9
                          : tensor.type == Type::f16 ? 6
                          : tensor.type == Type::f32 ? 7
                          : tensor.type == Type::f64 ? 8
                          : tensor.type == Type::i32 ? 3
                                                     : 0;
  const int row_bytes = box_columns * static_cast<int>(tensor.size());
  const int swizzle = row_bytes == 128 ? 3 : row_bytes == 64 ? 2 : row_bytes == 32 ? 1 : 0;
  alignas(64) std::array<std::byte, sizeof(abi::TensorMap)> encoded{};
  const int result = emulator::encode_tiled(encoded.data(), driver_type, 3, tensor.words.data(),
                                            extents, strides, box, ones, 0, swizzle, 3, 0);
  if (result != 0) throw std::runtime_error(emulator::encode_problem());
  return std::bit_cast<abi::TensorMap>(encoded);
}

inline bool can_map(const Tensor& tensor) {
  const i64 size = static_cast<i64>(tensor.size());
  return tensor.at.column_stride == 1 && tensor.at.row_stride * size % 16 == 0 &&
         tensor.at.batch_stride * size % 16 == 0;
}

/// Tensors have a map where they can, when `maps`.
template <Sm90GemmConfig config, typename E>
Outcome run_tile(Case<E> c, unsigned clusters, double tolerance = 0, bool use_maps = true,
                 const emulator::Options& options = {}, bool in_place = false) {
  using Fused = epilogue::MappedFused<E>;
  const Extents& e = c.e;
  const int columns = config.epilogue.columns;
  const int inner = 128 / abi::type_bytes(config.a);
  const int high = config.tile_m * config.cluster_m;
  const int wide = config.tile_n * config.cluster_n;
  // B is K-major: its transpose, in the memory of its own.
  Tensor b(config.b, {e.l, e.n, e.k, 0}, true, true, true, Lay::padded);
  for (int l = 0; l < e.l; ++l) {
    for (int k = 0; k < e.k; ++k) {
      for (int n = 0; n < e.n; ++n)
        std::memcpy(b.where(l, n, k), c.b.where(l, k, n), b.size());
    }
  }
  Sm90GemmParameters p{};
  p.a = map_of(c.a, e.k, e.m, e.l, inner, config.tile_m / config.cluster_n);
  p.b = map_of(b, e.k, e.n, e.l, inner, config.tile_n / config.cluster_m);
  p.m = e.m;
  p.n = e.n;
  p.k = e.k;
  p.l = e.l;
  p.a_batched = p.b_batched = true;
  p.zigzag = true;
  p.tiles_m = (e.m + high - 1) / high;
  p.tiles_n = (e.n + wide - 1) / wide;
  p.group = 1;
  const int blocks = (e.m + 63) / 64;
  const int tiles = (e.n + config.tile_n - 1) / config.tile_n;
  auto epilogue = c.parameters(tiles, 4 * blocks, 4 * blocks * tiles);
  typename Fused::Maps maps{};
  if (in_place) {
    std::memcpy(c.stores[0].words.data(), c.tensors[0].words.data(), c.stores[0].bytes());
    epilogue.tensor[0].at = c.stores[0].at;
  }
  for (int i = 0; i < E::kTensors; ++i) {
    Tensor& tensor = in_place && i == 0 ? c.stores[0] : c.tensors[static_cast<std::size_t>(i)];
    if (!use_maps || !Fused::matrix(i) || !can_map(tensor)) continue;
    const bool batched = tensor.at.batch_stride != 0;
    epilogue.tensor[i].tma = batched ? abi::TmaMode::batched : abi::TmaMode::plain;
    maps.map[Fused::matrices(i)] = map_of(tensor, e.n, e.m, batched ? e.l : 1, columns, 64);
  }
  for (int i = 0; i < E::kStores && i <= abi::kEpilogueMaps; ++i) {
    Tensor& tensor = c.stores[static_cast<std::size_t>(i)];
    if (!use_maps || !can_map(tensor)) continue;
    epilogue.store[i].tma = abi::TmaMode::batched;
    (i == 0 ? p.out : maps.map[Fused::kMappedInputs + i - 1]) =
        map_of(tensor, e.n, e.m, e.l, columns, 64);
  }
  const auto size = static_cast<unsigned>(config.cluster_size());
  emulator::Options used = c.options(options);
  used.memory.push_back({b.words.data(), b.bytes(), "B", false});
  used.cluster = {size, 1, 1};
  void* arguments[] = {&p, &epilogue, &maps};
  return c.outcome(
      emulator::launch(emulator::entry<sm90_kernel<config, E>>, {clusters * size, 1, 1},
                       static_cast<unsigned>(config.threads()),
                       static_cast<unsigned>(config.shared_bytes()), arguments, used),
      tolerance, options);
}

}  // namespace estoc::epilogue_test

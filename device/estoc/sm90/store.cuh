// What a consumer of an sm_90 kernel does with the accumulators of an item.
#pragma once

#include <estoc/epilogue/tile.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/sm90/cta.cuh>
#include <estoc/tile/store.cuh>
#include <estoc/tile/transposed_store.cuh>

namespace estoc::sm90 {

/// The accumulators of a warpgroup.
struct WgmmaFragment : Quad<4> {
  template <typename Value, int count>
  __device__ __forceinline__ static Value value(const Value (&block)[count], int x) {
    return ptx::acc_value(block[x]);
  }
  template <int count>
  __device__ __forceinline__ static float value(const u32 (&block)[count], int x) {
    return element_of<Type::f32, Type::f16>(Words<1>{ptx::acc_value(block[x / 2])}, x % 2);
  }
  __device__ __forceinline__ static WgmmaFragment of(u32 thread) { return {Quad::of(thread)}; }
};

/// What one consumer stores.
template <Sm90GemmConfig config>
inline constexpr TileShape kTileShape{config.consumer_rows(), config.place_columns(),
                                      config.store_columns()};

/// Without an epilogue, through shared memory by TMA.
template <Sm90GemmConfig config>
struct TmaStore {
  using Epilogue = epilogue::Identity;
  static constexpr bool kLoads = false;

  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p, const Epilogue& /*none*/,
                                            u32 staging, u32 barrier, u32 thread) {
    return TmaTileStore<WgmmaFragment, kTileShape<config>, config.out>(p.out, staging, barrier,
                                                                       thread);
  }
};

/// The same to an output whose contiguous mode is M.
template <Sm90GemmConfig config>
struct TransposedTmaStore {
  using Epilogue = epilogue::Identity;
  static constexpr bool kLoads = false;

  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p, const Epilogue& /*none*/,
                                            u32 staging, u32 barrier, u32 thread) {
    return TransposedTileStore<WgmmaFragment, config.place_columns(), config.kBufferColumns,
                               config.kBoxColumns, config.out>(p.out, staging, barrier, thread);
  }
};

/// Without an epilogue, element by element.
template <Sm90GemmConfig config>
struct DirectStore {
  using Epilogue = epilogue::Identity;
  static constexpr bool kLoads = false;

  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p, const Epilogue& /*none*/,
                                            u32 /*staging*/, u32 /*barrier*/, u32 thread) {
    return DirectTileStore<WgmmaFragment, kTileShape<config>, config.out>(p.out_raw, p.m, p.n,
                                                                          thread);
  }
};

/// Through an epilogue, whose inputs a warp of the producer brings.
template <Sm90GemmConfig config, typename E>
struct FusedStore {
  using Epilogue = epilogue::MappedFused<E>;
  using Layout = epilogue::EpilogueLayout<WgmmaFragment, kTileShape<config>, config.epilogue, E>;
  static constexpr bool kLoads = config.epilogue.loads();

  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p, const Epilogue& fused,
                                            u32 staging, u32 barrier, u32 thread) {
    return epilogue::TileEpilogue<Layout, E, abi::GroupedMode::none, config.pair_columns()>(
        p.out, fused, staging, barrier, thread, p.m, p.n);
  }
  __device__ __forceinline__ static auto loader(const Sm90GemmParameters& p, const Epilogue& fused,
                                                u32 staging) {
    return epilogue::TileLoader<Layout, E>(fused, staging, p.m, p.n);
  }
  __device__ __forceinline__ static void init_barriers(u32 staging) {
    Layout{staging}.init_barriers();
  }
};

/// The store of a configuration and an epilogue.
template <Sm90GemmConfig config, typename Epilogue>
struct StoreOf {
  using type = Either<config.out_m_major, TransposedTmaStore<config>,
                      Either<config.tma_store, TmaStore<config>, DirectStore<config>>>;
};
template <Sm90GemmConfig config, typename E>
struct StoreOf<config, epilogue::MappedFused<E>> {
  using type = FusedStore<config, E>;
};

}  // namespace estoc::sm90

// How a consumer of an sm_90 kernel multiplies the stages of an item.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/sm90/cta.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm90 {

/// The accumulators of one consumer warpgroup: blocks of 64 rows. Those of f16 are packed, two to a
/// register.
template <Sm90GemmConfig config>
struct Accumulators {
  using Sum = SumOf<config.accumulator>;
  static constexpr int kBlocks = config.consumer_rows() / 64;
  static constexpr int kRegisters = config.tile_n / 2 / Sum::kCount;  ///< of each block
  typename Sum::type block[kBlocks][kRegisters];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] = 0;
    }
  }
  __device__ __forceinline__ void use() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      ptx::acc_use(block[i]);
  }
  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] *= factor;
    }
  }
  __device__ __forceinline__ void add(const Accumulators& other) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] += other.block[i][j];
    }
  }
};

/// A consumer at the ring: what it reads of a stage, and how it hands the stage back.
template <Sm90GemmConfig config>
struct StageReader {
  const Cta<config>& cta;
  u32 consumer;
  u32 thread;  ///< of the warpgroup

  /// For a stage of an item, `left` of whose stages are not summed yet. `loaded`: is_loaded() said
  /// so.
  __device__ __forceinline__ void wait(const RingPosition<config.stages>& at, i32 /*left*/,
                                       bool loaded = false) const {
    if (!loaded) cta.shared.ring().wait_full(at);
  }

  /// Whether the stage's bytes have arrived, or do so very soon.
  __device__ __forceinline__ bool is_loaded(const RingPosition<config.stages>& at) const {
    return ptx::mbarrier_try_wait(cta.shared.ring().full(at.stage), at.phase);
  }

  /// Starts the products of a stage with this consumer's rows.
  __device__ __forceinline__ void multiply(Accumulators<config>& acc, u32 stage, bool add) const {
    using LayoutA = OperandLayout<config.a_m_major, config.tile_k()>;
    using LayoutB = OperandLayout<config.b_n_major, config.tile_k()>;
    constexpr int kSteps = 4;  // of 32 bytes each
    constexpr u32 kOwnRows = config.schedule == Schedule::cooperative
                                 ? config.consumer_rows() / 64 * LayoutA::kStep64
                                 : 0;
    const u64 descriptor_a = LayoutA::descriptor(cta.shared.a(stage) + consumer * kOwnRows);
    const u64 descriptor_b = LayoutB::descriptor(cta.shared.b(stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, config.b_n_major>(
            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * LayoutA::kStepK) >> 4),
            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);
      }
    }
    ptx::wgmma_commit_group();
  }

  /// Releases a stage: tells each CTA that loads for this one. The four warps of a wgmma read
  /// operands together and are done with them together, which CUTLASS relies on too: one warp tells
  /// once its products are complete. Each warp tells by itself where it has read more.
  __device__ __forceinline__ void release(u32 stage) const {
    constexpr bool kWarps = config.releases() > 1;
    const u32 barrier = cta.shared.ring().empty(stage);
    if constexpr (kWarps) ptx::bar_warp_sync();
    const u32 lane = kWarps ? thread % 32 : thread;
    if constexpr (config.cluster_size() == 1) {
      if (lane == 0) ptx::mbarrier_arrive(barrier);
    } else {
      if (lane >= config.cluster_size()) return;
      const auto sharers = cta.place.sharers_of_a() | cta.place.sharers_of_b();
      if ((sharers >> lane & 1) != 0) ptx::mbarrier_arrive_cluster(barrier, lane);
    }
  }
};

/// The tensor core adds up all of K. A stage is released when the products after it have started.
template <Sm90GemmConfig config>
struct WgmmaSums {
  /// The sums of `k_tiles` stages from `at` on; `issued()` is called when the last products have
  /// started.
  template <typename Reader, typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at, const Reader& reader,
                                             const Issued& issued) {
    if (k_tiles == 0) acc.clear();
    u32 last = at.stage;
#pragma unroll 1
    for (i32 k = 0; k < k_tiles; ++k, at.advance()) {
      reader.wait(at, k_tiles - k);
      reader.multiply(acc, at.stage, k > 0);
      if (k > 0) {
        ptx::wgmma_wait_group<1>();
        reader.release(last);
      }
      last = at.stage;
    }
    issued();
    ptx::wgmma_wait_group<0>();
    acc.use();
    if (k_tiles > 0) reader.release(last);
  }
};

/// Sums of stages that are added to f32 registers one after the other. The tensor core is at the
/// next stage meanwhile, if there are registers for two. `Terms` says how they are added: a type
/// Factors, factors(stage), add(acc, sums, factors), whether that reads the stage: kReadsStage, and
/// with how many sums a thread has the registers for two stages: kMaxOverlapped.
template <Sm90GemmConfig config, typename Reader, typename Terms>
class AddedStages {
 public:
  __device__ __forceinline__ AddedStages(Accumulators<config>& acc, RingPosition<config.stages>& at,
                                         const Reader& reader, const Terms& terms)
      : acc_(acc), at_(at), reader_(reader), terms_(terms) {}

  template <typename Issued>
  __device__ __forceinline__ void sum(i32 k_tiles, const Issued& issued) {
    acc_.clear();
    if constexpr (kOverlap) {
      overlapped(k_tiles, issued);
    } else {
      one_by_one(k_tiles);
      issued();
    }
  }

 private:
  static constexpr int kRegisters =
      Accumulators<config>::kBlocks * Accumulators<config>::kRegisters;
  static constexpr bool kOverlap = kRegisters <= Terms::kMaxOverlapped;

  struct Stage {
    Accumulators<config> sums;
    typename Terms::Factors factors;
    u32 index;
  };

  __device__ __forceinline__ void start(Stage& stage, i32 left) {
    reader_.wait(at_, left);
    issue(stage);
  }
  __device__ __forceinline__ void issue(Stage& stage) {
    reader_.multiply(stage.sums, at_.stage, false);
    // Without it ptxas puts the last product behind the loads of factors.
    if constexpr (!kOverlap) ptx::bar_warp_sync();
    stage.index = at_.stage;
    at_.advance();
    stage.factors = terms_.factors(stage.index);
  }
  /// When `pending` products that were started later may still be under way.
  template <int pending>
  __device__ __forceinline__ void finish(Stage& stage) {
    ptx::wgmma_wait_group<pending>();
    stage.sums.use();
    if constexpr (!Terms::kReadsStage) reader_.release(stage.index);
    terms_.add(acc_, stage.sums, stage.factors);
    if constexpr (Terms::kReadsStage) reader_.release(stage.index);
  }
  __device__ __forceinline__ void one_by_one(i32 left) {
    Stage stage;
    bool loaded = false;
#pragma unroll 1
    for (; left > 0; --left) {
      reader_.wait(at_, left, loaded);
      issue(stage);
      // So that the next products start as soon as these are added.
      loaded = left > 1 && reader_.is_loaded(at_);
      finish<0>(stage);
    }
  }
  template <typename Issued>
  __device__ __forceinline__ void overlapped(i32 left, const Issued& issued) {
    if (left == 0) {
      issued();
      return;
    }
    Stage even;
    Stage odd;
    start(even, left);
#pragma unroll 1
    for (; left > 2; left -= 2) {
      start(odd, left - 1);
      finish<1>(even);
      start(even, left - 2);
      finish<1>(odd);
    }
    if (left == 2) {
      start(odd, 1);
      issued();
      finish<1>(even);
      finish<0>(odd);
    } else {
      issued();
      finish<0>(even);
    }
  }

  Accumulators<config>& acc_;
  RingPosition<config.stages>& at_;
  const Reader& reader_;
  const Terms& terms_;
};

/// For narrow floats: what the tensor core adds up with few bits is added to f32 registers after
/// each stage.
template <Sm90GemmConfig config>
struct PromotedSums {
  struct Terms {
    static constexpr bool kReadsStage = false;
    static constexpr int kMaxOverlapped = 64;
    struct Factors {};
    __device__ __forceinline__ Factors factors(u32 /*stage*/) const { return {}; }
    __device__ __forceinline__ void add(Accumulators<config>& acc, const Accumulators<config>& sums,
                                        const Factors& /*factors*/) const {
      acc.add(sums);
    }
  };
  template <typename Reader, typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at, const Reader& reader,
                                             const Issued& issued) {
    const Terms terms;
    AddedStages<config, Reader, Terms>(acc, at, reader, terms).sum(k_tiles, issued);
  }
};

/// Six products of planes, in three groups of which each is 2^8 times as large as the one before.
/// Tensor cores truncate, so that sums are added to f32 registers every 256 of K, and every 64 in
/// the last group, which counts most.
template <Sm90GemmConfig config>
struct PlaneSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at,
                                             const StageReader<config>& reader,
                                             const Issued& issued) {
    const i32 tiles = k_tiles / 6;
    Accumulators<config> some;
    acc.clear();
#pragma unroll 1
    for (i32 product = 0; product < 6; ++product) {
      if (product == 3 || product == 5) acc.scale(0x1p-8f);
      const i32 most = product < 5 ? 4 : 1;
#pragma unroll 1
      for (i32 left = tiles; left > 0; left -= most) {
        WgmmaSums<config>::sum(some, left < most ? left : most, at, reader,
                               []() __attribute__((always_inline)){});
        acc.add(some);
      }
    }
    issued();
  }
};

}  // namespace estoc::sm90

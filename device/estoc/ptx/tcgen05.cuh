// Tensor memory and the products that leave their sums there (PTX ISA 9.7.16, tcgen05): all but
// loads and stores, which tcgen05_memory.cuh has.
//
// Tensor memory has 128 lanes of 512 columns of 32 bits; an address is lane << 16 | column. `group`
// is the .cta_group: 1, or 2 where the CTAs of a cluster whose ranks differ in bit 0 work as a
// pair; a kernel uses one of the two. Products, copies and commits of a pair are issued by its even
// CTA.
#pragma once

#include <estoc/abi/tcgen05.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

using abi::Tcgen05Kind;
using abi::TensorSource;

/// tcgen05.alloc: writes the address of `columns` columns to shared memory. A warp calls it; it
/// waits until so many are free. Of a pair, a warp in each CTA calls it.
template <int group, int columns>
__device__ __forceinline__ void tcgen05_alloc(u32 shared, int = __builtin_LINE()) {
  static_assert(columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0);
  if constexpr (group == 1) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
                 "n"(columns)
                 : "memory");
  } else {
    static_assert(group == 2);
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
                 "n"(columns)
                 : "memory");
  }
}

/// tcgen05.dealloc of what one tcgen05_alloc gave. A warp calls it, before the CTA ends.
template <int group, int columns>
__device__ __forceinline__ void tcgen05_dealloc(u32 address, int = __builtin_LINE()) {
  static_assert(columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0);
  if constexpr (group == 1) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "n"(columns)
                 : "memory");
  } else {
    static_assert(group == 2);
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "n"(columns)
                 : "memory");
  }
}

/// tcgen05.relinquish_alloc_permit: the CTA allocates no more.
template <int group>
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit(int = __builtin_LINE()) {
  if constexpr (group == 1) {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
  } else {
    static_assert(group == 2);
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
  }
}

/// tcgen05.fence::before_thread_sync: between this thread's accesses to tensor memory, which have
/// been waited for, and the arrival that hands the memory over.
__device__ __forceinline__ void tcgen05_fence_before_thread_sync(int = __builtin_LINE()) {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

/// tcgen05.fence::after_thread_sync: between the wait that takes tensor memory over and this
/// thread's accesses.
__device__ __forceinline__ void tcgen05_fence_after_thread_sync(int = __builtin_LINE()) {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/// tcgen05.commit: the mbarrier gets one arrival when the products and copies that this thread has
/// issued are complete.
template <int group>
__device__ __forceinline__ void tcgen05_commit(u32 barrier, int = __builtin_LINE()) {
  if constexpr (group == 1) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
  } else {
    static_assert(group == 2);
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
  }
}

/// The same for the mbarriers at this place in each CTA of the cluster whose bit `ctas` has.
template <int group>
__device__ __forceinline__ void tcgen05_commit_multicast(u32 barrier, u32 ctas,
                                                         int = __builtin_LINE()) {
  if constexpr (group == 1) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[%0], %1;" ::"r"(barrier),
        "h"(static_cast<u16>(ctas))
        : "memory");
  } else {
    static_assert(group == 2);
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[%0], %1;" ::"r"(barrier),
        "h"(static_cast<u16>(ctas))
        : "memory");
  }
}

// clang-format off
#define ESTOC_TCGEN05_CP(group, shape, format)                                                 \
  asm volatile("tcgen05.cp.cta_group::" #group "." shape format " [%0], %1;" ::"r"(address),   \
               "l"(from) : "memory")
#define ESTOC_TCGEN05_FORMATS(group, shape)                                                    \
  if constexpr (source == TensorSource::bytes) ESTOC_TCGEN05_CP(group, shape, "");             \
  if constexpr (source == TensorSource::packed4)                                               \
    ESTOC_TCGEN05_CP(group, shape, ".b8x16.b4x16_p64");                                        \
  if constexpr (source == TensorSource::packed6)                                               \
    ESTOC_TCGEN05_CP(group, shape, ".b8x16.b6x16_p32")
#define ESTOC_TCGEN05_COPIES(shape)                                                            \
  static_assert(group == 1 || group == 2);                                                     \
  if constexpr (group == 1) {                                                                  \
    ESTOC_TCGEN05_FORMATS(1, shape);                                                           \
  } else {                                                                                     \
    ESTOC_TCGEN05_FORMATS(2, shape);                                                           \
  }
// clang-format on

/// tcgen05.cp.128x256b: row i of 32 bytes in shared memory goes to lane i, 8 columns from
/// `address` on. One thread issues it. `from` is a K-major matrix descriptor. Of a pair, each CTA
/// copies from its own shared memory. Elements of 4 bits get to the middle four bits of their byte,
/// those of 6 bits to the lower six.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_128x256b(u32 address, u64 from, int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("128x256b");
}

/// tcgen05.cp.4x256b: row i of 32 bytes, of 4, goes to the lane of `address`, of 0 to 31, plus
/// 32 * i.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_4x256b(u32 address, u64 from, int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("4x256b");
}

/// tcgen05.cp.128x128b: rows of 16 bytes and 4 columns.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_128x128b(u32 address, u64 from, int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("128x128b");
}

/// tcgen05.cp.64x128b.warpx2::02_13: row i of 16 bytes, of 64, goes to lanes i and i + 64.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_64x128b_warpx2_02_13(u32 address, u64 from,
                                                                int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("64x128b.warpx2::02_13");
}

/// tcgen05.cp.64x128b.warpx2::01_23: row i of the first 32 goes to lanes i and i + 32, of the
/// others to lanes i + 32 and i + 64.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_64x128b_warpx2_01_23(u32 address, u64 from,
                                                                int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("64x128b.warpx2::01_23");
}

/// tcgen05.cp.32x128b.warpx4: row i of 16 bytes, of 32, goes to lanes i, i + 32, i + 64 and i + 96.
template <int group, TensorSource source = TensorSource::bytes>
__device__ __forceinline__ void tcgen05_cp_32x128b_warpx4(u32 address, u64 from,
                                                          int = __builtin_LINE()) {
  ESTOC_TCGEN05_COPIES("32x128b.warpx4");
}

#undef ESTOC_TCGEN05_COPIES
#undef ESTOC_TCGEN05_FORMATS
#undef ESTOC_TCGEN05_CP

/// tcgen05.shift.down: of 8 columns from `address` on, whose lane is a multiple of 32, each lane
/// but the last goes to the next. One thread issues it. What documents say leaves open what the
/// first lane of each 32 gets; tcgen05_cp_4x256b writes these. sm_100a and sm_103a alone.
template <int group>
__device__ __forceinline__ void tcgen05_shift_down(u32 address, int = __builtin_LINE()) {
  if constexpr (group == 1) {
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(address) : "memory");
  } else {
    static_assert(group == 2);
    asm volatile("tcgen05.shift.cta_group::2.down [%0];" ::"r"(address) : "memory");
  }
}

namespace detail {

// The instruction of one kind and group, for A from shared memory (a 64-bit register) and from
// tensor memory (an address in brackets).
// clang-format off
#define ESTOC_TCGEN05_MMA(kind, group, a, a_class)                                             \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::" #group           \
               ".kind::" #kind " [%0], " a ", %2, %3, p;}" ::"r"(d), a_class, "l"(b),          \
               "r"(instruction), "r"(static_cast<u32>(add)) : "memory")
#define ESTOC_TCGEN05_KINDS(of_kind, group, a, a_class)                                        \
  if constexpr (of_kind == Tcgen05Kind::f16) ESTOC_TCGEN05_MMA(f16, group, a, a_class);        \
  if constexpr (of_kind == Tcgen05Kind::tf32) ESTOC_TCGEN05_MMA(tf32, group, a, a_class);      \
  if constexpr (of_kind == Tcgen05Kind::f8f6f4) ESTOC_TCGEN05_MMA(f8f6f4, group, a, a_class);  \
  if constexpr (of_kind == Tcgen05Kind::i8) ESTOC_TCGEN05_MMA(i8, group, a, a_class)
// clang-format on

template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma_shared(u32 d, u64 a, u64 b, u32 instruction, bool add) {
  static_assert(group == 1 || group == 2);
  if constexpr (group == 1) {
    ESTOC_TCGEN05_KINDS(kind, 1, "%1", "l"(a));
  } else {
    ESTOC_TCGEN05_KINDS(kind, 2, "%1", "l"(a));
  }
}

template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma_tensor(u32 d, u32 a, u64 b, u32 instruction, bool add) {
  static_assert(group == 1 || group == 2);
  if constexpr (group == 1) {
    ESTOC_TCGEN05_KINDS(kind, 1, "[%1]", "r"(a));
  } else {
    ESTOC_TCGEN05_KINDS(kind, 2, "[%1]", "r"(a));
  }
}

// clang-format off
#define ESTOC_TCGEN05_WEIGHED(kind, group)                                                     \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::" #group           \
               ".kind::" #kind " [%0], %1, %2, %3, p, %5;}" ::"r"(d), "l"(a), "l"(b),          \
               "r"(instruction), "r"(static_cast<u32>(add)), "n"(halvings) : "memory")
#define ESTOC_TCGEN05_MASKED_1(kind)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" #kind    \
               " [%0], %1, %2, %3, {%5, %6, %7, %8}, p;}" ::"r"(d), "l"(a), "l"(b),            \
               "r"(instruction), "r"(static_cast<u32>(add)), "r"(disabled[0]),                 \
               "r"(disabled[1]), "r"(disabled[2]), "r"(disabled[3]) : "memory")
#define ESTOC_TCGEN05_MASKED_2(kind)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::" #kind    \
               " [%0], %1, %2, %3, {%5, %6, %7, %8, %9, %10, %11, %12}, p;}" ::"r"(d), "l"(a), \
               "l"(b), "r"(instruction), "r"(static_cast<u32>(add)), "r"(disabled[0]),         \
               "r"(disabled[1]), "r"(disabled[2]), "r"(disabled[3]), "r"(disabled[4]),         \
               "r"(disabled[5]), "r"(disabled[6]), "r"(disabled[7]) : "memory")
#define ESTOC_TCGEN05_MASKED_KINDS(of_kind, group)                                             \
  if constexpr (of_kind == Tcgen05Kind::f16) ESTOC_TCGEN05_MASKED_##group(f16);                \
  if constexpr (of_kind == Tcgen05Kind::tf32) ESTOC_TCGEN05_MASKED_##group(tf32);              \
  if constexpr (of_kind == Tcgen05Kind::f8f6f4) ESTOC_TCGEN05_MASKED_##group(f8f6f4);          \
  if constexpr (of_kind == Tcgen05Kind::i8) ESTOC_TCGEN05_MASKED_##group(i8)
// clang-format on

template <Tcgen05Kind kind, int group, int halvings>
__device__ __forceinline__ void tcgen05_mma_weighed(u32 d, u64 a, u64 b, u32 instruction,
                                                    bool add) {
  if constexpr (group == 1) {
    if constexpr (kind == Tcgen05Kind::f16) ESTOC_TCGEN05_WEIGHED(f16, 1);
    if constexpr (kind == Tcgen05Kind::tf32) ESTOC_TCGEN05_WEIGHED(tf32, 1);
  } else {
    static_assert(group == 2);
    if constexpr (kind == Tcgen05Kind::f16) ESTOC_TCGEN05_WEIGHED(f16, 2);
    if constexpr (kind == Tcgen05Kind::tf32) ESTOC_TCGEN05_WEIGHED(tf32, 2);
  }
}

template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma_masked(u32 d, u64 a, u64 b, u32 instruction,
                                                   const u32 (&disabled)[4 * group], bool add) {
  if constexpr (group == 1) {
    ESTOC_TCGEN05_MASKED_KINDS(kind, 1);
  } else {
    static_assert(group == 2);
    ESTOC_TCGEN05_MASKED_KINDS(kind, 2);
  }
}

// clang-format off
#define ESTOC_TCGEN05_SCALED(kind, group, block)                                               \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0; tcgen05.mma.cta_group::" #group           \
               ".kind::" #kind ".block_scale.block" #block " [%0], %1, %2, %3, [%4], [%5], p;}" \
               ::"r"(d), "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales),       \
               "r"(static_cast<u32>(add)) : "memory")
#define ESTOC_TCGEN05_SCALED_KINDS(of_kind, group, of_block)                                   \
  if constexpr (of_kind == Tcgen05Kind::mxf8f6f4) ESTOC_TCGEN05_SCALED(mxf8f6f4, group, 32);   \
  if constexpr (of_kind == Tcgen05Kind::mxf4) ESTOC_TCGEN05_SCALED(mxf4, group, 32);           \
  if constexpr (of_kind == Tcgen05Kind::mxf4nvf4 && of_block == 32)                            \
    ESTOC_TCGEN05_SCALED(mxf4nvf4, group, 32);                                                 \
  if constexpr (of_kind == Tcgen05Kind::mxf4nvf4 && of_block == 16)                            \
    ESTOC_TCGEN05_SCALED(mxf4nvf4, group, 16)
// clang-format on

template <Tcgen05Kind kind, int group, int block>
__device__ __forceinline__ void tcgen05_mma_scaled(u32 d, u64 a, u64 b, u32 instruction,
                                                   u32 a_scales, u32 b_scales, bool add) {
  static_assert(group == 1 || group == 2);
  static_assert(abi::takes_scales(kind) &&
                (block == 32 || (block == 16 && kind == Tcgen05Kind::mxf4nvf4)));
  if constexpr (group == 1) {
    ESTOC_TCGEN05_SCALED_KINDS(kind, 1, block);
  } else {
    ESTOC_TCGEN05_SCALED_KINDS(kind, 2, block);
  }
}

#undef ESTOC_TCGEN05_WEIGHED
#undef ESTOC_TCGEN05_MASKED_1
#undef ESTOC_TCGEN05_MASKED_2
#undef ESTOC_TCGEN05_MASKED_KINDS
#undef ESTOC_TCGEN05_SCALED
#undef ESTOC_TCGEN05_SCALED_KINDS
#undef ESTOC_TCGEN05_MMA
#undef ESTOC_TCGEN05_KINDS

}  // namespace detail

/// tcgen05.mma: d = A B, or d + A B if `add`. One thread issues it. `a` and `b` are shared memory
/// descriptors (abi::Tcgen05Operand), `instruction` is an instruction descriptor
/// (abi::Tcgen05Product), which no compiler checks: assert is_legal(). Of a pair, each CTA holds
/// half the rows of A and half those of B at the same place, and gets its rows of d.
///
/// d lies, for 128 rows a CTA, as row m in lane m and column n in column n. With group 1 and M 64,
/// row m is in lane m % 16 + m / 16 * 32, plus 16 if d's lane is 16. With group 2 and M 128, a CTA
/// has row m % 64 in that lane for the first half of N, 64 lanes on for the second half, both in
/// the same N / 2 columns (PTX ISA 9.7.16.10.5, data path layouts).
template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, bool add,
                                            int = __builtin_LINE()) {
  detail::tcgen05_mma_shared<kind, group>(d, a, b, instruction, add);
}

/// The same with A from tensor memory: row m in the lane of d's row m, its 32 bytes of K in 8
/// columns.
template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma_tensor(u32 d, u32 a, u64 b, u32 instruction, bool add,
                                                   int = __builtin_LINE()) {
  detail::tcgen05_mma_tensor<kind, group>(d, a, b, instruction, add);
}

/// tcgen05.mma with scale-input-d: d = A B, or d * 2^-halvings + A B if `add`.
template <Tcgen05Kind kind, int group, int halvings>
__device__ __forceinline__ void tcgen05_mma_scale_d(u32 d, u64 a, u64 b, u32 instruction, bool add,
                                                    int = __builtin_LINE()) {
  static_assert(kind == Tcgen05Kind::f16 || kind == Tcgen05Kind::tf32);
  static_assert(halvings >= 0 && halvings <= 15);
  detail::tcgen05_mma_weighed<kind, group, halvings>(d, a, b, instruction, add);
}

/// tcgen05.mma with disable-output-lane: lane 32 * j + i of d is left as it is where bit i of
/// disabled[j] is set; of a pair, the last four words are those of its odd CTA.
template <Tcgen05Kind kind, int group>
__device__ __forceinline__ void tcgen05_mma_disable_lanes(u32 d, u64 a, u64 b, u32 instruction,
                                                          const u32 (&disabled)[4 * group],
                                                          bool add, int = __builtin_LINE()) {
  static_assert(!abi::takes_scales(kind));
  detail::tcgen05_mma_masked<kind, group>(d, a, b, instruction, disabled, add);
}

/// tcgen05.mma with scales for every `block` elements along K: each element is multiplied by its
/// scale first. They are words of tensor memory, from lane 0 on: row (of A; of B column) i has that
/// in lane i % 32 of column i / 32, and again 32, 64 and 96 lanes on, as tcgen05_cp_32x128b_warpx4
/// leaves them. A word has four bytes, scales along K, of which the instruction takes
/// abi::Tcgen05Product::scale_bytes() from the byte on that its descriptor states. Of a pair, each
/// CTA has the scales of its own rows of A and of all columns (PTX ISA 9.7.16.10.7, block scaling).
template <Tcgen05Kind kind, int group, int block>
__device__ __forceinline__ void tcgen05_mma_scaled(u32 d, u64 a, u64 b, u32 instruction,
                                                   u32 a_scales, u32 b_scales, bool add,
                                                   int = __builtin_LINE()) {
  detail::tcgen05_mma_scaled<kind, group, block>(d, a, b, instruction, a_scales, b_scales, add);
}

}  // namespace estoc::ptx

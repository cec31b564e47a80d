// Products of one warp that came with sm_120a (PTX ISA 9.7.14.5, mma.sync): of 8-bit floats, and of
// elements whose blocks have scales. Each adds A B to acc, in f32.
//
// Fragments are those of mma.cuh, elements of 4 bits being two to a byte, the low half first. With
// g = t / 4 and q = t % 4 for thread t, `a_scales` of threads q = 0 and 1 holds bytes of rows g and
// g
// + 8, `b_scales` of thread q = 0 those of column g: the thread selectors are 0. An instruction
// takes a byte for each block along K, from byte `first` on.
#pragma once

#include <estoc/abi/types.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

using abi::Type;

/// m16n8k32 of e4m3 or e5m2, kind::f8f6f4.
template <Type a_type, Type b_type>
__device__ __forceinline__ void mma_f8f6f4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                                           int = __builtin_LINE()) {
  if constexpr (a_type == Type::e4m3 && b_type == Type::e4m3) {
    asm volatile(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (a_type == Type::e4m3 && b_type == Type::e5m2) {
    asm volatile(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (a_type == Type::e5m2 && b_type == Type::e4m3) {
    asm volatile(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (a_type == Type::e5m2 && b_type == Type::e5m2) {
    asm volatile(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    static_assert(a_type == Type::f64, "e4m3 or e5m2");
  }
}

/// m16n8k32 of e4m3 or e5m2 with scales of e8m0 for every 32 along K: one byte.
template <Type a_type, Type b_type, int first>
__device__ __forceinline__ void mma_mxf8f6f4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                                             u32 a_scales, u32 b_scales, int = __builtin_LINE()) {
  static_assert(first >= 0 && first < 4);
  if constexpr (a_type == Type::e4m3 && b_type == Type::e4m3) {
    asm volatile(
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3."
        "f32.ue8m0 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
          "r"(b_scales), "n"(first));
  } else if constexpr (a_type == Type::e4m3 && b_type == Type::e5m2) {
    asm volatile(
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e5m2."
        "f32.ue8m0 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
          "r"(b_scales), "n"(first));
  } else if constexpr (a_type == Type::e5m2 && b_type == Type::e4m3) {
    asm volatile(
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e4m3."
        "f32.ue8m0 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
          "r"(b_scales), "n"(first));
  } else if constexpr (a_type == Type::e5m2 && b_type == Type::e5m2) {
    asm volatile(
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e5m2."
        "f32.ue8m0 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
          "r"(b_scales), "n"(first));
  } else {
    static_assert(a_type == Type::f64, "e4m3 or e5m2");
  }
}

/// m16n8k64 of e2m1 with scales of e8m0 for every 32 along K: two bytes.
template <int first>
__device__ __forceinline__ void mma_mxf4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                                         u32 a_scales, u32 b_scales, int = __builtin_LINE()) {
  static_assert(first == 0 || first == 2);
  asm volatile(
      "mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32."
      "ue8m0 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
        "r"(b_scales), "n"(first));
}

/// m16n8k64 of e2m1 with scales of e4m3, which are not negative, for every 16 along K: four bytes.
__device__ __forceinline__ void mma_nvf4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                                         u32 a_scales, u32 b_scales, int = __builtin_LINE()) {
  asm volatile(
      "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1."
      "f32.ue4m3 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
        "r"(b_scales));
}

}  // namespace estoc::ptx

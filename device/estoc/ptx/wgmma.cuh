// Products of a warpgroup, four warps, from shared memory (PTX ISA 9.7.15, wgmma).
//
// Thread t of the warpgroup holds, in acc[4 * j + 2 * h + e], row 16 * (t / 32) + t % 32 / 4 + 8 *
// h and column 8 * j + t % 4 * 2 + e of the 64 x N accumulators. Accumulators of f16 are packed:
// acc[2 * j + h] holds columns e = 0 and 1, from its low bits.
#pragma once

#include <estoc/abi/types.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// wgmma.fence: before the first wgmma_mma_async, and before one whose accumulators or A registers
/// other instructions wrote.
__device__ __forceinline__ void wgmma_fence(int = __builtin_LINE()) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// wgmma.commit_group
__device__ __forceinline__ void wgmma_commit_group(int = __builtin_LINE()) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// wgmma.wait_group: all but the latest `groups` groups are complete.
template <int groups>
__device__ __forceinline__ void wgmma_wait_group(int = __builtin_LINE()) {
  static_assert(groups >= 0 && groups < 8);
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

/// Keeps accumulators where they are until here: after the wait, before they are read.
template <int count>
__device__ __forceinline__ void acc_use(float (&acc)[count], int = __builtin_LINE()) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+f"(acc[i])::"memory");
}
template <int count>
__device__ __forceinline__ void acc_use(i32 (&acc)[count], int = __builtin_LINE()) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+r"(acc[i])::"memory");
}
template <int count>
__device__ __forceinline__ void acc_use(u32 (&acc)[count], int = __builtin_LINE()) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+r"(acc[i])::"memory");
}

/// An accumulator's value, apart from the accumulator: the compiler may otherwise keep those that
/// are read as bits in registers of another type, and copies them between products.
__device__ __forceinline__ float acc_value(float value) {
  asm volatile("" : "+f"(value));
  return value;
}
__device__ __forceinline__ i32 acc_value(i32 value) {
  asm volatile("" : "+r"(value));
  return value;
}
__device__ __forceinline__ u32 acc_value(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

namespace detail {

// Operands 0 to n / 2 - 1 of an instruction with n columns: their places in the text, and the
// registers, as floats and as integers.
// clang-format off
#define ESTOC_TEXT_8 "%0, %1, %2, %3"
#define ESTOC_F32_8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define ESTOC_S32_8 "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define ESTOC_TEXT_16 ESTOC_TEXT_8 ", %4, %5, %6, %7"
#define ESTOC_F32_16 ESTOC_F32_8, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define ESTOC_S32_16 ESTOC_S32_8, "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
#define ESTOC_TEXT_24 ESTOC_TEXT_16 ", %8, %9, %10, %11"
#define ESTOC_F32_24 ESTOC_F32_16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define ESTOC_S32_24 ESTOC_S32_16, "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11])
#define ESTOC_TEXT_32 ESTOC_TEXT_24 ", %12, %13, %14, %15"
#define ESTOC_F32_32 ESTOC_F32_24, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define ESTOC_S32_32 ESTOC_S32_24, "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
#define ESTOC_TEXT_40 ESTOC_TEXT_32 ", %16, %17, %18, %19"
#define ESTOC_F32_40 ESTOC_F32_32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define ESTOC_S32_40 ESTOC_S32_32, "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19])
#define ESTOC_TEXT_48 ESTOC_TEXT_40 ", %20, %21, %22, %23"
#define ESTOC_F32_48 ESTOC_F32_40, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define ESTOC_S32_48 ESTOC_S32_40, "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23])
#define ESTOC_TEXT_56 ESTOC_TEXT_48 ", %24, %25, %26, %27"
#define ESTOC_F32_56 ESTOC_F32_48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define ESTOC_S32_56 ESTOC_S32_48, "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27])
#define ESTOC_TEXT_64 ESTOC_TEXT_56 ", %28, %29, %30, %31"
#define ESTOC_F32_64 ESTOC_F32_56, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define ESTOC_S32_64 ESTOC_S32_56, "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
#define ESTOC_TEXT_72 ESTOC_TEXT_64 ", %32, %33, %34, %35"
#define ESTOC_F32_72 ESTOC_F32_64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define ESTOC_S32_72 ESTOC_S32_64, "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35])
#define ESTOC_TEXT_80 ESTOC_TEXT_72 ", %36, %37, %38, %39"
#define ESTOC_F32_80 ESTOC_F32_72, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define ESTOC_S32_80 ESTOC_S32_72, "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39])
#define ESTOC_TEXT_88 ESTOC_TEXT_80 ", %40, %41, %42, %43"
#define ESTOC_F32_88 ESTOC_F32_80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define ESTOC_S32_88 ESTOC_S32_80, "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43])
#define ESTOC_TEXT_96 ESTOC_TEXT_88 ", %44, %45, %46, %47"
#define ESTOC_F32_96 ESTOC_F32_88, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define ESTOC_S32_96 ESTOC_S32_88, "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])
#define ESTOC_TEXT_104 ESTOC_TEXT_96 ", %48, %49, %50, %51"
#define ESTOC_F32_104 ESTOC_F32_96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define ESTOC_S32_104 ESTOC_S32_96, "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51])
#define ESTOC_TEXT_112 ESTOC_TEXT_104 ", %52, %53, %54, %55"
#define ESTOC_F32_112 ESTOC_F32_104, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define ESTOC_S32_112 ESTOC_S32_104, "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55])
#define ESTOC_TEXT_120 ESTOC_TEXT_112 ", %56, %57, %58, %59"
#define ESTOC_F32_120 ESTOC_F32_112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define ESTOC_S32_120 ESTOC_S32_112, "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59])
#define ESTOC_TEXT_128 ESTOC_TEXT_120 ", %60, %61, %62, %63"
#define ESTOC_F32_128 ESTOC_F32_120, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define ESTOC_S32_128 ESTOC_S32_120, "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
#define ESTOC_TEXT_136 ESTOC_TEXT_128 ", %64, %65, %66, %67"
#define ESTOC_F32_136 ESTOC_F32_128, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define ESTOC_S32_136 ESTOC_S32_128, "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67])
#define ESTOC_TEXT_144 ESTOC_TEXT_136 ", %68, %69, %70, %71"
#define ESTOC_F32_144 ESTOC_F32_136, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define ESTOC_S32_144 ESTOC_S32_136, "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71])
#define ESTOC_TEXT_152 ESTOC_TEXT_144 ", %72, %73, %74, %75"
#define ESTOC_F32_152 ESTOC_F32_144, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define ESTOC_S32_152 ESTOC_S32_144, "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75])
#define ESTOC_TEXT_160 ESTOC_TEXT_152 ", %76, %77, %78, %79"
#define ESTOC_F32_160 ESTOC_F32_152, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define ESTOC_S32_160 ESTOC_S32_152, "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79])
#define ESTOC_TEXT_168 ESTOC_TEXT_160 ", %80, %81, %82, %83"
#define ESTOC_F32_168 ESTOC_F32_160, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define ESTOC_S32_168 ESTOC_S32_160, "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83])
#define ESTOC_TEXT_176 ESTOC_TEXT_168 ", %84, %85, %86, %87"
#define ESTOC_F32_176 ESTOC_F32_168, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define ESTOC_S32_176 ESTOC_S32_168, "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87])
#define ESTOC_TEXT_184 ESTOC_TEXT_176 ", %88, %89, %90, %91"
#define ESTOC_F32_184 ESTOC_F32_176, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define ESTOC_S32_184 ESTOC_S32_176, "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91])
#define ESTOC_TEXT_192 ESTOC_TEXT_184 ", %92, %93, %94, %95"
#define ESTOC_F32_192 ESTOC_F32_184, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define ESTOC_S32_192 ESTOC_S32_184, "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95])
#define ESTOC_TEXT_200 ESTOC_TEXT_192 ", %96, %97, %98, %99"
#define ESTOC_F32_200 ESTOC_F32_192, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define ESTOC_S32_200 ESTOC_S32_192, "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99])
#define ESTOC_TEXT_208 ESTOC_TEXT_200 ", %100, %101, %102, %103"
#define ESTOC_F32_208 ESTOC_F32_200, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define ESTOC_S32_208 ESTOC_S32_200, "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103])
#define ESTOC_TEXT_216 ESTOC_TEXT_208 ", %104, %105, %106, %107"
#define ESTOC_F32_216 ESTOC_F32_208, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define ESTOC_S32_216 ESTOC_S32_208, "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107])
#define ESTOC_TEXT_224 ESTOC_TEXT_216 ", %108, %109, %110, %111"
#define ESTOC_F32_224 ESTOC_F32_216, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define ESTOC_S32_224 ESTOC_S32_216, "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111])
#define ESTOC_TEXT_232 ESTOC_TEXT_224 ", %112, %113, %114, %115"
#define ESTOC_F32_232 ESTOC_F32_224, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define ESTOC_S32_232 ESTOC_S32_224, "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115])
#define ESTOC_TEXT_240 ESTOC_TEXT_232 ", %116, %117, %118, %119"
#define ESTOC_F32_240 ESTOC_F32_232, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define ESTOC_S32_240 ESTOC_S32_232, "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119])
#define ESTOC_TEXT_248 ESTOC_TEXT_240 ", %120, %121, %122, %123"
#define ESTOC_F32_248 ESTOC_F32_240, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define ESTOC_S32_248 ESTOC_S32_240, "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123])
#define ESTOC_TEXT_256 ESTOC_TEXT_248 ", %124, %125, %126, %127"
#define ESTOC_F32_256 ESTOC_F32_248, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
#define ESTOC_S32_256 ESTOC_S32_248, "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])

// The instruction with A from shared memory (operands p0 A, p1 B, p2 whether to add) and from
// registers (operands p0 to p3 A, p4 B, p5 whether to add).
#define ESTOC_SHARED(n, kind, more, p0, p1, p2)                                   \
  ESTOC_SHARED_OF(n, ESTOC_TEXT_##n, kind, more, p0, p1, p2)
#define ESTOC_SHARED_OF(n, text, kind, more, p0, p1, p2)                          \
  "{.reg .pred p; setp.ne.b32 p, %" #p2 ", 0; wgmma.mma_async.sync.aligned.m64n"  \
  #n kind " {" text "}, %" #p0 ", %" #p1 ", p" more ";}"
#define ESTOC_REGISTERS(n, kind, more, p0, p1, p2, p3, p4, p5)                    \
  ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##n, kind, more, p0, p1, p2, p3, p4, p5)
#define ESTOC_REGISTERS_OF(n, text, kind, more, p0, p1, p2, p3, p4, p5)           \
  "{.reg .pred p; setp.ne.b32 p, %" #p5 ", 0; wgmma.mma_async.sync.aligned.m64n"  \
  #n kind " {" text "}, {%" #p0 ", %" #p1 ", %" #p2 ", %" #p3 "}, %"              \
  #p4 ", p" more ";}"

#define ESTOC_WGMMA_F32(n, size, p0, p1, p2, p3, p4, p5, p6)                                        \
template <Type a, Type b, int ta, int tb>                                                           \
__device__ __forceinline__ void wgmma_shared(float (&d)[size], u64 da, u64 db, u32 add) {           \
  if constexpr (a == Type::f16 && b == Type::f16)                                                   \
    asm volatile(ESTOC_SHARED(n, "k16.f32.f16.f16", ", 1, 1, %" #p3 ", %" #p4, p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add), "n"(ta), "n"(tb));\
  else if constexpr (a == Type::bf16 && b == Type::bf16)                                            \
    asm volatile(ESTOC_SHARED(n, "k16.f32.bf16.bf16", ", 1, 1, %" #p3 ", %" #p4, p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add), "n"(ta), "n"(tb));\
  else if constexpr (a == Type::tf32 && b == Type::tf32)                                            \
    asm volatile(ESTOC_SHARED(n, "k8.f32.tf32.tf32", ", 1, 1", p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_SHARED(n, "k32.f32.e4m3.e4m3", ", 1, 1", p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_SHARED(n, "k32.f32.e4m3.e5m2", ", 1, 1", p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_SHARED(n, "k32.f32.e5m2.e4m3", ", 1, 1", p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_SHARED(n, "k32.f32.e5m2.e5m2", ", 1, 1", p0, p1, p2) : ESTOC_F32_##n : "l"(da), "l"(db), "r"(add));\
}                                                                                                   \
template <Type a, Type b, int tb>                                                                   \
__device__ __forceinline__ void wgmma_registers(float (&d)[size], const u32 (&ra)[4], u64 db,       \
                                                u32 add) {                                          \
  if constexpr (a == Type::f16 && b == Type::f16)                                                   \
    asm volatile(ESTOC_REGISTERS(n, "k16.f32.f16.f16", ", 1, 1, %" #p6, p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add), "n"(tb));\
  else if constexpr (a == Type::bf16 && b == Type::bf16)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k16.f32.bf16.bf16", ", 1, 1, %" #p6, p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add), "n"(tb));\
  else if constexpr (a == Type::tf32 && b == Type::tf32)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k8.f32.tf32.tf32", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k32.f32.e4m3.e4m3", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k32.f32.e4m3.e5m2", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k32.f32.e5m2.e4m3", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_REGISTERS(n, "k32.f32.e5m2.e5m2", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_F32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
}

#define ESTOC_WGMMA_S32(n, size, p0, p1, p2, p3, p4, p5)                                            \
template <Type a, Type b, int, int>                                                                 \
__device__ __forceinline__ void wgmma_shared(i32 (&d)[size], u64 da, u64 db, u32 add) {             \
  if constexpr (a == Type::i8 && b == Type::i8)                                                     \
    asm volatile(ESTOC_SHARED(n, "k32.s32.s8.s8", "", p0, p1, p2) : ESTOC_S32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::i8 && b == Type::u8)                                                \
    asm volatile(ESTOC_SHARED(n, "k32.s32.s8.u8", "", p0, p1, p2) : ESTOC_S32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::u8 && b == Type::i8)                                                \
    asm volatile(ESTOC_SHARED(n, "k32.s32.u8.s8", "", p0, p1, p2) : ESTOC_S32_##n : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::u8 && b == Type::u8)                                                \
    asm volatile(ESTOC_SHARED(n, "k32.s32.u8.u8", "", p0, p1, p2) : ESTOC_S32_##n : "l"(da), "l"(db), "r"(add));\
}                                                                                                   \
template <Type a, Type b, int>                                                                      \
__device__ __forceinline__ void wgmma_registers(i32 (&d)[size], const u32 (&ra)[4], u64 db, u32 add) {\
  if constexpr (a == Type::i8 && b == Type::i8)                                                     \
    asm volatile(ESTOC_REGISTERS(n, "k32.s32.s8.s8", "", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::i8 && b == Type::u8)                                                \
    asm volatile(ESTOC_REGISTERS(n, "k32.s32.s8.u8", "", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::u8 && b == Type::i8)                                                \
    asm volatile(ESTOC_REGISTERS(n, "k32.s32.u8.s8", "", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::u8 && b == Type::u8)                                                \
    asm volatile(ESTOC_REGISTERS(n, "k32.s32.u8.u8", "", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##n : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
}

// Sums of f16, two to a register: as many registers as `half` columns of 32-bit sums.
#define ESTOC_WGMMA_F16(n, half, size, p0, p1, p2, p3, p4, p5, p6)                                  \
template <Type a, Type b, int ta, int tb>                                                           \
__device__ __forceinline__ void wgmma_shared(u32 (&d)[size], u64 da, u64 db, u32 add) {             \
  if constexpr (a == Type::f16 && b == Type::f16)                                                   \
    asm volatile(ESTOC_SHARED_OF(n, ESTOC_TEXT_##half, "k16.f16.f16.f16", ", 1, 1, %" #p3 ", %" #p4, p0, p1, p2) : ESTOC_S32_##half : "l"(da), "l"(db), "r"(add), "n"(ta), "n"(tb));\
  else if constexpr (a == Type::e4m3 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_SHARED_OF(n, ESTOC_TEXT_##half, "k32.f16.e4m3.e4m3", ", 1, 1", p0, p1, p2) : ESTOC_S32_##half : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_SHARED_OF(n, ESTOC_TEXT_##half, "k32.f16.e4m3.e5m2", ", 1, 1", p0, p1, p2) : ESTOC_S32_##half : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_SHARED_OF(n, ESTOC_TEXT_##half, "k32.f16.e5m2.e4m3", ", 1, 1", p0, p1, p2) : ESTOC_S32_##half : "l"(da), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_SHARED_OF(n, ESTOC_TEXT_##half, "k32.f16.e5m2.e5m2", ", 1, 1", p0, p1, p2) : ESTOC_S32_##half : "l"(da), "l"(db), "r"(add));\
}                                                                                                   \
template <Type a, Type b, int tb>                                                                   \
__device__ __forceinline__ void wgmma_registers(u32 (&d)[size], const u32 (&ra)[4], u64 db,         \
                                                u32 add) {                                          \
  if constexpr (a == Type::f16 && b == Type::f16)                                                   \
    asm volatile(ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##half, "k16.f16.f16.f16", ", 1, 1, %" #p6, p0, p1, p2, p3, p4, p5) : ESTOC_S32_##half : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add), "n"(tb));\
  else if constexpr (a == Type::e4m3 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##half, "k32.f16.e4m3.e4m3", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##half : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e4m3 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##half, "k32.f16.e4m3.e5m2", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##half : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e4m3)                                            \
    asm volatile(ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##half, "k32.f16.e5m2.e4m3", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##half : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
  else if constexpr (a == Type::e5m2 && b == Type::e5m2)                                            \
    asm volatile(ESTOC_REGISTERS_OF(n, ESTOC_TEXT_##half, "k32.f16.e5m2.e5m2", ", 1, 1", p0, p1, p2, p3, p4, p5) : ESTOC_S32_##half : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db), "r"(add));\
}

using abi::Type;

// A unit whose instructions have one number of columns says so ahead of its includes: to read all
// of them takes a seventh of the time in which a kernel is compiled.
#ifdef ESTOC_WGMMA_COLUMNS
#define ESTOC_WGMMA_HAS(n) (ESTOC_WGMMA_COLUMNS == (n))
#else
#define ESTOC_WGMMA_HAS(n) 1
#endif
#if ESTOC_WGMMA_HAS(8)
ESTOC_WGMMA_F32(8, 4, 4, 5, 6, 7, 8, 9, 10)
ESTOC_WGMMA_S32(8, 4, 4, 5, 6, 7, 8, 9)
#endif
#if ESTOC_WGMMA_HAS(16)
ESTOC_WGMMA_F32(16, 8, 8, 9, 10, 11, 12, 13, 14)
ESTOC_WGMMA_S32(16, 8, 8, 9, 10, 11, 12, 13)
ESTOC_WGMMA_F16(16, 8, 4, 4, 5, 6, 7, 8, 9, 10)
#endif
#if ESTOC_WGMMA_HAS(24)
ESTOC_WGMMA_F32(24, 12, 12, 13, 14, 15, 16, 17, 18)
ESTOC_WGMMA_S32(24, 12, 12, 13, 14, 15, 16, 17)
#endif
#if ESTOC_WGMMA_HAS(32)
ESTOC_WGMMA_F32(32, 16, 16, 17, 18, 19, 20, 21, 22)
ESTOC_WGMMA_S32(32, 16, 16, 17, 18, 19, 20, 21)
ESTOC_WGMMA_F16(32, 16, 8, 8, 9, 10, 11, 12, 13, 14)
#endif
#if ESTOC_WGMMA_HAS(40)
ESTOC_WGMMA_F32(40, 20, 20, 21, 22, 23, 24, 25, 26)
#endif
#if ESTOC_WGMMA_HAS(48)
ESTOC_WGMMA_F32(48, 24, 24, 25, 26, 27, 28, 29, 30)
ESTOC_WGMMA_S32(48, 24, 24, 25, 26, 27, 28, 29)
ESTOC_WGMMA_F16(48, 24, 12, 12, 13, 14, 15, 16, 17, 18)
#endif
#if ESTOC_WGMMA_HAS(56)
ESTOC_WGMMA_F32(56, 28, 28, 29, 30, 31, 32, 33, 34)
#endif
#if ESTOC_WGMMA_HAS(64)
ESTOC_WGMMA_F32(64, 32, 32, 33, 34, 35, 36, 37, 38)
ESTOC_WGMMA_S32(64, 32, 32, 33, 34, 35, 36, 37)
ESTOC_WGMMA_F16(64, 32, 16, 16, 17, 18, 19, 20, 21, 22)
#endif
#if ESTOC_WGMMA_HAS(72)
ESTOC_WGMMA_F32(72, 36, 36, 37, 38, 39, 40, 41, 42)
#endif
#if ESTOC_WGMMA_HAS(80)
ESTOC_WGMMA_F32(80, 40, 40, 41, 42, 43, 44, 45, 46)
ESTOC_WGMMA_S32(80, 40, 40, 41, 42, 43, 44, 45)
ESTOC_WGMMA_F16(80, 40, 20, 20, 21, 22, 23, 24, 25, 26)
#endif
#if ESTOC_WGMMA_HAS(88)
ESTOC_WGMMA_F32(88, 44, 44, 45, 46, 47, 48, 49, 50)
#endif
#if ESTOC_WGMMA_HAS(96)
ESTOC_WGMMA_F32(96, 48, 48, 49, 50, 51, 52, 53, 54)
ESTOC_WGMMA_S32(96, 48, 48, 49, 50, 51, 52, 53)
ESTOC_WGMMA_F16(96, 48, 24, 24, 25, 26, 27, 28, 29, 30)
#endif
#if ESTOC_WGMMA_HAS(104)
ESTOC_WGMMA_F32(104, 52, 52, 53, 54, 55, 56, 57, 58)
#endif
#if ESTOC_WGMMA_HAS(112)
ESTOC_WGMMA_F32(112, 56, 56, 57, 58, 59, 60, 61, 62)
ESTOC_WGMMA_S32(112, 56, 56, 57, 58, 59, 60, 61)
ESTOC_WGMMA_F16(112, 56, 28, 28, 29, 30, 31, 32, 33, 34)
#endif
#if ESTOC_WGMMA_HAS(120)
ESTOC_WGMMA_F32(120, 60, 60, 61, 62, 63, 64, 65, 66)
#endif
#if ESTOC_WGMMA_HAS(128)
ESTOC_WGMMA_F32(128, 64, 64, 65, 66, 67, 68, 69, 70)
ESTOC_WGMMA_S32(128, 64, 64, 65, 66, 67, 68, 69)
ESTOC_WGMMA_F16(128, 64, 32, 32, 33, 34, 35, 36, 37, 38)
#endif
#if ESTOC_WGMMA_HAS(136)
ESTOC_WGMMA_F32(136, 68, 68, 69, 70, 71, 72, 73, 74)
#endif
#if ESTOC_WGMMA_HAS(144)
ESTOC_WGMMA_F32(144, 72, 72, 73, 74, 75, 76, 77, 78)
ESTOC_WGMMA_S32(144, 72, 72, 73, 74, 75, 76, 77)
ESTOC_WGMMA_F16(144, 72, 36, 36, 37, 38, 39, 40, 41, 42)
#endif
#if ESTOC_WGMMA_HAS(152)
ESTOC_WGMMA_F32(152, 76, 76, 77, 78, 79, 80, 81, 82)
#endif
#if ESTOC_WGMMA_HAS(160)
ESTOC_WGMMA_F32(160, 80, 80, 81, 82, 83, 84, 85, 86)
ESTOC_WGMMA_S32(160, 80, 80, 81, 82, 83, 84, 85)
ESTOC_WGMMA_F16(160, 80, 40, 40, 41, 42, 43, 44, 45, 46)
#endif
#if ESTOC_WGMMA_HAS(168)
ESTOC_WGMMA_F32(168, 84, 84, 85, 86, 87, 88, 89, 90)
#endif
#if ESTOC_WGMMA_HAS(176)
ESTOC_WGMMA_F32(176, 88, 88, 89, 90, 91, 92, 93, 94)
ESTOC_WGMMA_S32(176, 88, 88, 89, 90, 91, 92, 93)
ESTOC_WGMMA_F16(176, 88, 44, 44, 45, 46, 47, 48, 49, 50)
#endif
#if ESTOC_WGMMA_HAS(184)
ESTOC_WGMMA_F32(184, 92, 92, 93, 94, 95, 96, 97, 98)
#endif
#if ESTOC_WGMMA_HAS(192)
ESTOC_WGMMA_F32(192, 96, 96, 97, 98, 99, 100, 101, 102)
ESTOC_WGMMA_S32(192, 96, 96, 97, 98, 99, 100, 101)
ESTOC_WGMMA_F16(192, 96, 48, 48, 49, 50, 51, 52, 53, 54)
#endif
#if ESTOC_WGMMA_HAS(200)
ESTOC_WGMMA_F32(200, 100, 100, 101, 102, 103, 104, 105, 106)
#endif
#if ESTOC_WGMMA_HAS(208)
ESTOC_WGMMA_F32(208, 104, 104, 105, 106, 107, 108, 109, 110)
ESTOC_WGMMA_S32(208, 104, 104, 105, 106, 107, 108, 109)
ESTOC_WGMMA_F16(208, 104, 52, 52, 53, 54, 55, 56, 57, 58)
#endif
#if ESTOC_WGMMA_HAS(216)
ESTOC_WGMMA_F32(216, 108, 108, 109, 110, 111, 112, 113, 114)
#endif
#if ESTOC_WGMMA_HAS(224)
ESTOC_WGMMA_F32(224, 112, 112, 113, 114, 115, 116, 117, 118)
ESTOC_WGMMA_S32(224, 112, 112, 113, 114, 115, 116, 117)
ESTOC_WGMMA_F16(224, 112, 56, 56, 57, 58, 59, 60, 61, 62)
#endif
#if ESTOC_WGMMA_HAS(232)
ESTOC_WGMMA_F32(232, 116, 116, 117, 118, 119, 120, 121, 122)
#endif
#if ESTOC_WGMMA_HAS(240)
ESTOC_WGMMA_F32(240, 120, 120, 121, 122, 123, 124, 125, 126)
ESTOC_WGMMA_S32(240, 120, 120, 121, 122, 123, 124, 125)
ESTOC_WGMMA_F16(240, 120, 60, 60, 61, 62, 63, 64, 65, 66)
#endif
#if ESTOC_WGMMA_HAS(248)
ESTOC_WGMMA_F32(248, 124, 124, 125, 126, 127, 128, 129, 130)
#endif
#if ESTOC_WGMMA_HAS(256)
ESTOC_WGMMA_F32(256, 128, 128, 129, 130, 131, 132, 133, 134)
ESTOC_WGMMA_S32(256, 128, 128, 129, 130, 131, 132, 133)
ESTOC_WGMMA_F16(256, 128, 64, 64, 65, 66, 67, 68, 69, 70)
#endif
// clang-format on

#undef ESTOC_SHARED
#undef ESTOC_SHARED_OF
#undef ESTOC_REGISTERS
#undef ESTOC_REGISTERS_OF
#undef ESTOC_WGMMA_F32
#undef ESTOC_WGMMA_S32
#undef ESTOC_WGMMA_F16
#undef ESTOC_WGMMA_HAS

}  // namespace detail

/// wgmma.mma_async: acc = A B, or acc + A B if `add`, of 64 x K and K x N elements, K being 32
/// bytes. `a` and `b` are matrix descriptors. Both are K-major (the K mode is contiguous) unless
/// transposed, which 16-bit types allow. Type pairs: f16 f16, bf16 bf16, tf32 tf32, any two of e4m3
/// e5m2 (acc float), any two of i8 u8 (acc i32); f16 f16 and any two of e4m3 e5m2 with sums of f16
/// (acc u32). N, twice the size of acc and four times that of packed sums, is a multiple of 8 up to
/// 256; for integers beyond 32 and for sums of f16 it is a multiple of 16.
template <abi::Type a_type, abi::Type b_type, bool transpose_a = false, bool transpose_b = false,
          typename Value, int count>
__device__ __forceinline__ void wgmma_mma_async(Value (&acc)[count], u64 a, u64 b, bool add,
                                                int = __builtin_LINE()) {
  static_assert(abi::type_bytes(a_type) == 2 || (!transpose_a && !transpose_b));
  detail::wgmma_shared<a_type, b_type, transpose_a, transpose_b>(acc, a, b, add);
}

/// The same with A from registers: a[2 * h + g] holds, from its low bits, the consecutive K
/// elements of row 16 * (t / 32) + t % 32 / 4 + 8 * g that start 16 * h + t % 4 * 4 bytes into K.
template <abi::Type a_type, abi::Type b_type, bool transpose_b = false, typename Value, int count>
__device__ __forceinline__ void wgmma_mma_async(Value (&acc)[count], const u32 (&a)[4], u64 b,
                                                bool add, int = __builtin_LINE()) {
  static_assert(abi::type_bytes(a_type) == 2 || !transpose_b);
  detail::wgmma_registers<a_type, b_type, transpose_b>(acc, a, b, add);
}

}  // namespace estoc::ptx

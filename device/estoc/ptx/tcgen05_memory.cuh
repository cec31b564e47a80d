// Loads and stores between registers and tensor memory (PTX ISA 9.7.16.8, tcgen05.ld, st and wait).
//
// Warp w of a CTA reaches lanes 32 * (w % 4) to + 31. Register r of lane t holds, from the address
// on:
//   lanes32x32    lane t,                              column r
//   lanes16x64    lane 8 * (t % 2) + t / 4,            column 2 * r + t / 2 % 2
//   lanes16x128   lane t / 4 + 8 * (r % 2),            column t % 4 + r / 2 * 4
//   lanes16x256   lane t / 4 + 8 * (r / 2 % 2),        column t % 4 * 2 + r % 2 + r / 4 * 8
// and the last is the fragment of mma.sync.
#pragma once

#include <estoc/abi/tcgen05.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

using abi::TensorShape;

namespace detail {

// clang-format off
#define ESTOC_TEXT_1 "%0"
#define ESTOC_INS_1 "r"(w[0])
#define ESTOC_OUTS_1 "=r"(w[0])
#define ESTOC_TEXT_2 ESTOC_TEXT_1 \
  ", %1"
#define ESTOC_INS_2 ESTOC_INS_1, "r"(w[1])
#define ESTOC_OUTS_2 ESTOC_OUTS_1, "=r"(w[1])
#define ESTOC_TEXT_4 ESTOC_TEXT_2 \
  ", %2, %3"
#define ESTOC_INS_4 ESTOC_INS_2, "r"(w[2]), "r"(w[3])
#define ESTOC_OUTS_4 ESTOC_OUTS_2, "=r"(w[2]), "=r"(w[3])
#define ESTOC_TEXT_8 ESTOC_TEXT_4 \
  ", %4, %5, %6, %7"
#define ESTOC_INS_8 ESTOC_INS_4, "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
#define ESTOC_OUTS_8 ESTOC_OUTS_4, "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
#define ESTOC_TEXT_16 ESTOC_TEXT_8 \
  ", %8, %9, %10, %11, %12, %13, %14, %15"
#define ESTOC_INS_16 ESTOC_INS_8, "r"(w[8]), "r"(w[9]), "r"(w[10]), "r"(w[11]), "r"(w[12]), \
  "r"(w[13]), "r"(w[14]), "r"(w[15])
#define ESTOC_OUTS_16 ESTOC_OUTS_8, "=r"(w[8]), "=r"(w[9]), "=r"(w[10]), "=r"(w[11]), \
  "=r"(w[12]), "=r"(w[13]), "=r"(w[14]), "=r"(w[15])
#define ESTOC_TEXT_32 ESTOC_TEXT_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ESTOC_INS_32 ESTOC_INS_16, "r"(w[16]), "r"(w[17]), "r"(w[18]), "r"(w[19]), "r"(w[20]), \
  "r"(w[21]), "r"(w[22]), "r"(w[23]), "r"(w[24]), "r"(w[25]), "r"(w[26]), "r"(w[27]), \
  "r"(w[28]), "r"(w[29]), "r"(w[30]), "r"(w[31])
#define ESTOC_OUTS_32 ESTOC_OUTS_16, "=r"(w[16]), "=r"(w[17]), "=r"(w[18]), "=r"(w[19]), \
  "=r"(w[20]), "=r"(w[21]), "=r"(w[22]), "=r"(w[23]), "=r"(w[24]), "=r"(w[25]), "=r"(w[26]), \
  "=r"(w[27]), "=r"(w[28]), "=r"(w[29]), "=r"(w[30]), "=r"(w[31])
#define ESTOC_TEXT_64 ESTOC_TEXT_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ESTOC_INS_64 ESTOC_INS_32, "r"(w[32]), "r"(w[33]), "r"(w[34]), "r"(w[35]), "r"(w[36]), \
  "r"(w[37]), "r"(w[38]), "r"(w[39]), "r"(w[40]), "r"(w[41]), "r"(w[42]), "r"(w[43]), \
  "r"(w[44]), "r"(w[45]), "r"(w[46]), "r"(w[47]), "r"(w[48]), "r"(w[49]), "r"(w[50]), \
  "r"(w[51]), "r"(w[52]), "r"(w[53]), "r"(w[54]), "r"(w[55]), "r"(w[56]), "r"(w[57]), \
  "r"(w[58]), "r"(w[59]), "r"(w[60]), "r"(w[61]), "r"(w[62]), "r"(w[63])
#define ESTOC_OUTS_64 ESTOC_OUTS_32, "=r"(w[32]), "=r"(w[33]), "=r"(w[34]), "=r"(w[35]), \
  "=r"(w[36]), "=r"(w[37]), "=r"(w[38]), "=r"(w[39]), "=r"(w[40]), "=r"(w[41]), "=r"(w[42]), \
  "=r"(w[43]), "=r"(w[44]), "=r"(w[45]), "=r"(w[46]), "=r"(w[47]), "=r"(w[48]), "=r"(w[49]), \
  "=r"(w[50]), "=r"(w[51]), "=r"(w[52]), "=r"(w[53]), "=r"(w[54]), "=r"(w[55]), "=r"(w[56]), \
  "=r"(w[57]), "=r"(w[58]), "=r"(w[59]), "=r"(w[60]), "=r"(w[61]), "=r"(w[62]), "=r"(w[63])
#define ESTOC_TEXT_128 ESTOC_TEXT_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define ESTOC_INS_128 ESTOC_INS_64, "r"(w[64]), "r"(w[65]), "r"(w[66]), "r"(w[67]), "r"(w[68]), \
  "r"(w[69]), "r"(w[70]), "r"(w[71]), "r"(w[72]), "r"(w[73]), "r"(w[74]), "r"(w[75]), \
  "r"(w[76]), "r"(w[77]), "r"(w[78]), "r"(w[79]), "r"(w[80]), "r"(w[81]), "r"(w[82]), \
  "r"(w[83]), "r"(w[84]), "r"(w[85]), "r"(w[86]), "r"(w[87]), "r"(w[88]), "r"(w[89]), \
  "r"(w[90]), "r"(w[91]), "r"(w[92]), "r"(w[93]), "r"(w[94]), "r"(w[95]), "r"(w[96]), \
  "r"(w[97]), "r"(w[98]), "r"(w[99]), "r"(w[100]), "r"(w[101]), "r"(w[102]), "r"(w[103]), \
  "r"(w[104]), "r"(w[105]), "r"(w[106]), "r"(w[107]), "r"(w[108]), "r"(w[109]), "r"(w[110]), \
  "r"(w[111]), "r"(w[112]), "r"(w[113]), "r"(w[114]), "r"(w[115]), "r"(w[116]), "r"(w[117]), \
  "r"(w[118]), "r"(w[119]), "r"(w[120]), "r"(w[121]), "r"(w[122]), "r"(w[123]), "r"(w[124]), \
  "r"(w[125]), "r"(w[126]), "r"(w[127])
#define ESTOC_OUTS_128 ESTOC_OUTS_64, "=r"(w[64]), "=r"(w[65]), "=r"(w[66]), "=r"(w[67]), \
  "=r"(w[68]), "=r"(w[69]), "=r"(w[70]), "=r"(w[71]), "=r"(w[72]), "=r"(w[73]), "=r"(w[74]), \
  "=r"(w[75]), "=r"(w[76]), "=r"(w[77]), "=r"(w[78]), "=r"(w[79]), "=r"(w[80]), "=r"(w[81]), \
  "=r"(w[82]), "=r"(w[83]), "=r"(w[84]), "=r"(w[85]), "=r"(w[86]), "=r"(w[87]), "=r"(w[88]), \
  "=r"(w[89]), "=r"(w[90]), "=r"(w[91]), "=r"(w[92]), "=r"(w[93]), "=r"(w[94]), "=r"(w[95]), \
  "=r"(w[96]), "=r"(w[97]), "=r"(w[98]), "=r"(w[99]), "=r"(w[100]), "=r"(w[101]), "=r"(w[102]), \
  "=r"(w[103]), "=r"(w[104]), "=r"(w[105]), "=r"(w[106]), "=r"(w[107]), "=r"(w[108]), \
  "=r"(w[109]), "=r"(w[110]), "=r"(w[111]), "=r"(w[112]), "=r"(w[113]), "=r"(w[114]), \
  "=r"(w[115]), "=r"(w[116]), "=r"(w[117]), "=r"(w[118]), "=r"(w[119]), "=r"(w[120]), \
  "=r"(w[121]), "=r"(w[122]), "=r"(w[123]), "=r"(w[124]), "=r"(w[125]), "=r"(w[126]), \
  "=r"(w[127])

// The instruction for one shape and repetition, which moves `count` registers.
#define ESTOC_LOAD(shape, repeat, count)                                                       \
  asm volatile("tcgen05.ld.sync.aligned." shape ".x" #repeat ".b32 {" ESTOC_TEXT_##count       \
               "}, [%" #count "];" : ESTOC_OUTS_##count : "r"(address) : "memory")
#define ESTOC_STORE(shape, repeat, count)                                                      \
  asm volatile("tcgen05.st.sync.aligned." shape ".x" #repeat ".b32 [%" #count "], {"           \
               ESTOC_TEXT_##count "};" :: ESTOC_INS_##count, "r"(address) : "memory")
#define ESTOC_OF_COUNT(shape, repeat, registers)                                               \
  template <>                                                                                  \
  struct TensorMove<TensorShape::shape, repeat> {                                              \
    __device__ __forceinline__ static void load(u32 (&w)[registers], u32 address) {            \
      ESTOC_LOAD(ESTOC_NAME_##shape, repeat, registers);                                       \
    }                                                                                          \
    __device__ __forceinline__ static void store(const u32 (&w)[registers], u32 address) {     \
      ESTOC_STORE(ESTOC_NAME_##shape, repeat, registers);                                      \
    }                                                                                          \
  };
#define ESTOC_NAME_lanes32x32 "32x32b"
#define ESTOC_NAME_lanes16x64 "16x64b"
#define ESTOC_NAME_lanes16x128 "16x128b"
#define ESTOC_NAME_lanes16x256 "16x256b"

template <TensorShape shape, int repeat>
struct TensorMove;
ESTOC_OF_COUNT(lanes32x32, 1, 1)
ESTOC_OF_COUNT(lanes32x32, 2, 2)
ESTOC_OF_COUNT(lanes32x32, 4, 4)
ESTOC_OF_COUNT(lanes32x32, 8, 8)
ESTOC_OF_COUNT(lanes32x32, 16, 16)
ESTOC_OF_COUNT(lanes32x32, 32, 32)
ESTOC_OF_COUNT(lanes32x32, 64, 64)
ESTOC_OF_COUNT(lanes32x32, 128, 128)
ESTOC_OF_COUNT(lanes16x64, 1, 1)
ESTOC_OF_COUNT(lanes16x64, 2, 2)
ESTOC_OF_COUNT(lanes16x64, 4, 4)
ESTOC_OF_COUNT(lanes16x64, 8, 8)
ESTOC_OF_COUNT(lanes16x64, 16, 16)
ESTOC_OF_COUNT(lanes16x64, 32, 32)
ESTOC_OF_COUNT(lanes16x64, 64, 64)
ESTOC_OF_COUNT(lanes16x64, 128, 128)
ESTOC_OF_COUNT(lanes16x128, 1, 2)
ESTOC_OF_COUNT(lanes16x128, 2, 4)
ESTOC_OF_COUNT(lanes16x128, 4, 8)
ESTOC_OF_COUNT(lanes16x128, 8, 16)
ESTOC_OF_COUNT(lanes16x128, 16, 32)
ESTOC_OF_COUNT(lanes16x128, 32, 64)
ESTOC_OF_COUNT(lanes16x128, 64, 128)
ESTOC_OF_COUNT(lanes16x256, 1, 4)
ESTOC_OF_COUNT(lanes16x256, 2, 8)
ESTOC_OF_COUNT(lanes16x256, 4, 16)
ESTOC_OF_COUNT(lanes16x256, 8, 32)
ESTOC_OF_COUNT(lanes16x256, 16, 64)
ESTOC_OF_COUNT(lanes16x256, 32, 128)

#undef ESTOC_LOAD
#undef ESTOC_STORE
#undef ESTOC_OF_COUNT
// clang-format on

}  // namespace detail

/// tcgen05.ld: a warp calls it with one address. The words are there after tcgen05_wait_ld.
template <TensorShape shape, int repeat, int count>
__device__ __forceinline__ void tcgen05_ld(u32 (&words)[count], u32 address,
                                           int = __builtin_LINE()) {
  static_assert(count == repeat * abi::tensor_registers(shape));
  detail::TensorMove<shape, repeat>::load(words, address);
}

/// tcgen05.st: a warp calls it with one address. It is complete after tcgen05_wait_st.
template <TensorShape shape, int repeat, int count>
__device__ __forceinline__ void tcgen05_st(u32 address, const u32 (&words)[count],
                                           int = __builtin_LINE()) {
  static_assert(count == repeat * abi::tensor_registers(shape));
  detail::TensorMove<shape, repeat>::store(words, address);
}

/// tcgen05.wait::ld: all loads of this thread are complete.
__device__ __forceinline__ void tcgen05_wait_ld(int = __builtin_LINE()) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

/// Keeps words where they are until here: after the wait, before they are read.
template <int count>
__device__ __forceinline__ void tcgen05_use(u32 (&words)[count], int = __builtin_LINE()) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+r"(words[i])::"memory");
}

/// tcgen05.wait::st: all stores of this thread are complete.
__device__ __forceinline__ void tcgen05_wait_st(int = __builtin_LINE()) {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

}  // namespace estoc::ptx

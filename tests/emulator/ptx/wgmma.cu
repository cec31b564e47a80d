// Uses each wgmma_mma_async of the types FIRST and SECOND, which the test defines, in every width;
// with PACKED those whose sums are f16.
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/wgmma.cuh>

namespace ptx = estoc::ptx;
using estoc::i32;
using estoc::u32;
using estoc::u64;
using estoc::abi::Type;

constexpr Type kA = Type::FIRST;
constexpr Type kB = Type::SECOND;
constexpr bool kIntegers = kA == Type::i8 || kA == Type::u8;
constexpr bool kTransposes = estoc::abi::type_bytes(kA) == 2;
#ifdef PACKED
using Value = u32;
constexpr int kPerRegister = 2;
#else
template <bool integers>
struct Sum {
  using Value = float;
};
template <>
struct Sum<true> {
  using Value = i32;
};
using Value = Sum<kIntegers>::Value;
constexpr int kPerRegister = 1;
#endif

template <int n>
__device__ __forceinline__ void products(u64 global, u64 a, u64 b) {
  constexpr bool kEverywhere = !kIntegers && kPerRegister == 1;
  if constexpr (kEverywhere || (kIntegers && n < 32) || n % 16 == 0) {
    Value acc[n / 2 / kPerRegister];
    const u32 registers[4] = {ptx::tid(), 1, 2, ptx::tid() + 3};
    ptx::wgmma_fence();
    ptx::wgmma_mma_async<kA, kB>(acc, a, b, false);
    ptx::wgmma_mma_async<kA, kB>(acc, a, b, ptx::ctaid_x() > 0);
    constexpr bool kAll = n % 128 == (kPerRegister == 1 ? 8 : 16);
    if constexpr (kAll) ptx::wgmma_mma_async<kA, kB>(acc, registers, b, true);
    if constexpr (kAll && kTransposes) {
      ptx::wgmma_mma_async<kA, kB, true, false>(acc, a, b, true);
      ptx::wgmma_mma_async<kA, kB, false, true>(acc, a, b, true);
      ptx::wgmma_mma_async<kA, kB, true>(acc, registers, b, true);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::acc_use(acc);
#pragma unroll
    for (int i = 0; i < n / 2 / kPerRegister; ++i)
      ptx::st_global<1>(global + 4 * i, {estoc::bit_cast<u32>(acc[i])});
  }
}

// An entry each, since one that holds all widths runs out of registers.
// clang-format off
#define ENTRY(n)                                       \
  extern "C" __global__ void __launch_bounds__(128, 1) \
      estoc_kernel_##n(u64 global, u64 a, u64 b) {     \
    products<n>(global, a, b);                         \
  }
ENTRY(8) ENTRY(16) ENTRY(24) ENTRY(32) ENTRY(40) ENTRY(48) ENTRY(56) ENTRY(64)
ENTRY(72) ENTRY(80) ENTRY(88) ENTRY(96) ENTRY(104) ENTRY(112) ENTRY(120) ENTRY(128)
ENTRY(136) ENTRY(144) ENTRY(152) ENTRY(160) ENTRY(168) ENTRY(176) ENTRY(184) ENTRY(192)
ENTRY(200) ENTRY(208) ENTRY(216) ENTRY(224) ENTRY(232) ENTRY(240) ENTRY(248) ENTRY(256)
    // clang-format on

// Loads, stores, atomics, barriers, special registers, exchange within a warp, conversions, math.
#pragma once

#include <conformance/parameters.cuh>
#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/warp.cuh>

namespace conformance {

__device__ inline void global_memory(const Parameters& p) {
  const u32 t = ptx::tid();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  ptx::st_global<4>(p.out + 16 * t, ptx::ld_global<4>(p.in + 16 * (t ^ 1)));
  ptx::st_global<2>(p.out + 512 + 8 * t, ptx::ld_global<2>(p.in + 8 * (t ^ 2)));
  ptx::st_global<1>(p.out + 768 + 4 * t, ptx::ld_global<1>(p.in + 4 * (t ^ 4)));
  ptx::st_global<4>(p.out + 896 + 16 * t, ptx::ld_global_nc<4>(p.in + 16 * (t ^ 3)));
  ptx::st_global<2>(p.out + 1408 + 8 * t, ptx::ld_global_nc<2>(p.in + 8 * (t ^ 5)));
  ptx::st_global<1>(p.out + 1664 + 4 * t, ptx::ld_global_nc<1>(p.in + 4 * (t ^ 6)));
  ptx::st_global_u16(p.out + 1792 + 2 * t, ptx::ld_global_u16(p.in + 2 * t + 2));
  ptx::st_global_u8(p.out + 1856 + t, ptx::ld_global_u8(p.in + t + 1));
  put(p, 480 + t, ptx::ld_global_u16(p.in + 2 * t) + ptx::ld_global_u8(p.in + t));
}

__device__ inline void shared_memory(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = load_image(p);
  const Words<4> four = ptx::ld_shared<4>(base + 16 * (t ^ 1));
  const Words<2> two = ptx::ld_shared<2>(base + 8 * (t ^ 2));
  const Words<1> one = ptx::ld_shared<1>(base + 4 * (t ^ 4));
  const u32 half = ptx::ld_shared_u16(base + 2 * t + 2);
  const u32 byte = ptx::ld_shared_u8(base + t + 1);
  ptx::barrier_sync();
  ptx::st_shared<4>(base + 16 * t, four);
  ptx::st_shared<2>(base + 512 + 8 * t, two);
  ptx::st_shared<1>(base + 768 + 4 * t, one);
  ptx::st_shared_u16(base + 896 + 2 * t, half);
  ptx::st_shared_u8(base + 960 + t, byte);
  ptx::barrier_sync();
  dump(p, base, 992);
}

__device__ inline void atomics(const Parameters& p) {
  const u32 t = ptx::tid();
  if (t < 16) put(p, t, 0u);
  ptx::barrier_sync();
  const u64 word = p.out + 4 * (t % 2);
  ptx::atom_global_add(word, t);
  ptx::red_global_add(word + 8, 2 * t);
  ptx::atom_global_add(word + 16, static_cast<float>(t));
  ptx::red_global_add(word + 24, 0.5f * static_cast<float>(t));
  ptx::atom_acq_rel_global_add(word + 32, 3 * t);
  ptx::red_release_global_add(word + 40, 5 * t);
  ptx::barrier_sync();
  if (t != 0) return;
  put(p, 16, ptx::atom_global_add(p.out, 100u));
  put(p, 17, ptx::atom_global_add(p.out + 16, 100.0f));
  put(p, 18, ptx::atom_acq_rel_global_add(p.out + 32, 100u));
  put(p, 19, ptx::ld_acquire_global(p.out + 40));
}

/// CTA 0 waits for what CTA 1 writes, three times; words that were not written hold 0xa5a5a5a5.
__device__ inline void hand_over(const Parameters& p) {
  if (ptx::tid() != 0) return;
  if (ptx::ctaid_x() == 1) {
    put(p, 0, 41u);
    ptx::st_release_global(p.out + 64, 7);
    put(p, 1, 42u);
    ptx::membar_gl();
    ptx::red_global_add(p.out + 68, 1u);
    put(p, 2, 43u);
    ptx::fence_acq_rel_gpu();
    ptx::red_release_global_add(p.out + 72, 2);
  } else {
    ptx::wait_acquire_global(p.out + 64, 7);
    put(p, 3, get(p, 0) + ptx::ld_global<1>(p.out).word[0]);
    ptx::wait_acquire_global(p.out + 68, 0xa5a5a5a6);
    put(p, 4, ptx::ld_global<1>(p.out + 4).word[0]);
    ptx::wait_acquire_global(p.out + 72, 0xa5a5a5a7);
    put(p, 5, ptx::ld_global<1>(p.out + 8).word[0]);
  }
}

__device__ inline void named_barriers(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 mine = ptx::smem_base() + 4 * t;
  if (t < 64) {
    ptx::st_shared<1>(mine, Words<1>{{get(p, t)}});
    ptx::bar_arrive<128>(2);
    ptx::bar_sync<64>(1);
    put(p, t, ptx::ld_shared<1>(ptx::smem_base() + 4 * (63 - t)).word[0]);
  } else {
    ptx::bar_sync<128>(2);
    put(p, t, ptx::ld_shared<1>(mine - 256).word[0] + 1);
  }
}

__device__ inline void special_registers(const Parameters& p) {
  const u32 cta =
      (ptx::ctaid_z() * ptx::nctaid_y() + ptx::ctaid_y()) * ptx::nctaid_x() + ptx::ctaid_x();
  const u32 at = 8 * (cta * ptx::ntid() + ptx::tid());
  const u64 clock = ptx::clock64();
  const u64 time = ptx::globaltimer();
  put(p, at, ptx::tid());
  put(p, at + 1, ptx::laneid());
  put(p, at + 2, ptx::ctaid_x());
  put(p, at + 3, ptx::ctaid_y());
  put(p, at + 4, ptx::ctaid_z());
  put(p, at + 5, ptx::nctaid_x() + 16 * ptx::nctaid_y() + 256 * ptx::nctaid_z());
  put(p, at + 6, ptx::smid() < 1024 ? 1u : 0u);
  put(p, at + 7, ptx::clock64() > clock && ptx::globaltimer() >= time ? 1u : 0u);
}

__device__ inline void registers(const Parameters& p) {
  const u32 t = ptx::tid();
  if (t < 128) {
    ptx::reg_dec<40>();
    put(p, t, get(p, t) + 1);
  } else {
    ptx::reg_inc<232>();
    put(p, t, get(p, t) + 2);
  }
}

__device__ inline void exchange(const Parameters& p) {
  const u32 t = ptx::laneid();
  const u32 word = get(p, t);
  const float value = static_cast<float>(word % 1000);
  const u32 results[] = {ptx::shfl_sync_idx(word, (t * 7) % 32),
                         ptx::shfl_sync_bfly(word, 5),
                         ptx::shfl_sync_down(word, 3),
                         ptx::shfl_sync_up(word, 4),
                         bit_cast<u32>(ptx::shfl_sync_idx(value, 31 - t)),
                         bit_cast<u32>(ptx::shfl_sync_bfly(value, 16)),
                         bit_cast<u32>(ptx::shfl_sync_down(value, 1)),
                         bit_cast<u32>(ptx::shfl_sync_up(value, 31)),
                         ptx::vote_sync_any(word % 64 == 1) ? 1u : 0u,
                         ptx::vote_sync_all(word % 2 == 1) ? 1u : 0u,
                         ptx::vote_sync_ballot((word & 4) != 0),
                         ptx::redux_sync_add(word),
                         ptx::redux_sync_min(word),
                         ptx::redux_sync_max(word),
                         static_cast<u32>(ptx::redux_sync_add(static_cast<i32>(word))),
                         static_cast<u32>(ptx::redux_sync_min(static_cast<i32>(word))),
                         static_cast<u32>(ptx::redux_sync_max(static_cast<i32>(word)))};
  ptx::bar_warp_sync();
  for (u32 i = 0; i < 17; ++i)
    put(p, 32 * i + t, results[i]);
}

__device__ inline void election(const Parameters& p) {
  const u32 elected = ptx::vote_sync_ballot(ptx::elect_one());
  // One thread, whichever it is.
  put(p, ptx::laneid(), elected != 0 && (elected & (elected - 1)) == 0 ? 1u : 0u);
}

/// Every f16 to f32.
__device__ inline void from_f16(const Parameters& p) {
  for (u32 bits = ptx::tid(); bits < 65536; bits += ptx::ntid()) {
    const float value = ptx::cvt_f32_f16(bits);
    put(p, bits, value != value ? 0.0f : value);
  }
}

/// Every pair of equal bytes of both fp8 formats to f16.
__device__ inline void from_fp8(const Parameters& p) {
  const u32 byte = ptx::tid();
  const u32 pair = byte | (255 - byte) << 8;
  put(p, 2 * byte, ptx::cvt_rn_f16x2_e4m3x2(pair));
  put(p, 2 * byte + 1, ptx::cvt_rn_f16x2_e5m2x2(pair));
}

/// Floats to the narrow formats; the input has no NaN.
__device__ inline void from_f32(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 count = ptx::ntid();
  const float low = get_float(p, t);
  const float high = get_float(p, count + t);
  put(p, t, ptx::cvt_rn_f16_f32(low));
  put(p, count + t, ptx::cvt_rn_bf16_f32(low));
  put(p, 2 * count + t, ptx::cvt_rn_bf16x2_f32(low, high));
  put(p, 3 * count + t, ptx::cvt_rn_f16x2_f32(low, high));
  put(p, 4 * count + t, ptx::cvt_rn_satfinite_e4m3x2_f32(low, high));
  put(p, 5 * count + t, ptx::cvt_rn_satfinite_e5m2x2_f32(low, high));
  put(p, 6 * count + t, ptx::cvt_rna_tf32_f32(low));
  put(p, 7 * count + t, ptx::cvt_rni_s32_f32(low));
}

__device__ inline void from_f64(const Parameters& p) {
  const u32 t = ptx::tid();
  const double value = get_double(p, t);
  put(p, t, ptx::cvt_rn_f32_f64(value));
  put(p, ptx::ntid() + t, ptx::cvt_rz_f32_f64(value));
  put(p, 2 * ptx::ntid() + t, ptx::cvt_rni_s32_f64(value));
}

__device__ inline void multiply_add(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 count = ptx::ntid();
  const float x = get_float(p, t);
  const float y = get_float(p, count + t);
  put(p, t, ptx::fma_rn(x, y, 1.5f));
  put(p, 5 * count + t, ptx::max_nan(x, y));
  put(p, 6 * count + t, ptx::min_nan(x, y));
  put(p, 7 * count + t, ptx::mul_hi(get(p, t), get(p, count + t)));
  put(p, 4 * count + t, ptx::mul_rn_f16x2(get(p, t), 0x3c014200u));
  put(p, 8 * count + t, ptx::mul_rn_bf16x2(get(p, t), 0x3fa14200u));
  put(p, count + t, ptx::mad_lo(static_cast<i32>(get(p, t)), 12345, 678));
  put(p, count + t, ptx::fma_rn(double{x}, double{y}, 1.5));
}

template <typename Value>
__device__ inline Value function(u32 which, Value x) {
  if (which == 0) return ptx::square_root(x);
  if (which == 1) return ptx::exponential(x);
  if (which == 2) return ptx::logarithm(x);
  if (which == 3) return ptx::hyperbolic_tangent(x);
  if (which == 4) return ptx::exponential_2(x);
  if (which == 5) return ptx::exponential_m1(x);
  if (which == 6) return ptx::logarithm_1p(x);
  if (which == 7) return ptx::power(x, Value{1.5});
  return ptx::error_function(x);
}

/// The input is from 0.01 to 8.
__device__ inline void functions_f32(const Parameters& p) {
  const float x = get_float(p, ptx::tid());
  for (u32 i = 0; i < 9; ++i)
    put(p, i * ptx::ntid() + ptx::tid(), function(i, x));
  put(p, 9 * ptx::ntid() + ptx::tid(), ptx::ex2_approx_ftz(x));
  put(p, 10 * ptx::ntid() + ptx::tid(), ptx::rcp_approx(x));
  put(p, 11 * ptx::ntid() + ptx::tid(), ptx::rcp_approx_ftz(x));
}

__device__ inline void functions_f64(const Parameters& p) {
  for (u32 i = 0; i < 9; ++i)
    put(p, i * ptx::ntid() + ptx::tid(), function(i, double{get_float(p, ptx::tid())}));
}

/// One of two numbers; NaNs and zeros of both signs are among them.
__device__ inline void selection(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 count = ptx::ntid();
  const u32 special[] = {0x7fc00000, 0x80000000, 0, 0xff800000};
  const float x = t % 5 == 0 ? bit_cast<float>(special[t / 5 % 4]) : get_float(p, t);
  const float y = t % 3 == 0 ? bit_cast<float>(special[t / 3 % 4]) : get_float(p, count + t);
  const float most = ptx::max_nan(x, y);
  const float least = ptx::min_nan(x, y);
  const float number = ptx::min(x, y);
  put(p, t, most != most ? 0x7fffffffu : bit_cast<u32>(most));
  put(p, count + t, least != least ? 0x7fffffffu : bit_cast<u32>(least));
  put(p, 2 * count + t, ptx::mul_hi(get(p, t), get(p, count + t)));
  put(p, 3 * count + t, number != number ? 0x7fffffffu : bit_cast<u32>(number));
  put(p, 4 * count + t, x != x ? 0x7fffffffu : bit_cast<u32>(ptx::absolute(x)));
}

/// Two inputs: numbers from 0.01 to 8, and those from -2 to 2.
template <u32 which, typename Value>
__device__ inline void elementary(const Parameters& p) {
  const u32 t = ptx::tid();
  const Value x = get_float(p, t);
  const Value y = get_float(p, ptx::ntid() + t);
  if (which == 0) put(p, t, ptx::exponential_2(8 * y));
  if (which == 1) put(p, t, ptx::exponential_m1(y));
  if (which == 2) put(p, t, ptx::logarithm_1p(x - Value(0.005)));
  if (which == 3) put(p, t, ptx::power(x, 4 * y));
}

/// As elementary. The exponents reach those of subnormal results.
template <u32 which>
__device__ inline void approximate(const Parameters& p) {
  const u32 t = ptx::tid();
  if (which == 0) put(p, t, ptx::ex2_approx_ftz(70 * get_float(p, ptx::ntid() + t)));
  if (which == 1) put(p, t, ptx::rcp_approx(get_float(p, t)));
  if (which == 2) put(p, t, ptx::rcp_approx_ftz(get_float(p, t)));
}

}  // namespace conformance

// The check of outputs on the device: a reference product in float64, and the comparison of an
// output with it.
//
// It shares no code with the kernels that it judges, decoding included. Nothing here is known at
// compile time, so that one unit serves all types, layouts and sizes.
#pragma once

#include <estoc/abi/check.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc::check {

using abi::Type;

/// How a narrow float is encoded.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  bool has_nan;
};

__device__ __forceinline__ double power_of_two(int exponent) {
  return bit_cast<double>(static_cast<u64>(exponent + 1023) << 52);
}

__device__ __forceinline__ double not_a_number() {
  return bit_cast<double>(u64{0x7ff8000000000000});
}

__device__ __forceinline__ double magnitude_of(double value) {
  return bit_cast<double>(bit_cast<u64>(value) & u64{0x7fffffffffffffff});
}

__device__ inline double small_float(u32 bits, SmallFloat format) {
  const u32 most = (1u << format.mantissa_bits) - 1;
  const u32 mantissa = bits & most;
  const u32 top = (1u << format.exponent_bits) - 1;
  const u32 exponent = bits >> format.mantissa_bits & top;
  const bool negative = bits >> (format.mantissa_bits + format.exponent_bits) & 1;
  if (exponent == top && format.has_infinity) {
    const double infinity = bit_cast<double>(u64{0x7ff0000000000000});
    return mantissa != 0 ? not_a_number() : negative ? -infinity : infinity;
  }
  if (exponent == top && mantissa == most && format.has_nan) return not_a_number();
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const u32 whole = exponent == 0 ? mantissa : mantissa + most + 1;
  const int shift = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - format.mantissa_bits;
  const double value = static_cast<double>(whole) * power_of_two(shift);
  return negative ? -value : value;
}

/// To 10 bits of mantissa, to nearest even.
__device__ inline double tf32_of(u32 bits) {
  const bool finite = (bits >> 23 & 0xff) != 0xff;
  const u32 rounded = (bits + 0xfff + (bits >> 13 & 1)) & ~u32{0x1fff};
  return static_cast<double>(bit_cast<float>(finite ? rounded : bits));
}

__device__ inline double from_byte(Type type, u32 bits) {
  switch (type) {
    case Type::e4m3:
      return small_float(bits, {4, 3, false, true});
    case Type::e5m2:
      return small_float(bits, {5, 2, true, true});
    case Type::e8m0:
      return bits == 255 ? not_a_number() : power_of_two(static_cast<int>(bits) - 127);
    case Type::i8:
      return static_cast<double>(static_cast<i8>(bits));
    case Type::boolean:
      return bits != 0 ? 1 : 0;
    default:
      return static_cast<double>(bits);
  }
}

__device__ inline double from_half_byte(Type type, u32 bits) {
  if (type == Type::e2m1) return small_float(bits, {2, 1, false, false});
  const bool negative = type == Type::i4 && bits >= 8;
  return static_cast<double>(static_cast<i32>(bits) - (negative ? 16 : 0));
}

/// Element `index` of the array at `address` as the number that it stands for.
__device__ inline double element(Type type, u64 address, i64 index) {
  const int bytes = abi::type_bytes(type);
  const u64 at = address + static_cast<u64>(index * bytes);
  if (bytes == 8) return bit_cast<double>(ptx::ld_global<2>(at));
  if (bytes == 4) {
    const u32 bits = ptx::ld_global<1>(at).word[0];
    if (type == Type::i32) return static_cast<double>(static_cast<i32>(bits));
    return type == Type::tf32 ? tf32_of(bits) : static_cast<double>(bit_cast<float>(bits));
  }
  if (bytes == 2) {
    const u32 bits = ptx::ld_global_u16(at);
    return type == Type::f16 ? small_float(bits, {5, 10, true, true})
                             : small_float(bits, {8, 7, true, true});
  }
  if (bytes == 1) return from_byte(type, ptx::ld_global_u8(at));
  const u32 pair = ptx::ld_global_u8(address + static_cast<u64>(index / 2));
  return from_half_byte(type, index % 2 == 0 ? pair & 15 : pair >> 4);
}

__device__ __forceinline__ i64 number_at(u64 list, i64 index) {
  return bit_cast<i64>(ptx::ld_global<2>(list + static_cast<u64>(index * 8)));
}

/// The exponent of the lowest bit set in an element, or what stands for it.
__device__ inline int lowest_bit(double value) {
  const u64 bits = bit_cast<u64>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const u64 fraction = bits & ((u64{1} << 52) - 1);
  if (exponent == 0x7ff) return abi::kCheckNotFinite;
  const u64 whole = exponent == 0 ? fraction : fraction | u64{1} << 52;
  if (whole == 0) return abi::kCheckAllZero;
  const u64 lowest = bit_cast<u64>(static_cast<double>(whole & (~whole + 1)));
  return (exponent == 0 ? 1 : exponent) - 1075 + static_cast<int>(lowest >> 52) - 1023;
}

/// One warp for each vector.
__device__ inline void vector_facts(const abi::CheckVectors& p) {
  const i64 warps = static_cast<i64>(ptx::nctaid_x()) * (abi::kCheckThreads / 32);
  const i64 first = static_cast<i64>(ptx::ctaid_x()) * (abi::kCheckThreads / 32);
  for (i64 v = first + ptx::tid() / 32; v < p.count; v += warps) {
    const i64 entry = number_at(p.list, v / p.inner);
    const i64 start = entry / p.divisor * p.batch_stride + entry % p.divisor * p.stride +
                      v % p.inner * p.inner_stride;
    int lowest = abi::kCheckAllZero;
    for (i64 k = ptx::tid() % 32; k < p.k; k += 32) {
      const int bit = lowest_bit(element(p.type, p.address, start + k * p.k_stride));
      lowest = bit < lowest ? bit : lowest;
    }
    lowest = ptx::redux_sync_min(lowest);
    if (ptx::tid() % 32 == 0) {
      ptx::st_global<1>(p.result + static_cast<u64>(v * 4), Words<1>{static_cast<u32>(lowest)});
    }
  }
}

/// The sum of one element of the product; integers modulo 2^32.
template <typename Number>
struct Sum {
  Number value = 0;

  __device__ __forceinline__ void add(Number a, Number b) { value += a * b; }
  __device__ __forceinline__ void look(int /*products*/) {}
  __device__ __forceinline__ abi::CheckElement result() const {
    return {static_cast<double>(static_cast<i32>(value)), 0, 0};
  }
};
template <>
struct Sum<double> {
  double value = 0;
  double magnitude = 0;
  double partials = 0;

  __device__ __forceinline__ void add(double a, double b) {
    value += a * b;
    magnitude += magnitude_of(a) * magnitude_of(b);
  }
  __device__ __forceinline__ void look(int products) { partials += products * magnitude_of(value); }
  __device__ __forceinline__ abi::CheckElement result() const {
    return {value, magnitude, partials};
  }
};

template <typename Number>
__device__ __forceinline__ Number number(double value) {
  if constexpr (sizeof(Number) == 8) return value;
  if constexpr (sizeof(Number) == 4) return static_cast<Number>(static_cast<i32>(value));
}

template <typename Number>
__device__ __forceinline__ void put(u32 at, Number value) {
  ptx::st_shared<sizeof(Number) / 4>(at, bit_cast<Words<sizeof(Number) / 4>>(value));
}
template <typename Number>
__device__ __forceinline__ Number get(u32 at) {
  return bit_cast<Number>(ptx::ld_shared<sizeof(Number) / 4>(at));
}

/// The tiles of both operands in shared memory, K outermost.
template <typename Number>
struct Stage {
  static constexpr int kPitch = abi::kCheckTile + 1;
  static constexpr u32 kBytes = abi::kCheckDepth * kPitch * sizeof(Number);
  static constexpr u32 kAll = 2 * kBytes + abi::kCheckTile * 8;

  u32 base;

  __device__ __forceinline__ u32 a(int k, int row) const {
    return base + static_cast<u32>(k * kPitch + row) * sizeof(Number);
  }
  __device__ __forceinline__ u32 b(int k, int column) const { return a(k, column) + kBytes; }
  /// Where each row of A begins, in elements.
  __device__ __forceinline__ u32 start(int row) const {
    return base + 2 * kBytes + static_cast<u32>(row) * 8;
  }
};

/// The elements of a tile that a thread loads, so that neighbours read neighbours.
struct Share {
  int outer;
  int k;
  int outer_step;
  int k_step;

  __device__ static __forceinline__ Share of(bool along_k) {
    constexpr int kTile = abi::kCheckTile;
    constexpr int kDepth = abi::kCheckDepth;
    const int t = static_cast<int>(ptx::tid());
    if (along_k) return {t / kDepth, t % kDepth, abi::kCheckThreads / kDepth, 0};
    return {t % kTile, t / kTile, 0, abi::kCheckThreads / kTile};
  }
};

inline constexpr int kLoads = abi::kCheckTile * abi::kCheckDepth / abi::kCheckThreads;

/// Fills the stage with `k_left` products' operands from k on, zeros beyond.
template <typename Number>
__device__ inline void load(const abi::CheckProduct& p, Stage<Number> stage, i64 k, int rows,
                            i64 b_start, i64 columns) {
  const i64 k_left = p.k - k;
  const Share a = Share::of(p.a.column_stride == 1);
  const Share b = Share::of(p.b.row_stride == 1);
#pragma unroll 2
  for (int i = 0; i < kLoads; ++i) {
    const int row = a.outer + i * a.outer_step;
    const int a_k = a.k + i * a.k_step;
    double value = 0;
    if (row < rows && a_k < k_left) {
      const i64 start = get<i64>(stage.start(row));
      value = element(p.a_type, p.a.address, start + (k + a_k) * p.a.column_stride);
    }
    put(stage.a(a_k, row), number<Number>(value));
    const int column = b.outer + i * b.outer_step;
    const int b_k = b.k + i * b.k_step;
    value = 0;
    if (column < columns && b_k < k_left) {
      const i64 at = b_start + (k + b_k) * p.b.row_stride + column * p.b.column_stride;
      value = element(p.b_type, p.b.address, at);
    }
    put(stage.b(b_k, column), number<Number>(value));
  }
}

/// One tile of the product; thread t has rows t / 16 + 16 i and columns t % 16 + 16 j.
template <typename Number>
__device__ inline void product(const abi::CheckProduct& p) {
  constexpr int kPart = abi::kCheckTile / 16;
  const Stage<Number> stage{ptx::smem_base()};
  const i64 tile_address = static_cast<i64>(ptx::ctaid_x() / p.column_tiles) * 2;
  const i64 first = number_at(p.tiles, tile_address);
  const int rows = static_cast<int>(number_at(p.tiles, tile_address + 1));
  const i64 first_column = static_cast<i64>(ptx::ctaid_x() % p.column_tiles) * abi::kCheckTile;
  const int t = static_cast<int>(ptx::tid());
  if (t < rows) {
    const i64 row = number_at(p.rows, first + t);
    put(stage.start(t), row / p.m * p.a.batch_stride + row % p.m * p.a.row_stride);
  }
  const i64 batch = number_at(p.rows, first) / p.m;
  const i64 b_start = batch * p.b.batch_stride + first_column * p.b.column_stride;
  Sum<Number> sums[kPart][kPart];
  for (i64 k = 0; k < p.k; k += abi::kCheckDepth) {
    ptx::barrier_sync();
    load(p, stage, k, rows, b_start, p.n - first_column);
    ptx::barrier_sync();
#pragma unroll 4
    for (int i = 0; i < abi::kCheckDepth; ++i) {
      Number a[kPart];
      Number b[kPart];
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        a[j] = get<Number>(stage.a(i, t / 16 + 16 * j));
        b[j] = get<Number>(stage.b(i, t % 16 + 16 * j));
      }
#pragma unroll
      for (int j = 0; j < kPart * kPart; ++j)
        sums[j / kPart][j % kPart].add(a[j / kPart], b[j % kPart]);
    }
    const i64 left = p.k - k;
    const int products = left < abi::kCheckDepth ? static_cast<int>(left) : abi::kCheckDepth;
#pragma unroll
    for (int j = 0; j < kPart * kPart; ++j)
      sums[j / kPart][j % kPart].look(products);
  }
#pragma unroll
  for (int j = 0; j < kPart * kPart; ++j) {
    const int row = t / 16 + j / kPart * 16;
    const i64 column = first_column + t % 16 + j % kPart * 16;
    if (row >= rows || column >= p.n) continue;
    const abi::CheckElement result = sums[j / kPart][j % kPart].result();
    const u64 at = p.result + static_cast<u64>((first + row) * p.n + column) * sizeof(result);
    ptx::st_global<2>(at, bit_cast<Words<2>>(result.value));
    ptx::st_global<2>(at + 8, bit_cast<Words<2>>(result.magnitude));
    ptx::st_global<2>(at + 16, bit_cast<Words<2>>(result.partials));
  }
}

/// Compares rows of an output with what passes; a CTA takes every so many rows.
__device__ inline void look(const abi::CheckOutput& p) {
  double error = 0;
  u64 failed = 0;
  for (i64 i = ptx::ctaid_x(); i < p.count; i += ptx::nctaid_x()) {
    const i64 row = number_at(p.rows, i);
    const i64 start = row / p.m * p.out.batch_stride + row % p.m * p.out.row_stride;
    for (i64 column = ptx::tid(); column < p.n; column += abi::kCheckThreads) {
      const i64 at = i * p.n + column;
      const double got = element(p.type, p.out.address, start + column * p.out.column_stride);
      const double low = element(p.type, p.low, at);
      const double high = element(p.type, p.high, at);
      const bool passes = low == low ? low <= got && got <= high : got != got;
      if (!passes) ++failed;
      const double reference = element(Type::f64, p.references, at);
      const double distance = (got - reference) * p.scale;
      if (reference == reference) error += distance * distance;
    }
  }
  const u32 errors = ptx::smem_base();
  const u32 counts = errors + abi::kCheckThreads * 8;
  put(errors + ptx::tid() * 8, error);
  put(counts + ptx::tid() * 8, failed);
  ptx::barrier_sync();
  if (ptx::tid() != 0) return;
  for (u32 t = 1; t < abi::kCheckThreads; ++t) {
    error += get<double>(errors + t * 8);
    failed += get<u64>(counts + t * 8);
  }
  const u64 at = p.tallies + static_cast<u64>(ptx::ctaid_x()) * sizeof(abi::CheckTally);
  ptx::st_global<2>(at, bit_cast<Words<2>>(error));
  ptx::st_global<2>(at + 8, bit_cast<Words<2>>(failed));
}

}  // namespace estoc::check

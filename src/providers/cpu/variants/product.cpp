// Products and conversions of blocks, compiled once for each instruction set (variants.cmake).
//
// Each copy is told its namespace, ESTOC_VARIANT, and renames Eigen's. It must define no other
// symbol that the linker could share between copies: no inline function of std or estoc that the
// compiler might emit out of line. tests/unit/cpu/symbols_test.cpp looks.
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "core/float_formats.h"
#include "providers/cpu/product.h"

#define ESTOC_TEXT_OF(name) #name
#define ESTOC_TEXT(name) ESTOC_TEXT_OF(name)

namespace estoc::cpu::ESTOC_VARIANT {
namespace {

using Eigen::Index;

// ---------------------------------------------------------------------------- products

/// Eigen's block sizes for a product, with the packed blocks in memory that the caller owns.
template <class T>
class Blocking : public Eigen::internal::level3_blocking<T, T> {
 public:
  explicit Blocking(const Product<T>& product) {
    this->m_mc = product.m;
    this->m_nc = product.n;
    this->m_kc = product.k;
    Eigen::internal::computeProductBlockingSizes<T, T, 1>(this->m_kc, this->m_mc, this->m_nc,
                                                          Index{1});
    constexpr Index kCapacity = kPackingBytes / static_cast<Index>(sizeof(T));
    constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
    shrink(kCapacity - kLine);
    const Index size_a = (this->m_mc * this->m_kc + kLine - 1) / kLine * kLine;
    this->m_blockA = static_cast<T*>(product.packing);
    this->m_blockB = this->m_blockA + size_a;
  }

 private:
  void shrink(Index capacity) {
    // NOLINTNEXTLINE(bugprone-infinite-loop): `largest` is one of the three
    while ((this->m_mc + this->m_nc) * this->m_kc > capacity) {
      Index& largest = this->m_nc >= this->m_mc && this->m_nc >= this->m_kc ? this->m_nc
                       : this->m_mc >= this->m_kc                           ? this->m_mc
                                                                            : this->m_kc;
      largest = (largest + 1) / 2;
    }
  }
};

template <class T, int kOrderA, int kOrderB>
void multiply_matrices(const Product<T>& product) {
  Blocking<T> blocking(product);
  Eigen::internal::general_matrix_matrix_product<Index, T, kOrderA, false, T, kOrderB, false,
                                                 Eigen::ColMajor, 1>::run(product.m, product.n,
                                                                          product.k, product.a,
                                                                          product.a_stride,
                                                                          product.b,
                                                                          product.b_stride,
                                                                          product.c, 1,
                                                                          product.c_stride, T{1},
                                                                          blocking);
}

template <class T, int kOrder>
void multiply_vector(const Product<T>& product) {
  using Matrix = Eigen::internal::const_blas_data_mapper<T, Index, kOrder>;
  using Vector = Eigen::internal::const_blas_data_mapper<T, Index, Eigen::RowMajor>;
  Eigen::internal::general_matrix_vector_product<Index, T, Matrix, kOrder, false, T, Vector,
                                                 false>::run(product.m, product.k,
                                                             Matrix(product.a, product.a_stride),
                                                             Vector(product.b, 1), product.c, 1,
                                                             T{1});
}

template <class T>
void clear(const Product<T>& product) {
  for (std::int64_t j = 0; j < product.n; ++j) {
    T* const column = product.c + j * product.c_stride;
    for (std::int64_t i = 0; i < product.m; ++i)
      column[i] = T{0};
  }
}

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

/// Some rows of A, packed k after k, and the products that they have part in. Everything is
/// computed by vectors, so that no element is added up in another way because it stands at an edge.
template <class T>
class Strip {
 public:
  using Vector __attribute__((vector_size(kVectorBytes))) = T;
  static constexpr std::size_t kVectors = 2;
  static constexpr std::int64_t kLanes = static_cast<std::int64_t>(kVectorBytes / sizeof(T));
  static constexpr std::int64_t kRows = static_cast<std::int64_t>(kVectors) * kLanes;
  static constexpr std::int64_t kDepth =
      kOrderedBytes / static_cast<std::int64_t>(kVectors * kVectorBytes);

  Strip(const Product<T>& product, std::int64_t row)
      : product_(product),
        row_(row),
        rows_(product.m - row < kRows ? product.m - row : kRows),
        packed_(static_cast<T*>(product.packing)) {}

  /// Adds the products of `depth` k from `first` on.
  void multiply(std::int64_t first, std::int64_t depth) const {
    pack(first, depth);
    constexpr std::int64_t kAtOnce = 6;
    std::int64_t j = 0;
    for (; j + kAtOnce <= product_.n; j += kAtOnce)
      add_columns<kAtOnce>(j, first, depth);
    for (; j < product_.n; ++j)
      add_columns<1>(j, first, depth);
  }

 private:
  void pack(std::int64_t first, std::int64_t depth) const {
    const std::int64_t row_step = product_.a_row_major ? product_.a_stride : 1;
    const std::int64_t k_step = product_.a_row_major ? 1 : product_.a_stride;
    const T* const from = product_.a + row_ * row_step + first * k_step;
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t i = 0; i < kRows; ++i)
        packed_[k * kRows + i] = i < rows_ ? from[i * row_step + k * k_step] : T{0};
    }
  }

  template <std::size_t kColumns>
  void add_columns(std::int64_t j, std::int64_t first, std::int64_t depth) const {
    const std::int64_t k_step = product_.b_row_major ? product_.b_stride : 1;
    const std::int64_t step = product_.b_row_major ? 1 : product_.b_stride;
    const T* const b = product_.b + j * step + first * k_step;
    T* const c = product_.c + row_ + j * product_.c_stride;
    const std::size_t bytes = static_cast<std::size_t>(rows_) * sizeof(T);
    Vector sums[kColumns][kVectors];
    for (std::size_t x = 0; x < kColumns; ++x) {
      Vector edge[kVectors] = {};
      __builtin_memcpy(edge, c + static_cast<std::int64_t>(x) * product_.c_stride, bytes);
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[x][v] = edge[v];
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      Vector a[kVectors];
      __builtin_memcpy(a, packed_ + k * kRows, sizeof(a));
      for (std::size_t x = 0; x < kColumns; ++x) {
        const T factor = b[static_cast<std::int64_t>(x) * step + k * k_step];
        for (std::size_t v = 0; v < kVectors; ++v)
          sums[x][v] += a[v] * factor;
      }
    }
    for (std::size_t x = 0; x < kColumns; ++x) {
      Vector edge[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v)
        edge[v] = sums[x][v];
      __builtin_memcpy(c + static_cast<std::int64_t>(x) * product_.c_stride, edge, bytes);
    }
  }

  const Product<T>& product_;
  std::int64_t row_;
  std::int64_t rows_;
  T* packed_;
};

/// C += A @ B, each element by itself: k upwards, fused where the processor can.
template <class T>
void multiply_in_order(const Product<T>& product) {
  constexpr std::int64_t kDepth = Strip<T>::kDepth;
  for (std::int64_t row = 0; row < product.m; row += Strip<T>::kRows) {
    const Strip<T> strip(product, row);
    for (std::int64_t k = 0; k < product.k; k += kDepth)
      strip.multiply(k, product.k - k < kDepth ? product.k - k : kDepth);
  }
}

template <class T>
void multiply(const Product<T>& product) {
  constexpr int kColumns = Eigen::ColMajor;
  constexpr int kRows = Eigen::RowMajor;
  if (!product.accumulate) clear(product);
  if (product.k == 0) return;
  if (product.in_order) return multiply_in_order(product);
  const bool vector = product.n == 1 && !product.b_row_major;
  if (vector && product.a_row_major) return multiply_vector<T, kRows>(product);
  if (vector) return multiply_vector<T, kColumns>(product);
  if (product.a_row_major) {
    if (product.b_row_major) return multiply_matrices<T, kRows, kRows>(product);
    return multiply_matrices<T, kRows, kColumns>(product);
  }
  if (product.b_row_major) return multiply_matrices<T, kColumns, kRows>(product);
  return multiply_matrices<T, kColumns, kColumns>(product);
}

// ---------------------------------------------------------------------------- elements

template <class T>
ESTOC_FORCE_INLINE T round_even(T value) {
  if constexpr (sizeof(T) == sizeof(float)) return __builtin_nearbyintf(value);
  return static_cast<T>(__builtin_nearbyint(value));
}

/// `value` rounded to a whole number and saturated; kLow and kHigh + 1 are exact in float.
template <class Stored, std::int64_t kLow, std::int64_t kHigh, class T>
ESTOC_FORCE_INLINE Stored saturate(T value) {
  if constexpr (static_cast<T>(0.5F) == T{0}) {
    const T low = value < kLow ? static_cast<T>(kLow) : value;
    return static_cast<Stored>(low > kHigh ? static_cast<T>(kHigh) : low);
  } else {
    const T whole = round_even(value);
    const T limited = whole > static_cast<T>(kLow) ? whole : static_cast<T>(kLow);
    const Stored inside = limited < static_cast<T>(kHigh + 1) ? static_cast<Stored>(limited)
                                                              : static_cast<Stored>(kHigh);
    return value == value ? inside : Stored{0};  // NOLINT(misc-redundant-expression): not of NaN
  }
}

/// How elements of a dtype are stored, read as T and written from T.
template <Dtype dtype>
struct Element;

template <>
struct Element<Dtype::f64> {
  using Stored = double;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(stored);
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return static_cast<Stored>(value);
  }
};

template <>
struct Element<Dtype::f32> {
  using Stored = float;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(stored);
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return static_cast<Stored>(value);
  }
};

template <>
struct Element<Dtype::tf32> {
  using Stored = float;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(core::f32_to_tf32(stored));
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return core::tf32_code_to_f32(core::encode<core::kFormat<Dtype::tf32>>(value));
  }
};

template <Dtype dtype, class Code>
struct NarrowFloat {
  using Stored = Code;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(core::decode<core::kFormat<dtype>, float>(stored));
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return static_cast<Stored>(core::encode<core::kFormat<dtype>>(value));
  }
};

template <>
struct Element<Dtype::f16> : NarrowFloat<Dtype::f16, std::uint16_t> {};
template <>
struct Element<Dtype::bf16> : NarrowFloat<Dtype::bf16, std::uint16_t> {};
template <>
struct Element<Dtype::e4m3> : NarrowFloat<Dtype::e4m3, std::uint8_t> {};
template <>
struct Element<Dtype::e5m2> : NarrowFloat<Dtype::e5m2, std::uint8_t> {};

template <class Whole, std::int64_t kLow, std::int64_t kHigh>
struct Integer {
  using Stored = Whole;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(stored);
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return saturate<Stored, kLow, kHigh>(value);
  }
};

template <>
struct Element<Dtype::i32> : Integer<std::int32_t, -2147483648LL, 2147483647LL> {};
template <>
struct Element<Dtype::i8> : Integer<std::int8_t, -128, 127> {};
template <>
struct Element<Dtype::u8> : Integer<std::uint8_t, 0, 255> {};

template <>
struct Element<Dtype::boolean> {
  using Stored = std::uint8_t;
  template <class T>
  ESTOC_FORCE_INLINE T read(Stored stored) {
    return static_cast<T>(stored != 0 ? 1 : 0);
  }
  template <class T>
  ESTOC_FORCE_INLINE Stored write(T value) {
    return value != T{0} ? 1 : 0;
  }
};

// ---------------------------------------------------------------------------- blocks

/// Reads `count` consecutive elements.
template <class Source, class T>
ESTOC_FORCE_INLINE void read_run(const typename Source::Stored* source, T* buffer,
                                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    buffer[i] = Source::template read<T>(source[i]);
  }
}

#if defined(__F16C__)
/// The same for f16, by the processor's own conversion.
ESTOC_FORCE_INLINE void read_f16_run(const std::uint16_t* source, float* buffer,
                                     std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
    _mm256_storeu_ps(buffer + i, _mm256_cvtph_ps(codes));
  }
  read_run<Element<Dtype::f16>>(source + i, buffer + i, count - i);
}
#endif

template <class Source, class T>
void load_as(const Block& block, T* buffer, std::int64_t stride) {
  using Stored = typename Source::Stored;
  const Stored* const data = static_cast<const Stored*>(block.data);
  if (block.inner_stride == 1) {
    for (std::int64_t o = 0; o < block.outer; ++o) {
#if defined(__F16C__)
      if constexpr (__is_same(Source, Element<Dtype::f16>) && __is_same(T, float)) {
        read_f16_run(data + o * block.outer_stride, buffer + o * stride, block.inner);
        continue;
      }
#endif
      read_run<Source>(data + o * block.outer_stride, buffer + o * stride, block.inner);
    }
    return;
  }
  if (block.outer_stride == 1) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      for (std::int64_t o = 0; o < block.outer; ++o) {
        buffer[i + o * stride] = Source::template read<T>(data[i * block.inner_stride + o]);
      }
    }
    return;
  }
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      buffer[i + o * stride] =
          Source::template read<T>(data[i * block.inner_stride + o * block.outer_stride]);
    }
  }
}

template <class Target, class T>
void store_as(const Block& block, const T* buffer, std::int64_t stride) {
  using Stored = typename Target::Stored;
  Stored* const data = static_cast<Stored*>(block.data);
  if (block.inner_stride == 1) {
    for (std::int64_t o = 0; o < block.outer; ++o) {
      Stored* const run = data + o * block.outer_stride;
      const T* const values = buffer + o * stride;
      for (std::int64_t i = 0; i < block.inner; ++i) {
        run[i] = Target::template write<T>(values[i]);
      }
    }
    return;
  }
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      data[i * block.inner_stride + o * block.outer_stride] =
          Target::template write<T>(buffer[i + o * stride]);
    }
  }
}

template <class T>
void load_integers(const Block& block, T* buffer, std::int64_t stride) {
  switch (block.dtype) {
    case Dtype::i32:
      return load_as<Element<Dtype::i32>>(block, buffer, stride);
    case Dtype::i8:
      return load_as<Element<Dtype::i8>>(block, buffer, stride);
    case Dtype::u8:
      return load_as<Element<Dtype::u8>>(block, buffer, stride);
    case Dtype::boolean:
      return load_as<Element<Dtype::boolean>>(block, buffer, stride);
    default:
      return;
  }
}

template <class T>
void load(const Block& block, T* buffer, std::int64_t stride) {
  switch (block.dtype) {
    case Dtype::f64:
      return load_as<Element<Dtype::f64>>(block, buffer, stride);
    case Dtype::f32:
      return load_as<Element<Dtype::f32>>(block, buffer, stride);
    case Dtype::tf32:
      return load_as<Element<Dtype::tf32>>(block, buffer, stride);
    case Dtype::f16:
      return load_as<Element<Dtype::f16>>(block, buffer, stride);
    case Dtype::bf16:
      return load_as<Element<Dtype::bf16>>(block, buffer, stride);
    case Dtype::e4m3:
      return load_as<Element<Dtype::e4m3>>(block, buffer, stride);
    case Dtype::e5m2:
      return load_as<Element<Dtype::e5m2>>(block, buffer, stride);
    default:
      return load_integers(block, buffer, stride);
  }
}

template <class T>
void store_wide(const Block& block, const T* buffer, std::int64_t stride) {
  switch (block.dtype) {
    case Dtype::f64:
      return store_as<Element<Dtype::f64>>(block, buffer, stride);
    case Dtype::f32:
      return store_as<Element<Dtype::f32>>(block, buffer, stride);
    case Dtype::i32:
      return store_as<Element<Dtype::i32>>(block, buffer, stride);
    case Dtype::i8:
      return store_as<Element<Dtype::i8>>(block, buffer, stride);
    case Dtype::u8:
      return store_as<Element<Dtype::u8>>(block, buffer, stride);
    case Dtype::boolean:
      return store_as<Element<Dtype::boolean>>(block, buffer, stride);
    default:
      return;
  }
}

template <class T>
void store(const Block& block, const T* buffer, std::int64_t stride) {
  switch (block.dtype) {
    case Dtype::tf32:
      return store_as<Element<Dtype::tf32>>(block, buffer, stride);
    case Dtype::f16:
      return store_as<Element<Dtype::f16>>(block, buffer, stride);
    case Dtype::bf16:
      return store_as<Element<Dtype::bf16>>(block, buffer, stride);
    case Dtype::e4m3:
      return store_as<Element<Dtype::e4m3>>(block, buffer, stride);
    case Dtype::e5m2:
      return store_as<Element<Dtype::e5m2>>(block, buffer, stride);
    default:
      return store_wide(block, buffer, stride);
  }
}

void add_whole(std::int32_t* sums, const float* products, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto product = static_cast<std::int32_t>(products[i]);
    sums[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                        static_cast<std::uint32_t>(product));
  }
}

}  // namespace

// Of epilogue.cpp.
void run_strip(const EpilogueStrip& strip);
void fold_strip(const EpilogueFold& fold);

// NOLINTBEGIN(readability-identifier-naming): every variant has one
extern const ProductTable table;
const ProductTable table = {
    .name = ESTOC_TEXT(ESTOC_VARIANT),
    .multiply_f32 = multiply<float>,
    .multiply_f64 = multiply<double>,
    .load_f32 = load<float>,
    .load_f64 = load<double>,
    .load_i32 = load_integers<std::int32_t>,
    .store_f32 = store<float>,
    .store_f64 = store<double>,
    .store_i32 = store_wide<std::int32_t>,
    .add_whole = add_whole,
    .run_strip = run_strip,
    .fold_strip = fold_strip,
};
// NOLINTEND(readability-identifier-naming)

}  // namespace estoc::cpu::ESTOC_VARIANT

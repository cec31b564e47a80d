// What host and device agree on: configurations, parameters, sizes. The one header both include.
#pragma once

#ifdef __CUDACC_RTC__
#define ESTOC_CONSTEXPR __device__ constexpr
#else
#define ESTOC_CONSTEXPR constexpr
#endif

namespace estoc::abi {

/// Element types, with the values of estoc::Dtype.
enum class Type : unsigned char {
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e8m0,
  e2m1,
  i32,
  i8,
  u8,
  i4,
  u4,
  boolean,
};

/// Bytes of an element; 0 for the types stored two to a byte.
ESTOC_CONSTEXPR int type_bytes(Type type) {
  switch (type) {
    case Type::f64:
      return 8;
    case Type::f32:
    case Type::tf32:
    case Type::i32:
      return 4;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::e2m1:
    case Type::i4:
    case Type::u4:
      return 0;
    default:
      return 1;
  }
}

/// Bits of an element: 64 to 4.
ESTOC_CONSTEXPR int type_bits(Type type) {
  return type_bytes(type) == 0 ? 4 : 8 * type_bytes(type);
}

/// Which mode of a matrix is read by vectors of 16 bytes: its last, its next-to-last, or none, any
/// strides being allowed then.
enum class Vectors : unsigned char { last, next_to_last, none };

/// A matrix operand: address of element (0, 0, 0) and strides in elements.
struct Matrix {
  unsigned long long address;
  long long row_stride;
  long long column_stride;
  long long batch_stride;
};

/// A tensor of the output's shape that an epilogue reads or writes; strides are 0 along the modes
/// that it repeats.
struct EpilogueOperand {
  Matrix at;
  int vectors;  ///< four neighbours of a row may be moved by one instruction
  int mapped;   ///< TMA moves its tiles
};

/// A number given at run time: where it is on the device, or, the address being 0, the bits of its
/// value in the type that it is computed in.
struct EpilogueScalar {
  unsigned long long address;
  unsigned long long bits;
};

enum class Reduction : unsigned char { sum, max, min, absmax, sum_of_squares };

/// Where tiles leave their parts of a reduction: part p of result r, in the type that it is
/// computed in, is element p * results + r. Of results that are one for all batches, each batch has
/// `parts`.
struct EpiloguePartials {
  unsigned long long address;
  long long results;
  long long parts;
};

/// What a generated epilogue is given.
template <unsigned tensors, unsigned scalars, unsigned stores, unsigned reductions>
struct EpilogueParameters {
  EpilogueOperand tensor[tensors > 0 ? tensors : 1];
  EpilogueScalar scalar[scalars > 0 ? scalars : 1];
  EpilogueOperand store[stores];  ///< the first is the output
  EpiloguePartials partial[reductions > 0 ? reductions : 1];
};

/// The second stage of a reduction: `parts` of each result, put together and stored at
/// to.address + result / inner * to.batch_stride + result % inner * to.row_stride.
struct EpilogueResult {
  EpiloguePartials from;
  Matrix to;
  long long inner;
  int lanes;  ///< threads that share a result: 1, 8 or 256
  int pad;
};
template <unsigned reductions>
struct EpilogueResults {
  EpilogueResult result[reductions];
};

/// Configuration of simt_gemm.
struct SimtGemmConfig {
  Type a;
  Type b;
  Type accumulator;  ///< f64, f32 or i32
  Type out;
  Vectors a_vectors;
  Vectors b_vectors;
  bool out_vectors;  ///< out is row-major and may be stored four elements at a time
  int tile_m;
  int tile_n;
  int tile_k;
  int thread_m;  ///< rows that one thread accumulates: 4 or 8
  int thread_n;

  ESTOC_CONSTEXPR int threads() const { return tile_m / thread_m * (tile_n / thread_n); }
  ESTOC_CONSTEXPR int warps() const { return threads() / 32; }
  /// Warps side by side, each four threads of columns wide.
  ESTOC_CONSTEXPR int warps_n() const { return tile_n / (4 * thread_n); }
  /// CTAs that are to fit on a multiprocessor at least.
  ESTOC_CONSTEXPR int ctas() const { return threads() <= 64 ? 4 : 2; }
  /// Elements from one k to the next in shared memory; the padding keeps 16-byte alignment.
  ESTOC_CONSTEXPR int a_pitch() const { return tile_m + 4; }
  ESTOC_CONSTEXPR int b_pitch() const { return tile_n + 4; }
  /// Two stages of both operands, widened to the accumulator's type.
  ESTOC_CONSTEXPR int shared_bytes() const {
    return 2 * tile_k * (a_pitch() + b_pitch()) * type_bytes(accumulator);
  }
};

struct SimtGemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  long long m;
  long long n;
  long long k;
  long long l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< rows of tiles that neighbouring CTAs share, for the L2 cache
};
static_assert(sizeof(SimtGemmParameters) == 144);

/// Operations of simt_elementwise, with the values of estoc::ElementwiseOp.
enum class Op : unsigned char {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  identity,
  neg,
  abs,
  sqrt,
  rsqrt,
  exp,
  log,
  reciprocal,
  relu,
  gelu,
  silu,
  sigmoid,
  tanh,
};

/// Configuration of simt_elementwise.
struct SimtElementwiseConfig {
  Op op;
  Type a;
  Type b;
  Type out;
  Type compute;  ///< f64, f32 or i32
  /// Elements that a thread takes at a time along the innermost mode: 1 (2 where out is stored two
  /// to a byte), or as many as make 16 bytes of the widest operand, at most 16, addresses and
  /// strides being aligned to that many elements.
  int vector;
  /// Everything is one contiguous run: there is one mode.
  bool flat;
  /// A and B have any strides along the innermost mode, whatever `vector` is.
  bool strided = false;

  ESTOC_CONSTEXPR int threads() const { return 256; }
  /// Vectors that a thread has in flight.
  ESTOC_CONSTEXPR int unroll() const { return 4; }
};

inline constexpr int kElementwiseRank = 6;

/// Modes are ordered from the innermost; absent ones have extent 1. Strides count elements.
struct SimtElementwiseParameters {
  unsigned long long a;
  unsigned long long b;
  unsigned long long out;
  long long extent[kElementwiseRank];
  long long a_stride[kElementwiseRank];
  long long b_stride[kElementwiseRank];
  long long out_stride[kElementwiseRank];
  long long row_vectors;  ///< vectors in one innermost row, the last possibly partial
  long long vectors;      ///< row_vectors times the other extents
};
static_assert(sizeof(SimtElementwiseParameters) == 24 + 4 * 48 + 16);

/// A tensor map, encoded by the driver. Kernels take it in a `const __grid_constant__` parameter
/// and hand it on by reference.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

/// Configuration of sm80_gemm. The output is row-major; for a column-major one the host states the
/// transposed problem.
struct Sm80GemmConfig {
  Type a;
  Type b;            ///< as wide as a
  Type accumulator;  ///< f32, i32 or f64
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K
  bool b_n_major;  ///< likewise for B
  int tile_m;
  int tile_n;
  int tile_k;
  int warps_m;
  int warps_n;
  int stages;
  int a_copy;  ///< bytes that one cp.async moves: 16, 8 or 4, as the alignment allows
  int b_copy;
  bool out_vectors;    ///< rows of out are aligned to 16 bytes
  bool fused = false;  ///< an epilogue reads the accumulators from shared memory

  ESTOC_CONSTEXPR int threads() const { return 32 * warps_m * warps_n; }
  ESTOC_CONSTEXPR int warp_rows() const { return tile_m / warps_m; }
  ESTOC_CONSTEXPR int warp_columns() const { return tile_n / warps_n; }
  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * tile_k * type_bytes(a); }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * tile_k * type_bytes(b); }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// From one row of a warp's store to the next: 16 bytes more than the row, against conflicts.
  ESTOC_CONSTEXPR int store_pitch() const {
    return warp_columns() * type_bytes(fused ? accumulator : out) + 16;
  }
  /// Sixteen rows of each warp; they take the place of the stages.
  ESTOC_CONSTEXPR int store_bytes() const { return warps_m * warps_n * 16 * store_pitch(); }
  ESTOC_CONSTEXPR int shared_bytes() const {
    return stages * stage_bytes() > store_bytes() ? stages * stage_bytes() : store_bytes();
  }
};

struct Sm80GemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  int m;
  int n;
  int k;
  int l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< rows of tiles that neighbouring CTAs share, for the L2 cache
  unsigned pad;
};
static_assert(sizeof(Sm80GemmParameters) == 3 * 32 + 32);

/// How the consumer warpgroups of sm90_gemm share the work of a CTA.
enum class Schedule : unsigned char {
  single,       ///< there is one
  cooperative,  ///< two, each computing half the rows of a tile
  pingpong,     ///< two, each with a tile of its own; one stores while the other multiplies
};

/// Shared memory that the epilogue of each consumer of sm90_gemm takes; without one it is all 0.
struct Sm90EpilogueShape {
  int columns;      ///< of the boxes of 64 rows in which tensors are moved: a multiple of 16
  int load_bytes;   ///< of one box of each input that is a whole matrix
  int load_depth;   ///< boxes of an input that are under way or in use
  int store_bytes;  ///< of one box of each output
  int store_depth;  ///< 1 or 2
  int value_bytes;  ///< vectors and scalars of one tile
  bool rolled;      ///< a long epilogue stands once in the code, in a loop

  /// A warp of the producer's brings inputs.
  ESTOC_CONSTEXPR bool loads() const { return load_bytes + value_bytes > 0; }
  ESTOC_CONSTEXPR int stores_offset() const { return load_bytes * load_depth; }
  ESTOC_CONSTEXPR int values_offset() const { return stores_offset() + store_bytes * store_depth; }
  ESTOC_CONSTEXPR int barriers_offset() const { return values_offset() + value_bytes; }
  /// In steps of what swizzled boxes are aligned to.
  ESTOC_CONSTEXPR int bytes() const {
    return (barriers_offset() + 16 * (load_depth + 1) + 1023) / 1024 * 1024;
  }
};

/// Configuration of sm90_gemm. The output is row-major; for a column-major one the host states the
/// transposed problem.
struct Sm90GemmConfig {
  Type a;
  Type b;  ///< as wide as a
  Type accumulator;
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K; 16-bit types only
  bool b_n_major;  ///< likewise for B
  int tile_m;
  int tile_n;
  int stages;
  int cluster_m;
  int cluster_n;
  Schedule schedule;
  bool promote;    ///< add what the tensor core accumulated to f32 registers after every tile_k
  bool tma_store;  ///< out is aligned to 16 bytes; else threads store their elements
  Sm90EpilogueShape epilogue = {};

  /// Rows of 128 bytes, what one swizzle pattern spans.
  ESTOC_CONSTEXPR int tile_k() const { return 128 / type_bytes(a); }
  ESTOC_CONSTEXPR int consumers() const { return schedule == Schedule::single ? 1 : 2; }
  ESTOC_CONSTEXPR int threads() const { return 128 * (1 + consumers()); }
  /// Rows of a tile that one warpgroup computes: a multiple of 64.
  ESTOC_CONSTEXPR int consumer_rows() const {
    return schedule == Schedule::cooperative ? tile_m / 2 : tile_m;
  }
  ESTOC_CONSTEXPR int cluster_size() const { return cluster_m * cluster_n; }
  /// Sums that a thread of a consumer holds, the second set of a promoted product included.
  ESTOC_CONSTEXPR int sums() const {
    return consumer_rows() / 64 * (tile_n / 2) * (promote ? 2 : 1);
  }
  /// With two consumers: together what a multiprocessor has, in steps of 8 a thread.
  ESTOC_CONSTEXPR int producer_registers() const { return epilogue.loads() ? 56 : 40; }
  ESTOC_CONSTEXPR int consumer_registers() const { return epilogue.loads() ? 224 : 232; }

  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * 128; }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * 128; }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }

  /// Bytes of a row that one TMA store takes: 128, or less where the tile is not a multiple.
  ESTOC_CONSTEXPR int store_row_bytes() const {
    const int row = tile_n * type_bytes(out);
    return row % 128 == 0 ? 128 : row % 64 == 0 ? 64 : 32;
  }
  ESTOC_CONSTEXPR int store_columns() const { return store_row_bytes() / type_bytes(out); }
  /// 64 rows, twice for each consumer, so that one is filled while the other is stored.
  ESTOC_CONSTEXPR int store_bytes() const { return 64 * store_row_bytes(); }
  ESTOC_CONSTEXPR int staging_bytes() const {
    if (epilogue.columns > 0) return consumers() * epilogue.bytes();
    return tma_store ? consumers() * 2 * 64 * 128 : 0;
  }

  ESTOC_CONSTEXPR int staging_offset() const { return stages * stage_bytes(); }
  ESTOC_CONSTEXPR int barrier_offset() const { return staging_offset() + staging_bytes(); }
  ESTOC_CONSTEXPR int shared_bytes() const { return barrier_offset() + 16 * stages; }
};

/// Maps of an epilogue's first inputs that are whole matrices, then of its first outputs after the
/// first; those beyond kEpilogueMaps of a kind have none.
inline constexpr int kEpilogueMaps = 4;
template <unsigned count>
struct EpilogueMaps {
  TensorMap map[count > 0 ? count : 1];
};

struct Sm90GemmParameters {
  TensorMap a;
  TensorMap b;
  TensorMap out;   ///< when the configuration stores by TMA
  Matrix out_raw;  ///< otherwise
  int m;
  int n;
  int k;
  int l;
  int tiles_m;  ///< of clusters, which are cluster_m tiles high
  int tiles_n;
  int group;       ///< rows (columns) of cluster tiles taken together, for the L2 cache
  bool along_n;    ///< group counts columns
  bool a_batched;  ///< A has a batch mode of its own
  bool b_batched;
  bool zigzag;  ///< every second tile of a cluster walks K backwards
};
static_assert(sizeof(Sm90GemmParameters) == 3 * 128 + 64);

// What the check on a device (docs/checking.md) is given.

/// How many rows and columns of a product a CTA of the check computes, from so many k at a time;
/// after each of these the partial sums are looked at.
inline constexpr int kCheckTile = 64;
inline constexpr int kCheckDepth = 32;
inline constexpr int kCheckThreads = 256;

/// An element of the reference product, as the host's check::ReferenceElement.
struct CheckElement {
  double value;
  double magnitude;
  double partials;
};

/// Rows from number `first` of the list on that multiply the same matrix B.
struct CheckTile {
  long long first;
  long long count;
};

/// A @ B for some rows, each numbered batch * m + row; element (i, column) of the result is
/// number i * n + column.
struct CheckProduct {
  Matrix a;
  Matrix b;
  long long m;
  long long n;
  long long k;
  unsigned long long rows;    ///< long long each
  unsigned long long tiles;   ///< CheckTile each
  unsigned long long result;  ///< CheckElement each
  unsigned column_tiles;
  Type a_type;
  Type b_type;
};
static_assert(sizeof(CheckProduct) == 120);

/// Rows of A or columns of B: vector v begins at (list[v / inner] / divisor) * batch_stride +
/// (list[v / inner] % divisor) * stride + (v % inner) * inner_stride.
struct CheckVectors {
  unsigned long long address;
  unsigned long long list;    ///< long long each
  unsigned long long result;  ///< int each
  long long count;
  long long inner;
  long long divisor;
  long long batch_stride;
  long long stride;
  long long inner_stride;
  long long k;
  long long k_stride;
  Type type;
};
static_assert(sizeof(CheckVectors) == 96);

/// What the facts of a vector say beside the exponent of its lowest bit.
inline constexpr int kCheckAllZero = 2147483647;
inline constexpr int kCheckNotFinite = -2147483647;

/// Some rows of an output beside what passes: from `low` to `high`, of the output's type; NaN alone
/// where both are.
struct CheckOutput {
  Matrix out;
  long long m;
  long long n;
  unsigned long long rows;  ///< long long each
  long long count;          ///< of rows
  unsigned long long low;
  unsigned long long high;
  unsigned long long references;  ///< double each; NaN where no error is to be counted
  unsigned long long tallies;     ///< CheckTally each, one for each CTA
  double scale;                   ///< of errors before they are squared
  Type type;
};
static_assert(sizeof(CheckOutput) == 112);

struct CheckTally {
  double error;               ///< sum of squares
  unsigned long long failed;  ///< elements that do not pass
};

}  // namespace estoc::abi

// What the host twins of the instruction wrappers call: types, and the functions of functions.def.
#pragma once

#include <estoc/abi/tcgen05.cuh>
#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::abi {
struct TensorMap;
}

namespace estoc {
using abi::TensorMap;
}

namespace estoc::emulator {

/// Where an instruction stands in the source.
struct Site {
  const char* file;
  int line;
};

/// Special registers of a thread.
struct Place {
  u32 tid;
  u32 ntid;
  u32 ctaid[3];
  u32 nctaid[3];
  u32 cluster_ctaid[3];
  u32 cluster_ctarank;
  u32 cluster_nctarank;
  u32 clusterid;
  u32 nclusterid;
};

enum class Order { relaxed, acquire, release, both };
enum class Shuffle { idx, bfly, down, up };
enum class Reduce { add, min, max };
/// What tensormap.replace changes.
enum class MapField { address, extent, stride };

/// What a thread gives of the scales of blocks, in a product of a warp that takes some.
struct MmaScales {
  abi::Type type;  ///< e8m0 or e4m3
  int count;       ///< of one row: blocks along K
  int first;       ///< byte
  u32 a;
  u32 b;
};

/// A product of one warp: words of A, B and the accumulators, as the instruction takes them.
struct MmaOperands {
  abi::Type a_type;
  abi::Type b_type;
  abi::Type sum_type;  ///< f32, f16, i32 or f64
  int m;
  int k;
  const void* a;
  const void* b;
  void* acc;
  const MmaScales* scales = nullptr;
};

struct WgmmaOperands {
  abi::Type a_type;
  abi::Type b_type;
  bool transpose_a;
  bool transpose_b;
  abi::Type sum_type;  ///< f32, i32 or f16
  int columns;
  void* acc;               ///< of the calling thread
  const u32* a_registers;  ///< or null
  u64 a;
  u64 b;
  bool add;
};

/// tcgen05.ld or st: what a warp moves.
struct TensorMove {
  abi::TensorShape shape;
  int repeat;
  u32 address;

  int registers() const { return repeat * abi::tensor_registers(shape); }
  int columns() const { return repeat * abi::tensor_columns(shape); }
};

/// Which rows of shared memory tcgen05.cp takes, and to which lanes: 128 each to its own; 4 to one
/// in each quarter; 64 to two quarters, 0 and 2, 1 and 3, or to neighbours; 32 to all quarters.
enum class TensorRows { all, four, twice_02_13, twice_01_23, four_times };

/// tcgen05.cp.
struct TensorCopy {
  u32 group;
  TensorRows rows;
  u32 chunks;  ///< of 16 bytes
  abi::TensorSource source;
  u32 address;
  u64 from;  ///< descriptor

  /// Rows of shared memory.
  u32 row_count() const {
    constexpr u32 kRows[] = {128, 4, 64, 64, 32};
    return kRows[static_cast<int>(rows)];
  }
};

/// Scales of tcgen05.mma in tensor memory.
struct TensorScales {
  int block = 0;  ///< 0: there are none
  u32 a = 0;
  u32 b = 0;
};

/// tcgen05.mma.
struct TensorOperands {
  abi::Tcgen05Kind kind;
  u32 group;
  u32 instruction;  ///< descriptor
  u32 d;
  u64 a;  ///< descriptor, or address of tensor memory
  bool a_in_tensor_memory;
  u64 b;
  bool add;
  TensorScales scales{};
  int halvings = 0;      ///< of d before the product is added
  u32 disabled[8] = {};  ///< lanes of d that are not written, of the even CTA first
};

/// Instead of the rank of a tensor map: four rows of a map of rank 2, {column, row, row, row, row}.
inline constexpr int kFourRows = 6;

/// With the mask of the CTAs: a commit is for those, not for the CTA itself.
inline constexpr u32 kMulticast = 1u << 31;

// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define ESTOC_FUNCTION(result, name, parameters, names) result name parameters;
// NOLINTEND(bugprone-macro-parentheses)
#include <emulator/functions.def>
#undef ESTOC_FUNCTION

}  // namespace estoc::emulator

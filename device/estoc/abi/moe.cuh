// What the kernels of an expert layer are given (docs/moe.md).
#pragma once

namespace estoc::abi {

/// Threads of a CTA of the kernels that move rows, each of which moves 16 bytes.
inline constexpr int kMoeThreads = 128;
inline constexpr int kMoeVectorBytes = 16;
/// The largest number of warps of a CTA that routes; a warp counts for itself, in shared memory.
inline constexpr int kMoeRouteWarps = 32;

/// Which experts slots go to. A slot is one of the `top_k` choices of a token; slots are numbered
/// token by token. Each CTA takes `slots_per_cta` of them, a multiple of 32.
struct MoeRoute {
  unsigned long long ids;  ///< i32 each, at token * token_stride + choice * choice_stride
  long long token_stride;
  long long choice_stride;
  unsigned long long counts;  ///< u32 of shape (CTAs, experts): slots of each CTA; 0 of one CTA
  unsigned long long ends;    ///< i32, one for each expert: where its rows end
  unsigned long long rows;    ///< i32, one for each slot: its row, or -1 where it is dropped
  int slots;
  int top_k;
  int experts;
  int expert_bits;  ///< of the largest expert's number
  int slots_per_cta;
};
static_assert(sizeof(MoeRoute) == 72);

/// Copies the row of each token to the rows of its slots. Strides are in elements. `wide` where
/// each row of the tokens begins at a multiple of 16 bytes; those of workspace always do.
struct MoeGather {
  unsigned long long from;
  unsigned long long to;
  unsigned long long rows;
  long long from_stride;
  long long to_stride;
  long long columns;
  int top_k;
  bool wide;
};
static_assert(sizeof(MoeGather) == 56);

/// Gates the rows before the end of the last expert. `wide` where the up half of a row begins at a
/// multiple of 16 bytes, as all rows do.
struct MoeGate {
  unsigned long long from;
  unsigned long long to;
  unsigned long long last_end;  ///< of that i32
  long long from_stride;
  long long to_stride;
  long long columns;  ///< of the result
  bool wide;
};
static_assert(sizeof(MoeGate) == 56);

/// Sums the rows of each token's slots, times their weights. `wide` where each row of the result
/// begins at a multiple of 16 bytes.
struct MoeCombine {
  unsigned long long from;
  unsigned long long to;
  unsigned long long rows;
  unsigned long long weights;  ///< f32 each, at token * token_stride + choice * choice_stride
  long long token_stride;
  long long choice_stride;
  long long from_stride;
  long long to_stride;
  long long columns;
  int top_k;
  bool wide;
};
static_assert(sizeof(MoeCombine) == 80);

}  // namespace estoc::abi

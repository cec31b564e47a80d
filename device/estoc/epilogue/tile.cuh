// Epilogues of sm90_gemm: a consumer warpgroup evaluates its accumulators against inputs in shared
// memory; outputs are put into boxes, and leave by TMA or, where there is no map, by the threads'
// own stores.
#pragma once

#include <estoc/epilogue/load.cuh>
#include <estoc/epilogue/pair.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/tile/store.cuh>

namespace estoc::epilogue {

// Words that hold two neighbours of an input's box, for each of the thread's pairs.
template <typename E, int pairs, int count = E::kTensors>
struct BoxWords : BoxWords<E, pairs, count - 1> {
  static constexpr int kBytes = abi::type_bytes(E::kTensor[count - 1].type);
  static constexpr int kWords = kBytes == 8 ? 4 : kBytes == 4 ? 2 : 1;
  Words<kWords> pair[pairs];
};
template <typename E, int pairs>
struct BoxWords<E, pairs, 0> {};
// The values of vectors along M in a thread's rows of a block.
template <typename E, int rows, int count = E::kTensors>
struct RowValues : RowValues<E, rows, count - 1> {
  Held<E::kTensor[count - 1].held> value[rows];
};
template <typename E, int rows>
struct RowValues<E, rows, 0> {};
// Sums of the thread's rows, or of all together.
template <typename E, int rows, int count = E::kReductions>
struct RowSums : RowSums<E, rows, count - 1> {
  Held<E::kReduced[count - 1].held> value[rows];
};
template <typename E, int rows>
struct RowSums<E, rows, 0> {};

/// Passes the tiles of one consumer warpgroup through an epilogue, 16 columns of a block at a time:
/// the pairs of neighbours that a thread's fragment has there. Where `groups` divide out, a tile
/// ends with its group. Where elements have two accumulators, a block has those of `pair_columns`
/// columns of first ones, then those of second ones, and so on.
template <typename Layout, typename E, abi::GroupedMode groups = abi::GroupedMode::none,
          int pair_columns = 0>
class TileEpilogue {
 public:
  using Fused = MappedFused<E>;
  using Accumulator = typename E::Accumulator;
  static constexpr int kColumns = Layout::kColumns;
  static constexpr int kWidth = Layout::kShape.columns;
  using Fragment = typename Layout::Fragment;
  static constexpr int kBlockRows = Fragment::kBlockRows;
  static constexpr int kRows = Fragment::kRows;
  static constexpr int kPairs = Fragment::kPairs;

  __device__ __forceinline__ TileEpilogue(const abi::TensorMap& out, const Fused& fused, u32 area,
                                          u32 barrier, u32 thread, i32 m, i32 n)
      : out_(out),
        p_(fused.parameters),
        maps_(fused.maps),
        layout_{area},
        barrier_(barrier),
        thread_(thread),
        rows_(m),
        columns_(n) {}

  /// Where rows (columns) of the group end from now on.
  __device__ __forceinline__ void end_at(i32 end) { end_ = end; }

  /// `acc` are blocks of rows from at.m on.
  template <typename Block, int blocks>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& at) {
    if constexpr (Layout::kRoom.value_bytes > 0) layout_.values().wait_full(value_turn_);
    ScalarValues<E> scalars;
    repeat<E::kScalars>([&](auto i) __attribute__((always_inline)) {
      of<i.value>(scalars) = take<Held<E::kScalar[i.value].held>>(layout_.scalar(i.value));
    });
    // Reductions skip elements outside the output; only tiles at the edge pay for the test.
    constexpr bool kRolled = Layout::kRoom.rolled;
    if (E::kReductions == 0 || (at.m + kBlockRows * blocks <= rows_ && at.n + kWidth <= columns_)) {
      evaluate_tile<true, kRolled>(acc, at, scalars);
    } else {
      evaluate_tile<false, true>(acc, at, scalars);
    }
    if constexpr (Layout::kRoom.value_bytes > 0) {
      // All threads have passed the last barrier of the last box.
      if (thread_ == 0) ptx::mbarrier_arrive(layout_.values().empty(0));
      value_turn_.advance();
    }
  }

  /// Waits until the stores have read shared memory.
  __device__ __forceinline__ void finish() const {
    if (thread_ == 0) ptx::cp_async_bulk_wait_group<0>();
  }

 private:
  using Rows = RowValues<E, kRows>;
  using Sums = RowSums<E, kRows>;
  using Columns = TensorValues<E, Fragment::kColumns>;
  using ColumnSums = ReducedValues<E, Fragment::kColumns>;
  using Boxes = BoxWords<E, kPairs>;

  /// `whole`: all of it is in the output, or there are no reductions. `rolled`: in a loop.
  template <bool whole, bool rolled, typename Block, int blocks>
  __device__ __forceinline__ void evaluate_tile(const Block (&acc)[blocks], const Tile& at,
                                                const ScalarValues<E>& scalars) {
    constexpr int kSteps = kWidth / 16;
    Rows rows;
    Sums sums;
#pragma unroll(rolled ? 1 : blocks* kSteps)
    for (int step = 0; step < blocks * kSteps; ++step) {
      const int block = step / kSteps;
      const int column = step % kSteps * 16;
      const Tile rows_at{at.l, at.m + kBlockRows * block, at.n};
      if (column == 0) begin_rows(rows, sums, block);
      if (column % kColumns == 0) begin_box();
      Accumulator picked[2 * kPairs];
      pick<rolled>(picked, acc, block, column);
      evaluate<whole>(picked, column, rows_at, scalars, rows, sums);
      if ((column + 16) % kColumns == 0) end_box({at.l, rows_at.m, at.n + column + 16 - kColumns});
      if (column + 16 == kWidth) end_rows(sums, rows_at);
    }
  }

  /// What an element is computed from.
  struct Inputs {
    const ScalarValues<E>& scalars;
    const Rows& rows;
    const Columns& columns;
    const Boxes& boxes;
    int q;
    int e;
    u64 index_;

    template <int i>
    __device__ __forceinline__ auto tensor() const {
      constexpr TensorSpec kSpec = E::kTensor[i];
      if constexpr (kSpec.m && kSpec.n) {
        const auto& words = static_cast<const BoxWords<E, kPairs, i + 1>&>(boxes).pair[q];
        return decode<kSpec>(words, e);
      } else if constexpr (kSpec.n) {
        return of<i>(columns)[q / kRows * 2 + e];
      } else {
        return static_cast<const RowValues<E, kRows, i + 1>&>(rows).value[kSpec.m ? q % kRows : 0];
      }
    }
    template <int i>
    __device__ __forceinline__ auto scalar() const {
      return of<i>(scalars);
    }
    __device__ __forceinline__ u64 index() const { return index_; }
  };

  /// Where its results go.
  struct Outputs {
    StoreValues<E, 2>& stores;
    Sums& rows;
    ColumnSums& columns;
    int q;
    int e;
    bool inside;

    template <int i, typename Value>
    __device__ __forceinline__ void store(Value value) {
      of<i>(stores)[e] = value;
    }
    template <int i, typename Value>
    __device__ __forceinline__ void reduce(Value value) {
      constexpr ReducedSpec kSpec = E::kReduced[i];
      using Sum = Held<kSpec.held>;
      Sum* sum = nullptr;
      if constexpr (kSpec.n) {
        sum = &of<i>(columns)[q / kRows * 2 + e];
      } else {
        sum = &static_cast<RowSums<E, kRows, i + 1>&>(rows).value[kSpec.m ? q % kRows : 0];
      }
      const Sum next = join<kSpec.reduction>(*sum, term<kSpec.reduction>(to<Sum>(value)));
      if (inside) *sum = next;
    }
  };

  template <TensorSpec spec, int count>
  __device__ __forceinline__ static Held<spec.held> decode(const Words<count>& words, int e) {
    using Value = Held<spec.held>;
    if constexpr (spec.type == Type::f64) {
      return to<Value>(bit_cast<double>(Words<2>{words.word[2 * e], words.word[2 * e + 1]}));
    } else if constexpr (abi::type_bytes(spec.type) == 4) {
      return value_of<Value, spec.type>(words.word[e]);
    } else {
      constexpr int kBits = 8 * abi::type_bytes(spec.type);
      const u32 bits = words.word[0] >> (kBits * e) & ((1u << kBits) - 1);
      return value_of<Value, spec.type>(bits);
    }
  }

  /// A held value in shared memory.
  template <typename Value>
  __device__ __forceinline__ static Value take(u32 address) {
    if constexpr (sizeof(Value) == 8) {
      return bit_cast<Value>(ptx::ld_shared<2>(address));
    } else if constexpr (sizeof(Value) == 4) {
      return bit_cast<Value>(ptx::ld_shared<1>(address));
    } else {
      return ptx::ld_shared<1>(address).word[0] != 0;
    }
  }

  __device__ __forceinline__ Fragment place() const {
    return Fragment::of(thread_);
  }

  /// The thread's accumulators in 16 columns of a block. In a loop that is not unrolled their place
  /// is known at run time only, and registers have no index.
  template <bool rolled, typename Block, int blocks>
  __device__ __forceinline__ static void pick(Accumulator (&picked)[2 * kPairs],
                                              const Block (&acc)[blocks], int block, int column) {
    if constexpr (!Fragment::kMatrices) {
      acc[block].take(picked, static_cast<u32>(column));
    } else if constexpr (rolled) {
      repeat<blocks * kWidth / 16>([&](auto step) __attribute__((always_inline)) {
        constexpr int kBlock = step.value / (kWidth / 16);
        constexpr int kStep = step.value % (kWidth / 16);
        if (block != kBlock || column != 16 * kStep) return;
#pragma unroll
        for (int x = 0; x < 2 * kPairs; ++x)
          picked[x] = element(acc[kBlock], kStep, x);
      });
    } else {
#pragma unroll
      for (int x = 0; x < 2 * kPairs; ++x)
        picked[x] = element(acc[block], column / 16, x);
    }
  }

  /// Element x of step `step`, which are 16 columns of out.
  template <typename Block>
  __device__ __forceinline__ static Accumulator element(const Block& block, int step, int x) {
    const int number = step * 2 * kPairs + x;
    if constexpr (pair_columns == 0) {
      return Fragment::value(block, number);
    } else {
      constexpr int kTogether = pair_columns / 8 * kPairs;  // registers of first or of second ones
      const int first = number / kTogether * 2 * kTogether + number % kTogether;
      return {Fragment::value(block, first), Fragment::value(block, first + kTogether)};
    }
  }

  /// Inputs are there, and outputs may be written.
  __device__ __forceinline__ void begin_box() {
    if constexpr (Fused::kMatrices > 0) layout_.boxes().wait_full(box_);
    if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<Layout::kRoom.store_depth - 1>();
    ptx::bar_sync<Fragment::kThreads>(barrier_);
  }

  /// The boxes of the outputs, which begin at `at`, are full.
  __device__ __forceinline__ void end_box(const Tile& at) {
    ptx::fence_proxy_async();
    ptx::bar_sync<Fragment::kThreads>(barrier_);
    send(at);
    if constexpr (Fused::kMatrices > 0) {
      if (thread_ == 0) ptx::mbarrier_arrive(layout_.boxes().empty(box_.stage));
      box_.advance();
    }
    if constexpr (Layout::kRoom.store_depth == 2) store_turn_ ^= 1;
  }

  __device__ __forceinline__ void begin_rows(Rows& rows, Sums& sums, int block) const {
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      constexpr TensorSpec kSpec = E::kTensor[i.value];
      using Value = Held<kSpec.held>;
      if constexpr (!kSpec.n) {
        auto& value = static_cast<RowValues<E, kRows, i.value + 1>&>(rows).value;
        const u32 row = kSpec.m ? static_cast<u32>(kBlockRows * block) + place().row : 0;
        const u32 from = layout_.value(i.value) + row * Layout::held_bytes(kSpec.held);
#pragma unroll
        for (int h = 0; h < (kSpec.m ? kRows : 1); ++h) {
          value[h] = take<Value>(from + Fragment::row_offset(h) * Layout::held_bytes(kSpec.held));
        }
      }
    });
    repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
      constexpr ReducedSpec kSpec = E::kReduced[i.value];
      for (auto& value : static_cast<RowSums<E, kRows, i.value + 1>&>(sums).value)
        value = neutral<kSpec.reduction, Held<kSpec.held>>();
    });
  }

  /// Columns `column` to column + 15 of the block, into the boxes of the outputs.
  template <bool whole>
  __device__ __forceinline__ void evaluate(const Accumulator (&acc)[2 * kPairs], int column,
                                           const Tile& at, const ScalarValues<E>& scalars,
                                           const Rows& rows, Sums& sums) const {
    const int j = column % kColumns;
    Boxes boxes;
    Columns columns;
    fetch(boxes, columns, column, j);
    ColumnSums column_sums;
    set_neutral(column_sums);
    u32 packed[E::kStores][kPairs];
#pragma unroll
    for (int q = 0; q < kPairs; ++q) {
      StoreValues<E, 2> stores;
      const int first = column + Fragment::column_offset(q / kRows * 2);
      const i32 m = at.m + static_cast<i32>(place().row) + Fragment::row_offset(q % kRows);
      const i32 n = at.n + first + static_cast<i32>(place().column);
      const i32 left = (m < rows_ ? columns_ : 0) - at.n - static_cast<i32>(place().column);
      evaluate_pair<E>(
          &acc[2 * q],
          [&](int e) __attribute__((always_inline)) {
            return Inputs{scalars, rows, columns, boxes, q, e, index_of(at.l, m, n + e)};
          },
          [&](int e) __attribute__((always_inline)) {
            return Outputs{stores, sums, column_sums, q, e, whole || first + e < left};
          });
      repeat<E::kStores>([&](auto i) __attribute__((always_inline)) {
        put_pair<i.value>(of<i.value>(stores), packed[i.value][q], j, q);
      });
    }
    repeat<E::kStores>([&](auto i) __attribute__((always_inline)) {
      constexpr Type kType = E::kStore[i.value].type;
      if constexpr (abi::type_bytes(kType) == 2 && !Fragment::kMatrices) {
        store_row(layout_.store(store_turn_, i.value), packed[i.value], j);
      } else if constexpr (abi::type_bytes(kType) == 2) {
        const auto& words = packed[i.value];
        ptx::stmatrix<4, Layout::kMMajor>(layout_.store(store_turn_, i.value) + matrix_offset<2>(j),
                                          Words<4>{words[0], words[1], words[2], words[3]});
      }
    });
    leave_columns(column_sums, column, at);
  }

  __device__ __forceinline__ u64 index_of(i32 l, i32 m, i32 n) const {
    if constexpr (!E::kIndexed) return 0;
    return E::kTransposed ? (static_cast<u64>(l) * columns_ + n) * rows_ + m
                          : (static_cast<u64>(l) * rows_ + m) * columns_ + n;
  }

  /// Offset in a box of the row, or the column of one that is M-major, that this thread names in
  /// ldmatrix and stmatrix of 16 columns.
  template <int bytes>
  __device__ __forceinline__ u32 matrix_offset(int j) const {
    const u32 column = static_cast<u32>(j) + Fragment::matrix_column(thread_);
    if constexpr (Layout::kMMajor) {
      return Layout::template offset<bytes>(Fragment::matrix_row(thread_) / 8 * 8,
                                            column + thread_ % 8);
    } else {
      return Layout::template offset<bytes>(Fragment::matrix_row(thread_), column);
    }
  }
  /// Offset in a box of pair q of columns j and on.
  template <int bytes>
  __device__ __forceinline__ u32 pair_offset(int j, int q) const {
    const u32 column = static_cast<u32>(j + Fragment::column_offset(q / kRows * 2));
    return Layout::template offset<bytes>(place().row + Fragment::row_offset(q % kRows),
                                          column + place().column);
  }

  /// Moves 16 elements of two bytes of this thread's row of a box, from column j on: 16 bytes at a
  /// time.
  __device__ __forceinline__ void store_row(u32 box, const u32 (&words)[kPairs], int j) const {
#pragma unroll
    for (int q = 0; q < kPairs; q += 4)
      ptx::st_shared<4>(box + pair_offset<2>(j, q),
                        Words<4>{words[q], words[q + 1], words[q + 2], words[q + 3]});
  }
  __device__ __forceinline__ void load_row(u32 box, Words<1> (&pair)[kPairs], int j) const {
#pragma unroll
    for (int q = 0; q < kPairs; q += 4) {
      const Words<4> words = ptx::ld_shared<4>(box + pair_offset<2>(j, q));
#pragma unroll
      for (int e = 0; e < 4; ++e)
        pair[q + e].word[0] = words.word[e];
    }
  }

  __device__ __forceinline__ void fetch(Boxes& boxes, Columns& columns, int column, int j) const {
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      constexpr TensorSpec kSpec = E::kTensor[i.value];
      if constexpr (kSpec.m && kSpec.n) {
        constexpr int kBytes = abi::type_bytes(kSpec.type);
        auto& pair = static_cast<BoxWords<E, kPairs, i.value + 1>&>(boxes).pair;
        const u32 box = layout_.load(box_.stage, i.value);
        if constexpr (kBytes == 2 && !Fragment::kMatrices) {
          load_row(box, pair, j);
        } else if constexpr (kBytes == 2) {
          const Words<4> words = ptx::ldmatrix<4, Layout::kMMajor>(box + matrix_offset<2>(j));
#pragma unroll
          for (int q = 0; q < kPairs; ++q)
            pair[q].word[0] = words.word[q];
        } else {
#pragma unroll
          for (int q = 0; q < kPairs; ++q) {
            const u32 from = box + pair_offset<kBytes>(j, q);
            if constexpr (kBytes == 1) pair[q].word[0] = ptx::ld_shared_u16(from);
            if constexpr (kBytes >= 4) pair[q] = ptx::ld_shared<kBytes / 2>(from);
          }
        }
      } else if constexpr (kSpec.n) {
        fetch_columns<i.value>(of<i.value>(columns), column);
      }
    });
  }

  template <int i>
  __device__ __forceinline__ void fetch_columns(
      Held<E::kTensor[i].held> (&values)[Fragment::kColumns], int column) const {
    using Value = Held<E::kTensor[i].held>;
    constexpr u32 kBytes = Layout::held_bytes(E::kTensor[i].held);
#pragma unroll
    for (int c = 0; c < Fragment::kColumns; c += 2) {
      const u32 first = static_cast<u32>(column + Fragment::column_offset(c)) + place().column;
      const u32 from = layout_.value(i) + first * kBytes;
      const Words<kBytes / 2> words = ptx::ld_shared<kBytes / 2>(from);
      if constexpr (kBytes == 8) {
        values[c] = bit_cast<Value>(Words<2>{words.word[0], words.word[1]});
        values[c + 1] = bit_cast<Value>(Words<2>{words.word[2], words.word[3]});
      } else {
        values[c] = from_bits<Value>(words.word[0]);
        values[c + 1] = from_bits<Value>(words.word[1]);
      }
    }
  }

  /// Writes pair q of output `i`, or keeps it for a stmatrix.
  template <int i, typename Value>
  __device__ __forceinline__ void put_pair(const Value (&values)[2], u32& packed, int j,
                                           int q) const {
    constexpr Type kType = E::kStore[i].type;
    constexpr int kBytes = abi::type_bytes(kType);
    const u32 to = layout_.store(store_turn_, i) + pair_offset<kBytes>(j, q);
    if constexpr (kBytes == 8) {
      const Words<2> low = bit_cast<Words<2>>(static_cast<double>(values[0]));
      const Words<2> high = bit_cast<Words<2>>(static_cast<double>(values[1]));
      ptx::st_shared<4>(to, Words<4>{low.word[0], low.word[1], high.word[0], high.word[1]});
    } else if constexpr (kBytes == 4) {
      ptx::st_shared<2>(to, Words<2>{bits_of<kType>(values[0]), bits_of<kType>(values[1])});
    } else if constexpr (kBytes == 2) {
      packed = pack<kType>(values);
    } else {
      ptx::st_shared_u16(to, pack<kType>(values));
    }
  }

  template <Type type, typename Value>
  __device__ __forceinline__ static u32 pack(const Value (&values)[2]) {
    constexpr bool kAtOnce = sizeof(Value) == 4 && Value(0.5f) != Value(0) &&
                             (type == Type::bf16 || type == Type::f16 || type == Type::e4m3);
    if constexpr (kAtOnce) return estoc::detail::pack<type>(values[0], values[1]);
    if constexpr (!kAtOnce) {
      return bits_of<type>(values[0]) | bits_of<type>(values[1]) << 8 * abi::type_bytes(type);
    }
  }

  __device__ __forceinline__ void send(const Tile& at) const {
    repeat<E::kStores>([&](auto i) __attribute__((always_inline)) {
      const u32 box = layout_.store(store_turn_, i.value);
      if constexpr (i.value <= abi::kEpilogueMaps) {
        const abi::TensorMap& map =
            i.value == 0 ? out_ : maps_.map[Fused::kMappedInputs + i.value - 1];
        if (p_.store[i.value].tma != abi::TmaMode::none && is_whole(at)) {
          if (thread_ == 0) {
            const Tile to = Layout::in_map(at);
            ptx::cp_async_bulk_tensor_store<3>(map, box, {to.n, to.m, to.l});
          }
          return;
        }
      }
      copy_out<i.value>(box, at);
    });
    if (thread_ == 0) ptx::cp_async_bulk_commit_group();
  }

  __device__ __forceinline__ i32 rows_end() const {
    return groups == abi::GroupedMode::rows ? end_ : rows_;
  }
  __device__ __forceinline__ i32 columns_end() const {
    return groups == abi::GroupedMode::columns ? end_ : columns_;
  }
  /// Whether no element of a box belongs to another group.
  __device__ __forceinline__ bool is_whole(const Tile& at) const {
    if constexpr (groups == abi::GroupedMode::rows) return at.m + kBlockRows <= end_;
    if constexpr (groups == abi::GroupedMode::columns) return at.n + kColumns <= end_;
    return true;
  }

  template <int i>
  __device__ __forceinline__ void copy_out(u32 box, const Tile& at) const {
    constexpr Type kType = E::kStore[i].type;
    constexpr u32 kBytes = abi::type_bytes(kType);
    const abi::Matrix& to = p_.store[i].at;
    Layout::template over_box<Fragment::kThreads>(
        thread_, [&](u32 row, u32 column) __attribute__((always_inline)) {
          const Position place{at.l, at.m + static_cast<i32>(row), at.n + static_cast<i32>(column)};
          if (place.m >= rows_end() || place.n >= columns_end()) return;
          const u32 from = box + Layout::template offset<kBytes>(row, column);
          const u64 element = address_of<kType>(to, place);
          store_global<kBytes>(element, load_shared<kBytes>(from));
        });
  }

  /// The number of this warp's rows among those of all warps.
  __device__ __forceinline__ i32 warp_rows(const Tile& at) const {
    return at.m / Fragment::kWarpRows + static_cast<i32>(thread_ / 32);
  }

  __device__ __forceinline__ void leave_columns(const ColumnSums& sums, int column,
                                                const Tile& at) const {
    repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
      constexpr ReducedSpec kSpec = E::kReduced[i.value];
      if constexpr (kSpec.n) {
        const auto& values =
            static_cast<const ReducedValues<E, Fragment::kColumns, i.value + 1>&>(sums).value;
#pragma unroll
        for (int c = 0; c < Fragment::kColumns; ++c) {
          const auto sum = join_lanes<kSpec.reduction, Fragment::kRowLanes, 32>(values[c]);
          const i32 n =
              at.n + column + Fragment::column_offset(c) + static_cast<i32>(place().column);
          if (thread_ % 32 < Fragment::kRowLanes && n < columns_ && at.m < rows_) {
            store_partial<E, i.value>(p_.partial[i.value], warp_rows(at), at.l, n, columns_, sum);
          }
        }
      }
    });
  }

  __device__ __forceinline__ void end_rows(const Sums& sums, const Tile& at) const {
    const i32 tile_n = at.n / kWidth;
    const i32 tiles_n = (columns_ + kWidth - 1) / kWidth;
    repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
      constexpr ReducedSpec kSpec = E::kReduced[i.value];
      const abi::EpiloguePartials& to = p_.partial[i.value];
      const auto& values = static_cast<const RowSums<E, kRows, i.value + 1>&>(sums).value;
      if constexpr (kSpec.m) {
#pragma unroll
        for (int h = 0; h < kRows; ++h) {
          const auto sum = join_lanes<kSpec.reduction, 1, Fragment::kRowLanes>(values[h]);
          const i32 m = at.m + static_cast<i32>(place().row) + Fragment::row_offset(h);
          if (thread_ % Fragment::kRowLanes == 0 && m < rows_ && at.n < columns_) {
            store_partial<E, i.value>(to, tile_n, at.l, m, rows_, sum);
          }
        }
      } else if constexpr (!kSpec.n) {
        const auto sum = join_lanes<kSpec.reduction, 1, 32>(values[0]);
        if (thread_ % 32 == 0 && at.m < rows_ && at.n < columns_) {
          const i64 part = i64{warp_rows(at)} * tiles_n + tile_n;
          store_partial<E, i.value>(to, part, at.l, 0, 1, sum);
        }
      }
    });
  }

  const abi::TensorMap& out_;
  const typename E::Parameters& p_;
  const typename Fused::Maps& maps_;
  Layout layout_;
  u32 barrier_;  // the warpgroup's
  u32 thread_;
  i32 rows_;
  i32 columns_;
  i32 end_ = 0;
  u32 store_turn_ = 0;
  RingPosition<1> value_turn_;
  RingPosition<Layout::kDepth> box_;
};

}  // namespace estoc::epilogue

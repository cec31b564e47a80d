// Epilogues on four neighbouring elements of a row at a time, with each thread's own loads and
// stores.
#pragma once

#include <estoc/epilogue/pair.cuh>
#include <estoc/epilogue/reduce.cuh>

namespace estoc::epilogue {

/// The part of an output tile that a warp passes through an epilogue. A row of it is seen by
/// `row_lanes` neighbouring lanes; each thread has the same `groups` groups of four columns in each
/// of its rows. All threads of the warp call end_row and end.
template <typename E, int groups, int row_lanes>
class DirectTile {
 public:
  using Accumulator = typename E::Accumulator;
  using Parameters = typename E::Parameters;
  static constexpr int kWidth = E::kWidth;  ///< elements that are evaluated at once: 2 or 4

  /// Rows and columns end at `rows` and `columns`; out has `width` columns, or as many.
  __device__ __forceinline__ DirectTile(const Parameters& p, i64 l, i64 rows, i64 columns)
      : DirectTile(p, l, rows, columns, columns) {}
  __device__ __forceinline__ DirectTile(const Parameters& p, i64 l, i64 rows, i64 columns,
                                        i64 width)
      : p_(p), l_(l), rows_(rows), columns_(columns), width_(width), scalars_(load_scalars<E>(p)) {
    set_neutral(row_);
#pragma unroll
    for (int g = 0; g < groups; ++g)
      set_neutral(column_[g]);
  }

  /// The columns of group `g` begin at `n`: what depends on them alone is loaded once.
  __device__ __forceinline__ void begin_columns(int g, i64 n) {
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      if constexpr (kept(i.value)) load<i.value>(columns_values_[g], 0, n);
    });
  }

  /// Evaluates and stores elements n to n + 3 of row `m`, columns of group `g`.
  __device__ __forceinline__ void group(int g, const Accumulator (&acc)[4], i64 m, i64 n) {
    if (m >= rows_) return;
#pragma unroll
    for (int first = 0; first < 4; first += kWidth) {
      if (n + first < columns_) evaluate(g, acc, first, m, n + first);
    }
  }

  /// Row `m` is complete: its reductions leave the warp.
  __device__ __forceinline__ void end_row(i64 m, const Parts& parts) {
    repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
      constexpr ReducedSpec kSpec = E::kReduced[i.value];
      if constexpr (kSpec.m) {
        auto& value = of<i.value>(row_)[0];
        const auto sum = join_lanes<kSpec.reduction, 1, row_lanes>(value);
        if (ptx::tid() % row_lanes == 0 && m < rows_) {
          store_partial<E, i.value>(p_.partial[i.value], parts.row, l_, m, rows_, sum);
        }
        value = neutral<kSpec.reduction, Held<kSpec.held>>();
      }
    });
  }

  /// The tile is complete, group `g` of whose columns begins at n(g).
  template <typename Columns>
  __device__ __forceinline__ void end(const Parts& parts, const Columns& n) {
    repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
      constexpr ReducedSpec kSpec = E::kReduced[i.value];
      const abi::EpiloguePartials& to = p_.partial[i.value];
      if constexpr (kSpec.n) {
#pragma unroll
        for (int g = 0; g < groups; ++g) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const auto sum = join_lanes<kSpec.reduction, row_lanes, 32>(of<i.value>(column_[g])[e]);
            const i64 at = n(g) + e;
            if (ptx::tid() % 32 < row_lanes && at < columns_) {
              store_partial<E, i.value>(to, parts.column, l_, at, columns_, sum);
            }
          }
        }
      } else if constexpr (!kSpec.m) {
        const auto sum = join_lanes<kSpec.reduction, 1, 32>(of<i.value>(row_)[0]);
        if (ptx::tid() % 32 == 0) store_partial<E, i.value>(to, parts.all, l_, 0, 1, sum);
      }
    });
  }

 private:
  /// Whether an input that depends on columns alone stays in registers from row to row.
  __device__ static constexpr bool kept(int i) {
    return !E::kTensor[i].m && kWidth == 4;
  }

  /// What an element is computed from.
  struct Inputs {
    const ScalarValues<E>& scalars;
    const TensorValues<E, 4>& columns;
    const TensorValues<E, kWidth>& moving;
    int first;
    int e;  ///< of those that are evaluated at once, which begin at `first`
    u64 index_;

    template <int i>
    __device__ __forceinline__ auto tensor() const {
      constexpr TensorSpec kSpec = E::kTensor[i];
      if constexpr (kept(i)) return of<i>(columns)[kSpec.n ? first + e : 0];
      if constexpr (!kept(i)) return of<i>(moving)[kSpec.n ? e : 0];
    }
    template <int i>
    __device__ __forceinline__ auto scalar() const {
      return of<i>(scalars);
    }
    __device__ __forceinline__ u64 index() const { return index_; }
  };

  /// Where its results go.
  struct Outputs {
    StoreValues<E, kWidth>& stores;
    ReducedValues<E, 1>& row;
    ReducedValues<E, 4>& column;
    int first;
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
        sum = &of<i>(column)[first + e];
      } else {
        sum = &of<i>(row)[0];
      }
      const Sum next = join<kSpec.reduction>(*sum, term<kSpec.reduction>(to<Sum>(value)));
      *sum = inside ? next : *sum;
    }
  };

  /// Evaluates and stores elements n to n + kWidth - 1, whose accumulators begin at `first`.
  __device__ __forceinline__ void evaluate(int g, const Accumulator (&acc)[4], int first, i64 m,
                                           i64 n) {
    TensorValues<E, kWidth> moving;
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      if constexpr (!kept(i.value)) load<i.value>(moving, m, n);
    });
    StoreValues<E, kWidth> stores;
#pragma unroll
    for (int pair = 0; pair < kWidth; pair += 2) {
      evaluate_pair<E>(
          &acc[first + pair],
          [&](int e) __attribute__((always_inline)) {
            return Inputs{scalars_, columns_values_[g], moving,
                          first,    pair + e,           index(m, n + pair + e)};
          },
          [&](int e) __attribute__((always_inline)) {
            return Outputs{stores, row_, column_[g], first, pair + e, n + pair + e < columns_};
          });
    }
    repeat<E::kStores>([&](auto i)
                           __attribute__((always_inline)) { store<i.value>(stores, m, n); });
  }

  __device__ __forceinline__ u64 index(i64 m, i64 n) const {
    if constexpr (!E::kIndexed) return 0;
    return static_cast<u64>(E::kTransposed ? (l_ * columns_ + n) * rows_ + m
                                           : (l_ * rows_ + m) * width_ + n);
  }

  template <int i, int width>
  __device__ __forceinline__ void load(TensorValues<E, width>& values, i64 m, i64 n) const {
    constexpr TensorSpec kSpec = E::kTensor[i];
    using Value = Held<kSpec.held>;
    const abi::EpilogueOperand& from = p_.tensor[i];
    const u64 address = address_of<kSpec.type>(from.at, {l_, m, n});
    auto& to = of<i>(values);
    if constexpr (!kSpec.n) {
      to[0] = load_one<Value, kSpec.type>(address);
      return;
    } else {
      if constexpr (width == 4) {
        if (from.vectors != 0 && n + 4 <= columns_) {
          load_four<kSpec.type>(to, address);
          return;
        }
      }
      const u64 step = static_cast<u64>(from.at.column_stride * abi::type_bytes(kSpec.type));
#pragma unroll
      for (int e = 0; e < width; ++e)
        to[e] = n + e < columns_ ? load_one<Value, kSpec.type>(address + e * step) : Value(0);
    }
  }

  template <int i>
  __device__ __forceinline__ void store(StoreValues<E, kWidth>& values, i64 m, i64 n) const {
    constexpr Type kType = E::kStore[i].type;
    const abi::EpilogueOperand& to = p_.store[i];
    const u64 address = address_of<kType>(to.at, {l_, m, n});
    if constexpr (kWidth == 4) {
      if (to.vectors != 0 && n + 4 <= columns_) {
        store_four<kType>(address, of<i>(values));
        return;
      }
    }
    const u64 step = static_cast<u64>(to.at.column_stride * abi::type_bytes(kType));
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      if (n + e < columns_) store_one<kType>(address + e * step, of<i>(values)[e]);
    }
  }

  const Parameters& p_;
  i64 l_;
  i64 rows_;
  i64 columns_;
  i64 width_;
  ScalarValues<E> scalars_;
  TensorValues<E, 4> columns_values_[groups];
  ReducedValues<E, 1> row_;
  ReducedValues<E, 4> column_[groups];
};

}  // namespace estoc::epilogue

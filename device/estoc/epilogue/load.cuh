// The layout of an sm90_gemm epilogue's inputs and outputs in shared memory, and the warp that
// loads the inputs while the products are computed.
//
// Matrices are loaded in boxes, by TMA where they have a tensor map, else by the warp's own loads;
// vectors and scalars are loaded once for each tile.
#pragma once

#include <estoc/abi/sm90_gemm.cuh>
#include <estoc/epilogue/reduce.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/tile/pipeline.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/store.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::epilogue {

/// A generated epilogue whose matrices are moved by TMA where they have a map.
template <typename E>
struct MappedFused {
  __device__ static constexpr bool matrix(int i) { return E::kTensor[i].m && E::kTensor[i].n; }
  /// Inputs before number `i` that are matrices.
  __device__ static constexpr int matrices(int i) {
    int count = 0;
    for (int j = 0; j < i; ++j)
      count += matrix(j) ? 1 : 0;
    return count;
  }

  static constexpr int kMatrices = matrices(E::kTensors);
  static constexpr int kMappedInputs =
      kMatrices < abi::kEpilogueMaps ? kMatrices : abi::kEpilogueMaps;
  static constexpr int kMappedOutputs =
      E::kStores - 1 < abi::kEpilogueMaps ? E::kStores - 1 : abi::kEpilogueMaps;
  using Maps = abi::EpilogueMaps<kMappedInputs + kMappedOutputs>;

  const typename E::Parameters& parameters;
  const Maps& maps;
};

/// The offsets of an epilogue's inputs and outputs in shared memory. Where M is the contiguous mode
/// of boxes, their columns are what rows are elsewhere.
template <typename Fragment_, TileShape shape, abi::Sm90EpilogueShape room, typename E>
struct EpilogueLayout {
  using Fragment = Fragment_;
  static constexpr TileShape kShape = shape;
  static constexpr abi::Sm90EpilogueShape kRoom = room;
  static constexpr int kColumns = room.columns;
  using Fused = MappedFused<E>;
  static constexpr int kBoxElements = Fragment::kBlockRows * kColumns;
  static constexpr bool kMMajor = room.m_major;

  /// Of an element in a box.
  template <int bytes>
  __device__ __forceinline__ static u32 offset(u32 row, u32 column) {
    if constexpr (kMMajor) return swizzled<Fragment::kBlockRows * bytes>(column, row * bytes);
    if constexpr (!kMMajor) return swizzled<kColumns * bytes>(row, column * bytes);
  }
  /// `at` in matrices as TMA sees them, where n is the contiguous mode.
  __device__ __forceinline__ static Tile in_map(const Tile& at) {
    return kMMajor ? Tile{at.l, at.n, at.m} : at;
  }

  __device__ static constexpr int load_offset(int i) {
    int bytes = 0;
    for (int j = 0; j < i; ++j)
      bytes += Fused::matrix(j) ? kBoxElements * abi::type_bytes(E::kTensor[j].type) : 0;
    return bytes;
  }
  __device__ static constexpr int store_offset(int i) {
    int bytes = 0;
    for (int j = 0; j < i; ++j)
      bytes += kBoxElements * abi::type_bytes(E::kStore[j].type);
    return bytes;
  }
  /// Bytes of a held value in shared memory.
  __device__ static constexpr int held_bytes(Type type) { return type == Type::f64 ? 8 : 4; }
  /// Elements of input `i` that a tile needs when it is no matrix.
  __device__ static constexpr int extent(int i) {
    return E::kTensor[i].n ? shape.columns : E::kTensor[i].m ? shape.rows : 1;
  }
  __device__ static constexpr int value_offset(int i) {
    int bytes = 0;
    for (int j = 0; j < i; ++j) {
      if (!Fused::matrix(j)) bytes += (extent(j) * held_bytes(E::kTensor[j].held) + 15) / 16 * 16;
    }
    return bytes;
  }
  __device__ static constexpr int scalar_offset(int i) { return value_offset(E::kTensors) + 8 * i; }
  __device__ static constexpr int value_bytes() {
    return (scalar_offset(E::kScalars) + 15) / 16 * 16;
  }

  static_assert(kRoom.load_bytes == load_offset(E::kTensors));
  static_assert(kRoom.store_bytes == store_offset(E::kStores));
  static_assert(kRoom.value_bytes == value_bytes());
  static_assert(kColumns % 16 == 0 && shape.columns % kColumns == 0);

  u32 area;  // this consumer's shared memory

  __device__ __forceinline__ u32 load(u32 stage, int i) const {
    return area + stage * kRoom.load_bytes + static_cast<u32>(load_offset(i));
  }
  __device__ __forceinline__ u32 store(u32 turn, int i) const {
    return area + kRoom.stores_offset() + turn * kRoom.store_bytes +
           static_cast<u32>(store_offset(i));
  }
  __device__ __forceinline__ u32 value(int i) const {
    return area + kRoom.values_offset() + static_cast<u32>(value_offset(i));
  }
  __device__ __forceinline__ u32 scalar(int i) const {
    return area + kRoom.values_offset() + static_cast<u32>(scalar_offset(i));
  }
  /// Boxes of inputs, all of them a stage.
  static constexpr int kDepth = kRoom.load_depth > 0 ? kRoom.load_depth : 1;
  __device__ __forceinline__ Ring<kDepth> boxes() const {
    return {area + kRoom.barriers_offset() + 16};
  }
  /// Vectors and scalars of a tile.
  __device__ __forceinline__ Ring<1> values() const { return {area + kRoom.barriers_offset()}; }

  /// By one thread, before fence_mbarrier_init and a barrier.
  __device__ __forceinline__ void init_barriers() const {
    if constexpr (kRoom.value_bytes > 0) values().init(1, 32);
    if constexpr (Fused::kMatrices > 0) boxes().init(1, 32);
  }

  /// each(row, column) for the elements of a box, neighbours in memory by neighbouring threads.
  template <int threads, typename Each>
  __device__ __forceinline__ static void over_box(u32 thread, const Each& each) {
    constexpr u32 kTogether = kMMajor ? Fragment::kBlockRows : kColumns;
#pragma unroll 2
    for (u32 i = thread; i < kBoxElements; i += threads) {
      const u32 line = i / kTogether;
      const u32 at = i % kTogether;
      each(kMMajor ? at : line, kMMajor ? line : at);
    }
  }
};

/// One warp that loads the inputs of one consumer's tiles.
template <typename Layout, typename E>
class TileLoader {
 public:
  using Fused = MappedFused<E>;

  __device__ __forceinline__ TileLoader(const Fused& fused, u32 area, i32 m, i32 n)
      : p_(fused.parameters), maps_(fused.maps), layout_{area}, rows_(m), columns_(n) {}

  /// The inputs of a tile whose rows, those of this consumer, begin at at.m.
  __device__ __forceinline__ void load(const Tile& at) {
    if constexpr (Layout::kRoom.value_bytes > 0) load_values(at);
    if constexpr (Fused::kMatrices > 0) {
#pragma unroll 1
      for (i32 row = 0; row < Layout::kShape.rows; row += Layout::Fragment::kBlockRows) {
#pragma unroll 1
        for (i32 column = 0; column < Layout::kShape.columns; column += Layout::kColumns)
          load_boxes({at.l, at.m + row, at.n + column});
      }
    }
  }

 private:
  __device__ __forceinline__ static u32 lane() {
    return ptx::tid() % 32;
  }

  __device__ __forceinline__ void load_values(const Tile& at) {
    layout_.values().wait_empty(turn_);
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      if constexpr (!Fused::matrix(i.value)) load_vector<i.value>(at);
    });
    repeat<E::kScalars>([&](auto i) __attribute__((always_inline)) {
      if (lane() == 0) put(layout_.scalar(i.value), load_scalar<E, i.value>(p_));
    });
    ptx::mbarrier_arrive(layout_.values().full(0));
    turn_.advance();
  }

  template <int i>
  __device__ __forceinline__ void load_vector(const Tile& at) const {
    constexpr TensorSpec kSpec = E::kTensor[i];
    using Value = Held<kSpec.held>;
    const abi::Matrix& from = p_.tensor[i].at;
    const i32 first = kSpec.n ? at.n : kSpec.m ? at.m : 0;
    const i32 extent = kSpec.n ? columns_ : kSpec.m ? rows_ : 1;
    const u64 address =
        address_of<kSpec.type>(from, {at.l, kSpec.m ? at.m : 0, kSpec.n ? at.n : 0});
    const i64 stride = kSpec.n ? from.column_stride : kSpec.m ? from.row_stride : 0;
#pragma unroll 4
    for (i32 x = static_cast<i32>(lane()); x < Layout::extent(i); x += 32) {
      const u64 element = address + static_cast<u64>(x * stride * abi::type_bytes(kSpec.type));
      const Value value = first + x < extent ? load_one<Value, kSpec.type>(element) : Value(0);
      put(layout_.value(i) + static_cast<u32>(x * Layout::held_bytes(kSpec.held)), value);
    }
  }

  template <typename Value>
  __device__ __forceinline__ static void put(u32 address, Value value) {
    if constexpr (sizeof(Value) == 8) {
      ptx::st_shared<2>(address, bit_cast<Words<2>>(value));
    } else if constexpr (sizeof(Value) == 4) {
      ptx::st_shared<1>(address, bit_cast<Words<1>>(value));
    } else {
      ptx::st_shared<1>(address, Words<1>{value ? 1u : 0u});
    }
  }

  /// One box of each matrix; `at` is where it begins.
  __device__ __forceinline__ void load_boxes(const Tile& at) {
    const Ring<Layout::kDepth> ring = layout_.boxes();
    const u32 barrier = ring.full(box_.stage);
    ring.wait_empty(box_);
    repeat<E::kTensors>([&](auto i) __attribute__((always_inline)) {
      if constexpr (Fused::matrix(i.value)) load_box<i.value>(at, barrier);
    });
    ptx::mbarrier_arrive(barrier);
    box_.advance();
  }

  template <int i>
  __device__ __forceinline__ void load_box(const Tile& at, u32 barrier) const {
    constexpr Type kType = E::kTensor[i].type;
    constexpr int kMap = Fused::matrices(i);
    constexpr u32 kBytes = abi::type_bytes(kType);
    const abi::EpilogueOperand& from = p_.tensor[i];
    const u32 box = layout_.load(box_.stage, i);
    if constexpr (kMap < abi::kEpilogueMaps) {
      if (from.tma != abi::TmaMode::none) {
        if (lane() != 0) return;
        const Tile to = Layout::in_map(at);
        ptx::mbarrier_expect_tx(barrier, Layout::kBoxElements * kBytes);
        ptx::cp_async_bulk_tensor_load<3>(
            box, maps_.map[kMap], barrier,
            {to.n, to.m, from.tma == abi::TmaMode::batched ? to.l : 0});
        return;
      }
    }
    Layout::template over_box<32>(
        lane(), [&](u32 row, u32 column) __attribute__((always_inline)) {
          const u32 to = box + Layout::template offset<kBytes>(row, column);
          const Position place{at.l, at.m + static_cast<i32>(row), at.n + static_cast<i32>(column)};
          const bool inside = place.m < rows_ && place.n < columns_;
          const u64 element = address_of<kType>(from.at, place);
          store_shared<kBytes>(to, inside ? load_global<kBytes>(element) : Bytes<kBytes>{});
        });
  }

  const typename E::Parameters& p_;
  const typename Fused::Maps& maps_;
  Layout layout_;
  i32 rows_;
  i32 columns_;
  RingPosition<1> turn_;
  RingPosition<Layout::kDepth> box_;
};

}  // namespace estoc::epilogue

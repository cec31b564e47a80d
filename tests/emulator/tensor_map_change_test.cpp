// Tensor maps that kernels change: what TMA loads by them, and the fences that have to stand
// between.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tensormap.cuh>
#include <estoc/ptx/tma.cuh>

namespace estoc::map_changes {
namespace {

using emulator::Fault;
using emulator::Options;
using emulator::Report;

constexpr u32 kBarrier = 1024;
constexpr u32 kBoxWords = 32;  // 4 x 8

struct Change {
  u64 address = 0;  ///< 0: that of the map stays
  u32 columns = 0;
  u64 row_bytes = 0;
  bool releases = true;
  bool acquires = true;
  bool hands_over = true;  ///< a barrier stands between the change and the load
};

struct Global {
  TensorMap map;
  u64 copy;
  u64 out;
  Change change;
};

const TensorMap& map_at(u64 address) {
  return *reinterpret_cast<const TensorMap*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void change_map(const Global& g) {
  for (u32 i = 0; i < 16; i += 2) {
    Words<4> words{};
    std::memcpy(&words, &g.map.opaque[i], sizeof(words));
    ptx::st_global<4>(g.copy + 8 * i, words);
  }
  if (g.change.address != 0) ptx::tensormap_replace_address(g.copy, g.change.address);
  if (g.change.columns != 0) ptx::tensormap_replace_extent<0>(g.copy, g.change.columns);
  if (g.change.row_bytes != 0) ptx::tensormap_replace_stride<0>(g.copy, g.change.row_bytes);
  if (g.change.releases) ptx::fence_proxy_tensormap_release_gpu();
}

// Thread 0 changes a copy of the map, thread 32 loads a box by it.
void entry(const Global g) {
  const u32 shared = ptx::smem_base();
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(shared + kBarrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  if (ptx::tid() == 0) change_map(g);
  if (g.change.hands_over) ptx::barrier_sync();
  if (ptx::tid() == 32) {
    if (g.change.acquires) ptx::fence_proxy_tensormap_acquire_gpu(g.copy);
    ptx::mbarrier_arrive_expect_tx(shared + kBarrier, 4 * kBoxWords);
    ptx::cp_async_bulk_tensor_load(shared, map_at(g.copy), shared + kBarrier, {0, 1});
  }
  ptx::mbarrier_wait(shared + kBarrier, 0);
  if (ptx::tid() < kBoxWords) {
    ptx::st_global<1>(g.out + 4 * ptx::tid(), ptx::ld_shared<1>(shared + 4 * ptx::tid()));
  }
}

class MapChanges : public testing::Test {
 protected:
  MapChanges() {
    for (u32 i = 0; i < tensor_.size(); ++i)
      tensor_[i] = i + 1;
  }

  /// The map is of 9 rows of 16 words, 64 bytes apart, in boxes of 4 rows of 8.
  Report run(const Change& change) {
    Global global{{}, reinterpret_cast<u64>(copy_), reinterpret_cast<u64>(out_.data()), change};
    const std::uint64_t extents[] = {16, 9};
    const std::uint64_t strides[] = {64};
    const std::uint32_t box[] = {8, 4};
    const std::uint32_t steps[] = {1, 1};
    EXPECT_EQ(emulator::encode_tiled(&global.map, 2, 2, tensor_.data(), extents, strides, box,
                                     steps, 0, 0, 0, 0),
              0);
    Options options;
    options.memory = {{tensor_.data(), sizeof(tensor_), "tensor", false},
                      {copy_, sizeof(copy_), "copy", true, false},
                      {out_.data(), sizeof(out_), "out", true, false}};
    void* arguments[] = {&global};
    return emulator::launch(emulator::entry<entry>, {1, 1, 1}, 64, 2048, arguments, options);
  }
  void expect_fault(const Change& change, Fault fault) {
    const Report report = run(change);
    EXPECT_TRUE(report.has(fault)) << report.text();
  }
  /// Word `column` of row `row` of the box.
  u32 out(u32 row, u32 column) const { return out_[8 * row + column]; }
  u64 tensor() const { return reinterpret_cast<u64>(tensor_.data()); }

  alignas(128) std::array<u32, 256> tensor_{};
  alignas(128) std::array<u32, kBoxWords> out_{};
  alignas(128) std::byte copy_[128]{};
};

TEST_F(MapChanges, LoadsFollowAddressExtentAndStride) {
  const Report report = run({.address = tensor() + 64, .columns = 5, .row_bytes = 80});
  ASSERT_TRUE(report.clean()) << report.text();
  for (u32 row = 0; row < 4; ++row) {
    for (u32 column = 0; column < 8; ++column)
      EXPECT_EQ(out(row, column), column < 5 ? 16 + 20 * (1 + row) + column + 1 : 0);
  }
}

TEST_F(MapChanges, WhatIsNotChangedStays) {
  const Report report = run({.columns = 8});
  ASSERT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out(0, 0), 17u);
  EXPECT_EQ(out(3, 7), 16u * 4 + 8);
}

TEST_F(MapChanges, FencesAreMissed) {
  expect_fault({.columns = 8, .releases = false}, Fault::missing_proxy_fence);
  expect_fault({.columns = 8, .acquires = false}, Fault::missing_proxy_fence);
  expect_fault({.releases = false, .acquires = false}, Fault::missing_proxy_fence);
}

TEST_F(MapChanges, AcquiresAreOrderedAfterChanges) {
  expect_fault({.columns = 8, .hands_over = false}, Fault::race);
}

TEST_F(MapChanges, ValuesAreThoseOfAMap) {
  expect_fault({.address = tensor() + 8}, Fault::bad_descriptor);
  expect_fault({.row_bytes = 72}, Fault::bad_descriptor);
  expect_fault({.row_bytes = u64{1} << 40}, Fault::bad_descriptor);
}

}  // namespace
}  // namespace estoc::map_changes

// Boxes that came with Blackwell: elements of 4 and 6 bits, padded in shared memory or not, and
// four rows from anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "emulator/tensor_map.h"
#include "tcgen05_frame.h"

#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/tma_gather.cuh>
#include <estoc/ptx/tma_pair.cuh>

namespace estoc::boxes {
namespace {

using namespace tcgen05_reports;

constexpr int kFloats = 7;
constexpr int kU4 = 13;
constexpr int kU4Padded = 14;
constexpr int kU6Padded = 15;

/// A tensor of rows of bytes 1, 2, 3 and so on.
struct Tensor {
  int type;
  std::uint64_t columns;
  std::uint64_t rows;
  std::uint64_t row_bytes;
  std::uint32_t box[2];
  int swizzle = 0;
  int fill = 0;
  std::uint64_t offset = 0;

  // Returns what encode_tiled does.
  int encode(TensorMap& map) {
    if (bytes.empty()) {
      bytes.resize(row_bytes * rows + 64);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<u8>(i * 7 + i / 256 + 1);
    }
    const std::uint64_t extents[] = {columns, rows};
    const std::uint32_t steps[] = {1, 1};
    return emulator::encode_tiled(&map, type, 2, address(), extents, &row_bytes, box, steps, 0,
                                  swizzle, 0, fill);
  }
  u8* address() {
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (32 - first % 32) % 32 + offset;
  }
  std::vector<u8> bytes{};
};

TEST(Boxes, EncoderTakesSmallElementsAsTheDriverDoes) {
  const auto encode = [](Tensor tensor) {
    alignas(64) TensorMap map{};
    const int result = tensor.encode(map);
    EXPECT_EQ(result != 0, *emulator::encode_problem() != 0);
    return result;
  };
  const Tensor padded{kU4Padded, 256, 8, 128, {128, 8}};
  EXPECT_EQ(encode(padded), 0);
  EXPECT_EQ(encode({kU6Padded, 256, 8, 192, {128, 8}, 3}), 0);
  const auto but = [&](auto change) {
    Tensor tensor = padded;
    change(tensor);
    return encode(tensor);
  };
  EXPECT_EQ(but([](Tensor& t) { t.columns = 192; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.box[0] = 64; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.box[0] = 256; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.row_bytes = 144; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.offset = 16; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.swizzle = 1; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.swizzle = 2; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.fill = 1; }), 1);
  EXPECT_EQ(but([](Tensor& t) { t.type = 16; }), 1);
  EXPECT_EQ(encode({kU4, 256, 8, 128, {64, 8}, 1}), 0);
  EXPECT_EQ(encode({kU4, 255, 8, 128, {64, 8}, 1}), 1);
  EXPECT_EQ(encode({kU4, 256, 8, 128, {48, 8}, 0}), 1);   // 24 bytes
  EXPECT_EQ(encode({kU4, 256, 8, 128, {256, 8}, 2}), 1);  // 128 bytes in a swizzle of 64
}

enum class Form { one, multicast, pair };

// The box at (128, 2), of 8 rows in shared memory, to `out`: a chunk's data, and zeros for padding.
template <Form form, int type>
void loads(const TensorMap map, u64 out) {
  constexpr u32 kRows = 8;
  constexpr u32 kData = type == kU4Padded ? 8 : type == kU6Padded ? 12 : 16;
  constexpr u32 kRowBytes = 128 / 16 * kData;
  const u32 rank = ptx::cluster_ctarank();
  const bool waits = form != Form::pair || rank == 0;
  prepare();
  if (first() && waits) {
    ptx::mbarrier_arrive_expect_tx(at(kDone), (form == Form::pair ? 2 : 1) * kRows * kRowBytes);
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (first()) {
    const u32 to = at(0);
    if constexpr (form == Form::pair) {
      ptx::cp_async_bulk_tensor_load_pair(to, map, at(kDone), {128, 2});
    } else if constexpr (form == Form::one) {
      ptx::cp_async_bulk_tensor_load(to, map, at(kDone), {128, 2});
    } else if (rank == 0) {
      ptx::cp_async_bulk_tensor_load_multicast(to, map, at(kDone), 3, {128, 2});
    }
  }
  if (waits) wait_done();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  for (u32 i = ptx::tid(); i < kRows * kRowBytes / 4; i += ptx::ntid()) {
    const u32 chunk = i * 4 / kData;
    const u32 word = ptx::ld_shared<1>(at(chunk * 16 + i * 4 % kData)).word[0];
    ptx::st_global<1>(out + rank * kRows * kRowBytes + 4 * i, Words<1>{{word}});
  }
}

template <Form form, int type>
void check_loads(int swizzle, emulator::Schedule schedule) {
  constexpr std::size_t kCtas = form == Form::one ? 1 : 2;
  constexpr std::size_t kRowBytes = type == kU6Padded ? 96 : 64;
  Tensor tensor{type, 256, 7, 2 * kRowBytes, {128, 8}, swizzle};
  alignas(64) TensorMap map{};
  ASSERT_EQ(tensor.encode(map), 0) << emulator::encode_problem();
  std::vector<u8> out(kCtas * 8 * kRowBytes);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&map, &address};
  emulator::Options options;
  options.schedule = schedule;
  options.cluster = {kCtas, 1, 1};
  const auto report = emulator::launch(emulator::entry<loads<form, type>>, options.cluster, 128,
                                       kSharedBytes, arguments, options);
  ASSERT_TRUE(report.clean()) << report.text();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / kRowBytes % 8;
    // Chunks of a row of 128 bytes, of which a swizzle exchanges those of row r by r.
    constexpr std::size_t kData = kRowBytes / 8;
    const std::size_t chunk = i % kRowBytes / kData ^ (swizzle == 0 ? 0 : row);
    const std::size_t from = (row + 2) * 2 * kRowBytes + kRowBytes + chunk * kData + i % kData;
    ASSERT_EQ(out[i], row + 2 < 7 ? tensor.address()[from] : 0) << i;
  }
}

TEST(Boxes, SmallElementsArePadded) {
  using emulator::Schedule;
  for (const int swizzle : {0, 3}) {
    check_loads<Form::one, kU4Padded>(swizzle, Schedule::late);
    check_loads<Form::one, kU6Padded>(swizzle, Schedule::eager);
    check_loads<Form::multicast, kU4Padded>(swizzle, Schedule::random);
    check_loads<Form::multicast, kU6Padded>(swizzle, Schedule::late);
    check_loads<Form::pair, kU4Padded>(swizzle, Schedule::eager);
    check_loads<Form::pair, kU6Padded>(swizzle, Schedule::random);
  }
}

// Loads a box of 8 rows to shared memory, of which `expected` bytes are expected.
template <u32 expected>
void load_box(const TensorMap& map, i32 column, int line = __builtin_LINE()) {
  prepare();
  if (!first()) return;
  ptx::mbarrier_arrive_expect_tx(at(kDone), expected);
  ptx::cp_async_bulk_tensor_load(at(0), map, at(kDone), {column, 0}, line);
  wait_done();
}

const TensorMap* given_map = nullptr;

void reads_padding() {
  load_box<512>(*given_map, 0);
  FAULT_NEXT;
  if (first()) ptx::ld_shared<1>(at(8));
}
void expects_padding() {
  FAULT_NEXT;
  load_box<1024>(*given_map, 0);
}
void begins_in_a_box() {
  FAULT_NEXT;
  load_box<512>(*given_map, 64);
}
void stores_padded() {
  prepare();
  FAULT_NEXT;
  if (first()) ptx::cp_async_bulk_tensor_store(*given_map, at(0), {0, 0});
}
void gathers_boxes() {
  prepare();
  FAULT_NEXT;
  if (first()) ptx::cp_async_bulk_tensor_gather4(at(0), *given_map, at(kDone), 0, {0, 1, 2, 3});
}

emulator::Report run_given(void (*kernel)(), Tensor& tensor) {
  alignas(64) static TensorMap map;
  EXPECT_EQ(tensor.encode(map), 0) << emulator::encode_problem();
  given_map = &map;
  return run_mistake(kernel, 1, emulator::Schedule::late);
}

TEST(Boxes, MistakesAreFoundAtTheirLine) {
  const struct {
    Fault fault;
    void (*kernel)();
    bool elsewhere = false;
  } mistakes[] = {{Fault::uninitialised, reads_padding},
                  {Fault::transaction_mismatch, expects_padding, true},
                  {Fault::misaligned, begins_in_a_box},
                  {Fault::bad_descriptor, stores_padded},
                  {Fault::bad_descriptor, gathers_boxes}};
  for (const auto& [fault, kernel, elsewhere] : mistakes) {
    Tensor tensor{kU4Padded, 256, 8, 128, {128, 8}};
    const auto report = run_given(kernel, tensor);
    const bool found =
        std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
          return finding.fault == fault && (elsewhere || finding.line == noted_line);
        });
    EXPECT_TRUE(found) << noted_line << "\n" << report.text();
  }
}

// Packed elements of 4 bits come and go as bytes do.
void copies_packed(const TensorMap from, const TensorMap to) {
  prepare();
  if (!first()) return;
  ptx::mbarrier_arrive_expect_tx(at(kDone), 8 * 32);
  ptx::cp_async_bulk_tensor_load(at(0), from, at(kDone), {64, 1});
  wait_done();
  ptx::cp_async_bulk_tensor_store(to, at(0), {128, 0});
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

TEST(Boxes, PackedElements) {
  Tensor from{kU4, 256, 9, 128, {64, 8}, 1};
  Tensor to{kU4, 256, 8, 128, {64, 8}, 1};
  alignas(64) TensorMap maps[2];
  ASSERT_EQ(from.encode(maps[0]), 0);
  ASSERT_EQ(to.encode(maps[1]), 0);
  const std::vector<u8> before = to.bytes;
  void* arguments[] = {&maps[0], &maps[1]};
  const auto report =
      emulator::launch(emulator::entry<copies_packed>, {1, 1, 1}, 128, kSharedBytes, arguments, {});
  ASSERT_TRUE(report.clean()) << report.text();
  const auto first_byte = static_cast<std::size_t>(to.address() - to.bytes.data());
  for (std::size_t i = 0; i < std::size_t{8} * 128; ++i) {
    const bool copied = i % 128 >= 64 && i % 128 < 96;
    ASSERT_EQ(to.address()[i], copied ? from.address()[i + 128 - 32] : before[first_byte + i]) << i;
  }
}

enum class Gather { one, multicast, pair };

// Rows 5, 0, -1 and 9 (of 8) from column 4 on, to `out` and to rows 1, 3, 6 and 9 of `to`.
template <Gather form>
void gathers(const TensorMap map, const TensorMap to, u64 out) {
  constexpr u32 kBytes = 4 * 32;
  const u32 rank = ptx::cluster_ctarank();
  const bool waits = form != Gather::pair || rank == 0;
  prepare();
  if (first() && waits) {
    ptx::mbarrier_arrive_expect_tx(at(kDone), (form == Gather::pair ? 2 : 1) * kBytes);
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (first()) {
    if constexpr (form == Gather::one) {
      ptx::cp_async_bulk_tensor_gather4(at(0), map, at(kDone), 4, {5, 0, -1, 9});
    } else if constexpr (form == Gather::pair) {
      ptx::cp_async_bulk_tensor_gather4_pair(at(0), map, at(kDone), 4, {5, 0, -1, 9});
    } else if (rank == 0) {
      ptx::cp_async_bulk_tensor_gather4_multicast(at(0), map, at(kDone), 3, 4, {5, 0, -1, 9});
    }
  }
  if (waits) wait_done();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (ptx::tid() < 32) {
    const Words<1> word = ptx::ld_shared<1>(at(4 * ptx::tid()));
    ptx::st_global<1>(out + rank * kBytes + 4 * ptx::tid(), word);
  }
  if (first() && rank == 0) {
    ptx::cp_async_bulk_tensor_scatter4(to, at(0), 4, {1, 3, 6, 9});
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

template <Gather form>
void check_gathers(emulator::Schedule schedule) {
  constexpr unsigned kCtas = form == Gather::one ? 1 : 2;
  Tensor from{kFloats, 16, 8, 64, {8, 1}};
  Tensor to{kFloats, 16, 8, 64, {8, 1}};
  alignas(64) TensorMap maps[2];
  ASSERT_EQ(from.encode(maps[0]), 0);
  ASSERT_EQ(to.encode(maps[1]), 0);
  std::fill(to.bytes.begin(), to.bytes.end(), u8{0xee});
  std::vector<u8> out(std::size_t{kCtas} * 128);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&maps[0], &maps[1], &address};
  emulator::Options options;
  options.schedule = schedule;
  options.cluster = {kCtas, 1, 1};
  const auto report = emulator::launch(emulator::entry<gathers<form>>, options.cluster, 128,
                                       kSharedBytes, arguments, options);
  ASSERT_TRUE(report.clean()) << report.text();
  constexpr int kFrom[] = {5, 0, -1, 9};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int row = kFrom[i / 32 % 4];
    const bool inside = row >= 0 && row < 8;
    ASSERT_EQ(out[i], inside ? from.address()[static_cast<std::size_t>(row) * 64 + 16 + i % 32] : 0)
        << i;
  }
  constexpr int kTo[] = {1, 3, 6};
  std::vector<u8> expected(std::size_t{8} * 64, 0xee);
  for (std::size_t r = 0; r < 3; ++r)
    std::copy_n(out.data() + 32 * r, 32,
                expected.data() + static_cast<std::size_t>(kTo[r]) * 64 + 16);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.address()));
}

TEST(Boxes, FourRowsFromAnywhere) {
  check_gathers<Gather::one>(emulator::Schedule::late);
  check_gathers<Gather::multicast>(emulator::Schedule::eager);
  check_gathers<Gather::pair>(emulator::Schedule::random);
}

void scatters_before() {
  prepare();
  FAULT_NEXT;
  if (first()) ptx::cp_async_bulk_tensor_scatter4(*given_map, at(0), 0, {1, 2, -1, 3});
}
void gathers_from_column_2() {
  prepare();
  FAULT_NEXT;
  if (first()) ptx::cp_async_bulk_tensor_gather4(at(0), *given_map, at(kDone), 2, {0, 1, 2, 3});
}

TEST(Boxes, MistakesOfFourRows) {
  Tensor tensor{kFloats, 16, 8, 64, {8, 1}};
  EXPECT_TRUE(run_given(scatters_before, tensor).has(Fault::out_of_bounds));
  EXPECT_TRUE(run_given(gathers_from_column_2, tensor).has(Fault::misaligned));
}

}  // namespace
}  // namespace estoc::boxes

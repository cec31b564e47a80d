// The cases of TMA's boxes: ranks, swizzles, edges, strides, fills, types.
#include <fmt/core.h>

#include "case.h"

#include <conformance/async.cuh>

namespace conformance {
namespace {

// CUtensorMapDataType
constexpr int kU8 = 0, kU16 = 1, kU32 = 2, kI32 = 3, kU64 = 4, kF16 = 6, kF32 = 7, kBf16 = 9,
              kTf32 = 11;

template <int rank, bool hint, Store store>
void entry(void** arguments) {
  box<rank, hint, store>(*static_cast<const Parameters*>(arguments[0]));
}

template <int rank, bool hint>
void multicast_entry(void** arguments) {
  multicast<rank, hint>(*static_cast<const Parameters*>(arguments[0]));
}

Case box_case(std::string name, std::string expression, estoc::emulator::Entry entry, Map map,
              std::array<i32, 6> at, Segment in) {
  Case test{};
  test.name = fmt::format("{} {}", expression, name);
  test.unit = test.header = "async";
  test.expression = std::move(expression);
  test.entry = entry;
  test.threads = 64;
  test.shared_bytes = 32768 + 16;
  test.in = {in};
  test.out_bytes = 2 * kStored;
  test.from = std::move(map);
  test.at = at;
  return test;
}

template <int rank, bool hint, Store store>
Case boxed(std::string name, Map map, std::array<i32, 6> at, Segment in) {
  constexpr const char* kStore[] = {"none", "plain", "hint", "add"};
  Case test =
      box_case(std::move(name),
               fmt::format("box<{}, {}, Store::{}>", rank, hint, kStore[static_cast<int>(store)]),
               entry<rank, hint, store>, map, at, in);
  if (store != Store::none) test.to = map;
  return test;
}

void changed_entry(void** arguments) {
  changed_box(*static_cast<const Parameters*>(arguments[0]));
}

/// The map begins `bytes` later, and its rows have so many elements, so many bytes apart.
Case changed(Map map, i32 bytes, i32 columns, i32 row_bytes) {
  Case test = box_case(fmt::format("{} {}", columns, row_bytes), "changed_box", changed_entry,
                       std::move(map), {8, 3, 0, bytes, columns, row_bytes}, words(560));
  test.out_bytes = 8192 + 128;
  return test;
}

template <int rank, bool hint>
Case shared_by_two(Map map, std::array<i32, 6> at, Segment in) {
  Case test = box_case("", fmt::format("multicast<{}, {}>", rank, hint),
                       multicast_entry<rank, hint>, std::move(map), at, in);
  test.grid = test.cluster = {2, 1, 1};
  test.at[5] = static_cast<i32>(16 / test.from->element_bytes);
  return test;
}

Segment integers(Type type, unsigned count) {
  return {Kind::integers, type, count};
}

const Map kLine{kF32, 4, {64}, {}, {32}, {1}};
const Map kCube{kF32, 4, {20, 9, 4}, {80, 720}, {8, 3, 2}, {1, 1, 1}};
const Map kFour{kU8, 1, {64, 5, 4, 3}, {64, 320, 1280}, {32, 2, 3, 2}, {1, 1, 1, 1}};
const Map kFive{kF16, 2, {16, 3, 3, 3, 3}, {32, 96, 288, 864}, {8, 2, 2, 2, 2}, {1, 1, 1, 1, 1}};

Map plane(int type, unsigned bytes, std::uint32_t box, int swizzle, int fill = 0) {
  return {type, bytes, {100 / bytes, 20}, {112}, {box, 8}, {1, 1}, swizzle, fill};
}

}  // namespace

std::vector<Case> box_cases() {
  std::vector<Case> all{
      boxed<1, false, Store::plain>("", kLine, {40}, words(64)),
      boxed<1, true, Store::none>("before", kLine, {-8}, words(64)),
      boxed<3, false, Store::none>("at a corner", kCube, {-4, 7, 3}, words(720)),
      boxed<3, false, Store::plain>("at the other", kCube, {16, 7, 3}, words(720)),
      boxed<4, false, Store::none>("", kFour, {48, -1, 2, 1}, words(960)),
      boxed<4, false, Store::plain>("", kFour, {48, 4, 2, 1}, words(960)),
      boxed<5, false, Store::none>("", kFive, {8, -1, 2, 1, 0}, words(648)),
      boxed<5, false, Store::plain>("", kFive, {8, 1, 2, 1, 0}, words(648)),
      boxed<2, true, Store::hint>("", plane(kU32, 4, 12, 0), {4, 15}, words(560)),
      boxed<3, true, Store::none>("", kCube, {16, -1, 0}, words(720)),
      boxed<3, true, Store::hint>("", kCube, {16, 8, 0}, words(720)),
      boxed<4, true, Store::none>("", kFour, {-16, 4, -2, 2}, words(960)),
      boxed<4, true, Store::hint>("", kFour, {32, 4, 3, 2}, words(960)),
      boxed<5, true, Store::none>("", kFive, {-8, 2, -1, 0, 2}, words(648)),
      boxed<5, true, Store::hint>("", kFive, {8, 2, 1, 0, 2}, words(648)),
      boxed<2, false, Store::plain>("outside", plane(kBf16, 2, 32, 2), {64, 0}, words(560)),
  };
  for (const auto& [swizzle, width] : {std::pair{0, 40}, {1, 16}, {2, 32}, {3, 64}}) {
    const Map map = plane(kBf16, 2, static_cast<std::uint32_t>(width), swizzle);
    const std::string name = fmt::format("swizzle {}", swizzle);
    all.push_back(boxed<2, false, Store::none>(name, map, {-8, 15}, words(560)));
    all.push_back(boxed<2, false, Store::plain>(name, map, {8, 15}, words(560)));
  }
  Map steps{kF32, 4, {20, 9, 7}, {80, 720}, {8, 4, 6}, {1, 2, 3}};
  all.push_back(boxed<3, false, Store::none>("element strides", steps, {4, 1, 2}, words(1260)));
  steps.steps = {1, 3, 1};
  steps.box = {8, 8, 2};
  all.push_back(
      boxed<3, false, Store::none>("uneven element strides", steps, {-4, 1, 2}, words(1260)));
  all.push_back(
      boxed<2, false, Store::none>("NaN fill", plane(kF32, 4, 16, 0, 1), {20, 15}, words(560)));
  all.push_back(boxed<2, false, Store::none>("NaN fill of bf16", plane(kBf16, 2, 16, 0, 1),
                                             {40, 15}, words(560)));
  all.push_back(boxed<2, false, Store::none>("NaN fill of f16", plane(kF16, 2, 16, 0, 1), {40, 15},
                                             words(560)));
  all.push_back(boxed<2, false, Store::none>("rounds tf32", plane(kTf32, 4, 16, 0), {0, 0},
                                             {Kind::reals, Type::f32, 560}));
  for (const auto& [type, bytes] : {std::pair{kU8, 1u}, {kU16, 2u}, {kI32, 4u}, {kU64, 8u}}) {
    all.push_back(boxed<2, false, Store::plain>(fmt::format("of type {}", type),
                                                plane(type, bytes, 16 / bytes, 0),
                                                {static_cast<i32>(16 / bytes), 2}, words(560)));
  }
  all.push_back(
      boxed<2, false, Store::none>("between chunks", plane(kU32, 4, 12, 0), {5, 15}, words(560)));
  all.back().stops = true;
  all.push_back(
      boxed<2, false, Store::plain>("stored before", plane(kU32, 4, 12, 0), {4, -1}, words(560)));
  all.back().stops = true;
  all.push_back(
      boxed<2, false, Store::add>("added before", plane(kI32, 4, 12, 0), {-4, 2}, words(560)));
  all.back().stops = true;
  all.push_back(boxed<1, false, Store::add>("f32", kLine, {40}, integers(Type::f32, 64)));
  all.push_back(boxed<2, false, Store::add>("i32", plane(kI32, 4, 12, 0), {4, 15}, words(560)));
  all.push_back(boxed<2, false, Store::add>("f16", plane(kF16, 2, 32, 2), {8, 15},
                                            integers(Type::f16, 1120)));
  all.push_back(boxed<2, false, Store::add>("bf16", plane(kBf16, 2, 64, 3), {16, 15},
                                            integers(Type::bf16, 1120)));
  all.push_back(boxed<3, false, Store::add>("f32", kCube, {16, 7, 3}, integers(Type::f32, 720)));
  all.push_back(boxed<4, false, Store::add>(
      "u8 as bits", {kU32, 4, {16, 5, 4, 3}, {64, 320, 1280}, {8, 2, 3, 2}, {1, 1, 1, 1}},
      {8, 4, 3, 2}, words(960)));
  all.push_back(
      boxed<5, false, Store::add>("f16", kFive, {8, 1, 2, 1, 0}, integers(Type::f16, 1296)));
  all.push_back(changed(plane(kBf16, 2, 64, 3), 96, 50, 96));
  all.push_back(changed(plane(kF32, 4, 16, 2), 16, 19, 80));
  all.push_back(shared_by_two<1, false>(kLine, {36}, words(64)));
  all.push_back(shared_by_two<1, true>(kLine, {0}, words(64)));
  all.push_back(shared_by_two<2, false>(plane(kBf16, 2, 64, 3), {8, 3}, words(560)));
  all.push_back(shared_by_two<2, true>(plane(kBf16, 2, 32, 2), {16, 3}, words(560)));
  all.push_back(shared_by_two<3, false>(kCube, {12, 7, 1}, words(720)));
  all.push_back(shared_by_two<3, true>(kCube, {0, 2, 1}, words(720)));
  all.push_back(shared_by_two<4, false>(kFour, {16, 1, 0, 1}, words(960)));
  all.push_back(shared_by_two<4, true>(kFour, {32, 1, 2, 1}, words(960)));
  all.push_back(shared_by_two<5, false>(kFive, {8, -1, 2, 1, 0}, words(648)));
  all.push_back(shared_by_two<5, true>(kFive, {0, 1, 0, 1, 0}, words(648)));
  return all;
}

}  // namespace conformance

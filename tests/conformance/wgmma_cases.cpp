// The cases of wgmma: every pair of types and width, and every layout of operands.
#include <fmt/core.h>

#include <type_traits>
#include <utility>

#include "case.h"

#include <conformance/product.cuh>

namespace conformance {
namespace {

constexpr std::string_view kNames[] = {"f64",  "f32",  "tf32", "f16", "bf16", "e4m3",
                                       "e5m2", "e8m0", "e2m1", "i32", "i8",   "u8"};

std::string_view name_of(Type type) {
  return kNames[static_cast<std::size_t>(type)];
}

// Swizzles as descriptors number them: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32.
u64 descriptor(bool mn_major, u64 swizzle) {
  const u64 width = swizzle == 0 ? 16 : 256 >> swizzle;
  const auto pack = [](u64 leading, u64 stride) { return leading >> 4 << 16 | stride >> 4 << 32; };
  if (swizzle == 0) return mn_major ? pack(8192, 128) : pack(4096, 128);
  return (mn_major ? pack(16 * width, 8 * width) : pack(16, 8 * width)) | swizzle << 62;
}

template <typename Value>
constexpr std::string_view kSumName = "float";
template <>
constexpr std::string_view kSumName<i32> = "i32";
template <>
constexpr std::string_view kSumName<u32> = "u32";

template <Type a, Type b, int n, bool ta, bool tb, typename Sum>
void shared_entry(void** arguments) {
  wgmma_shared<a, b, n, ta, tb, Sum>(*static_cast<const Parameters*>(arguments[0]));
}

template <Type a, Type b, int n, bool tb, typename Sum>
void registers_entry(void** arguments) {
  wgmma_registers<a, b, n, tb, Sum>(*static_cast<const Parameters*>(arguments[0]));
}

/// The cases of one type of sums: float, i32, or u32 for two of f16.
template <typename Sum>
class Products {
 public:
  explicit Products(std::vector<Case>& all) : all_(all) {}

  template <Type a, Type b>
  void every_width() {
    widths<a, b>(std::make_integer_sequence<int, 32>());
    for (const u64 swizzle : {0, 2, 3})
      shared<a, b, 64, false, false>(swizzle, false);
    reals<a, b, 64>();
  }

  template <Type type>
  void every_layout() {
    for (const u64 swizzle : {0, 1, 2, 3}) {
      shared<type, type, 128, true, false>(swizzle, true);
      shared<type, type, 64, false, true>(swizzle, false);
      shared<type, type, 256, true, true>(swizzle, true);
    }
    registers<type, type, 128, true>(true);
  }

 private:
  template <Type a, Type b, int... index>
  void widths(std::integer_sequence<int, index...> /*all*/) {
    (width<a, b, 8 * (index + 1)>(), ...);
  }

  template <Type a, Type b, int n>
  void width() {
    constexpr bool kSmall = std::is_same_v<Sum, i32> && n <= 32;
    if constexpr (std::is_same_v<Sum, float> || kSmall || n % 16 == 0) {
      shared<a, b, n, false, false>(1, n % 16 == 0);
      registers<a, b, n, false>(n % 16 != 0);
    }
  }

  template <Type a, Type b>
  Case& add(std::string expression, estoc::emulator::Entry entry, int n, bool adds, Kind kind) {
    Case& test = all_.emplace_back();
    test.name = fmt::format("{} {}", expression, adds ? "added" : "replaced");
    test.unit = fmt::format("product {} {}{}", name_of(a), name_of(b), kPacked ? " f16" : "");
    test.header = "product";
    test.expression = std::move(expression);
    test.entry = entry;
    test.threads = 128;
    test.shared_bytes = kImageOfB + 32768;
    const auto bytes = static_cast<unsigned>(estoc::abi::type_bytes(a));
    test.in = {{kind, a, kImageOfB / bytes}, {kind, b, 32768 / bytes}};
    test.out_bytes = static_cast<unsigned>(kPacked ? 128 * n : 256 * n);
    test.at[0] = adds ? 1 : 0;
    return test;
  }

  template <Type a, Type b, int n, bool ta, bool tb>
  Case& shared(u64 swizzle, bool adds, Kind kind = Kind::integers) {
    Case& test = add<a, b>(fmt::format("wgmma_shared<Type::{}, Type::{}, {}, {}, {}, {}>",
                                       name_of(a), name_of(b), n, ta, tb, kSumName<Sum>),
                           shared_entry<a, b, n, ta, tb, Sum>, n, adds, kind);
    test.name += fmt::format(" swizzle {}", swizzle);
    test.descriptor_a = descriptor(ta, swizzle);
    test.descriptor_b = descriptor(tb, swizzle);
    test.product = Product{true, a, b, n, false, ta, tb, swizzle, kPacked};
    return test;
  }

  template <Type a, Type b, int n, bool tb>
  void registers(bool adds) {
    Case& test = add<a, b>(fmt::format("wgmma_registers<Type::{}, Type::{}, {}, {}, {}>",
                                       name_of(a), name_of(b), n, tb, kSumName<Sum>),
                           registers_entry<a, b, n, tb, Sum>, n, adds, Kind::integers);
    test.descriptor_b = descriptor(tb, 1);
    test.product = Product{true, a, b, n, true, false, tb, 1, kPacked};
  }

  // Each term, and the sum, loses less than a unit of the bits that are kept: 24, of fp8 14. Sums
  // of f16 are rounded after each of the two products.
  template <Type a, Type b, int n>
  void reals() {
    if constexpr (!std::is_same_v<Sum, i32>) {
      Case& test = shared<a, b, n, false, false>(1, true, Kind::reals);
      test.name += " of reals";
      test.judge = kPacked ? Judge::sums_f16 : Judge::sums;
      test.product.reset();
      const int depth = 32 / estoc::abi::type_bytes(a);
      test.model = (2 * depth + 4) * (depth == 32 ? 0x1p-13 : 0x1p-24);
      if (kPacked) test.model += 2 * 0x1p-10;
    }
  }

  static constexpr bool kPacked = std::is_same_v<Sum, u32>;

  std::vector<Case>& all_;
};

}  // namespace

std::vector<Case> wgmma_cases() {
  std::vector<Case> all;
  Products<float> floats(all);
  floats.every_width<Type::f16, Type::f16>();
  floats.every_width<Type::bf16, Type::bf16>();
  floats.every_width<Type::tf32, Type::tf32>();
  floats.every_width<Type::e4m3, Type::e4m3>();
  floats.every_width<Type::e4m3, Type::e5m2>();
  floats.every_width<Type::e5m2, Type::e4m3>();
  floats.every_width<Type::e5m2, Type::e5m2>();
  floats.every_layout<Type::f16>();
  floats.every_layout<Type::bf16>();
  Products<i32> integers(all);
  integers.every_width<Type::i8, Type::i8>();
  integers.every_width<Type::i8, Type::u8>();
  integers.every_width<Type::u8, Type::i8>();
  integers.every_width<Type::u8, Type::u8>();
  Products<u32> halves(all);
  halves.every_width<Type::f16, Type::f16>();
  halves.every_width<Type::e4m3, Type::e4m3>();
  halves.every_width<Type::e4m3, Type::e5m2>();
  halves.every_width<Type::e5m2, Type::e4m3>();
  halves.every_width<Type::e5m2, Type::e5m2>();
  halves.every_layout<Type::f16>();
  return all;
}

}  // namespace conformance

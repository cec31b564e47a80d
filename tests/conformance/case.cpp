// Inputs, parameters, the emulator's outputs, and how outputs are compared.

// Before the emulator's names of types, which its enumerators would shadow.
#include "estoc/numeric.hpp"

#include "case.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "emulator/tensor_map.h"

namespace conformance {
namespace {

namespace emulator = estoc::emulator;

// A number of one kind. Each case draws from its own name, so that none depends on another.
double draw(std::mt19937& random, const Segment& segment) {
  switch (segment.kind) {
    case Kind::integers:
      return static_cast<int>(random() % 7) - (segment.type == Type::u8 ? 0 : 3);
    case Kind::reals: {
      const double mantissa = 1 + static_cast<double>(random() % 65536) / 65536;
      const double value = std::ldexp(mantissa, -static_cast<int>(random() % 7));
      return random() % 2 == 0 ? value : -value;
    }
    case Kind::positive:
      return 0.01 + static_cast<double>(random() % 100000) * 0.00008;
    default:
      return 0;
  }
}

u32 draw_word(std::mt19937& random, Kind kind) {
  const u32 bits = static_cast<u32>(random());
  if (kind == Kind::bits) return bits;
  // Exponents around those of the narrow formats, and some of every kind.
  const u32 exponent = random() % 8 == 0 ? bits >> 23 & 0xff : 100 + bits % 48;
  if (exponent == 255) return bits & 0xff800000u;
  return (bits & 0x807fffffu) | exponent << 23;
}

unsigned checksum(const std::string& name) {
  unsigned sum = 2166136261u;
  for (const char letter : name)
    sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619u;
  return sum;
}

estoc::TensorMap encode_map(const Map& map, u64 address, Encode encode) {
  alignas(64) estoc::TensorMap encoded{};
  // A driver wants strides, though a line has none.
  static constexpr std::array<std::uint64_t, 5> kNone{};
  const int result =
      encode(&encoded, map.type, static_cast<std::uint32_t>(map.extents.size()),
             reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
             map.extents.data(), map.strides.empty() ? kNone.data() : map.strides.data(),
             map.box.data(), map.steps.data(), 0, map.swizzle, 0, map.fill);
  if (result == 0) return encoded;
  throw std::invalid_argument(
      fmt::format("the tensor map is refused with {} {}", result,
                  encode == emulator::encode_tiled ? emulator::encode_problem() : "by the driver"));
}

// Memory at a multiple of 1024.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes + 1024, std::byte{0xa5}), size_(bytes) {
    start_ = (1024 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 1024) % 1024;
  }
  std::byte* data() { return bytes_.data() + start_; }
  std::size_t size() const { return size_; }
  u64 address() { return reinterpret_cast<u64>(data()); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t size_;
  std::size_t start_;
};

std::vector<std::byte> launch(const Case& test, const std::vector<std::byte>& input,
                              emulator::Schedule schedule, std::string& findings) {
  Buffer in(input.size());
  Buffer out(test.out_bytes);
  std::copy(input.begin(), input.end(), in.data());
  Parameters parameters = make_parameters(test, static_cast<unsigned>(input.size()), in.address(),
                                          out.address(), emulator::encode_tiled);
  emulator::Options options;
  options.kernel_name = test.name;
  options.schedule = schedule;
  options.cluster = test.cluster;
  options.memory = {{in.data(), in.size(), "in", false}, {out.data(), out.size(), "out"}};
  void* arguments[] = {&parameters};
  const emulator::Report report =
      emulator::launch(test.entry, test.grid, test.threads, test.shared_bytes, arguments, options);
  findings += report.text();
  return {out.data(), out.data() + out.size()};
}

// A number of f16 in memory.
struct Half {
  std::uint16_t bits;
  operator double() const {  // NOLINT(google-explicit-constructor): like float
    return estoc::load_element(estoc::Dtype::f16, &bits, 0);
  }
};

template <typename Value>
Value value_at(const std::vector<std::byte>& bytes, std::size_t index) {
  Value value{};
  std::memcpy(&value, bytes.data() + index * sizeof(Value), sizeof(Value));
  return value;
}

// Whether `got` may stand for `expected`, whose unit of the last place is of `digits` bits.
bool near(double expected, double got, int digits, double ulps) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (expected == got) return true;
  const int least = digits == 24 ? -149 : -1074;  // of subnormal numbers
  const int exponent = expected == 0 ? least : std::ilogb(expected) - digits + 1;
  return std::fabs(expected - got) <= ulps * std::ldexp(1.0, std::max(exponent, least));
}

template <typename Value>
std::string judge_numbers(const Case& test, const Expected& expected,
                          const std::vector<std::byte>& got) {
  const bool sums = test.judge == Judge::sums || test.judge == Judge::sums_f16;
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < got.size() / sizeof(Value); ++i) {
    const double want = value_at<Value>(expected.out, i);
    const double have = value_at<Value>(got, i);
    bool fits = false;
    double bound = 0;
    if (sums) {
      bound = test.model * value_at<Value>(expected.magnitudes, i);
      fits =
          std::fabs(want - have) <= bound || std::bit_cast<u64>(want) == std::bit_cast<u64>(have);
    } else {
      fits = near(want, have, sizeof(Value) == 4 ? 24 : 53, test.ulps);
    }
    if (fits) continue;
    if (wrong++ == 0) {
      first = fmt::format("number {} is {:.9g} on the emulator, {:.9g} on the GPU", i, want, have);
      if (bound != 0) first += fmt::format(", more than {:.3g} apart", bound);
    }
  }
  return wrong == 0 ? "" : fmt::format("{} ({} differ)", first, wrong);
}

}  // namespace

unsigned Map::box_bytes() const {
  unsigned bytes = element_bytes * box[0];
  for (std::size_t i = 1; i < box.size(); ++i)
    bytes *= (box[i] + steps[i] - 1) / steps[i];
  return bytes;
}

void put(Type type, std::byte* to, double value) {
  const auto dtype = type == Type::tf32 ? estoc::Dtype::f32 : static_cast<estoc::Dtype>(type);
  estoc::store_element(dtype, to, 0, value);
}

std::vector<std::byte> make_input(const Case& test, bool magnitudes) {
  std::mt19937 random(checksum(test.name));
  std::vector<std::byte> bytes;
  for (const Segment& segment : test.in) {
    const bool words = segment.kind == Kind::bits || segment.kind == Kind::floats;
    const std::size_t size =
        words ? 4 : static_cast<std::size_t>(estoc::abi::type_bytes(segment.type));
    for (unsigned i = 0; i < segment.elements; ++i) {
      bytes.resize(bytes.size() + size);
      std::byte* to = bytes.data() + bytes.size() - size;
      if (words) {
        const u32 word = draw_word(random, segment.kind);
        std::memcpy(to, &word, 4);
      } else {
        const double value = draw(random, segment);
        put(segment.type, to, magnitudes ? std::fabs(value) : value);
      }
    }
  }
  bytes.resize((bytes.size() + 15) / 16 * 16);
  return bytes;
}

Parameters make_parameters(const Case& test, unsigned in_bytes, u64 in, u64 out, Encode encode) {
  Parameters p{};
  p.in = in;
  p.out = out;
  p.in_bytes = in_bytes;
  p.descriptor_a = test.descriptor_a;
  p.descriptor_b = test.descriptor_b;
  std::copy(test.at.begin(), test.at.end(), p.at);
  if (test.from) {
    p.from = encode_map(*test.from, in, encode);
    p.box_bytes = test.from->box_bytes();
  }
  if (test.to) p.to = encode_map(*test.to, out + kStored, encode);
  return p;
}

Expected run_on_emulator(const Case& test, emulator::Schedule schedule) {
  Expected expected;
  try {
    expected.out = launch(test, make_input(test), schedule, expected.findings);
    if (test.judge == Judge::sums || test.judge == Judge::sums_f16) {
      expected.magnitudes = launch(test, make_input(test, true), schedule, expected.findings);
    }
  } catch (const std::exception& error) {
    expected.findings += error.what();
  }
  return expected;
}

std::string judge(const Case& test, const Expected& expected, const std::vector<std::byte>& got) {
  if (test.judge == Judge::ulps_f64) return judge_numbers<double>(test, expected, got);
  if (test.judge == Judge::sums_f16) return judge_numbers<Half>(test, expected, got);
  if (test.judge != Judge::bits) return judge_numbers<float>(test, expected, got);
  return compare_words(expected.out, got);
}

std::string compare_words(const std::vector<std::byte>& expected,
                          const std::vector<std::byte>& got) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < got.size() / 4; ++i) {
    if (value_at<u32>(expected, i) == value_at<u32>(got, i)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return fmt::format("word {} is to be {:#010x}, and is {:#010x} ({} of {} differ)", first,
                     value_at<u32>(expected, first), value_at<u32>(got, first), wrong,
                     got.size() / 4);
}

}  // namespace conformance

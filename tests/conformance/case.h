// One conformance case: a kernel, which the host's compiler and NVRTC compile from one text, and
// what it is given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/launch.h"

#include <conformance/parameters.cuh>

namespace conformance {

/// What a piece of the input holds.
enum class Kind {
  integers,  ///< -3 to 3, or 0 to 6 where there is no sign
  reals,     ///< of both signs, magnitudes from 2^-6 to 2
  bits,      ///< any words
  floats,    ///< f32 of any magnitude, infinities included
  positive,  ///< 0.01 to 8
};

struct Segment {
  Kind kind;
  Type type;
  unsigned elements;
};

inline Segment words(unsigned count) {
  return {Kind::bits, Type::i32, count};
}

/// How the GPU's output is compared with the emulator's.
enum class Judge {
  bits,      ///< equal
  sums,      ///< f32 sums: within `model` times the sum of the magnitudes
  sums_f16,  ///< the same of f16
  ulps_f32,  ///< within 4 units of the last place
  ulps_f64,
};

/// A tensor map, in the driver's terms.
struct Map {
  int type;
  unsigned element_bytes;
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> strides;  ///< bytes
  std::vector<std::uint32_t> box;
  std::vector<std::uint32_t> steps;  ///< element strides
  int swizzle = 0;
  int fill = 0;

  unsigned box_bytes() const;
};

/// A product of integers, for its reference.
struct Product {
  bool warpgroup;
  Type a;
  Type b;
  int columns = 8;
  bool a_registers = false;
  bool transpose_a = false;
  bool transpose_b = false;
  u64 swizzle = 0;
  bool packed = false;  ///< sums of f16
};

struct Case {
  std::string name;
  std::string unit;        ///< cases of one unit are compiled together
  std::string header;      ///< the text the kernel is in
  std::string expression;  ///< the function, as C++ names it
  estoc::emulator::Entry entry;

  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> cluster{1, 1, 1};
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  std::vector<Segment> in;
  unsigned out_bytes = 0;
  Judge judge = Judge::bits;
  double model = 0;
  double ulps = 4;  ///< of Judge::ulps_f32 and ulps_f64

  std::optional<Map> from{};  ///< over the input
  std::optional<Map> to{};    ///< over the output, from kStored on
  std::array<i32, 6> at{};
  u64 descriptor_a = 0;
  u64 descriptor_b = 0;
  std::optional<Product> product{};
  bool stops = false;  ///< a GPU ends with an illegal instruction, the emulator reports it
};

/// Where the output of a tensor map begins.
inline constexpr unsigned kStored = 32768;

std::vector<Case> instruction_cases();
std::vector<Case> box_cases();
std::vector<Case> wgmma_cases();

/// Writes `value` as an element; of tf32 all bits of f32.
void put(Type type, std::byte* to, double value);

/// The bytes of a case's input; with `magnitudes`, of the numbers' absolute values.
std::vector<std::byte> make_input(const Case& test, bool magnitudes = false);

/// cuTensorMapEncodeTiled, or the emulator's function.
using Encode = int (*)(void* map, int data_type, std::uint32_t rank, void* address,
                       const std::uint64_t* extents, const std::uint64_t* strides,
                       const std::uint32_t* box, const std::uint32_t* element_strides,
                       int interleave, int swizzle, int l2_promotion, int fill);

/// Throws std::runtime_error where a tensor map is refused.
Parameters make_parameters(const Case& test, unsigned in_bytes, u64 in, u64 out, Encode encode);

/// What an output is compared with: the emulator's, and the sums of magnitudes for Judge::sums.
struct Expected {
  std::vector<std::byte> out;
  std::vector<std::byte> magnitudes;
  std::string findings;
};
Expected run_on_emulator(const Case& test, estoc::emulator::Schedule schedule = {});

/// The output of a case with a product, by the definition of the fragments and layouts.
std::vector<std::byte> reference_of(const Case& test);

/// Empty where the GPU's output is as expected.
std::string judge(const Case& test, const Expected& expected, const std::vector<std::byte>& got);

/// Empty where both hold the same words.
std::string compare_words(const std::vector<std::byte>& expected,
                          const std::vector<std::byte>& got);

}  // namespace conformance

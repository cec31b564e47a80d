// Descriptors of tcgen05's products: what one instruction multiplies, and how its operands lie in
// shared memory.
#pragma once

#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// The .kind of tcgen05.mma: types of the operands, which K follows from. The last three take
/// scales of blocks along K.
enum class Tcgen05Kind : unsigned char { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// Whether products of a kind take scales of blocks along K.
ESTOC_CONSTEXPR bool takes_scales(Tcgen05Kind kind) {
  return kind >= Tcgen05Kind::mxf8f6f4;
}

/// One tcgen05.mma: its types and its shape, of which K is 32 bytes (PTX ISA 9.7.16.2, shapes;
/// 9.7.16.4.2, instruction descriptor; 9.7.16.10.7, block scaling).
struct Tcgen05Product {
  Tcgen05Kind kind;
  Type a;
  Type b;
  Type sum;   ///< f32, f16 or i32
  int group;  ///< CTAs that take part: 1, or 2 which share the rows of A and those of B
  int m;      ///< of all CTAs of the group
  int n;
  bool a_m_major = false;  ///< M is the contiguous mode of A, else K
  bool b_n_major = false;
  int block = 0;            ///< elements along K that share a scale; 0: there are none
  Type scales = Type::f32;  ///< where there are scales: e8m0, or e4m3 without its sign

  /// Bits that an element takes: of the kinds with floats of 8 bits and fewer always 8, where 16
  /// elements of 4 or 6 bits lie packed in front of 16 bytes (PTX ISA 9.7.16.10.9, padded types).
  ESTOC_CONSTEXPR int container_bits() const { return has_bytes() ? 8 : type_bits(a); }
  /// K of the instruction.
  ESTOC_CONSTEXPR int depth() const { return 256 / container_bits(); }
  /// Bytes of scales that the instruction takes of each row and column: they lie in one word, from
  /// the byte on that the descriptor states.
  ESTOC_CONSTEXPR int scale_bytes() const { return block == 0 ? 0 : depth() / block; }

  /// Whether every document that states the limits allows it: where they differ the narrowest.
  ESTOC_CONSTEXPR bool is_legal() const {
    return has_types() && has_scales() && has_shape() && has_layouts();
  }

  /// The descriptor's bits.
  ESTOC_CONSTEXPR unsigned descriptor() const {
    return sum_code() << 4 | type_code(a) << 7 | type_code(b) << 10 |
           static_cast<unsigned>(a_m_major) << 15 | static_cast<unsigned>(b_n_major) << 16 |
           static_cast<unsigned>(n >> 3) << 17 | static_cast<unsigned>(scales == Type::e8m0) << 23 |
           static_cast<unsigned>(m >> 4) << 24;
  }
  /// The descriptor's bits where scales begin at byte `first` of their words, a multiple of
  /// scale_bytes().
  ESTOC_CONSTEXPR unsigned descriptor(unsigned first) const {
    return descriptor() | first << 4 | first << 29;
  }

 private:
  ESTOC_CONSTEXPR bool has_bytes() const {
    return kind == Tcgen05Kind::f8f6f4 || kind == Tcgen05Kind::mxf8f6f4;
  }
  ESTOC_CONSTEXPR static bool is_padded(Type type) {
    return type == Type::e2m1 || type == Type::e2m3 || type == Type::e3m2;
  }
  ESTOC_CONSTEXPR static bool is_small(Type type) {
    return type == Type::e4m3 || type == Type::e5m2 || is_padded(type);
  }
  ESTOC_CONSTEXPR static bool is_int8(Type type) { return type == Type::i8 || type == Type::u8; }
  ESTOC_CONSTEXPR bool has_types() const {
    switch (kind) {
      case Tcgen05Kind::f16:
        return a == b && ((a == Type::f16 && (sum == Type::f32 || sum == Type::f16)) ||
                          (a == Type::bf16 && sum == Type::f32));
      case Tcgen05Kind::tf32:
        return a == Type::tf32 && b == Type::tf32 && sum == Type::f32;
      case Tcgen05Kind::f8f6f4:
        return is_small(a) && is_small(b) && (sum == Type::f32 || sum == Type::f16);
      case Tcgen05Kind::mxf8f6f4:
        return is_small(a) && is_small(b) && sum == Type::f32;
      case Tcgen05Kind::mxf4:
      case Tcgen05Kind::mxf4nvf4:
        return a == Type::e2m1 && b == Type::e2m1 && sum == Type::f32;
      default:
        return is_int8(a) && is_int8(b) && sum == Type::i32;
    }
  }
  ESTOC_CONSTEXPR bool has_scales() const {
    if (!takes_scales(kind)) return block == 0 && scales == Type::f32;
    if (block == 32) return scales == Type::e8m0;
    return block == 16 && kind == Tcgen05Kind::mxf4nvf4 &&
           (scales == Type::e8m0 || scales == Type::e4m3);
  }
  ESTOC_CONSTEXPR bool has_shape() const {
    if (group != 1 && group != 2) return false;
    // A pair with 128 rows would need the scales of B's halves in different lanes.
    if (takes_scales(kind) && m != 128 * group) return false;
    if (m != 64 * group && m != 128 * group) return false;
    // 8 would do for one CTA with 64 rows; CUTLASS and DeepGEMM ask for 16 with 128.
    const int step = kind == Tcgen05Kind::i8 && group == 2 ? 32 : group == 2 || m == 128 ? 16 : 8;
    if (kind == Tcgen05Kind::i8 && n > 32 && n % 16 != 0) return false;
    if (kind == Tcgen05Kind::i8 && n == 24) return false;
    return n >= step && n <= 256 && n % step == 0;
  }
  ESTOC_CONSTEXPR bool has_layouts() const {
    if ((is_padded(a) && a_m_major) || (is_padded(b) && b_n_major)) return false;
    return !b_n_major || container_bits() != 8 || n % (16 * group) == 0;
  }
  ESTOC_CONSTEXPR unsigned sum_code() const {
    if (takes_scales(kind)) return 0;
    return sum == Type::f16 ? 0 : sum == Type::f32 ? 1 : 2;
  }
  ESTOC_CONSTEXPR unsigned type_code(Type type) const {
    switch (type) {
      case Type::bf16:
      case Type::e5m2:
      case Type::i8:
        return 1;
      case Type::tf32:
        return 2;
      case Type::e2m3:
        return 3;
      case Type::e3m2:
        return 4;
      case Type::e2m1:
        return has_bytes() ? 5 : 1;
      default:
        return 0;
    }
  }
};

/// How the rows of an operand are swizzled in shared memory, as descriptors number it.
enum class Tcgen05Swizzle : unsigned char {
  none = 0,
  bytes128_atom32 = 1,  ///< 32 bytes stay together: tf32 that is M- or N-major
  bytes128 = 2,
  bytes64 = 4,
  bytes32 = 6,
};

/// An operand in shared memory (PTX ISA 9.7.16.4.1, shared memory descriptor). Offsets are bytes,
/// multiples of 16. K-major: `stride` leads to the next eight rows, `leading`, of operands that are
/// not swizzled, to the next 16 bytes of K. M- or N-major and swizzled: `leading` leads to the next
/// span of the swizzle, `stride` to the next eight K (four with atoms of 32 bytes); not swizzled,
/// the two exchange their roles.
struct Tcgen05Operand {
  Tcgen05Swizzle swizzle;
  unsigned leading;
  unsigned stride;

  /// The descriptor of what begins at shared address `address`; adding step >> 4 moves it.
  ESTOC_CONSTEXPR unsigned long long descriptor(unsigned address) const {
    constexpr unsigned long long kConstant = 1;
    return static_cast<unsigned long long>((address & 0x3ffff) >> 4) |
           static_cast<unsigned long long>((leading & 0x3ffff) >> 4) << 16 |
           static_cast<unsigned long long>((stride & 0x3ffff) >> 4) << 32 | kConstant << 46 |
           static_cast<unsigned long long>(swizzle) << 61;
  }
};

/// What tcgen05.cp makes of 16 bytes of shared memory: those bytes, or 16 elements of 4 or 6 bits
/// that lie packed in front, each in a byte of its own.
enum class TensorSource : unsigned char { bytes, packed4, packed6 };

/// The part of tensor memory that one tcgen05.ld or st moves: lanes, and bits of each that are
/// moved as often as it repeats (ptx/tcgen05_memory.cuh has the registers).
enum class TensorShape : unsigned char { lanes32x32, lanes16x64, lanes16x128, lanes16x256 };

/// Registers of a thread that each repetition takes.
ESTOC_CONSTEXPR int tensor_registers(TensorShape shape) {
  return shape == TensorShape::lanes16x256 ? 4 : shape == TensorShape::lanes16x128 ? 2 : 1;
}

/// Columns of tensor memory that each repetition takes.
ESTOC_CONSTEXPR int tensor_columns(TensorShape shape) {
  switch (shape) {
    case TensorShape::lanes32x32:
      return 1;
    case TensorShape::lanes16x64:
      return 2;
    case TensorShape::lanes16x128:
      return 4;
    default:
      return 8;
  }
}

}  // namespace estoc::abi

// The overlap check: address ranges, then nested strides, then a bounded Diophantine search.
//
// Every case reduces to one: does c_1 x_1 + ... + c_n x_n = target have a solution with
// 0 <= x_i <= u_i? Strides and the width of an element are the coefficients.
#include "model/overlap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "model/checked.h"

namespace estoc::model {
namespace {

/// coefficient * x with 0 <= x <= most; both are positive.
struct Term {
  std::int64_t coefficient;
  std::int64_t most;
};

/// Both views' modes and the width of an element.
constexpr std::size_t kMaxTerms = 2 * kMaxRank + 1;

__extension__ using Wide = unsigned __int128;

std::int64_t multiply_modulo(std::int64_t a, std::int64_t b, std::int64_t modulus) {
  return static_cast<std::int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) %
                                   static_cast<Wide>(modulus));
}

/// The inverse of `value` modulo `modulus`, which have no common divisor; 0 modulo 1.
std::int64_t inverse_modulo(std::int64_t value, std::int64_t modulus) {
  std::int64_t remainder = modulus;
  std::int64_t next_remainder = value % modulus;
  std::int64_t factor = 0;
  std::int64_t next_factor = 1;
  while (next_remainder != 0) {
    const std::int64_t quotient = remainder / next_remainder;
    remainder = std::exchange(next_remainder, remainder - quotient * next_remainder);
    factor = std::exchange(next_factor, factor - quotient * next_factor);
  }
  return factor < 0 ? factor + modulus : factor % modulus;
}

/// A sum of terms, and the search for values that make it equal to a target.
class BoundedSum {
 public:
  /// Takes part in the sum; a `most` of 0 adds nothing.
  void add(std::int64_t coefficient, std::int64_t most) {
    if (most > 0) terms_[count_++] = {coefficient, most};
  }

  Overlap reaches(std::int64_t target) {
    if (!prepare()) return Overlap::undecided;
    steps_ = 0;
    return search(0, target);
  }

 private:
  /// What is known of the terms from one on, the last included.
  struct Rest {
    std::int64_t reach = 0;    ///< the largest sum
    std::int64_t divisor = 0;  ///< greatest common divisor of the coefficients
    std::int64_t step = 1;     ///< distance of the first term's values that leave the others a sum
    std::int64_t inverse = 0;  ///< of the first term's coefficient, modulo step
  };

  /// Terms of equal coefficient are one; so are terms whose multiples follow on without a gap.
  void merge() {
    std::sort(terms_.begin(), terms_.begin() + count_,
              [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      Term& last = terms_[kept];
      const Term& term = terms_[i];
      const std::int64_t ratio = term.coefficient / last.coefficient;
      std::int64_t more = ratio;
      if (term.coefficient % last.coefficient == 0 && ratio - 1 <= last.most &&
          multiply_by(more, term.most) && add_to(more, last.most)) {
        last.most = more;
      } else {
        terms_[++kept] = term;
      }
    }
    count_ = count_ == 0 ? 0 : kept + 1;
    std::reverse(terms_.begin(), terms_.begin() + count_);
  }

  /// Sorts the terms, the largest coefficient first; false when a sum passes 2^63 - 1.
  bool prepare() {
    merge();
    rests_[count_] = {};
    for (std::size_t i = count_; i-- > 0;) {
      std::int64_t reach = terms_[i].coefficient;
      if (!multiply_by(reach, terms_[i].most) || !add_to(reach, rests_[i + 1].reach)) return false;
      const std::int64_t divisor = std::gcd(terms_[i].coefficient, rests_[i + 1].divisor);
      const std::int64_t step = std::max<std::int64_t>(rests_[i + 1].divisor / divisor, 1);
      rests_[i] = {reach, divisor, step, inverse_modulo(terms_[i].coefficient / divisor, step)};
    }
    return true;
  }

  /// Whether the terms from `level` on can sum to `target`.
  Overlap search(std::size_t level, std::int64_t target) {
    if (target == 0) return Overlap::some;
    if (target < 0 || target > rests_[level].reach || target % rests_[level].divisor != 0) {
      return Overlap::none;
    }
    const Term& term = terms_[level];
    const Rest& rest = rests_[level + 1];
    const std::int64_t largest = std::min(term.most, target / term.coefficient);
    const std::int64_t excess = std::max<std::int64_t>(target - rest.reach, 0);
    const std::int64_t smallest = excess / term.coefficient + (excess % term.coefficient != 0);
    if (smallest > largest) return Overlap::none;
    if (level + 1 == count_) return Overlap::some;
    const std::int64_t step = rests_[level].step;
    const std::int64_t ahead = (congruent(level, target) - smallest % step + step) % step;
    for (std::int64_t left = largest - smallest - ahead; left >= 0; left -= step) {
      if (++steps_ > kOverlapSteps) return Overlap::undecided;
      const Overlap found = search(level + 1, target - term.coefficient * (largest - left));
      if (found != Overlap::none) return found;
    }
    return Overlap::none;
  }

  /// The smallest x >= 0 for which target - coefficient * x is a multiple of the rest's divisor.
  std::int64_t congruent(std::size_t level, std::int64_t target) const {
    const Rest& from = rests_[level];
    return multiply_modulo(target / from.divisor % from.step, from.inverse, from.step);
  }

  std::array<Term, kMaxTerms + 1> terms_{};
  std::array<Rest, kMaxTerms + 2> rests_{};
  std::size_t count_ = 0;
  std::int64_t steps_ = 0;
};

/// The modes of a view with more than one element.
struct Modes {
  std::array<Term, kMaxRank> terms{};
  std::size_t count = 0;

  explicit Modes(const TensorView& view) {
    for (int mode = 0; mode < view.rank(); ++mode) {
      if (view.shape(mode) > 1) terms[count++] = {view.stride(mode), view.shape(mode) - 1};
    }
  }

  /// Insertion: there are at most six.
  void sort() {
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = i; j > 0 && terms[j].coefficient < terms[j - 1].coefficient; --j) {
        std::swap(terms[j], terms[j - 1]);
      }
    }
  }
};

/// True when each stride passes over everything that the smaller ones reach.
bool are_nested(const Modes& modes) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < modes.count; ++i) {
    if (modes.terms[i].coefficient <= reach) return false;
    reach += modes.terms[i].coefficient * modes.terms[i].most;
  }
  return true;
}

/// Whether two indices coincide that differ in mode `top` and in no later one. With d the
/// difference of the indices and d_top = y + 1 > 0: sum over the modes below of stride * d, plus
/// stride_top * y, is -stride_top; each d is shifted by its bound to start at 0.
Overlap coincide_below(const Modes& modes, std::size_t top) {
  const Term& term = modes.terms[top];
  BoundedSum sum;
  std::int64_t target = -term.coefficient;
  for (std::size_t i = 0; i < top; ++i) {
    std::int64_t reach = modes.terms[i].coefficient;
    std::int64_t most = modes.terms[i].most;
    if (!multiply_by(reach, most) || !add_to(target, reach) || !multiply_by(most, 2)) {
      return Overlap::undecided;
    }
    sum.add(modes.terms[i].coefficient, most);
  }
  if (target < 0) return Overlap::none;
  sum.add(term.coefficient, term.most - 1);
  return sum.reaches(target);
}

/// Half bytes that `bytes` and counts of elements are measured in, so that packed types are exact.
constexpr std::int64_t kUnitsPerByte = 2;

std::int64_t units_per_element(Dtype dtype) {
  return dtype_bits(dtype) / 4;
}

std::uintptr_t address_of(const TensorView& view) {
  return reinterpret_cast<std::uintptr_t>(view.data());
}

bool ranges_meet(const TensorView& first, const TensorView& second) {
  const auto span = [](const TensorView& view) {
    return static_cast<std::uintptr_t>(view.span_bytes());
  };
  return address_of(first) < address_of(second) + span(second) &&
         address_of(second) < address_of(first) + span(first);
}

bool add_modes(BoundedSum& sum, const TensorView& view) {
  const Modes modes(view);
  for (std::size_t i = 0; i < modes.count; ++i) {
    std::int64_t coefficient = modes.terms[i].coefficient;
    if (!multiply_by(coefficient, units_per_element(view.dtype()))) return false;
    if (coefficient > 0) sum.add(coefficient, modes.terms[i].most);
  }
  return true;
}

/// Units from the start of `view` to the start of its last element; false past 2^63 - 1.
bool last_element(const TensorView& view, std::int64_t& units) {
  units = 0;
  for (int mode = 0; mode < view.rank(); ++mode) {
    std::int64_t distance = (view.shape(mode) - 1) * view.stride(mode);
    if (!multiply_by(distance, units_per_element(view.dtype())) || !add_to(units, distance)) {
      return false;
    }
  }
  return true;
}

/// Some x of `low` and z of `high` share a unit when start_low + x + p = start_high + z + q with p
/// and q inside the elements. With z and q counted backwards from their ends, all terms add.
Overlap search_overlap(const TensorView& low, const TensorView& high) {
  const std::int64_t low_width = units_per_element(low.dtype());
  const std::int64_t high_width = units_per_element(high.dtype());
  auto target = static_cast<std::int64_t>(address_of(high) - address_of(low));
  std::int64_t last = 0;
  BoundedSum sum;
  if (!multiply_by(target, kUnitsPerByte) || !last_element(high, last) || !add_to(target, last) ||
      !add_to(target, high_width - 1) || !add_modes(sum, low) || !add_modes(sum, high)) {
    return Overlap::undecided;
  }
  sum.add(1, low_width + high_width - 2);
  return sum.reaches(target);
}

}  // namespace

Overlap find_self_overlap(const TensorView& view) {
  if (view.span_bytes() == 0) return Overlap::none;
  Modes modes(view);
  modes.sort();
  if (modes.count > 0 && modes.terms[0].coefficient == 0) return Overlap::some;
  if (are_nested(modes)) return Overlap::none;
  Overlap answer = Overlap::none;
  for (std::size_t top = 1; top < modes.count; ++top) {
    const Overlap found = coincide_below(modes, top);
    if (found == Overlap::some) return found;
    if (found == Overlap::undecided) answer = found;
  }
  return answer;
}

Overlap find_overlap(const TensorView& first, const TensorView& second) {
  const bool empty = first.span_bytes() == 0 || second.span_bytes() == 0;
  if (empty || first.described() || second.described() || !ranges_meet(first, second)) {
    return Overlap::none;
  }
  return address_of(first) <= address_of(second) ? search_overlap(first, second)
                                                 : search_overlap(second, first);
}

bool is_same_view(const TensorView& first, const TensorView& second) {
  if (first.data() != second.data() || first.dtype() != second.dtype() ||
      first.device() != second.device() || !std::ranges::equal(first.shape(), second.shape())) {
    return false;
  }
  for (int mode = 0; mode < first.rank(); ++mode) {
    if (first.shape(mode) > 1 && first.stride(mode) != second.stride(mode)) return false;
  }
  return true;
}

}  // namespace estoc::model

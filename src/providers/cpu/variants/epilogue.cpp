// The operations of epilogues on strips of values, compiled once for each instruction set.
//
// As in product.cpp, nothing here may become a symbol that two copies share: no inline function of
// the standard library, mathematics by the compiler's own names.
#include <cstddef>
#include <cstdint>

#include "providers/cpu/product.h"

#define ESTOC_ALWAYS_INLINE static inline __attribute__((always_inline))

namespace estoc::cpu::ESTOC_VARIANT {

void run_strip(const EpilogueStrip& strip);
void fold_strip(const EpilogueFold& fold);

namespace {

// ---------------------------------------------------------------------------- mathematics

// clang-format off
#define ESTOC_MATH(name)                                                                  \
  ESTOC_ALWAYS_INLINE float math_##name(float x) { return __builtin_##name##f(x); }       \
  ESTOC_ALWAYS_INLINE double math_##name(double x) { return __builtin_##name(x); }
// clang-format on
ESTOC_MATH(sqrt)
ESTOC_MATH(exp)
ESTOC_MATH(exp2)
ESTOC_MATH(log)
ESTOC_MATH(log1p)
ESTOC_MATH(expm1)
ESTOC_MATH(tanh)
ESTOC_MATH(erfc)
ESTOC_MATH(fabs)
#undef ESTOC_MATH

ESTOC_ALWAYS_INLINE float math_pow(float x, float y) {
  return __builtin_powf(x, y);
}
ESTOC_ALWAYS_INLINE double math_pow(double x, double y) {
  return __builtin_pow(x, y);
}
ESTOC_ALWAYS_INLINE float math_fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
ESTOC_ALWAYS_INLINE double math_fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}

/// NaN if one is NaN.
template <class T>
ESTOC_ALWAYS_INLINE T larger(T x, T y) {
  return x > y || x != x ? x : y;
}
template <class T>
ESTOC_ALWAYS_INLINE T smaller(T x, T y) {
  return x < y || x != x ? x : y;
}

template <class T>
ESTOC_ALWAYS_INLINE T sigmoid(T x) {
  const T small = math_exp(-math_fabs(x));
  return (x < 0 ? small : T{1}) / (1 + small);
}

template <class T>
ESTOC_ALWAYS_INLINE T softplus(T x) {
  return (x < 0 ? T{0} : x) + math_log1p(math_exp(-math_fabs(x)));
}

template <class T>
ESTOC_ALWAYS_INLINE T gelu_tanh(T x) {
  const T inner =
      static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
  return x / 2 * (1 + math_tanh(inner));
}

struct Words {
  std::uint32_t x[4];
};

/// Philox4x32-10.
ESTOC_ALWAYS_INLINE std::uint32_t philox(std::uint64_t counter, std::uint32_t key) {
  Words c{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}};
  std::uint32_t k0 = key;
  std::uint32_t k1 = 0;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c.x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c.x[2];
    c = {{static_cast<std::uint32_t>(b >> 32) ^ c.x[1] ^ k0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c.x[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c.x[0];
}

// ---------------------------------------------------------------------------- strips

/// One step of one strip, with its registers.
struct Work {
  const EpilogueStrip& strip;
  const EpilogueStep& step;

  template <class T>
  __attribute__((always_inline)) const T* input(int i) const {
    return static_cast<const T*>(strip.registers[step.inputs[i]]);
  }
  template <class T>
  __attribute__((always_inline)) T* output() const {
    return static_cast<T*>(strip.registers[step.output]);
  }
};

template <class T, class R, class Function>
void map1(const Work& work, Function function) {
  const T* const x = work.input<T>(0);
  R* const out = work.output<R>();
  for (std::int64_t i = 0; i < work.strip.count; ++i)
    out[i] = static_cast<R>(function(x[i]));
}

template <class T, class R, class Function>
void map2(const Work& work, Function function) {
  const T* const x = work.input<T>(0);
  const T* const y = work.input<T>(1);
  R* const out = work.output<R>();
  for (std::int64_t i = 0; i < work.strip.count; ++i)
    out[i] = static_cast<R>(function(x[i], y[i]));
}

template <class T, class Function>
void map3(const Work& work, Function function) {
  const T* const x = work.input<T>(0);
  const T* const y = work.input<T>(1);
  const T* const z = work.input<T>(2);
  T* const out = work.output<T>();
  for (std::int64_t i = 0; i < work.strip.count; ++i)
    out[i] = function(x[i], y[i], z[i]);
}

template <class T>
void select(const Work& work) {
  const std::int32_t* const condition = work.input<std::int32_t>(0);
  const T* const x = work.input<T>(1);
  const T* const y = work.input<T>(2);
  T* const out = work.output<T>();
  for (std::int64_t i = 0; i < work.strip.count; ++i)
    out[i] = condition[i] != 0 ? x[i] : y[i];
}

template <class T>
void dropout(const Work& work) {
  const T* const x = work.input<T>(0);
  const T* const p = work.input<T>(1);
  const std::int32_t* const seed = work.input<std::int32_t>(2);
  const std::int32_t* const offset = work.input<std::int32_t>(3);
  T* const out = work.output<T>();
  for (std::int64_t i = 0; i < work.strip.count; ++i) {
    const std::uint64_t counter = static_cast<std::uint32_t>(offset[i]) + work.strip.first_element +
                                  work.strip.element_step * static_cast<std::uint64_t>(i);
    const std::uint32_t word = philox(counter, static_cast<std::uint32_t>(seed[i]));
    const T uniform = static_cast<T>(word >> 8) * static_cast<T>(0x1p-24);
    out[i] = uniform >= p[i] ? x[i] * (1 / (1 - p[i])) : T{0};
  }
}

/// What both floating and whole numbers have; false when the operation is none of these.
template <class T>
bool compare(const Work& work) {
  switch (work.step.op) {
    case EpilogueOp::equal:
      map2<T, std::int32_t>(work, [](T x, T y) { return x == y; });
      return true;
    case EpilogueOp::not_equal:
      map2<T, std::int32_t>(work, [](T x, T y) { return x != y; });
      return true;
    case EpilogueOp::less:
      map2<T, std::int32_t>(work, [](T x, T y) { return x < y; });
      return true;
    case EpilogueOp::less_equal:
      map2<T, std::int32_t>(work, [](T x, T y) { return x <= y; });
      return true;
    case EpilogueOp::greater:
      map2<T, std::int32_t>(work, [](T x, T y) { return x > y; });
      return true;
    case EpilogueOp::greater_equal:
      map2<T, std::int32_t>(work, [](T x, T y) { return x >= y; });
      return true;
    case EpilogueOp::maximum:
      map2<T, T>(work, [](T x, T y) { return larger(x, y); });
      return true;
    case EpilogueOp::minimum:
      map2<T, T>(work, [](T x, T y) { return smaller(x, y); });
      return true;
    case EpilogueOp::clamp:
      map3<T>(work, [](T x, T low, T high) { return smaller(larger(x, low), high); });
      return true;
    case EpilogueOp::relu:
      map1<T, T>(work, [](T x) { return x <= 0 ? T{0} : x; });
      return true;
    case EpilogueOp::select:
      select<T>(work);
      return true;
    default:
      return false;
  }
}

template <class T>
bool calculate(const Work& work) {
  switch (work.step.op) {
    case EpilogueOp::add:
      map2<T, T>(work, [](T x, T y) { return x + y; });
      return true;
    case EpilogueOp::sub:
      map2<T, T>(work, [](T x, T y) { return x - y; });
      return true;
    case EpilogueOp::mul:
      map2<T, T>(work, [](T x, T y) { return x * y; });
      return true;
    case EpilogueOp::div:
      map2<T, T>(work, [](T x, T y) { return x / y; });
      return true;
    case EpilogueOp::neg:
      map1<T, T>(work, [](T x) { return -x; });
      return true;
    case EpilogueOp::fma:
      map3<T>(work, [](T x, T y, T z) { return math_fma(x, y, z); });
      return true;
    case EpilogueOp::abs:
      map1<T, T>(work, [](T x) { return math_fabs(x); });
      return true;
    case EpilogueOp::sqrt:
      map1<T, T>(work, [](T x) { return math_sqrt(x); });
      return true;
    case EpilogueOp::rsqrt:
      map1<T, T>(work, [](T x) { return 1 / math_sqrt(x); });
      return true;
    case EpilogueOp::reciprocal:
      map1<T, T>(work, [](T x) { return 1 / x; });
      return true;
    case EpilogueOp::leaky_relu:
      map2<T, T>(work, [](T x, T slope) { return x > 0 ? x : slope * x; });
      return true;
    case EpilogueOp::hardswish:
      map1<T, T>(work, [](T x) { return x * (smaller(larger(x + 3, T{0}), T{6}) / 6); });
      return true;
    default:
      return false;
  }
}

template <class T>
void calculate_curve(const Work& work) {
  switch (work.step.op) {
    case EpilogueOp::exp:
      return map1<T, T>(work, [](T x) { return math_exp(x); });
    case EpilogueOp::exp2:
      return map1<T, T>(work, [](T x) { return math_exp2(x); });
    case EpilogueOp::log:
      return map1<T, T>(work, [](T x) { return math_log(x); });
    case EpilogueOp::pow:
      return map2<T, T>(work, [](T x, T y) { return math_pow(x, y); });
    case EpilogueOp::gelu:
      return map1<T, T>(
          work, [](T x) { return x / 2 * math_erfc(x * static_cast<T>(-0.70710678118654752440)); });
    case EpilogueOp::gelu_tanh:
      return map1<T, T>(work, [](T x) { return gelu_tanh(x); });
    case EpilogueOp::silu:
      return map1<T, T>(work, [](T x) { return x * sigmoid(x); });
    case EpilogueOp::sigmoid:
      return map1<T, T>(work, [](T x) { return sigmoid(x); });
    case EpilogueOp::tanh:
      return map1<T, T>(work, [](T x) { return math_tanh(x); });
    case EpilogueOp::softplus:
      return map1<T, T>(work, [](T x) { return softplus(x); });
    case EpilogueOp::elu:
      return map2<T, T>(work, [](T x, T a) { return x > 0 ? x : a * math_expm1(x); });
    case EpilogueOp::mish:
      return map1<T, T>(work, [](T x) { return x * math_tanh(softplus(x)); });
    case EpilogueOp::dropout:
      return dropout<T>(work);
    default:
      return;
  }
}

template <class T>
void run_float(const Work& work) {
  if (!compare<T>(work) && !calculate<T>(work)) calculate_curve<T>(work);
}

ESTOC_ALWAYS_INLINE std::uint32_t bits(std::int32_t x) {
  return static_cast<std::uint32_t>(x);
}

void run_whole(const Work& work) {
  using T = std::int32_t;
  if (compare<T>(work)) return;
  switch (work.step.op) {
    case EpilogueOp::add:
      return map2<T, T>(work, [](T x, T y) { return bits(x) + bits(y); });
    case EpilogueOp::sub:
      return map2<T, T>(work, [](T x, T y) { return bits(x) - bits(y); });
    case EpilogueOp::mul:
      return map2<T, T>(work, [](T x, T y) { return bits(x) * bits(y); });
    case EpilogueOp::neg:
      return map1<T, T>(work, [](T x) { return 0 - bits(x); });
    case EpilogueOp::fma:
      return map3<T>(work,
                     [](T x, T y, T z) { return static_cast<T>(bits(x) * bits(y) + bits(z)); });
    case EpilogueOp::abs:
      return map1<T, T>(work, [](T x) { return x < 0 ? 0 - bits(x) : bits(x); });
    case EpilogueOp::logical_and:
      return map2<T, T>(work, [](T x, T y) { return x & y; });
    case EpilogueOp::logical_or:
      return map2<T, T>(work, [](T x, T y) { return x | y; });
    case EpilogueOp::logical_not:
      return map1<T, T>(work, [](T x) { return x ^ 1; });
    default:
      return;
  }
}

// ---------------------------------------------------------------------------- casts

void load_block(const EpilogueStrip& strip, Dtype dtype, EpilogueType to, void* out) {
  Block block;
  block.data = strip.scratch;
  block.dtype = dtype;
  block.inner = strip.count;
  block.outer = 1;
  if (to == EpilogueType::f32) {
    strip.table->load_f32(block, static_cast<float*>(out), strip.count);
  } else if (to == EpilogueType::f64) {
    strip.table->load_f64(block, static_cast<double*>(out), strip.count);
  } else {
    strip.table->load_i32(block, static_cast<std::int32_t*>(out), strip.count);
  }
}

/// Through memory of the goal's type: what a store and a load would do.
void round_through(const Work& work) {
  Block block;
  block.data = work.strip.scratch;
  block.dtype = work.step.dtype;
  block.inner = work.strip.count;
  block.outer = 1;
  const ProductTable& table = *work.strip.table;
  if (work.step.from == EpilogueType::f32) {
    table.store_f32(block, work.input<float>(0), block.inner);
  } else if (work.step.from == EpilogueType::f64) {
    table.store_f64(block, work.input<double>(0), block.inner);
  } else {
    table.store_i32(block, work.input<std::int32_t>(0), block.inner);
  }
  load_block(work.strip, work.step.dtype, work.step.to, work.strip.registers[work.step.output]);
}

bool is_narrow_float(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::f64 && dtype != Dtype::f32;
}

void cast(const Work& work) {
  const bool from_whole = work.step.from <= EpilogueType::i32;
  if (from_whole && work.step.dtype == Dtype::f32 && work.step.to == EpilogueType::f32) {
    return map1<std::int32_t, float>(work, [](std::int32_t x) { return static_cast<float>(x); });
  }
  if (from_whole && work.step.dtype == Dtype::f64) {
    return map1<std::int32_t, double>(work, [](std::int32_t x) { return static_cast<double>(x); });
  }
  if (from_whole && work.step.to == EpilogueType::boolean) {
    return map1<std::int32_t, std::int32_t>(work, [](std::int32_t x) { return x != 0; });
  }
  if (!from_whole || !is_narrow_float(work.step.dtype)) return round_through(work);
  // Whole numbers to a narrow type, rounded once: one at a time, by way of f64.
  const std::int32_t* const values = work.input<std::int32_t>(0);
  Block block;
  block.data = work.strip.scratch;
  block.dtype = work.step.dtype;
  block.inner = 1;
  block.outer = 1;
  for (std::int64_t i = 0; i < work.strip.count; ++i) {
    const double value = values[i];
    block.data = static_cast<std::byte*>(work.strip.scratch) + i * dtype_bits(block.dtype) / 8;
    work.strip.table->store_f64(block, &value, 1);
  }
  load_block(work.strip, work.step.dtype, work.step.to, work.strip.registers[work.step.output]);
}

// ---------------------------------------------------------------------------- reductions

/// Independent sums, so that additions overlap and vectors are used.
constexpr std::int64_t kLanes = 16;

template <class T, class P, class Combine>
void fold(const EpilogueFold& fold, P identity, Combine combine) {
  const T* const values = static_cast<const T*>(fold.values);
  P* const partials = static_cast<P*>(fold.partials);
  if (fold.elementwise) {
    for (std::int64_t i = 0; i < fold.count; ++i)
      partials[i] = combine(partials[i], values[i]);
    return;
  }
  P lanes[kLanes];
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    lanes[lane] = identity;
  std::int64_t i = 0;
  for (; i + kLanes <= fold.count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = combine(lanes[lane], values[i + lane]);
  }
  for (std::int64_t lane = 0; i < fold.count; ++i, ++lane)
    lanes[lane] = combine(lanes[lane], values[i]);
  const bool is_sum = fold.reduction == EpilogueReduction::sum ||
                      fold.reduction == EpilogueReduction::sum_of_squares;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const P x = partials[0];
    const P y = lanes[lane];
    if (is_sum) {
      partials[0] = x + y;
    } else {
      partials[0] = fold.reduction == EpilogueReduction::min ? smaller(x, y) : larger(x, y);
    }
  }
}

template <class T>
void fold_extreme(const EpilogueFold& work) {
  constexpr double kInfinity = __builtin_inf();
  if (work.reduction == EpilogueReduction::min) {
    return fold<T, double>(work, kInfinity, [](double partial, T value) {
      return smaller(static_cast<double>(value), partial);
    });
  }
  if (work.reduction == EpilogueReduction::max) {
    return fold<T, double>(work, -kInfinity, [](double partial, T value) {
      return larger(static_cast<double>(value), partial);
    });
  }
  fold<T, double>(work, 0.0, [](double partial, T value) {
    return larger(math_fabs(static_cast<double>(value)), partial);
  });
}

template <class T>
void fold_float(const EpilogueFold& work) {
  if (work.reduction == EpilogueReduction::sum) {
    return fold<T, double>(work, 0.0, [](double partial, T value) { return partial + value; });
  }
  if (work.reduction == EpilogueReduction::sum_of_squares) {
    return fold<T, double>(work, 0.0, [](double partial, T value) {
      return partial + static_cast<double>(value) * value;
    });
  }
  fold_extreme<T>(work);
}

ESTOC_ALWAYS_INLINE std::uint64_t wide_bits(std::int32_t x) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

void fold_whole(const EpilogueFold& work) {
  using T = std::int32_t;
  using P = std::uint64_t;
  if (work.reduction == EpilogueReduction::sum) {
    return fold<T, P>(work, 0, [](P partial, T value) { return partial + wide_bits(value); });
  }
  if (work.reduction == EpilogueReduction::sum_of_squares) {
    return fold<T, P>(
        work, 0, [](P partial, T value) { return partial + wide_bits(value) * wide_bits(value); });
  }
  fold_extreme<T>(work);
}

}  // namespace

void run_strip(const EpilogueStrip& strip) {
  for (std::int64_t i = 0; i < strip.step_count; ++i) {
    const Work work{strip, strip.steps[i]};
    if (work.step.op == EpilogueOp::cast) {
      cast(work);
    } else if (work.step.from == EpilogueType::f32) {
      run_float<float>(work);
    } else if (work.step.from == EpilogueType::f64) {
      run_float<double>(work);
    } else {
      run_whole(work);
    }
  }
}

void fold_strip(const EpilogueFold& work) {
  if (work.type == EpilogueType::f32) return fold_float<float>(work);
  if (work.type == EpilogueType::f64) return fold_float<double>(work);
  fold_whole(work);
}

}  // namespace estoc::cpu::ESTOC_VARIANT

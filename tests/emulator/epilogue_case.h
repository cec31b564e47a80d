// A GEMM with an epilogue on the emulator: operands, expected outputs, the second stage.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/epilogue/reduce.cuh>

namespace estoc::epilogue_test {

using abi::Type;

inline u32 encode_as(Type type, double value) {
  switch (type) {
    case Type::f32:
      return encode<Type::f32>(value);
    case Type::f16:
      return encode<Type::f16>(value);
    case Type::bf16:
      return encode<Type::bf16>(value);
    case Type::e4m3:
      return encode<Type::e4m3>(value);
    case Type::i32:
      return encode<Type::i32>(value);
    case Type::i8:
      return encode<Type::i8>(value);
    case Type::u8:
      return encode<Type::u8>(value);
    default:
      return encode<Type::boolean>(value);
  }
}

inline double decode_as(Type type, u32 bits) {
  switch (type) {
    case Type::f32:
      return decode_f32<Type::f32>(bits);
    case Type::f16:
      return decode_f32<Type::f16>(bits);
    case Type::bf16:
      return decode_f32<Type::bf16>(bits);
    case Type::e4m3:
      return decode_f32<Type::e4m3>(bits);
    case Type::i32:
      return decode_i32<Type::i32>(bits);
    case Type::i8:
      return decode_i32<Type::i8>(bits);
    default:
      return bits;
  }
}

inline void put(Type type, std::byte* to, double value) {
  if (type == Type::f64) {
    std::memcpy(to, &value, 8);
    return;
  }
  const u64 bits = encode_as(type, value);
  std::memcpy(to, &bits, static_cast<std::size_t>(abi::type_bytes(type)));
}

inline double get(Type type, const std::byte* from) {
  double value = 0;
  u64 bits = 0;
  if (type == Type::f64) {
    std::memcpy(&value, from, 8);
    return value;
  }
  std::memcpy(&bits, from, static_cast<std::size_t>(abi::type_bytes(type)));
  return decode_as(type, static_cast<u32>(bits));
}

struct Extents {
  int l, m, n, k;
};

/// How a tensor lies: rows or columns contiguous, with room between them, or neither.
enum class Lay { rows, padded, columns, loose };

/// A tensor of three modes, some of which it repeats.
struct Tensor {
  Tensor(Type of, const Extents& e, bool varies_l, bool varies_m, bool varies_n, Lay lay)
      : type(of) {
    const int step = lay == Lay::loose ? 3 : 1;
    const bool by_columns = lay == Lay::columns;
    const int inner = by_columns ? (varies_m ? e.m : 1) : (varies_n ? e.n : 1);
    const int outer = by_columns ? (varies_n ? e.n : 1) : (varies_m ? e.m : 1);
    const int pad = lay == Lay::padded ? (16 - inner % 16) % 16 + 16 : lay == Lay::rows ? 0 : 1;
    const int pitch = inner * step + (outer > 1 || varies_l ? pad : 0);
    at.row_stride = !varies_m ? 0 : by_columns ? step : pitch;
    at.column_stride = !varies_n ? 0 : by_columns ? pitch : step;
    at.batch_stride = varies_l ? pitch * outer : 0;
    elements = static_cast<std::size_t>(pitch) * static_cast<std::size_t>(outer) *
               static_cast<std::size_t>(varies_l ? e.l : 1);
    words.assign(elements * size() / sizeof(Block) + 1, Block{});
    std::memset(words.data(), 0xa5, words.size() * sizeof(Block));
    const i64 last = (varies_l ? (e.l - 1) * at.batch_stride : 0) +
                     (varies_m ? (e.m - 1) * at.row_stride : 0) +
                     (varies_n ? (e.n - 1) * at.column_stride : 0);
    span = (static_cast<std::size_t>(last) + 1) * size();
    at.address = reinterpret_cast<u64>(words.data());
  }

  struct alignas(128) Block {
    std::byte byte[16];
  };
  std::size_t size() const { return static_cast<std::size_t>(abi::type_bytes(type)); }
  /// What may be touched; TMA stores whole chunks.
  std::size_t bytes(bool stored = false) const { return stored ? (span + 15) / 16 * 16 : span; }
  std::byte* where(int l, int m, int n) {
    const i64 offset = l * at.batch_stride + m * at.row_stride + n * at.column_stride;
    return reinterpret_cast<std::byte*>(words.data()) + static_cast<std::size_t>(offset) * size();
  }
  bool four() const {
    return at.column_stride == 1 && at.row_stride % 4 == 0 && at.batch_stride % 4 == 0;
  }

  Type type;
  abi::Matrix at{};
  std::size_t elements = 0;
  std::size_t span = 0;  ///< bytes from the first element to the last one's end
  std::vector<Block> words;
};

/// What one element is made of: the product, the inputs in order of their slots; and what it
/// becomes.
struct Element {
  u64 index = 0;  ///< counted in rows
  double accumulator = 0;
  std::vector<double> tensors;
  std::vector<double> scalars;
  std::vector<double> stores;
  std::vector<double> reduced;
};

/// What both stages reported, and which output is not as expected.
struct Outcome {
  emulator::Report report;
  std::string wrong;
};

/// One problem and its epilogue `E`. The parameters that differ between kernels are theirs.
template <typename E>
class Case {
 public:
  using Oracle = std::function<void(Element&)>;

  Case(Type a_type, const Extents& extents, std::vector<Lay> lays, Oracle oracle)
      : e(extents),
        a(a_type, e, true, true, true, Lay::padded),
        b(a_type, {e.l, e.k, e.n, 0}, true, true, true, Lay::padded),
        oracle_(std::move(oracle)) {
    // A is (m, k).
    a = Tensor(a_type, {e.l, e.m, e.k, 0}, true, true, true, Lay::padded);
    auto lay = [&, next = std::size_t{0}]() mutable { return lays[next++ % lays.size()]; };
    for (int i = 0; i < E::kTensors; ++i) {
      const epilogue::TensorSpec& spec = E::kTensor[i];
      tensors.emplace_back(spec.type, e, batched(spec.type), spec.m, spec.n,
                           spec.m && spec.n ? lay() : Lay::rows);
    }
    for (int i = 0; i < E::kStores; ++i) {
      stores.emplace_back(E::kStore[i].type, e, true, true, true, i == 0 ? Lay::padded : lay());
    }
    for (int i = 0; i < E::kReductions; ++i) {
      const epilogue::ReducedSpec& spec = E::kReduced[i];
      reduced.emplace_back(spec.type, e, spec.l, spec.m, spec.n, Lay::rows);
    }
    fill(a, e.m, e.k);
    fill(b, e.k, e.n);
    for (int i = 0; i < E::kTensors; ++i)
      fill(tensors[static_cast<std::size_t>(i)], E::kTensor[i].m ? e.m : 1,
           E::kTensor[i].n ? e.n : 1);
    for (int i = 0; i < E::kScalars; ++i)
      scalars.push_back(i % 2 == 0 ? 2 : -1);
  }

  /// The parameters of the epilogue, with `row`, `column` and `all` parts of reductions a batch.
  typename E::Parameters parameters(i64 row, i64 column, i64 all) {
    typename E::Parameters p{};
    for (std::size_t i = 0; i < tensors.size(); ++i)
      p.tensor[i] = {tensors[i].at, tensors[i].four(), abi::TmaMode::none};
    for (std::size_t i = 0; i < stores.size(); ++i)
      p.store[i] = {stores[i].at, stores[i].four(), abi::TmaMode::none};
    for (std::size_t i = 0; i < scalars.size(); ++i)
      p.scalar[i] = scalar(i);
    for (int i = 0; i < E::kReductions; ++i)
      p.partial[i] = partials(i, row, column, all);
    return p;
  }

  /// After the first stage, which reported `report`: runs the second, and compares all outputs.
  Outcome outcome(emulator::Report report, double tolerance, const emulator::Options& options) {
    if constexpr (E::kReductions > 0) {
      const emulator::Report second = finish(options);
      report.findings.insert(report.findings.end(), second.findings.begin(), second.findings.end());
    }
    return {std::move(report), difference(tolerance)};
  }

  emulator::Options options(emulator::Options from = {}) {
    auto add = [&](Tensor& tensor, const char* name, bool written) {
      from.memory.push_back({tensor.words.data(), tensor.bytes(written), name, written});
    };
    add(a, "A", false);
    add(b, "B", false);
    for (Tensor& tensor : tensors)
      add(tensor, "an input", false);
    for (Tensor& tensor : stores)
      add(tensor, "an output", true);
    for (auto& parts : workspace_)
      from.memory.push_back({parts.data(), parts.size() * 8, "partials", true, false});
    if (!scalar_memory_.empty()) {
      from.memory.push_back({scalar_memory_.data(), scalar_memory_.size() * 8, "scalars", false});
    }
    return from;
  }

  Extents e;
  Tensor a;
  Tensor b;
  std::vector<Tensor> tensors;
  std::vector<Tensor> stores;
  std::vector<Tensor> reduced;
  std::vector<double> scalars;

 private:
  bool batched(Type type) const { return type != Type::bf16 && type != Type::boolean; }

  void fill(Tensor& tensor, int rows, int columns) {
    const bool flags = tensor.type == Type::boolean;
    for (int l = 0; l < (tensor.at.batch_stride != 0 ? e.l : 1); ++l) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          const int value = static_cast<int>(random_() % 7) - (tensor.type == Type::u8 ? 0 : 3);
          put(tensor.type, tensor.where(l, i, j), flags ? value > 0 : value);
        }
      }
    }
  }

  /// Every second one is read from memory.
  abi::EpilogueScalar scalar(std::size_t i) {
    const Type type = E::kScalar[i].type;
    const bool wide = E::kScalar[i].held == Type::f64;
    std::array<std::byte, 8> bits{};
    if (i % 2 == 0) {
      put(E::kScalar[i].held, bits.data(), scalars[i]);
      u64 word = 0;
      std::memcpy(&word, bits.data(), wide ? 8 : 4);
      return {0, word};
    }
    scalar_memory_.resize(E::kScalars);
    put(type, reinterpret_cast<std::byte*>(&scalar_memory_[i]), scalars[i]);
    return {reinterpret_cast<u64>(&scalar_memory_[i]), 0};
  }

  abi::EpiloguePartials partials(int i, i64 row, i64 column, i64 all) {
    const epilogue::ReducedSpec& spec = E::kReduced[i];
    const i64 inner = spec.m ? e.m : spec.n ? e.n : 1;
    const i64 results = inner * (spec.l ? e.l : 1);
    const i64 parts = spec.m ? row : spec.n ? column : all;
    const i64 total = parts * (spec.l ? 1 : e.l);
    const int bytes = spec.held == Type::f64 ? 8 : 4;
    workspace_.emplace_back(static_cast<std::size_t>((total * results * bytes + 7) / 8), 0);
    finish_.result[i] = {{reinterpret_cast<u64>(workspace_.back().data()), results, total},
                         {},
                         inner,
                         results >= 32 ? 8 : 256,
                         0};
    const abi::Matrix& to = reduced[static_cast<std::size_t>(i)].at;
    finish_.result[i].to = {to.address, spec.m ? to.row_stride : to.column_stride, 0,
                            to.batch_stride};
    return {reinterpret_cast<u64>(workspace_.back().data()), results, parts};
  }

  static void finish_kernel(const abi::EpilogueResults<E::kReductions ? E::kReductions : 1> p) {
    if constexpr (E::kReductions > 0) epilogue::finish<E>(p);
  }

  emulator::Report finish(const emulator::Options& options) {
    void* arguments[] = {&finish_};
    emulator::Options used = options;
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      used.memory.push_back({reduced[i].words.data(), reduced[i].bytes(true), "result", true});
      used.memory.push_back({workspace_[i].data(), workspace_[i].size() * 8, "partials", false});
    }
    return emulator::launch(emulator::entry<finish_kernel>, {2, E::kReductions, 1},
                            epilogue::kFinishThreads, epilogue::kFinishShared, arguments, used);
  }

  Element element(int l, int m, int n) {
    Element x;
    x.index = static_cast<u64>((l * e.m + m) * e.n + n);
    for (int k = 0; k < e.k; ++k)
      x.accumulator += get(a.type, a.where(l, m, k)) * get(b.type, b.where(l, k, n));
    for (Tensor& tensor : tensors)
      x.tensors.push_back(get(tensor.type, tensor.where(l, m, n)));
    x.scalars = scalars;
    x.stores.resize(static_cast<std::size_t>(E::kStores));
    x.reduced.resize(static_cast<std::size_t>(E::kReductions));
    oracle_(x);
    return x;
  }

  static double begin(abi::Reduction reduction) {
    if (reduction == abi::Reduction::max) return -std::numeric_limits<double>::infinity();
    return reduction == abi::Reduction::min ? std::numeric_limits<double>::infinity() : 0;
  }

  static void join(abi::Reduction reduction, double& sum, double value) {
    switch (reduction) {
      case abi::Reduction::sum:
        sum += value;
        break;
      case abi::Reduction::sum_of_squares:
        sum += value * value;
        break;
      case abi::Reduction::min:
        sum = std::min(sum, value);
        break;
      case abi::Reduction::max:
        sum = std::max(sum, value);
        break;
      case abi::Reduction::absmax:
        sum = std::max(sum, std::fabs(value));
        break;
    }
  }

  static bool same(Type type, const std::byte* got, double expected, double tolerance) {
    std::array<std::byte, 8> bytes{};
    put(type, bytes.data(), expected);
    const auto size = static_cast<std::size_t>(abi::type_bytes(type));
    if (std::memcmp(got, bytes.data(), size) == 0) return true;
    const double value = get(type, got);
    return value == expected || std::fabs(value - get(type, bytes.data())) <=
                                    tolerance * std::max(std::fabs(expected), 1.0);
  }

  static std::string text(const char* what, std::size_t i, int l, int m, int n, double got,
                          double expected) {
    return std::string(what) + " " + std::to_string(i) + " at (" + std::to_string(l) + ", " +
           std::to_string(m) + ", " + std::to_string(n) + ") is " + std::to_string(got) + ", not " +
           std::to_string(expected);
  }

  /// The first element that is not as expected.
  std::string difference(double tolerance) {
    std::vector<std::vector<double>> sums(reduced.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i].assign(static_cast<std::size_t>(e.l * e.m * e.n), begin(E::kReduced[i].reduction));
    auto place = [&](std::size_t i, int l, int m, int n) {
      const epilogue::ReducedSpec& spec = E::kReduced[i];
      return static_cast<std::size_t>(((spec.l ? l : 0) * e.m + (spec.m ? m : 0)) * e.n +
                                      (spec.n ? n : 0));
    };
    std::string wrong;
    each([&](int l, int m, int n) {
      const Element x = element(l, m, n);
      for (std::size_t i = 0; i < stores.size(); ++i) {
        Tensor& t = stores[i];
        if (!wrong.empty() || same(t.type, t.where(l, m, n), x.stores[i], tolerance)) continue;
        wrong = text("output", i, l, m, n, get(t.type, t.where(l, m, n)), x.stores[i]);
      }
      for (std::size_t i = 0; i < reduced.size(); ++i)
        join(E::kReduced[i].reduction, sums[i][place(i, l, m, n)], x.reduced[i]);
    });
    each([&](int l, int m, int n) {
      for (std::size_t i = 0; i < reduced.size(); ++i) {
        Tensor& t = reduced[i];
        const double sum = sums[i][place(i, l, m, n)];
        if (!wrong.empty() || same(t.type, t.where(l, m, n), sum, tolerance)) continue;
        wrong = text("reduction", i, l, m, n, get(t.type, t.where(l, m, n)), sum);
      }
    });
    return wrong;
  }

  template <typename Action>
  void each(const Action& action) const {
    for (int l = 0; l < e.l; ++l) {
      for (int m = 0; m < e.m; ++m) {
        for (int n = 0; n < e.n; ++n)
          action(l, m, n);
      }
    }
  }

  Oracle oracle_;
  std::mt19937 random_{11};
  std::vector<std::vector<u64>> workspace_;
  std::vector<u64> scalar_memory_;
  abi::EpilogueResults<E::kReductions ? E::kReductions : 1> finish_{};
};

}  // namespace estoc::epilogue_test

// The epilogues that the emitter writes, each in a namespace of its own.
namespace estoc::golden {
namespace linear {
#include "../golden/epilogues/linear.cuh"
}
namespace gelu_tanh {
#include "../golden/epilogues/gelu_tanh.cuh"
}
namespace relu_aux {
#include "../golden/epilogues/relu_aux.cuh"
}
namespace row_absmax {
#include "../golden/epilogues/row_absmax.cuh"
}
namespace mixed {
#include "../golden/epilogues/mixed.cuh"
}
namespace mixed_f64 {
#include "../golden/epilogues/mixed_f64.cuh"
}
namespace every_op {
#include "../golden/epilogues/every_op.cuh"
}
}  // namespace estoc::golden

namespace estoc::epilogue_test {

inline void linear(Element& x) {
  x.stores[0] = x.scalars[0] * x.accumulator + x.scalars[1] * x.tensors[0];
}
inline void gelu_tanh(Element& x) {
  const double v = x.accumulator + x.tensors[0];
  x.stores[0] = v / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
}
inline void relu_aux(Element& x) {
  x.stores = {std::max(x.accumulator + x.tensors[0], 0.0), x.accumulator};
}
inline void row_absmax(Element& x) {
  x.stores[0] = x.reduced[0] = x.accumulator * x.scalars[0];
}
inline void mixed(Element& x) {
  const double v = x.accumulator + x.tensors[0] + x.tensors[1];
  const double least = std::min(v, x.tensors[4]);
  x.stores = {x.tensors[3] != 0 ? v : 2 * x.tensors[2], v, least};
  x.reduced = {v, v, least, least};
}

inline void every_op(Element& element) {
  const double x = element.accumulator / 8;
  const double y = std::fabs(x) + 1;
  const double gate = 1 / (1 + std::exp(-x));
  const double softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  element.stores = {-x + std::fabs(x),
                    std::exp(x) + std::exp2(x),
                    std::max(x, 0.0) + 0.5 * x * (1 + std::erf(x / std::sqrt(2))),
                    x / (1 + std::exp(-2 * u)) + x * gate,
                    gate + std::tanh(x),
                    softplus + x * std::min(std::max(x + 3, 0.0), 6.0) / 6,
                    x * std::tanh(softplus) + std::sqrt(y),
                    1 / std::sqrt(y) + std::log(y),
                    std::log(y) + 1 / y};
  double value = std::max(x * y + (y - x), x / y);
  value = std::min(std::max(std::min(value, std::pow(y, 1.5)), -3.0), 30.0);
  value += x > 0 ? 2 * x : 0.5 * x + 2 * std::expm1(x);
  const bool chosen = (x < y && x >= 0) || x == 0 || 0 > y || x == y;
  const auto rounded =
      static_cast<double>(epilogue::cast<float, Type::bf16>(static_cast<float>(x)));
  element.stores.push_back(chosen && x <= y ? value : rounded);
  element.stores.push_back(epilogue::dropout(
      x, 0.5, static_cast<u32>(static_cast<int>(element.scalars[0])), 3, element.index));
}

}  // namespace estoc::epilogue_test

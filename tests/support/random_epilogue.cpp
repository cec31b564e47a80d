// Draws epilogues, and makes operands on the host.
#include "support/random_epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string_view>

#include "estoc/check.hpp"

namespace estoc::testing_support {
namespace {

constexpr std::size_t kAlignment = 256;

class Drawer {
 public:
  Drawer(Problem problem, std::uint64_t seed, const RandomEpilogueOptions& options)
      : problem_(std::move(problem)), options_(options), random_(seed) {}

  Problem draw() {
    const int inputs = below(options_.inputs + 1);
    for (int i = 0; i < inputs; ++i)
      add_input(fmt::format("x{}", i));
    pool_ = accumulators();
    const int temporaries = below(6);
    for (int i = 0; i < temporaries; ++i)
      add_temporary(fmt::format("v{}", i));
    // Every input has a use, so that none is refused.
    Value d = expression(2 + below(2));
    for (const std::string& input : inputs_) {
      if (uses_.find("," + input + ",") == std::string::npos) d.text += " + tanh(" + input + ")";
    }
    for (int i = 0; i < temporaries; ++i)
      d.text += fmt::format(" + 0.125 * tanh(v{})", i);
    assign("D", d.text);
    const int outputs = below(options_.outputs);
    for (int i = 0; i < outputs; ++i)
      add_output(fmt::format("y{}", i));
    problem_.epilogue = text_;
    return std::move(problem_);
  }

 private:
  struct Value {
    std::string text;
    int depth = 0;
  };

  std::vector<Value> accumulators() {
    const auto count = static_cast<int>(options_.pairs.size());
    switch (options_.pairs[static_cast<std::size_t>(count > 1 ? below(count) : 0)]) {
      case AccumulatorPairs::halves:
        return {{"left(accum)", 0}, {"right(accum)", 0}};
      case AccumulatorPairs::interleaved:
        return {{"odd(accum)", 0}, {"even(accum)", 0}};
      default:
        return {{"accum", 0}};
    }
  }

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  template <std::size_t count>
  std::string_view one_of(const std::array<std::string_view, count>& words) {
    return words[static_cast<std::size_t>(below(static_cast<int>(count)))];
  }

  void assign(const std::string& name, const std::string& value) {
    if (!text_.empty()) text_ += "; ";
    text_ += name + " = " + value;
  }

  EpilogueOperandSpec spec(const std::string& name, EpilogueForm form, Dtype dtype) {
    EpilogueOperandSpec spec;
    spec.name = name;
    spec.form = form;
    spec.tensor.dtype = dtype;
    if (form == EpilogueForm::matrix) spec.tensor.layout = below(2) == 0 ? Layout::t : Layout::n;
    if ((form == EpilogueForm::row || form == EpilogueForm::column) && below(3) == 0) {
      const std::int64_t extent = form == EpilogueForm::row ? *problem_.n : *problem_.m;
      spec.tensor.strides = {2 * extent + 1, 2};
      if (problem_.l.value_or(1) == 1) spec.tensor.strides = {2};
    }
    return spec;
  }

  void add_input(const std::string& name) {
    constexpr std::array<Dtype, 10> kDtypes{Dtype::f32,     Dtype::f16,  Dtype::bf16, Dtype::e4m3,
                                            Dtype::f32,     Dtype::e5m2, Dtype::i8,   Dtype::u8,
                                            Dtype::boolean, Dtype::i32};
    const auto form = static_cast<EpilogueForm>(below(5));
    inputs_.push_back(name);
    if (form == EpilogueForm::scalar && below(2) == 0) {
      EpilogueOperandSpec scalar;
      scalar.name = name;
      scalar.form = form;
      scalar.value = static_cast<double>(below(33) - 16) / 8;
      problem_.operands.push_back(scalar);
      return;
    }
    // One of f64 makes all of the epilogue compute in it.
    const Dtype dtype =
        below(40) == 0 ? Dtype::f64
                       : kDtypes[static_cast<std::size_t>(below(static_cast<int>(kDtypes.size())))];
    problem_.operands.push_back(spec(name, form, dtype));
  }

  void add_temporary(const std::string& name) {
    Value value = expression(1 + below(3));
    assign(name, value.text);
    pool_.push_back({name, value.depth});
  }

  void add_output(const std::string& name) {
    if (options_.reductions && below(2) == 0) {
      constexpr std::array<std::string_view, 5> kReductions{"sum", "max", "min", "absmax",
                                                            "sum_of_squares"};
      constexpr std::array<EpilogueForm, 3> kForms{EpilogueForm::row, EpilogueForm::column,
                                                   EpilogueForm::scalar};
      assign(name, fmt::format("{}({})", one_of(kReductions), leaf().text));
      const auto form = kForms[static_cast<std::size_t>(below(3))];
      problem_.operands.push_back(spec(name, form, Dtype::f32));
      return;
    }
    constexpr std::array<Dtype, 10> kDtypes{Dtype::f32,  Dtype::bf16,   Dtype::f16, Dtype::e4m3,
                                            Dtype::i8,   Dtype::f64,    Dtype::u8,  Dtype::i32,
                                            Dtype::e5m2, Dtype::boolean};
    assign(name, expression(below(3)).text);
    problem_.operands.push_back(
        spec(name, EpilogueForm::matrix, kDtypes[static_cast<std::size_t>(below(10))]));
  }

  /// Of what there is, values that leave room for more operations.
  Value leaf() {
    const int choice = below(10);
    if (choice == 0) return {fmt::format("{}", static_cast<double>(below(17) - 8) / 4), 0};
    if (choice < 4 && !inputs_.empty()) {
      const std::string& name =
          inputs_[static_cast<std::size_t>(below(static_cast<int>(inputs_.size())))];
      uses_ += "," + name + ",";
      return {name, 0};
    }
    const Value& value = pool_[static_cast<std::size_t>(below(static_cast<int>(pool_.size())))];
    return value.depth + 4 > options_.depth ? pool_.front() : value;
  }

  Value expression(int levels) {
    if (levels == 0) return leaf();
    const Value x = expression(levels - 1);
    constexpr std::array<std::string_view, 14> kCurves{
        "abs", "relu", "gelu", "gelu_tanh", "silu", "sigmoid",   "tanh",
        "neg", "elu",  "mish", "softplus",  "bf16", "hardswish", "leaky_relu"};
    constexpr std::array<std::string_view, 3> kSigns{"+", "-", "*"};
    constexpr std::array<std::string_view, 6> kComparisons{"<", "<=", ">", ">=", "==", "!="};
    switch (below(options_.dropout ? 10 : 9)) {
      case 0:
      case 1:
        return {fmt::format("{}({})", one_of(kCurves), x.text), x.depth + 1};
      case 2: {
        const Value y = leaf();
        return {fmt::format("{}({}, {})", below(2) == 0 ? "maximum" : "min", x.text, y.text),
                std::max(x.depth, y.depth) + 1};
      }
      case 3:
        return {fmt::format("clamp({}, -1.5, {})", x.text, 1 + below(3)), x.depth + 1};
      case 4: {
        const Value y = leaf();
        return {fmt::format("select({} {} {}, {}, {})", y.text, one_of(kComparisons),
                            static_cast<double>(below(5)) / 4, x.text, leaf().text),
                x.depth + 2};
      }
      case 5:
        return {fmt::format("sqrt(abs({}) + 0.5)", x.text), x.depth + 3};
      case 6:
        return {fmt::format("({} / (abs({}) + 1.0))", x.text, leaf().text), x.depth + 3};
      case 9:
        return {fmt::format("dropout({}, 0.25, {}, {})", x.text, below(100), below(1000)),
                x.depth + 1};
      default: {
        const Value y = leaf();
        return {fmt::format("({} {} {})", x.text, one_of(kSigns), y.text),
                std::max(x.depth, y.depth) + 1};
      }
    }
  }

  Problem problem_;
  RandomEpilogueOptions options_;
  std::mt19937_64 random_;
  std::vector<std::string> inputs_;
  std::vector<Value> pool_;
  std::string uses_;
  std::string text_;
};

}  // namespace

Problem with_random_epilogue(Problem problem, std::uint64_t seed,
                             const RandomEpilogueOptions& options) {
  return Drawer(std::move(problem), seed, options).draw();
}

HostArguments::HostArguments(Problem problem, std::uint64_t seed) {
  problem.complete();
  const auto described = problem.arguments();
  const auto& gemm = static_cast<const GemmArguments&>(*described);
  const auto host = [&](const TensorView& like, const std::string& name) {
    return allocate(like.dtype(), {like.shape().begin(), like.shape().end()},
                    {like.strides().begin(), like.strides().end()}, name);
  };
  const TensorView a = host(gemm.a().tensor(), "A");
  const TensorView b = host(gemm.b().tensor(), "B");
  const TensorView out = host(gemm.out(), "out");
  fill_random(a, seed);
  fill_random(b, seed + 1);
  std::vector<EpilogueOperand> operands;
  const auto inputs =
      gemm.epilogue().empty() ? std::span<const std::string>() : gemm.epilogue().program().inputs();
  for (const EpilogueOperand& operand : gemm.epilogue().operands()) {
    if (operand.tensor() == nullptr) {
      operands.push_back(operand);
      continue;
    }
    const TensorView view = host(*operand.tensor(), operand.name);
    if (std::ranges::find(inputs, operand.name) != inputs.end()) fill_random(view, ++seed + 1);
    operands.emplace_back(operand.name, view);
  }
  EpilogueArguments epilogue;
  if (!gemm.epilogue().empty()) epilogue = EpilogueArguments(gemm.epilogue().program(), operands);
  arguments_ = std::make_unique<GemmArguments>(a, b, out, gemm.accumulator_type(), gemm.controls(),
                                               epilogue);
}

TensorView HostArguments::allocate(Dtype dtype, const std::vector<std::int64_t>& shape,
                                   const std::vector<std::int64_t>& strides,
                                   const std::string& name) {
  const auto bytes = TensorView::describe(dtype, shape, strides).span_bytes();
  auto memory = std::make_unique<std::vector<std::byte>>(
      static_cast<std::size_t>(bytes) + kAlignment, std::byte{0xFF});
  void* data = memory->data();
  std::size_t room = memory->size();
  data = std::align(kAlignment, static_cast<std::size_t>(bytes), data, room);
  buffers_.push_back({name, std::move(memory)});
  return {data, dtype, shape, strides};
}

std::vector<std::byte>& HostArguments::bytes(const std::string& name) {
  return *std::ranges::find(buffers_, name, &Buffer::name)->bytes;
}

}  // namespace estoc::testing_support

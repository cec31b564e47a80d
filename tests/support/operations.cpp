// Problems that between them have every operation of epilogues.
#include "support/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace estoc::testing_support {
namespace {

// Of the accumulator, a matrix x and a vector r, within the operations' domains.
constexpr std::array kExpressions{
    "accum + x",
    "accum - x",
    "accum * r",
    "accum / (abs(x) + 0.5)",
    "x / (abs(r) + 1)",
    "-accum",
    "fma(accum, r, x)",
    "maximum(accum, x)",
    "minimum(accum, r)",
    "clamp(accum, -1, 2)",
    "abs(accum)",
    "sqrt(abs(accum) + 0.5)",
    "rsqrt(abs(x) + 0.5)",
    "exp(clamp(accum, -5.0, 5.0))",
    "exp2(clamp(x, -5.0, 5.0))",
    "log(abs(accum) + 0.5)",
    "pow(abs(accum) + 0.5, 1.5)",
    "reciprocal(abs(accum) + 0.5)",
    "accum == x",
    "accum != x",
    "accum < x",
    "accum <= r",
    "accum > r",
    "accum >= x",
    "accum > 0 && x > 0",
    "accum > 0 || r > 0",
    "!(accum > x)",
    "select(accum > x, accum, r)",
    "identity(accum)",
    "relu(accum)",
    "leaky_relu(accum)",
    "leaky_relu(x, 0.25)",
    "gelu(accum)",
    "gelu_tanh(accum + r)",
    "gelu_tanh(accum)",
    "sigmoid(accum)",
    "silu(accum)",
    "tanh(accum)",
    "softplus(accum)",
    "hardswish(accum)",
    "elu(accum)",
    "elu(x, 0.5)",
    "mish(accum)",
    "f32(accum)",
    "tf32(accum)",
    "f16(accum)",
    "bf16(accum)",
    "e4m3(accum)",
    "e5m2(accum)",
    "i32(accum)",
    "i8(accum)",
    "u8(accum)",
    "bool(accum)",
    "quantize(accum, abs(r) + 0.5, e4m3)",
    "dequantize(accum, r)",
    "dropout(accum, 0.25, 7, 11)",
};
constexpr std::array<std::string_view, 5> kReductionNames{"sum", "max", "min", "absmax",
                                                          "sum_of_squares"};
constexpr std::array<std::string_view, 4> kKept{"row", "column", "batch", "scalar"};
constexpr std::array<std::string_view, 10> kTypeNames{"f32", "bf16", "i32",  "f16", "u8",
                                                      "f64", "e4m3", "bool", "i8",  "e5m2"};
// Outputs of the problem's type, D aside: as many as all classes have room for.
constexpr std::size_t kOutputs = 6;

/// Inputs of f64 would make every epilogue compute in it.
std::string_view input_type(std::uint64_t number, bool wide) {
  const std::string_view type = kTypeNames[number % kTypeNames.size()];
  return type == "f64" && !wide ? "f32" : type;
}

bool uses(std::string_view program, std::string_view name) {
  for (std::size_t at = program.find(name); at != std::string_view::npos;
       at = program.find(name, at + 1)) {
    const auto is_letter = [&](std::size_t i) {
      return i < program.size() &&
             (std::isalnum(static_cast<unsigned char>(program[i])) != 0 || program[i] == '_');
    };
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + name.size())) return true;
  }
  return false;
}

struct Product {
  std::string_view input;
  std::string_view out;
  bool wide = false;  ///< inputs may be f64
};
constexpr std::array<Product, 8> kProducts{{{"bf16", "bf16"},
                                            {"f16", "f32"},
                                            {"e4m3", "e4m3"},
                                            {"e4m3", "bf16 fast_accumulation=1"},
                                            {"tf32", "f32"},
                                            {"i8", "i8"},
                                            {"f64", "f64", true},
                                            {"f32", "f16", true}}};

Problem problem_of(const Product& product, std::size_t first, std::uint64_t number) {
  std::string program = "D = accum";
  std::string operands;
  const std::size_t last = std::min(first + kOutputs, kExpressions.size());
  for (std::size_t i = first; i < last; ++i) {
    program += fmt::format("; y{} = {}", i, kExpressions[i]);
    operands += fmt::format(" y{}={}:{}", i, kTypeNames[(number + i) % kTypeNames.size()],
                            (number + i) % 3 == 0 ? "n" : "t");
  }
  program += fmt::format("; z = {}(accum)", kReductionNames[number % kReductionNames.size()]);
  operands +=
      fmt::format(" z={}:{}", number % 2 == 0 ? "f32" : "i32", kKept[number / 5 % kKept.size()]);
  const std::string_view layout = number % 2 == 0 ? "t" : "n";
  if (uses(program, "x")) {
    operands += fmt::format(" x={}:{}", input_type(number, product.wide), layout);
  }
  if (uses(program, "r")) {
    operands += fmt::format(" r={}:{}", input_type(number / 2 + 3, product.wide),
                            number % 3 == 0 ? "column" : "row");
  }
  // Rows of 16 bytes for the tensor cores' classes, and tiles that are not full.
  return Problem::parse(fmt::format("gemm m=80 n=48 k=32 l={} a={}:t b={}:n out={}{} epi=\"{}\"",
                                    1 + number % 2, product.input, product.input, product.out,
                                    operands, program));
}

}  // namespace

std::string widest_epilogue(std::string_view form, bool reductions) {
  std::string operands;
  std::string program = "v = accum";
  for (int i = 0; i < 8; ++i) {
    operands += fmt::format(" x{}=f64:{} ", i, form);
    program += fmt::format(" * x{}", i);
  }
  program += "; D = v";
  for (int i = 1; i < 8; ++i) {
    operands += fmt::format(" y{}=f64:{}", i, reductions ? "row" : "t");
    program += fmt::format("; y{} = {}(v / x{})", i, reductions ? "sum" : "identity", i);
  }
  return fmt::format("{} epi=\"{}\"", operands, program);
}

std::vector<Problem> operation_problems(std::uint64_t seed) {
  std::vector<Problem> problems;
  std::uint64_t number = seed;
  for (const Product& product : kProducts) {
    for (std::size_t first = 0; first < kExpressions.size(); first += kOutputs)
      problems.push_back(problem_of(product, first, number++));
  }
  return problems;
}

}  // namespace estoc::testing_support

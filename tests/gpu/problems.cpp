// Random problems that between them meet every dtype combination and layout.
#include "problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>

namespace estoc::gpu_test {
namespace {

using Random = std::mt19937_64;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool one_in(Random& random, int n) {
  return draw(random, 1, n) == 1;
}

struct Combination {
  Dtype a;
  Dtype b;
  Dtype accumulator;
  std::vector<Dtype> outs;
};

std::vector<Combination> combinations() {
  const std::vector<Dtype> narrow{Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  const std::vector<Dtype> floats{Dtype::f64,  Dtype::f32,  Dtype::f16,
                                  Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  std::vector<Combination> all;
  for (Dtype a : narrow) {
    for (Dtype b : narrow)
      all.push_back({a, b, Dtype::f32, floats});
  }
  all.push_back({Dtype::f32, Dtype::f32, Dtype::f32, floats});
  all.push_back({Dtype::tf32, Dtype::tf32, Dtype::f32, floats});
  all.push_back({Dtype::f64, Dtype::f64, Dtype::f64, {Dtype::f64, Dtype::f32}});
  for (Dtype a : {Dtype::i8, Dtype::u8}) {
    for (Dtype b : {Dtype::i8, Dtype::u8}) {
      all.push_back({a, b, Dtype::i32, {Dtype::i32, Dtype::f32, Dtype::i8, Dtype::u8}});
    }
  }
  return all;
}

std::int64_t draw_extent(Random& random, int largest) {
  switch (draw(random, 0, 5)) {
    case 0:
      return draw(random, 1, 20);
    case 1:
      return 16 * draw(random, 1, std::max(largest / 16, 1));
    default:
      return draw(random, 1, largest);
  }
}

// Strides of a (l, rows, columns) operand with gaps of at least `pad` elements after each line, and
// lines of a multiple of `multiple`.
std::vector<std::int64_t> padded_strides(Layout layout, std::int64_t rows, std::int64_t columns,
                                         bool batched, std::int64_t pad, std::int64_t multiple) {
  const bool row_major = layout == Layout::t;
  const std::int64_t line =
      ((row_major ? columns : rows) + pad + multiple - 1) / multiple * multiple;
  const std::int64_t lines = row_major ? rows : columns;
  std::vector<std::int64_t> strides;
  if (batched) strides.push_back(line * lines + 3 * pad);
  strides.push_back(row_major ? line : 1);
  strides.push_back(row_major ? 1 : line);
  return strides;
}

void add_strides(Random& random, Problem& problem) {
  const bool batched = problem.l > 1;
  // Aligned lines whose last elements are not are a case of their own.
  const std::int64_t multiple = one_in(random, 2) ? 16 : 1;
  const std::int64_t pad = multiple == 16 ? 16 * draw(random, 0, 1) : draw(random, 1, 9);
  auto give = [&](OperandSpec& spec, std::int64_t rows, std::int64_t columns) {
    spec.strides = padded_strides(*spec.layout, rows, columns, batched, pad, multiple);
    spec.layout.reset();
  };
  give(problem.a, *problem.m, *problem.k);
  give(problem.b, *problem.k, *problem.n);
  give(problem.out, *problem.m, *problem.n);
}

// One extent of several times the largest, the others small.
void make_large(Random& random, Problem& problem, int largest) {
  for (auto* extent : {&problem.m, &problem.n, &problem.k})
    *extent = draw(random, 1, 200);
  auto* const large =
      std::array{&problem.m, &problem.n, &problem.k}[static_cast<std::size_t>(draw(random, 0, 2))];
  *large = draw(random, 2 * largest, 20 * largest);
  problem.l = 1;
}

// Classes that copy 16 bytes at a time see nothing of problems whose lines are not aligned to them.
void align(Problem& problem) {
  for (auto* extent : {&problem.m, &problem.n, &problem.k})
    *extent = (**extent + 15) / 16 * 16;
}

Problem gemm_problem(Random& random, const Combination& types, Dtype out, int layouts,
                     int largest) {
  Problem problem;
  problem.operation = Operation::gemm;
  problem.m = draw_extent(random, largest);
  problem.n = draw_extent(random, largest);
  problem.k = one_in(random, 40) ? 0 : draw_extent(random, largest);
  problem.l = one_in(random, 4) ? draw(random, 2, 5) : 1;
  if (one_in(random, 50)) make_large(random, problem, largest);
  if (one_in(random, 2)) align(problem);
  auto letter = [&](int bit) { return (layouts >> bit & 1) != 0 ? Layout::n : Layout::t; };
  problem.a.dtype = types.a;
  problem.b.dtype = types.b;
  problem.out.dtype = out;
  problem.a.layout = letter(2);
  problem.b.layout = letter(1);
  problem.out.layout = letter(0);
  problem.accumulator_type = types.accumulator;
  problem.controls.fast_accumulation = dtype_bits(types.a) == 8 && one_in(random, 2);
  problem.controls.allow_bf16x6 = types.a == Dtype::f32 && one_in(random, 2);
  if (one_in(random, 4)) add_strides(random, problem);
  return problem;
}

// Extents that are contiguous in operands of packed types.
void make_even(Problem& problem) {
  const std::size_t rank = problem.shape.size();
  for (const OperandSpec& spec : {problem.a, problem.b, problem.out}) {
    if (rank == 0 || !is_packed(*spec.dtype)) continue;
    std::int64_t& extent = problem.shape[spec.layout == Layout::n ? rank - 2 : rank - 1];
    extent += extent % 2;
  }
}

}  // namespace

std::vector<Problem> gemm_problems(std::uint64_t seed, int largest) {
  Random random(seed);
  std::vector<Problem> problems;
  for (const Combination& types : combinations()) {
    for (Dtype out : types.outs) {
      for (int layouts = 0; layouts < 8; ++layouts) {
        problems.push_back(gemm_problem(random, types, out, layouts, largest));
      }
    }
  }
  return problems;
}

std::vector<Problem> special_products(std::uint64_t seed, int largest) {
  constexpr std::array kScaled{
      "a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16",
      "a=e5m2:t*1x128:n b=e4m3:n*1x128 out=f32",
      "a=i8:t*1x128 b=i8:n*128x128 out=f16",
      "a=e4m3:t*1x32 b=e2m1:n*1x16 out=bf16",
      "a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16:swizzled+tensor out=f32",
      "a=e4m3:n*1x32 b=e5m2:t*1x32 out=bf16:n",
      "a=e4m3:t*1x32:swizzled b=e5m2:n*1x32 out=bf16",
      "a=e2m1:t*1x32 b=e2m1:n*1x32:swizzled out=f16",
      "a=e2m1:t*1x32 b=e4m3:n*128x128 out=f32",
      "a=e4m3:t*row b=e4m3:n*row out=bf16",
      "a=i8:t*row b=i8:n*tensor out=f32",
  };
  constexpr std::array kHalf{
      "a=f16:t b=f16:n out=f16 acc=f16",
      "a=f16:n b=f16:t out=f32:n acc=f16",
      "a=e4m3:t b=e5m2:n out=bf16 acc=f16",
  };
  constexpr std::array kQuantised{
      "a=bf16:t b=bf16:n out=e4m3:t*1x128",
      "a=e4m3:t*1x128 b=e4m3:n*128x128 out=e5m2:t*1x32",
      "a=f32 b=f32 out=e2m1:t*1x16",
      "a=bf16:t b=bf16:n out=e4m3:t*1x32:swizzled",
  };
  constexpr std::array kGrouped{
      "along=m a=bf16:t b=bf16:n out=bf16",
      "along=n a=e4m3:t b=e4m3:n out=f32",
      "along=k a=f16:n b=f16:t out=f32",
      "along=l a=i8 b=i8 out=i32",
      "along=m a=e4m3*1x128 b=e4m3:n*128x128 out=bf16",
  };
  Random random(seed);
  const auto extent = [&](std::int64_t multiple) {
    return (draw(random, 1, largest) + multiple - 1) / multiple * multiple;
  };
  std::vector<Problem> problems;
  for (const char* operands : kScaled) {
    // Elements of 4 bits come in pairs, and TMA takes lines of whole 16 bytes.
    problems.push_back(
        Problem::parse(fmt::format("gemm m={} n={} k={} l={} {}", extent(1), extent(2),
                                   2 * extent(16), one_in(random, 3) ? 2 : 1, operands)));
  }
  for (const char* operands : kHalf) {
    problems.push_back(Problem::parse(
        fmt::format("gemm m={} n={} k={} {}", extent(8), extent(8), extent(16), operands)));
  }
  for (const char* operands : kQuantised) {
    problems.push_back(Problem::parse(
        fmt::format("gemm m={} n={} k={} {}", extent(1), extent(2), extent(16), operands)));
  }
  // Of any extents, and of those that tensor cores take.
  for (const std::int64_t multiple : {1, 16}) {
    for (const char* operands : kGrouped) {
      problems.push_back(Problem::parse(fmt::format(
          "grouped_gemm m={} n={} k={} g={} {} zero_rest={}", extent(multiple), extent(multiple),
          extent(multiple), draw(random, 1, 40), operands, draw(random, 0, 1))));
    }
    for (const char* operands : {"a=bf16:t b=bf16:n out=bf16", "a=f32:n b=f32 out=f32:n"}) {
      problems.push_back(Problem::parse(
          fmt::format("grouped_gemm m={} n={} k={} g={} rows={} zero_rest={} {}", extent(multiple),
                      extent(multiple), extent(multiple), draw(random, 1, 40), draw(random, 0, 500),
                      draw(random, 0, 1), operands)));
    }
    // Matrices by pointers, of any extents within these.
    for (const char* operands : {"a=bf16:t b=bf16:n out=bf16", "a=f16:n b=f16 out=f32:n"}) {
      const std::int64_t most[] = {extent(multiple), extent(multiple), extent(multiple)};
      std::string sizes;
      for (std::int64_t groups = draw(random, 1, 20); groups > 0; --groups) {
        sizes += fmt::format("{}{}x{}x{}", sizes.empty() ? "" : ",", draw(random, 0, most[0]),
                             draw(random, 0, most[1]), draw(random, 0, most[2]));
      }
      problems.push_back(
          Problem::parse(fmt::format("grouped_gemm layout=pointers m={} n={} k={} sizes={} {}",
                                     most[0], most[1], most[2], sizes, operands)));
    }
  }
  // Aligned, as others of f64 seldom are.
  problems.push_back(Problem::parse(
      fmt::format("gemm m={} n={} k={} a=f64:t b=f64:n", extent(8), extent(8), extent(16))));
  // K of this length is divided.
  problems.push_back(Problem::parse(
      fmt::format("gemm m={} n={} k={} a=f64:n b=f64:t", extent(2), extent(2), extent(16) + 4000)));
  // Aligned, as others that may have sums of few bits seldom are.
  problems.push_back(Problem::parse(
      fmt::format("gemm m={} n={} k={} a=e4m3:t b=e5m2:n out=bf16 fast_accumulation=1", extent(1),
                  extent(8), extent(16))));
  return problems;
}

Problem with_common_epilogue(Problem problem, std::uint64_t seed) {
  constexpr std::array kPrograms{
      "D = alpha * accum",
      "D = alpha * accum + beta * C",
      "D = accum - C",
      "D = accum + bias",
      "D = gelu_tanh(accum)",
      "D = gelu_tanh(alpha * accum + bias)",
      "D = gelu_tanh(alpha * accum + beta * C + bias)",
      "D = relu(accum + bias)",
  };
  Random random(seed);
  const std::string program = kPrograms[static_cast<std::size_t>(draw(random, 0, 7))];
  problem.complete();
  const Dtype out = *problem.out.dtype;
  const bool narrow = out == Dtype::e4m3 || out == Dtype::e5m2;
  auto uses = [&](std::string_view name) { return program.find(name) != std::string::npos; };
  auto add = [&](const char* name, EpilogueForm form) -> EpilogueOperandSpec& {
    EpilogueOperandSpec& spec = problem.operands.emplace_back();
    spec.name = name;
    spec.form = form;
    return spec;
  };
  if (uses("alpha")) add("alpha", EpilogueForm::scalar).value = 0.75;
  if (uses("beta")) add("beta", EpilogueForm::scalar).value = -0.5;
  if (uses("C")) {
    OperandSpec& c = add("C", EpilogueForm::matrix).tensor;
    c.dtype = narrow ? Dtype::bf16 : out;
    c.layout = one_in(random, 4) ? Layout::n : Layout::t;
  }
  if (uses("bias")) {
    const auto form = one_in(random, 3) ? EpilogueForm::column : EpilogueForm::row;
    add("bias", form).tensor.dtype = narrow ? Dtype::bf16 : out;
  }
  problem.epilogue = program;
  return problem;
}

std::vector<Problem> elementwise_problems(std::uint64_t seed, int largest) {
  Random random(seed);
  auto any_type = [&] { return all_dtypes()[static_cast<std::size_t>(draw(random, 0, 14))]; };
  std::vector<Problem> problems;
  for (int op = 0; op <= static_cast<int>(ElementwiseOp::tanh); ++op) {
    for (Dtype type : all_dtypes()) {
      Problem problem;
      problem.operation = Operation::elementwise;
      problem.op = static_cast<ElementwiseOp>(op);
      problem.has_shape = true;
      const std::int64_t rank = draw(random, 0, 4);
      for (std::int64_t mode = 0; mode < rank; ++mode) {
        const std::int64_t most = rank > 2 ? 24 : largest;
        problem.shape.push_back(one_in(random, 3)
                                    ? 16 * draw(random, 1, std::max<std::int64_t>(most / 16, 1))
                                    : draw(random, 1, most));
      }
      problem.a.dtype = type;
      problem.b.dtype = is_binary(*problem.op) ? any_type() : type;
      problem.out.dtype = any_type();
      problem.a.layout = one_in(random, 3) ? Layout::n : Layout::t;
      problem.out.layout = one_in(random, 4) ? Layout::n : Layout::t;
      if (is_binary(*problem.op)) problem.b.layout = Layout::t;
      if (rank < 2) problem.a.layout = problem.out.layout = problem.b.layout = Layout::t;
      make_even(problem);
      if (!is_binary(*problem.op)) problem.b = {};
      problems.push_back(problem);
    }
  }
  return problems;
}

}  // namespace estoc::gpu_test

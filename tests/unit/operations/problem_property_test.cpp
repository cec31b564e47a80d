// Problem text for random problems and random bytes: round trips, stability, no crash.
#include <algorithm>
#include <limits>

#include "estoc/problem.hpp"
#include "support.h"

namespace estoc::test {
namespace {

using rc::gen::arbitrary;

/// rapidcheck does 100 rounds; each tries this many problems.
constexpr int kProblemsPerRound = 20;

/// Small most of the time, anything an int64 holds otherwise.
std::int64_t random_number() {
  if (flip()) return uniform<std::int64_t>(0, 5);
  return uniform<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
}

Extents random_numbers(std::size_t at_least) {
  Extents numbers(uniform<std::size_t>(at_least, kMaxRank + 1));
  for (std::int64_t& number : numbers)
    number = random_number();
  return numbers;
}

Dtype random_dtype() {
  return static_cast<Dtype>(uniform(0, kDtypeCount));
}

OperandSpec random_spec() {
  OperandSpec spec;
  if (flip()) spec.dtype = random_dtype();
  if (flip()) {
    if (flip()) {
      spec.layout = flip() ? Layout::t : Layout::n;
    } else {
      spec.strides = random_numbers(1);
    }
  }
  if (flip()) spec.alignment = 1 << uniform(0, 9);
  return spec;
}

OperandSpec random_scaled_spec() {
  OperandSpec spec = random_spec();
  if (flip()) return spec;
  ScaleSpec& scale = spec.scale.emplace();
  scale.mode = static_cast<ScaleMode>(uniform(0, 6));
  scale.tensor_scale = flip();
  if (flip()) {
    scale.swizzle = ScaleSwizzle::swizzle_32x4x4;
  } else if (flip()) {
    scale.layout = flip() ? Layout::t : Layout::n;
  } else if (flip()) {
    scale.strides = random_numbers(1);
  }
  return spec;
}

PerformanceControls random_controls() {
  PerformanceControls controls;
  controls.allow_tf32 = flip();
  controls.deterministic = flip();
  controls.batch_invariant = flip();
  if (flip()) controls.workspace_limit = random_number() >> uniform(0, 3) * 10 << uniform(0, 2);
  if (controls.workspace_limit && *controls.workspace_limit < 0) controls.workspace_limit = 0;
  return controls;
}

void make_grouped(Problem& problem) {
  problem.operation = Operation::grouped_gemm;
  if (flip()) problem.along = static_cast<GroupMode>(uniform(0, 4));
  if (flip()) problem.sizes = random_numbers(1);
  if (flip()) problem.rows = random_number();
  problem.zero_rest = flip();
}

Problem random_problem() {
  Problem problem;
  if (flip()) {
    const bool grouped = flip();
    auto Problem::*const last = grouped ? &Problem::g : &Problem::l;
    for (auto Problem::*extent : {&Problem::m, &Problem::n, &Problem::k, last}) {
      if (flip()) problem.*extent = random_number();
    }
    if (flip()) problem.accumulator_type = random_dtype();
    if (flip()) problem.epilogue = *arbitrary<std::string>();
    if (grouped) make_grouped(problem);
  } else {
    problem.operation = Operation::elementwise;
    if (flip()) problem.op = static_cast<ElementwiseOp>(uniform(0, 19));
    problem.has_shape = flip();
    if (problem.has_shape) problem.shape = random_numbers(0);
  }
  const bool scaled = problem.operation == Operation::gemm;
  problem.a = scaled ? random_scaled_spec() : random_spec();
  problem.b = scaled ? random_scaled_spec() : random_spec();
  problem.out = random_spec();
  problem.controls = random_controls();
  // A key of products alone.
  if (problem.operation == Operation::elementwise) problem.controls.batch_invariant = false;
  return problem;
}

TEST(ProblemProperty, ParsingWhatWasPrintedGivesAnEqualProblem) {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < kProblemsPerRound; ++i) {
      const Problem problem = random_problem();
      const std::string text = problem.to_string();
      const Problem again = Problem::parse(text);
      RC_LOG() << text << "\n";
      RC_ASSERT(again == problem);
      RC_ASSERT(again.to_string() == text);
    }
  }));
}

TEST(ProblemProperty, KeysMayComeInAnyOrder) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<std::string> pairs = shuffled(std::vector<std::string>{
        "m=3", "n=4", "k=5", "l=6", "a=bf16:n", "b=f16@8", "out=f32:[12,4,1]", "acc=f32",
        "epi=\"D = accum\"", "allow_tf32=1", "deterministic=1", "workspace=1KiB"});
    std::string text = "gemm";
    for (const std::string& pair : pairs)
      text += " " + pair;
    RC_ASSERT(Problem::parse(text).to_string() ==
              "gemm m=3 n=4 k=5 l=6 a=bf16:n b=f16@8 out=f32:[12,4,1] acc=f32 epi=\"D = accum\" "
              "allow_tf32=1 deterministic=1 workspace=1KiB");
  }));
}

/// Text that is nearly right: a printed problem with a few bytes changed.
std::string damaged_text() {
  std::string text = random_problem().to_string();
  const int changes = uniform(0, 4);
  for (int i = 0; i < changes; ++i) {
    const auto position = uniform<std::size_t>(0, text.size() + 1);
    const char byte =
        flip() ? *rc::gen::elementOf(std::string("= :@[],x()\"\\0189mnkab")) : *arbitrary<char>();
    if (position == text.size() || flip()) {
      text.insert(position, 1, byte);
    } else {
      text.erase(position, 1);
    }
  }
  return text;
}

TEST(ProblemProperty, AnyTextParsesOrNamesAColumn) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = flip() ? damaged_text() : *arbitrary<std::string>();
    const auto error = error_of([&] {
      const Problem problem = Problem::parse(text);
      RC_ASSERT(Problem::parse(problem.to_string()) == problem);
    });
    if (!error) return;
    RC_ASSERT(error->kind() == ErrorKind::value);
    const std::string message = error->what();
    constexpr std::string_view kStart = "problem, column ";
    RC_ASSERT(message.starts_with(kStart));
    const auto column = std::stoul(message.substr(kStart.size()));
    RC_ASSERT(column >= 1U);
    RC_ASSERT(column <= text.size() + 1);
  }));
}

/// Strides that keep elements apart: modes in random order, with random gaps.
Extents random_strides(const Extents& shape, bool may_repeat) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  order = shuffled(order);
  Extents strides(shape.size());
  std::int64_t next = 1;
  for (const std::size_t mode : order) {
    strides[mode] = may_repeat && uniform(0, 6) == 0 ? 0 : next;
    next = next * std::max<std::int64_t>(shape[mode], 1) + (uniform(0, 3) == 0 ? 2 : 0);
  }
  return strides;
}

/// A view with data at an aligned or less aligned address, apart from those of other slots.
TensorView random_view(const Extents& shape, bool is_input, std::uintptr_t slot) {
  const Dtype dtype = *rc::gen::element(Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::i8);
  const auto bytes = static_cast<std::uintptr_t>(storage_bytes(dtype, 1));
  const std::uintptr_t offset = flip() ? 0 : uniform<std::uintptr_t>(0, 40) * bytes;
  return {at_address((slot << 24U) + offset), dtype, shape, random_strides(shape, is_input)};
}

Extents batched(std::int64_t batches, Extents shape) {
  if (batches != 1 || flip()) shape.insert(shape.begin(), batches);
  return shape;
}

std::unique_ptr<RuntimeArguments> random_gemm() {
  const auto extent = [] { return uniform<std::int64_t>(0, 5); };
  const std::int64_t m = extent();
  const std::int64_t n = extent();
  const std::int64_t k = extent();
  const std::int64_t l = flip() ? 1 : extent();
  const Extents out = batched(l, {m, n});
  const auto input = [&](std::int64_t rows, std::int64_t columns) -> Extents {
    if (out.size() == 2 || uniform(0, 4) == 0) return {rows, columns};
    return {flip() ? 1 : l, rows, columns};
  };
  return std::make_unique<GemmArguments>(random_view(input(m, k), true, 1),
                                         random_view(input(k, n), true, 2),
                                         random_view(out, false, 3), Dtype::f32, random_controls());
}

std::unique_ptr<RuntimeArguments> random_elementwise() {
  Extents shape(uniform<std::size_t>(0, kMaxRank + 1));
  for (std::int64_t& extent : shape)
    extent = uniform<std::int64_t>(0, 4);
  const auto input = [&] {
    Extents narrow(shape.begin() + uniform<std::ptrdiff_t>(0, std::ssize(shape) + 1), shape.end());
    for (std::int64_t& extent : narrow)
      extent = uniform(0, 4) == 0 ? 1 : extent;
    return narrow;
  };
  const TensorView a = random_view(input(), true, 1);
  const TensorView out = random_view(shape, false, 3);
  const auto op = static_cast<ElementwiseOp>(uniform(0, 19));
  if (!is_binary(op)) {
    return std::make_unique<ElementwiseArguments>(op, a, out, random_controls());
  }
  return std::make_unique<ElementwiseArguments>(op, a, random_view(input(), true, 2), out,
                                                random_controls());
}

TEST(ProblemProperty, ArgumentsOfAProblemHaveThatProblem) {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < kProblemsPerRound; ++i) {
      const auto arguments = flip() ? random_gemm() : random_elementwise();
      const Problem problem = Problem::of(*arguments);
      RC_LOG() << problem.to_string() << "\n";
      RC_ASSERT(Problem::parse(problem.to_string()) == problem);
      const auto again = problem.arguments();
      RC_ASSERT(Problem::of(*again) == problem);
      Problem completed = problem;
      completed.complete();
      RC_ASSERT(completed == problem);
    }
  }));
}

bool same_stride(std::int64_t extent, std::int64_t left, std::int64_t right) {
  return extent <= 1 || left == right;
}

bool same_matrix(const MatrixView& left, const MatrixView& right) {
  const bool same_shape = left.dtype == right.dtype && left.rows == right.rows &&
                          left.columns == right.columns && left.batches == right.batches;
  if (left.rows == 0 || left.columns == 0 || left.batches == 0) return same_shape;
  return same_shape && std::min(left.alignment, 16) == std::min(right.alignment, 16) &&
         same_stride(left.rows, left.row_stride, right.row_stride) &&
         same_stride(left.columns, left.column_stride, right.column_stride) &&
         same_stride(left.batches, left.batch_stride, right.batch_stride);
}

TEST(ProblemProperty, ArgumentsOfAProblemHaveTheSameMatrices) {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < kProblemsPerRound; ++i) {
      const auto arguments = random_gemm();
      const Problem problem = Problem::of(*arguments);
      RC_LOG() << problem.to_string() << "\n";
      const auto again = problem.arguments();
      const auto& left = dynamic_cast<const GemmArguments&>(*arguments);
      const auto& right = dynamic_cast<const GemmArguments&>(*again);
      RC_ASSERT(left.extents() == right.extents());
      RC_ASSERT(same_matrix(left.a_matrix(), right.a_matrix()));
      RC_ASSERT(same_matrix(left.b_matrix(), right.b_matrix()));
      RC_ASSERT(same_matrix(left.out_matrix(), right.out_matrix()));
      RC_ASSERT(left.controls() == right.controls());
    }
  }));
}

}  // namespace
}  // namespace estoc::test

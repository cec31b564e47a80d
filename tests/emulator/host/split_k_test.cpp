// sm90_gemm and sm100_gemm with K divided, among the CTAs of clusters or through the workspace, on
// the emulator.
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "emulated.h"

namespace estoc::split_k_test {
namespace {

/// What kernels that a filter names are for.
Target target_of(const std::string& filter) {
  return Target::sm(filter.starts_with("class=sm100") ? 100 : 90, true);
}

/// Operands of a problem in host memory: inputs are random, outputs poisoned.
class HostProblem {
 public:
  explicit HostProblem(const std::string& text) {
    Problem problem = Problem::parse(text);
    problem.complete();
    described_ = problem.arguments(Device::cpu());
    std::vector<Operand> operands;
    for (const NamedOperand& operand : described_->operands())
      operands.emplace_back(place(*operand.tensor, operand.role == OperandRole::output));
    std::vector<EpilogueOperand> fused;
    for (const EpilogueOperand& operand : described_->epilogue().operands()) {
      fused.push_back(operand.tensor() == nullptr
                          ? operand
                          : EpilogueOperand{operand.name, place(*operand.tensor(), false)});
    }
    arguments_ = described_->with_operands(operands, std::move(fused));
  }

  const RuntimeArguments& arguments() const { return *arguments_; }
  std::vector<std::byte> output() const { return memory_[output_]; }

 private:
  TensorView place(const TensorView& view, bool output) {
    const auto shape = view.shape();
    const std::int64_t count =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    if (output) output_ = memory_.size();
    memory_.emplace_back(static_cast<std::size_t>(count * dtype_bits(view.dtype()) / 8),
                         std::byte{0x7f});
    const TensorView placed(memory_.back().data(), view.dtype(), shape, view.strides(),
                            Device::cpu());
    if (!output) fill_random(placed, memory_.size());
    return placed;
  }

  std::unique_ptr<RuntimeArguments> described_;
  std::unique_ptr<RuntimeArguments> arguments_;
  std::vector<std::vector<std::byte>> memory_;
  std::size_t output_ = 0;
};

class SplitK : public EmulatedKernels {
 protected:
  static Kernel kernel(const RuntimeArguments& arguments, const std::string& filter) {
    KernelQuery query;
    query.target = target_of(filter);
    query.filter = MetadataFilter::parse(
        filter.starts_with("class=") ? filter : "class=sm90_gemm cluster=1x1x1 " + filter);
    return get_kernels(arguments, query).front();
  }

  /// Runs the kernel with K in so many parts, of the last `tiles` tiles or by clusters; the output
  /// is checked, and returned.
  static std::vector<std::byte> run(const std::string& text, const std::string& filter, int parts,
                                    int tiles = 0) {
    const HostProblem problem(text);
    const Kernel found = kernel(problem.arguments(), filter);
    Knobs knobs = found.knobs();
    knobs.split = static_cast<std::int16_t>(parts);
    knobs.split_tiles = tiles;
    const emulator::BuiltKernel built(found.with_knobs(knobs), target_of(filter));
    const emulator::Report report = built.run(problem.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(problem.arguments());
    EXPECT_TRUE(result.passed) << text << " in " << parts << " parts: " << result.worst;
    return problem.output();
  }
  /// The same, if the kernel is due.
  static void check(const std::string& text, const std::string& filter, int parts, int tiles = 0) {
    if (is_due(kernel(*Problem::parse(text).arguments(), filter), target_of(filter)))
      run(text, filter, parts, tiles);
  }
};

TEST_F(SplitK, PartsOfUnequalLength) {
  const std::string text = "gemm m=100 n=72 k=264 a=tf32:t b=tf32:n out=f32:t";
  const auto whole = run(text, "tile=64x64x32 schedule=single", 1);
  bool differs = false;
  for (const int parts : {2, 3, 5, 8})
    differs = run(text, "tile=64x64x32 schedule=single", parts) != whole || differs;
  // So that this says something: another order of summation rounds otherwise.
  EXPECT_TRUE(differs);
}

TEST_F(SplitK, MorePartsThanTilesOfK) {
  check("gemm m=64 n=64 k=104 a=f16:t b=f16:t out=f16:t", "tile=64x64x64 schedule=single", 8);
  check("gemm m=64 n=64 k=0 a=f16:t b=f16:t out=f16:t", "tile=64x64x64 schedule=single", 8);
}

TEST_F(SplitK, TwoConsumersAndBatches) {
  check("gemm m=136 n=200 k=390 l=3 a=bf16:n b=bf16:t out=bf16:t",
        "tile=128x128x64 schedule=cooperative", 3);
}

TEST_F(SplitK, MorePartsThanTheRingHolds) {
  check("gemm m=128 n=256 k=640 a=bf16:t b=bf16:n out=bf16:t",
        "tile=128x256x64 schedule=cooperative", 5);
}

TEST_F(SplitK, ATransposedProduct) {
  check("gemm m=16 n=192 k=640 a=bf16:t b=bf16:n out=bf16:n", "tile=32x64x64 schedule=single", 4);
}

TEST_F(SplitK, PromotedSumsAndIntegers) {
  check("gemm m=64 n=96 k=1024 a=e4m3:t b=e4m3:n out=bf16:t", "tile=64x96x128 schedule=single", 4);
  const std::string integers = "gemm m=70 n=64 k=1040 a=i8:t b=i8:n out=i32:t";
  // Integers are exact in any order.
  EXPECT_EQ(run(integers, "tile=64x64x128 schedule=single", 1),
            run(integers, "tile=64x64x128 schedule=single", 6));
}

TEST_F(SplitK, OutputsThatAreNotAligned) {
  check("gemm m=65 n=67 k=512 a=bf16:t b=bf16:n out=f32:t", "tile=64x64x64 schedule=single", 4);
}

TEST_F(SplitK, Epilogues) {
  check(
      "gemm m=100 n=136 k=704 a=bf16:t b=bf16:n out=bf16:t C=bf16:t bias=f32:row s=0.5 "
      "rows=f32:column "
      "epi=\"D = gelu_tanh(accum * s + bias) + C; rows = sum(D)\"",
      "tile=64x64x64 schedule=single", 4);
}

TEST_F(SplitK, SwappedProducts) {
  const std::string few = "gemm m=13 n=200 k=520 a=bf16:t b=bf16:n out=bf16:t";
  check(few, "class=sm90_swapped_gemm tile=16x64x64", 1);
  check(few, "class=sm90_swapped_gemm tile=16x128x64", 4);
  check("gemm m=40 n=257 k=776 l=2 a=bf16:t b=bf16:n out=f32:t",
        "class=sm90_swapped_gemm tile=32x128x64", 3);
  check("gemm m=64 n=128 k=256 a=f16:n b=f16:t out=f16:t", "class=sm90_swapped_gemm tile=64x128x64",
        2);
  check("gemm m=7 n=130 k=512 a=e4m3:t b=e4m3:n out=bf16:t",
        "class=sm90_swapped_gemm tile=32x128x128", 2);
  check(
      "gemm m=20 n=136 k=512 a=bf16:t b=bf16:n out=bf16:t C=bf16:t bias=f32:row rows=f32:column "
      "epi=\"D = gelu_tanh(accum + bias) + C; rows = sum(D)\"",
      "class=sm90_swapped_gemm tile=32x64x64", 2);
}

TEST_F(SplitK, SwappedTilesOfEightAndFortyEightRows) {
  for (const int parts : {1, 4}) {
    check("gemm m=5 n=200 k=520 a=bf16:t b=bf16:n out=bf16:t",
          "class=sm90_swapped_gemm tile=8x64x64", parts);
    check("gemm m=21 n=136 k=1040 l=2 a=e4m3:t b=e4m3:n out=f16:t",
          "class=sm90_swapped_gemm tile=8x128x128 schedule=cooperative", parts);
    check("gemm m=48 n=257 k=776 a=f16:t b=f16:n out=f32:t",
          "class=sm90_swapped_gemm tile=48x128x64", parts);
  }
  // Fewer chunks a tile than warps that add them up.
  check("gemm m=20 n=72 k=1040 a=tf32:t b=tf32:n out=f32:t", "class=sm90_swapped_gemm tile=8x64x32",
        3, 5);
}

TEST_F(SplitK, SwappedTilesOfFewRowsStoredByThreadsAndByBoxes) {
  for (const std::string align : {" align_out=1", " align_out=16"}) {
    for (const int parts : {1, 3}) {
      check("gemm m=13 n=200 k=520 a=bf16:t b=bf16:n out=bf16:t",
            "class=sm90_swapped_gemm tile=16x64x64" + align, parts);
      check("gemm m=70 n=264 k=784 l=2 a=e4m3:t b=e4m3:n out=f16:t",
            "class=sm90_swapped_gemm tile=48x64x128 schedule=pingpong" + align, parts);
      check("gemm m=100 n=136 k=520 a=f16:t b=f16:t out=f16:t",
            "class=sm90_swapped_gemm tile=64x128x64" + align, parts);
    }
    // Parts through the workspace.
    check("gemm m=40 n=392 k=1040 a=bf16:t b=bf16:n out=bf16:t",
          "class=sm90_swapped_gemm tile=32x128x64" + align, 3, 2);
  }
}

TEST_F(SplitK, CtasShareTheColumnsOfATile) {
  for (const int parts : {2, 3, 5}) {
    check("gemm m=70 n=136 k=1040 a=bf16:t b=bf16:n out=bf16:t",
          "class=sm90_swapped_gemm tile=64x64x64 align_out=16", parts);
    check("gemm m=75 n=200 k=1040 a=f16:t b=f16:t out=f16:t",
          "class=sm90_swapped_gemm tile=80x128x64", parts);
  }
  // More parts than shares, and boxes of other widths.
  check("gemm m=100 n=200 k=1040 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_gemm tile=128x128x64 schedule=cooperative cluster=1x1x1", 3);
  check("gemm m=60 n=136 k=776 l=2 a=bf16:t b=bf16:n out=f32:t",
        "class=sm90_gemm tile=64x128x64 schedule=single cluster=1x1x1 align_out=16", 3);
  check("gemm m=60 n=88 k=776 a=f16:t b=f16:n out=f16:t",
        "class=sm90_gemm tile=64x96x64 schedule=single cluster=1x1x1 align_out=16", 2);
  check("gemm m=60 n=96 k=1040 a=e4m3:t b=e4m3:n out=e4m3:t",
        "class=sm90_gemm tile=64x96x128 schedule=single cluster=1x1x1 align_out=16", 2);
  check("gemm m=60 n=136 k=776 a=f16:t b=f16:n out=f16:t acc=f16",
        "class=sm90_swapped_gemm tile=64x64x64 align_out=16", 3);
  // The ring has no room for all parts at once, or for one tile.
  check("gemm m=160 n=72 k=1552 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_swapped_gemm tile=160x64x64", 6);
  check("gemm m=160 n=200 k=1040 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_swapped_gemm tile=160x192x64 cluster=1x1x1", 2);
}

TEST_F(SplitK, WideSwappedTiles) {
  for (const int parts : {1, 3}) {
    check("gemm m=150 n=328 k=520 a=bf16:t b=bf16:n out=bf16:t",
          "class=sm90_swapped_gemm tile=80x64x64", parts);
    check("gemm m=131 n=264 k=776 l=2 a=f16:t b=f16:t out=f16:t",
          "class=sm90_swapped_gemm tile=144x128x64", parts);
    check("gemm m=100 n=200 k=1040 a=e4m3:t b=e4m3:n out=bf16:t",
          "class=sm90_swapped_gemm tile=112x64x128", parts);
    check("gemm m=110 n=400 k=520 a=bf16:t b=bf16:t out=bf16:t",
          "class=sm90_swapped_gemm tile=112x192x64", parts);
  }
  check("gemm m=200 n=584 k=264 l=2 a=bf16:n b=bf16:n out=bf16:t",
        "class=sm90_swapped_gemm tile=128x192x64 cluster=1x2x1", 1);
  check("gemm m=90 n=200 k=528 a=e4m3:t b=e5m2:n out=f16:t fast_accumulation=1",
        "class=sm90_swapped_fast_gemm tile=96x192x128", 1);
  // Parts through the workspace.
  check("gemm m=150 n=328 k=1040 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_swapped_gemm tile=160x192x64 cluster=1x1x1", 3, 2);
  check("gemm m=77 n=392 k=1040 a=f16:t b=f16:n out=f16:t",
        "class=sm90_swapped_gemm tile=80x128x64", 3, 4);
}

TEST_F(SplitK, WideSwappedTilesWithEpilogues) {
  const std::string bias = " bias=f32:row epi=\"D = gelu(accum + bias)\"";
  const std::string scales = " x=f32:column y=f32:row epi=\"D = accum * x * y\"";
  const std::string residual =
      " C=bf16:t bias=bf16:row alpha=0.5 epi=\"D = relu(alpha * accum + bias) + C\"";
  for (const int parts : {1, 3}) {
    check("gemm m=150 n=328 k=520 a=bf16:t b=bf16:n out=bf16:t" + bias,
          "class=sm90_swapped_gemm tile=80x64x64", parts);
    check("gemm m=131 n=264 k=784 l=2 a=e4m3:t b=e4m3:n out=bf16:t" + scales,
          "class=sm90_swapped_gemm tile=144x128x128", parts);
    check("gemm m=110 n=400 k=520 a=bf16:t b=bf16:t out=bf16:t" + residual,
          "class=sm90_swapped_gemm tile=112x192x64", parts);
  }
  check("gemm m=200 n=584 k=264 l=2 a=bf16:n b=bf16:n out=bf16:t" + residual,
        "class=sm90_swapped_gemm tile=128x192x64 cluster=1x2x1", 1);
  check("gemm m=90 n=200 k=528 a=e4m3:t b=e5m2:n out=f16:t fast_accumulation=1" + scales,
        "class=sm90_swapped_fast_gemm tile=96x192x128", 1);
  // C and aux have no maps: they are column-major.
  check(
      "gemm m=100 n=136 k=200 l=2 a=f16:t b=f16:n out=f16:t C=f16:n aux=bf16:n "
      "epi=\"aux = accum - C; D = relu(aux)\"",
      "class=sm90_swapped_gemm tile=112x64x64", 1);
  // Reductions along both modes.
  check(
      "gemm m=100 n=328 k=200 a=bf16:t b=bf16:n out=bf16:t s=f32:column t=f32:row "
      "epi=\"D = accum; s = sum(accum); t = absmax(accum)\"",
      "class=sm90_swapped_gemm tile=112x64x64", 1);
  // Parts through the workspace.
  check("gemm m=150 n=328 k=1040 a=bf16:t b=bf16:n out=bf16:t" + residual,
        "class=sm90_swapped_gemm tile=160x128x64", 3, 2);
}

TEST_F(SplitK, SwappedTilesOfFewRowsWithEpilogues) {
  for (const int parts : {1, 3}) {
    check(
        "gemm m=5 n=328 k=520 a=bf16:t b=bf16:n out=bf16:t bias=f32:row "
        "epi=\"D = gelu(accum + bias)\"",
        "class=sm90_swapped_gemm tile=16x64x64", parts);
    check(
        "gemm m=40 n=264 k=784 l=2 a=e4m3:t b=e4m3:n out=bf16:t x=f32:column y=f32:row "
        "epi=\"D = accum * x * y\"",
        "class=sm90_swapped_gemm tile=48x128x128", parts);
    // Rows of out and C are aligned to two bytes.
    check("gemm m=20 n=203 k=520 a=bf16:t b=bf16:n out=bf16:t C=bf16:t epi=\"D = accum + C\"",
          "class=sm90_swapped_gemm tile=32x64x64", parts);
    // C is f32: boxes are not M-major.
    check("gemm m=70 n=200 k=520 a=bf16:t b=bf16:n out=bf16:t C=f32:t epi=\"D = accum + C\"",
          "class=sm90_swapped_gemm tile=64x64x64", parts);
  }
  check(
      "gemm m=9 n=200 k=1040 a=f16:t b=f16:n out=f16:t aux=bf16:t bias=f16:row "
      "epi=\"aux = accum + bias; D = relu(aux)\"",
      "class=sm90_swapped_gemm tile=16x64x64", 3, 2);
}

TEST_F(SplitK, BoxesHaveNoRowsFarBeyondAnOperand) {
  // One and two operands with far fewer rows than a tile; more items than one follow.
  check("gemm m=3 n=700 k=264 a=bf16:t b=bf16:n out=bf16:t", "tile=64x64x64 schedule=pingpong", 1);
  check("gemm m=40 n=33 k=1032 l=3 a=tf32:t b=tf32:n out=f32:t", "tile=128x128x32", 1);
  check("gemm m=1 n=520 k=776 a=f16:t b=f16:n out=f16:t C=f16:t epi=\"D = relu(accum) + C\"",
        "tile=64x128x64 schedule=single", 2);
  check("gemm m=7 n=300 k=256 a=e4m3:t b=e4m3:n out=bf16:t",
        "class=sm90_gemm tile=128x64x128 cluster=1x2x1 schedule=cooperative", 1);
  check("gemm m=7 n=300 k=256 a=e4m3:t b=e4m3:n out=bf16:t",
        "class=sm90_gemm tile=64x64x128 cluster=2x1x1 schedule=pingpong", 1);
  check("gemm m=2 n=200 k=520 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_swapped_gemm tile=64x64x64", 3, 2);
}

TEST_F(SplitK, BatchInvarianceTakesPrecedence) {
  const std::string text = "gemm m=64 n=64 k=320 a=tf32:t b=tf32:n out=f32:t";
  const std::string filter = "tile=64x64x32 schedule=single";
  EXPECT_EQ(run(text + " batch_invariant=1", filter, 4), run(text, filter, 1));
  EXPECT_NE(run(text, filter, 4), run(text, filter, 1));
}

TEST_F(SplitK, LastTilesThroughTheWorkspace) {
  // 4 x 3 tiles.
  const std::string text = "gemm m=200 n=136 k=584 a=tf32:t b=tf32:n out=f32:t";
  const std::string filter = "tile=64x64x32 schedule=single";
  const auto whole = run(text, filter, 1);
  const auto all = run(text, filter, 3, 12);
  EXPECT_NE(all, whole);
  EXPECT_EQ(run(text, filter, 3, 100), all);
  EXPECT_EQ(run(text, filter, 1, 12), whole);
  check(text, filter, 3, 5);
  check(text, filter, 4, 1);
}

TEST_F(SplitK, WorkspaceOfEverySchedule) {
  const std::string text = "gemm m=264 n=200 k=840 l=2 a=bf16:t b=bf16:t out=bf16:t";
  for (const int tiles : {3, 7, 100}) {
    check(text, "tile=128x64x64 schedule=pingpong", 3, tiles);
    check(text, "tile=128x64x64 schedule=cooperative", 3, tiles);
  }
  check(text, "class=sm90_gemm tile=128x128x64 cluster=2x1x1 schedule=cooperative", 4, 3);
  check(text, "class=sm90_gemm tile=128x128x64 cluster=1x2x1 schedule=pingpong", 4, 2);
}

TEST_F(SplitK, WarpsShareManyParts) {
  const std::string text = "gemm m=72 n=64 k=4800 a=bf16:t b=bf16:n out=bf16:t";
  for (const int parts : {8, 9, 17, 33, 75, 500})
    check(text, "tile=64x32x64 schedule=single", parts, 4);
}

TEST_F(SplitK, WorkspaceOfOtherKernels) {
  check("gemm m=64 n=96 k=1024 a=e4m3:t b=e4m3:n out=bf16:t", "tile=64x96x128 schedule=single", 4,
        1);
  const std::string integers = "gemm m=70 n=64 k=1040 a=i8:t b=i8:n out=i32:t";
  EXPECT_EQ(run(integers, "tile=64x64x128 schedule=single", 1),
            run(integers, "tile=64x64x128 schedule=single", 6, 2));
  check("gemm m=65 n=67 k=512 a=bf16:t b=bf16:n out=f32:t", "tile=64x64x64 schedule=single", 4, 4);
  check("gemm m=16 n=192 k=640 a=bf16:t b=bf16:n out=bf16:n", "tile=32x64x64 schedule=single", 4,
        3);
  check("gemm m=40 n=257 k=776 l=2 a=bf16:t b=bf16:n out=f32:t",
        "class=sm90_swapped_gemm tile=32x128x64", 3, 12);
  check("gemm m=70 n=72 k=517 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm90_prepared_gemm tile=64x64x64 cluster=1x1x1 schedule=single", 3, 3);
}

TEST_F(SplitK, EpiloguesBehindTheWorkspace) {
  const std::string operands =
      "gemm m=100 n=136 k=704 a=bf16:t b=bf16:n out=bf16:t C=bf16:t bias=f32:row s=0.5 ";
  const std::string filter = "tile=64x64x64 schedule=single";
  for (const int tiles : {2, 100})
    check(operands + "epi=\"D = gelu_tanh(accum * s + bias) + C\"", filter, 4, tiles);
  // Reductions take no parts through the workspace.
  check(operands + "rows=f32:column epi=\"D = accum * s + bias + C; rows = sum(D)\"", filter, 4,
        100);
}

TEST_F(SplitK, Tcgen05ThroughTheWorkspace) {
  const std::string text = "gemm m=264 n=200 k=840 l=2 a=bf16:t b=bf16:t out=bf16:t";
  for (const char* cluster : {"1x1", "2x1"}) {
    const std::string filter = std::string("class=sm100_gemm tile=128x128x64 cluster=") + cluster;
    for (const int tiles : {3, 7, 100})
      check(text, filter + "x1", 3, tiles);
  }
  check("gemm m=600 n=200 k=840 a=bf16:t b=bf16:n out=bf16:t",
        "class=sm100_gemm tile=128x64x64 cluster=4x2x1", 3, 2);
  check("gemm m=72 n=64 k=4800 a=bf16:t b=bf16:n out=bf16:n", "class=sm100_gemm tile=64x128x64", 17,
        4);
  check("gemm m=65 n=67 k=512 a=bf16:t b=bf16:n out=f32:t", "class=sm100_gemm tile=128x96x64", 4,
        4);
}

TEST_F(SplitK, Tcgen05OfOtherKernels) {
  const std::string integers = "gemm m=70 n=64 k=1040 a=i8:t b=i8:n out=i32:t";
  EXPECT_EQ(run(integers, "class=sm100_i8_gemm", 1), run(integers, "class=sm100_i8_gemm", 6, 2));
  check("gemm m=70 n=72 k=517 a=bf16:t b=bf16:n out=bf16:t", "class=sm100_prepared_gemm", 3, 3);
  const std::string operands =
      "gemm m=200 n=136 k=704 a=bf16:t b=bf16:n out=bf16:t C=bf16:t bias=f32:row s=0.5 ";
  const std::string filter = "class=sm100_gemm tile=128x64x64 cluster=2x1x1";
  for (const int tiles : {2, 100})
    check(operands + "epi=\"D = gelu_tanh(accum * s + bias) + C\"", filter, 4, tiles);
  // Reductions take no parts through the workspace.
  check(operands + "rows=f32:column epi=\"D = accum * s + bias + C; rows = sum(D)\"", filter, 4,
        100);
  const std::string text = "gemm m=64 n=64 k=320 a=tf32:t b=tf32:n out=f32:t";
  EXPECT_EQ(run(text + " batch_invariant=1", filter.substr(0, 16), 4, 1),
            run(text, filter.substr(0, 16), 1));
}

TEST_F(SplitK, BatchInvarianceHasNoWorkspace) {
  const std::string text = "gemm m=64 n=64 k=320 a=tf32:t b=tf32:n out=f32:t";
  const std::string filter = "tile=64x64x32 schedule=single";
  EXPECT_EQ(run(text + " batch_invariant=1", filter, 4, 1), run(text, filter, 1));
  EXPECT_NE(run(text, filter, 4, 1), run(text, filter, 1));
}

}  // namespace
}  // namespace estoc::split_k_test

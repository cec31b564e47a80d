// Problem text: what it reads, its defaults, the arguments it stands for, and its errors.
#include "estoc/problem.hpp"

#include "support.h"

namespace estoc::test {
namespace {

std::string complaint(std::string_view text) {
  const auto error = error_of([&] { Problem::parse(text); });
  EXPECT_TRUE(!error || error->kind() == ErrorKind::value);
  return error ? error->what() : "";
}

std::string completed(std::string_view text) {
  Problem problem = Problem::parse(text);
  problem.complete();
  return problem.to_string();
}

std::string complaint_of_complete(std::string_view text) {
  const auto error = error_of([&] { completed(text); });
  return error ? error->what() : "";
}

const GemmArguments& as_gemm(const std::unique_ptr<RuntimeArguments>& arguments) {
  return dynamic_cast<const GemmArguments&>(*arguments);
}

TEST(ProblemParse, ReadsAGemm) {
  const Problem problem = Problem::parse(
      "gemm m=4096 n=7168 k=2048 l=2 a=bf16:t b=e4m3:n@4 out=f16:[0,128,1] acc=f32 "
      "epi=\"D = relu(accum)\" allow_tf32=1 deterministic=1 batch_invariant=1 workspace=64MiB");
  EXPECT_EQ(problem.operation, Operation::gemm);
  EXPECT_EQ(problem.m, 4096);
  EXPECT_EQ(problem.n, 7168);
  EXPECT_EQ(problem.k, 2048);
  EXPECT_EQ(problem.l, 2);
  EXPECT_EQ(problem.a, (OperandSpec{Dtype::bf16, Layout::t, {}, {}}));
  EXPECT_EQ(problem.b, (OperandSpec{Dtype::e4m3, Layout::n, {}, 4}));
  EXPECT_EQ(problem.out, (OperandSpec{Dtype::f16, {}, {0, 128, 1}, {}}));
  EXPECT_EQ(problem.accumulator_type, Dtype::f32);
  EXPECT_EQ(problem.epilogue, "D = relu(accum)");
  EXPECT_TRUE(problem.controls.allow_tf32);
  EXPECT_TRUE(problem.controls.deterministic);
  EXPECT_TRUE(problem.controls.batch_invariant);
  EXPECT_EQ(problem.controls.workspace_limit, std::int64_t{64} << 20);
}

TEST(ProblemParse, ReadsAnElementwise) {
  const Problem problem =
      Problem::parse("elementwise op=add shape=2x64x64 a=f32:t b=f32:t out=f16:t");
  EXPECT_EQ(problem.operation, Operation::elementwise);
  EXPECT_EQ(problem.op, ElementwiseOp::add);
  EXPECT_TRUE(problem.has_shape);
  EXPECT_EQ(problem.shape, (Extents{2, 64, 64}));
  EXPECT_EQ(problem.out.dtype, Dtype::f16);
}

TEST(ProblemParse, TakesPartsOfOperands) {
  EXPECT_EQ(Problem::parse("gemm a=:n").a, (OperandSpec{{}, Layout::n, {}, {}}));
  EXPECT_EQ(Problem::parse("gemm a=@32").a, (OperandSpec{{}, {}, {}, 32}));
  EXPECT_EQ(Problem::parse("gemm a=:[7]@1").a, (OperandSpec{{}, {}, {7}, 1}));
  EXPECT_EQ(Problem::parse("gemm").a, OperandSpec{});
}

TEST(ProblemParse, TellsAScalarFromNoShape) {
  EXPECT_TRUE(Problem::parse("elementwise shape=()").has_shape);
  EXPECT_FALSE(Problem::parse("elementwise").has_shape);
}

TEST(ProblemParse, TakesDtypesByTheNamesOfOthers) {
  EXPECT_EQ(Problem::parse("gemm a=bfloat16:n b=float8_e4m3fn:t@16 out=half acc=fp32"),
            Problem::parse("gemm a=bf16:n b=e4m3:t@16 out=f16 acc=f32"));
  EXPECT_EQ(Problem::parse("gemm a=s8 b=uint8").b.dtype, Dtype::u8);
}

TEST(ProblemParse, TakesAnyBlanksAndOrder) {
  EXPECT_EQ(Problem::parse("  gemm\t k=3\r\n  m=1 n=2 "), Problem::parse("gemm m=1 n=2 k=3"));
}

TEST(ProblemParse, UnescapesEpilogues) {
  EXPECT_EQ(Problem::parse(R"(gemm epi="a \" b \\ c=d" m=1)").epilogue, R"(a " b \ c=d)");
  EXPECT_EQ(Problem::parse(R"(gemm epi="")").epilogue, "");
}

TEST(ProblemParse, RefusesUnknownOperations) {
  EXPECT_EQ(complaint("gem m=1"),
            "problem, column 1: expected an operation, gemm or elementwise or grouped_gemm, got "
            "'gem'; did you "
            "mean gemm?");
  EXPECT_EQ(
      complaint(""),
      "problem, column 1: expected an operation, gemm or elementwise or grouped_gemm, got nothing");
  EXPECT_EQ(
      complaint("   "),
      "problem, column 4: expected an operation, gemm or elementwise or grouped_gemm, got nothing");
  EXPECT_EQ(
      complaint("m=1 gemm"),
      "problem, column 1: expected an operation, gemm or elementwise or grouped_gemm, got 'm=1'");
}

TEST(ProblemParse, RefusesUnknownKeys) {
  EXPECT_EQ(complaint("gemm m=1 determinstic=1"),
            "problem, column 10: expected a key of gemm (m n k l a b out acc epi allow_tf32 "
            "fast_accumulation deterministic batch_invariant allow_bf16x6 workspace), got "
            "'determinstic'; did "
            "you mean "
            "deterministic?");
  EXPECT_EQ(complaint("elementwise m=1"),
            "problem, column 13: expected a key of elementwise (op shape a b out epi allow_tf32 "
            "deterministic workspace), got 'm'");
  EXPECT_EQ(complaint("gemm =1"),
            "problem, column 6: expected a key of gemm (m n k l a b out acc epi allow_tf32 "
            "fast_accumulation deterministic batch_invariant allow_bf16x6 workspace), got nothing");
}

TEST(ProblemParse, RefusesAKeyGivenTwice) {
  EXPECT_EQ(complaint("gemm m=1 n=2 m=1"),
            "problem, column 14: key m is given twice, first in column 6");
}

TEST(ProblemParse, RefusesMissingAndMalformedValues) {
  EXPECT_EQ(complaint("gemm m"), "problem, column 7: expected = after m, got nothing");
  EXPECT_EQ(complaint("gemm m= n=2"),
            "problem, column 8: expected an extent, a whole number of 0 or more, got nothing");
  EXPECT_EQ(complaint("gemm m=-5"),
            "problem, column 8: expected an extent, a whole number of 0 or more, got '-5'");
  EXPECT_EQ(complaint("gemm m=12q n=2"),
            "problem, column 10: expected a blank after the value of m, got 'q'");
  EXPECT_EQ(complaint("gemm m=1.5"),
            "problem, column 9: expected a blank after the value of m, got '.5'");
  EXPECT_EQ(complaint("gemm m=9223372036854775808"),
            "problem, column 8: expected a number up to 9223372036854775807, got "
            "'9223372036854775808'");
  EXPECT_EQ(Problem::parse("gemm m=9223372036854775807").m, 9223372036854775807);
  EXPECT_EQ(complaint("gemm allow_tf32=yes"), "problem, column 17: expected 0 or 1, got 'yes'");
  EXPECT_EQ(complaint("gemm deterministic=10"),
            "problem, column 21: expected a blank after the value of deterministic, got '0'");
}

TEST(ProblemParse, RefusesUnknownDtypesAndLayouts) {
  EXPECT_EQ(complaint("gemm m=1 a=bf17"),
            "problem, column 12: expected a dtype, got 'bf17'; did you mean bf16?");
  EXPECT_EQ(complaint("gemm m=1 a=float31:t"),
            "problem, column 12: expected a dtype, got 'float31'");
  EXPECT_EQ(complaint("gemm a=bf16:x"),
            "problem, column 13: expected a layout, t, n or strides such as [128,1], got 'x'");
  EXPECT_EQ(complaint("gemm a=bf16:"),
            "problem, column 13: expected a layout, t, n or strides such as [128,1], got nothing");
  EXPECT_EQ(complaint("gemm a=bf16:tn"),
            "problem, column 14: expected a blank after the value of a, got 'n'");
  EXPECT_EQ(complaint("gemm a="), "problem, column 8: expected a dtype, got nothing");
}

TEST(ProblemParse, RefusesMalformedStridesAndAlignments) {
  EXPECT_EQ(complaint("gemm a=f32:[]"),
            "problem, column 13: expected a stride, a whole number of 0 or more, got ']'");
  EXPECT_EQ(complaint("gemm a=f32:[1,-1]"),
            "problem, column 15: expected a stride, a whole number of 0 or more, got '-1]'");
  EXPECT_EQ(complaint("gemm a=f32:[1 1]"),
            "problem, column 14: expected , or ] after a stride, got nothing");
  EXPECT_EQ(complaint("gemm a=f32:[1,1,1,1,1,1,1]"),
            "problem, column 25: expected at most 6 modes, got '1]'");
  for (const char* alignment : {"0", "3", "512", "x", "", "4294967297"}) {
    EXPECT_THAT(complaint(std::string("gemm a=f32@") + alignment),
                testing::HasSubstr("column 12: expected an alignment, a power of two up to 256"));
  }
}

TEST(ProblemParse, RefusesMalformedShapes) {
  EXPECT_EQ(complaint("elementwise shape=4x"),
            "problem, column 21: expected extents such as 2x64x64, or (), got nothing");
  EXPECT_EQ(complaint("elementwise shape=(4)"), "problem, column 20: expected ), got '4)'");
  EXPECT_EQ(complaint("elementwise shape=1x1x1x1x1x1x1"),
            "problem, column 31: expected at most 6 modes, got '1'");
  EXPECT_EQ(complaint("elementwise op=plus"),
            "problem, column 16: expected an elementwise operation such as add or relu, got "
            "'plus'");
}

TEST(ProblemParse, RefusesMalformedSizes) {
  EXPECT_EQ(complaint("gemm workspace=64MB"),
            "problem, column 18: expected KiB, MiB or GiB, got 'MB'; did you mean MiB?");
  EXPECT_EQ(complaint("gemm workspace=8589934592GiB"),
            "problem, column 16: expected at most 9223372036854775807 bytes, got "
            "'8589934592GiB'");
  EXPECT_EQ(Problem::parse("gemm workspace=8589934591GiB").controls.workspace_limit,
            std::int64_t{8589934591} << 30);
}

TEST(ProblemParse, RefusesMalformedEpilogues) {
  EXPECT_EQ(complaint("gemm epi=relu"),
            "problem, column 10: expected text in double quotes, got 'relu'");
  EXPECT_EQ(complaint(R"(gemm epi="relu)"),
            "problem, column 10: expected a closing double quote, got the end of the text");
  EXPECT_EQ(complaint(R"(gemm epi="a\n")"),
            "problem, column 13: expected \" or \\ after \\, got 'n'");
  EXPECT_EQ(complaint(R"(gemm epi="a\)"),
            "problem, column 13: expected \" or \\ after \\, got nothing");
  EXPECT_EQ(complaint(R"(gemm epi="a"b)"),
            "problem, column 13: expected a blank after the value of epi, got 'b'");
}

TEST(ProblemParse, RefusesAMegabyteAtOnce) {
  const std::string text = "gemm " + std::string(1 << 20, 'm');
  EXPECT_EQ(complaint(text),
            "problem, column 65537: expected at most 65536 characters, got 1048581");
}

TEST(ProblemParse, QuotesLittleOfWhatItFound) {
  EXPECT_EQ(complaint("gemm m=" + std::string(60000, 'q')),
            "problem, column 8: expected an extent, a whole number of 0 or more, got "
            "'qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq...'");
  EXPECT_THAT(complaint("gemm m=\x1b[31mred"), testing::HasSubstr("got '?[31mred'"));
}

TEST(ProblemPrint, IsCanonical) {
  EXPECT_EQ(Problem::parse("gemm workspace=65536KiB out=@4 k=3 b=:n a=f32:[3,1] n=2 m=1 l=0 "
                           "allow_tf32=0 deterministic=1 epi=\"a\\\\b\" acc=f64")
                .to_string(),
            "gemm m=1 n=2 k=3 l=0 a=f32:[3,1] b=:n out=@4 acc=f64 epi=\"a\\\\b\" deterministic=1 "
            "workspace=64MiB");
  EXPECT_EQ(Problem::parse("elementwise workspace=0 shape=() op=exp").to_string(),
            "elementwise op=exp shape=() workspace=0");
  EXPECT_EQ(Problem::parse("gemm workspace=1536").to_string(), "gemm workspace=1536");
  EXPECT_EQ(Problem::parse("gemm workspace=1024").to_string(), "gemm workspace=1KiB");
  EXPECT_EQ(Problem::parse("gemm workspace=2048GiB").to_string(), "gemm workspace=2048GiB");
}

TEST(ProblemComplete, FillsWhatIsAbsent) {
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 a=bf16"),
            "gemm m=1 n=2 k=3 l=1 a=bf16:t b=bf16:t out=f32:t acc=f32");
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 b=f64:n"),
            "gemm m=1 n=2 k=3 l=1 a=f64:t b=f64:n out=f64:t acc=f64");
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 a=i8 b=u8"),
            "gemm m=1 n=2 k=3 l=1 a=i8:t b=u8:t out=i32:t acc=i32");
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 a=i8 b=f16"),
            "gemm m=1 n=2 k=3 l=1 a=i8:t b=f16:t out=f32:t acc=f32");
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 a=f16 acc=f16"),
            "gemm m=1 n=2 k=3 l=1 a=f16:t b=f16:t out=f16:t acc=f16");
  EXPECT_EQ(completed("gemm m=1 n=2 k=3 a=f16:[3,1] out=@4"),
            "gemm m=1 n=2 k=3 l=1 a=f16:[3,1] b=f16:t out=f32:t@4 acc=f32");
  EXPECT_EQ(completed("elementwise op=add shape=4 a=f16"),
            "elementwise op=add shape=4 a=f16:t b=f16:t out=f16:t");
  EXPECT_EQ(completed("elementwise op=relu shape=4 a=f16 out=f32"),
            "elementwise op=relu shape=4 a=f16:t out=f32:t");
}

TEST(ProblemComplete, NamesWhatItCannotKnow) {
  EXPECT_EQ(complaint_of_complete("gemm n=2 k=3 a=f32"),
            "m: expected an extent such as m=128, got none");
  EXPECT_EQ(complaint_of_complete("gemm m=2 n=3 a=f32"),
            "k: expected an extent such as k=128, got none");
  EXPECT_EQ(complaint_of_complete("gemm m=2 n=3 k=4 out=f32"),
            "a: expected a dtype such as a=bf16, got none");
  EXPECT_EQ(complaint_of_complete("elementwise shape=4 a=f32"),
            "op: expected an operation such as op=add, got none");
  EXPECT_EQ(complaint_of_complete("elementwise op=relu a=f32"),
            "shape: expected the extents of out such as shape=64x64, got none");
  EXPECT_EQ(complaint_of_complete("elementwise op=relu shape=4 a=f32 b=f32"),
            "b: expected none, since relu has one operand, got a second");
  Problem both = Problem::parse("gemm m=1 n=1 k=1 a=f32:[1,1]");
  both.a.layout = Layout::n;
  expect_error([&] { both.complete(); }, "a: expected a layout letter or strides, got both");
}

TEST(ProblemArguments, DescribeTheOperands) {
  const auto arguments =
      Problem::parse("gemm m=5 n=3 k=8 a=bf16:n@8 b=bf16:t out=f32:t").arguments(Device::cuda(2));
  const GemmArguments& gemm = as_gemm(arguments);
  EXPECT_FALSE(gemm.has_data());
  EXPECT_EQ(gemm.device(), Device::cuda(2));
  EXPECT_EQ(gemm.extents(), (GemmExtents{5, 3, 8, 1}));
  EXPECT_EQ(gemm.a().tensor().rank(), 2);
  EXPECT_THAT(gemm.a().tensor().strides(), testing::ElementsAre(1, 5));
  EXPECT_THAT(gemm.b().tensor().strides(), testing::ElementsAre(3, 1));
  EXPECT_EQ(gemm.a().tensor().alignment(), 2);  // rows of five elements
  EXPECT_EQ(gemm.out().dtype(), Dtype::f32);
  const auto aligned = Problem::parse("gemm m=64 n=64 k=64 a=bf16:n@8").arguments();
  EXPECT_EQ(as_gemm(aligned).a().tensor().alignment(), 8);
  EXPECT_EQ(as_gemm(aligned).b().tensor().alignment(), 128);
}

TEST(ProblemArguments, HaveABatchModeWhereOneIsNeeded) {
  const auto batched = Problem::parse("gemm m=2 n=3 k=4 l=5 a=f32 b=f32:[1,4]").arguments();
  EXPECT_THAT(as_gemm(batched).a().tensor().shape(), testing::ElementsAre(5, 2, 4));
  EXPECT_THAT(as_gemm(batched).b().tensor().shape(), testing::ElementsAre(4, 3));
  EXPECT_EQ(as_gemm(batched).b_matrix().batch_stride, 0);
  const auto single = Problem::parse("gemm m=2 n=3 k=4 a=f32:[99,4,1]").arguments();
  EXPECT_EQ(as_gemm(single).out().rank(), 3);
}

TEST(ProblemArguments, CarryControlsAndEpilogue) {
  const auto arguments =
      Problem::parse("gemm m=2 n=3 k=4 a=f32 allow_tf32=1 epi=\"D = accum\"").arguments();
  EXPECT_TRUE(arguments->controls().allow_tf32);
  EXPECT_EQ(arguments->epilogue().text(), "D = accum");
}

TEST(ProblemArguments, AreCheckedLikeAnyOthers) {
  const auto complain = [](std::string_view text) {
    const auto error = error_of([&] { (void)Problem::parse(text).arguments(); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(complain("gemm m=2 n=3 k=4 a=f32 out=f32:[0,1]"),
            "out.strides: expected elements that do not coincide, got extents (2, 3) with strides "
            "(0, 1)");
  EXPECT_EQ(complain("gemm m=2 n=3 k=4 a=f32:[1,2,3,4]"),
            "A.strides: expected 2 strides (one for each mode), got 4");
  EXPECT_EQ(complain("gemm m=2 n=3 k=4 l=2 a=f32 out=:[3,1]"),
            "out.strides: expected 3 strides (one for each mode), got 2");
  EXPECT_EQ(complain("gemm m=4294967296 n=4294967296 k=4294967296 a=i8"),
            "A.shape: expected at most 2^63 - 1 bytes, got extents (4294967296, 4294967296) with "
            "strides (4294967296, 1)");
  EXPECT_EQ(complain("gemm m=4194304 n=4194304 k=4194304 a=i8"),
            "M * N * K * L: expected at most 2^63 - 1, got 4194304 * 4194304 * 4194304 * 1");
  EXPECT_EQ(complain("gemm m=2 n=3 k=4 a=f32@2"),
            "A.alignment: expected a power of two from 4 (f32) to 256 bytes, got 2");
  EXPECT_NE(complain("elementwise op=add shape=9223372036854775807x2x2 a=i8"), "");
}

std::string text_of(const RuntimeArguments& arguments) {
  return Problem::of(arguments).to_string();
}

TEST(ProblemOf, PrefersLetters) {
  const auto view = [](const Extents& shape, const Extents& strides) {
    return TensorView(at_address(4096 * static_cast<std::uintptr_t>(strides[0] + 1)), Dtype::f32,
                      shape, strides);
  };
  const TensorView out = TensorView::row_major(at_address(1 << 30), Dtype::bf16, {4, 8});
  EXPECT_EQ(text_of(GemmArguments(view({4, 8}, {8, 1}), view({8, 8}, {1, 8}), out, Dtype::f32)),
            "gemm m=4 n=8 k=8 l=1 a=f32:t b=f32:n out=bf16:t acc=f32");
  EXPECT_EQ(text_of(GemmArguments(view({4, 8}, {16, 1}), view({8, 8}, {1, 12}), out, Dtype::f32)),
            "gemm m=4 n=8 k=8 l=1 a=f32:[16,1] b=f32:[1,12] out=bf16:t acc=f32");
}

TEST(ProblemOf, ShowsRepeatedInputs) {
  const auto describe = [](const Extents& shape, const Extents& strides) {
    return TensorView::describe(Dtype::f32, shape, strides);
  };
  EXPECT_EQ(text_of(GemmArguments(describe({2, 4}, {4, 1}), describe({1, 4, 3}, {12, 3, 1}),
                                  describe({5, 2, 3}, {6, 3, 1}), Dtype::f32)),
            "gemm m=2 n=3 k=4 l=5 a=f32:[0,4,1] b=f32:[0,3,1] out=f32:t acc=f32");
  EXPECT_EQ(text_of(ElementwiseArguments(ElementwiseOp::add, describe({3}, {1}),
                                         describe({2, 1}, {1, 1}), describe({2, 3}, {3, 1}))),
            "elementwise op=add shape=2x3 a=f32:[0,1] b=f32:[1,0] out=f32:t");
}

TEST(ProblemOf, NamesAlignmentsThatStridesDoNotImply) {
  const auto gemm = [](std::uintptr_t address, std::int64_t k) {
    const TensorView a = TensorView::row_major(at_address(address), Dtype::bf16, {4, k});
    const TensorView b = TensorView::row_major(at_address(1 << 20), Dtype::bf16, {k, 8});
    const TensorView out = TensorView::row_major(at_address(1 << 21), Dtype::bf16, {4, 8});
    return Problem::of(GemmArguments(a, b, out, Dtype::f32)).a.alignment;
  };
  EXPECT_EQ(gemm(4096, 64), std::nullopt);
  EXPECT_EQ(gemm(4096 + 16, 64), std::nullopt);
  EXPECT_EQ(gemm(4096 + 8, 64), 8);
  EXPECT_EQ(gemm(4096 + 8, 33), std::nullopt);  // the strides allow 2 bytes anyway
}

TEST(ProblemOf, DescribesScales) {
  constexpr const char* kTwoLevels =
      "gemm m=130 n=70 k=300 l=3 a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16:t+tensor "
      "out=f32:t acc=f32";
  for (const char* text : {
           "gemm m=130 n=70 k=300 l=1 a=e4m3:t*1x128:n b=e4m3:n*128x128:t out=f32:t acc=f32",
           "gemm m=130 n=70 k=300 l=3 a=e4m3:t*row:t b=e5m2:n*tensor out=bf16:t acc=f32",
           kTwoLevels,
           "gemm m=8 n=8 k=256 l=1 a=i8:t*1x128:[5,2] b=i8:n*1x128:n out=f16:t acc=f32",
           "gemm m=8 n=8 k=64 l=2 a=e4m3:[64,1]*1x32:swizzled b=e4m3:n*1x32:n out=f32:t acc=f32",
       }) {
    EXPECT_EQ(Problem::of(*Problem::parse(text).arguments()).to_string(), text);
  }
}

TEST(ProblemComplete, ScalesDecideAccumulatorAndOutput) {
  Problem blocks = Problem::parse("gemm m=8 n=8 k=8 a=i8*1x128 b=i8*1x128");
  blocks.complete();
  EXPECT_EQ(blocks.accumulator_type, Dtype::f32);
  EXPECT_EQ(blocks.a.scale->layout, Layout::t);
  Problem rows = Problem::parse("gemm m=8 n=8 k=8 a=i8*row b=i8*row");
  rows.complete();
  EXPECT_EQ(rows.accumulator_type, Dtype::i32);
  EXPECT_EQ(rows.out.dtype, Dtype::f32);
}

TEST(ProblemParse, RefusesScalesThatMakeNoSense) {
  const auto refused = [](const char* text, const char* message) {
    expect_error([&] { (void)Problem::parse(text).arguments(); }, message, ErrorKind::value);
  };
  refused(
      "gemm m=8 n=8 k=8 a=e4m3*1x33",
      "problem, column 25: expected scales, tensor row 1x16 1x32 1x128 128x128, got '1x33'; did "
      "you mean 1x32?");
  refused("gemm m=8 n=8 k=8 a=e2m1*1x16+row",
          "problem, column 30: expected tensor or pow2 after +, got 'row'");
  refused(
      "gemm m=8 n=8 k=8 a=e4m3 out=e4m3*row",
      "out.scale: expected blockwise_1x128, 1x32 or 1x16, got rowwise (a given scale is a factor "
      "in the epilogue)");
  refused("gemm m=8 n=8 k=8 a=e4m3*1x128+pow2",
          "problem, column 35: expected +pow2 of out alone, got nothing");
  refused("gemm m=8 n=8 k=8 a=e4m3 out=e4m3*1x32+pow2",
          "out.powers_of_two: expected it with scales of f32, got e8m0");
  refused("gemm m=8 n=8 k=8 a=e4m3 out=e4m3*1x128:swizzled",
          "out.swizzle: expected none with mode blockwise_1x128, got swizzle_32x4x4");
  refused("gemm m=8 n=8 k=8 a=e2m1*1x16 b=e2m1 out=e2m1*1x16+tensor",
          "out.tensor_scale: expected none, got one");
  refused("grouped_gemm m=8 n=8 k=8 g=2 a=bf16 out=e4m3*1x128",
          "out: expected no scales of grouped products, got some");
  refused("gemm m=8 n=8 k=8 a=e4m3*tensor:t b=e4m3",
          "a: expected no layout of tensor scales, got one");
  refused("gemm m=8 n=8 k=8 a=e4m3*row:swizzled b=e4m3",
          "A.swizzle: expected none with mode rowwise, got swizzle_32x4x4");
}

TEST(ProblemText, OfQuantisedOutputsIsReadAgain) {
  for (const char* out : {"e4m3:t*1x128:t", "e5m2:n*1x128:n+pow2", "e2m1:t*1x16:t",
                          "e4m3:t*1x32:swizzled", "e2m1:t*1x16:swizzled"}) {
    const std::string text =
        std::string("gemm m=8 n=300 k=8 l=1 a=bf16:t b=bf16:t out=") + out + " acc=f32";
    EXPECT_EQ(Problem::parse(text).to_string(), text);
    EXPECT_EQ(Problem::of(*Problem::parse(text).arguments()).to_string(), text);
  }
  const auto arguments = Problem::parse("gemm m=8 n=300 k=8 a=e4m3 out=*1x128").arguments();
  const auto& gemm = static_cast<const GemmArguments&>(*arguments);
  EXPECT_EQ(gemm.out().dtype(), Dtype::e4m3);
  EXPECT_EQ(gemm.result_dtype(), Dtype::f32);
  EXPECT_EQ(gemm.out_scaled()->scale.shape(1), 3);
}

TEST(OperandStrides, FollowsTheSpec) {
  EXPECT_EQ(operand_strides({}, {2, 3, 4}), (Extents{12, 4, 1}));
  EXPECT_EQ(operand_strides({{}, Layout::n, {}, {}}, {2, 3, 4}), (Extents{12, 1, 3}));
  EXPECT_EQ(operand_strides({{}, Layout::n, {}, {}}, {4}), (Extents{1}));
  EXPECT_EQ(operand_strides({{}, {}, {5, 6}, {}}, {2, 3}), (Extents{5, 6}));
  expect_error(
      [] {
        (void)operand_strides({{}, {}, {5, 6}, {}}, {2});
      },
      "tensor.strides: expected 1 strides (one for each mode), got 2");
}

}  // namespace
}  // namespace estoc::test

// Metadata and the text form of filters.
#include "estoc/metadata.hpp"
#include "support.h"

namespace estoc::test {
namespace {

KernelMetadata gemm_kernel() {
  KernelMetadata kernel;
  kernel.name = "sm90_gemm-bf16-bf16-f32-f16-tnt-tile128x256x64";
  kernel.kernel_class = "sm90_gemm";
  kernel.provider = "cuda";
  kernel.min_cc = 90;
  kernel.targets = {Target::sm(90, true), Target::sm(100, true)};
  kernel.operands = GemmOperandsMetadata{{Dtype::bf16, LayoutConstraint::t, 16},
                                         {Dtype::e4m3, LayoutConstraint::n, 8},
                                         {Dtype::f16, LayoutConstraint::any, 2},
                                         Dtype::f32};
  kernel.design = {Shape3{128, 256, 64}, {2, 1, 1}, Shape3{64, 256, 16}, 4, "pingpong", 1};
  kernel.epilogue = "D = relu(accum), aux = accum";
  return kernel;
}

KernelMetadata elementwise_kernel() {
  KernelMetadata kernel;
  kernel.name = "cpu_elementwise-add";
  kernel.kernel_class = "cpu_elementwise";
  kernel.provider = "cpu";
  kernel.operation = Operation::elementwise;
  kernel.targets = {Target::cpu()};
  kernel.operands = ElementwiseOperandsMetadata{
      {Dtype::f32, {}, 4}, {Dtype::f32, {}, 4}, {Dtype::f64, {}, 8}, ElementwiseOp::add};
  return kernel;
}

bool accepts(std::string_view text, const KernelMetadata& kernel = gemm_kernel()) {
  return MetadataFilter::parse(text)(kernel);
}

std::string complaint(std::string_view text) {
  const auto error = error_of([&] { (void)MetadataFilter::parse(text); });
  EXPECT_TRUE(!error || error->kind() == ErrorKind::value);
  return error ? error->what() : "";
}

TEST(TensorAttributes, DivisibilityCountsElements) {
  EXPECT_EQ((TensorAttributes{Dtype::bf16, LayoutConstraint::t, 16}.divisibility()), 8);
  EXPECT_EQ((TensorAttributes{Dtype::i4, LayoutConstraint::t, 16}.divisibility()), 32);
  EXPECT_EQ((TensorAttributes{Dtype::f64, LayoutConstraint::t, 8}.divisibility()), 1);
  EXPECT_EQ((TensorAttributes{Dtype::f64, LayoutConstraint::t, 1}.divisibility()), 1);
}

TEST(KernelMetadata, TellsItsOperation) {
  EXPECT_NE(gemm_kernel().gemm(), nullptr);
  EXPECT_EQ(gemm_kernel().elementwise(), nullptr);
  EXPECT_NE(elementwise_kernel().elementwise(), nullptr);
}

TEST(MetadataFilter, AcceptsAllByDefault) {
  EXPECT_TRUE(MetadataFilter().accepts_all());
  EXPECT_TRUE(MetadataFilter()(gemm_kernel()));
  EXPECT_TRUE(MetadataFilter::parse("").accepts_all());
  EXPECT_TRUE(MetadataFilter::parse(" \t\n ").accepts_all());
}

TEST(MetadataFilter, TakesAnyPredicate) {
  const MetadataFilter filter([](const KernelMetadata& kernel) { return kernel.min_cc >= 90; });
  EXPECT_FALSE(filter.accepts_all());
  EXPECT_TRUE(filter(gemm_kernel()));
  EXPECT_FALSE(filter(elementwise_kernel()));
}

TEST(MetadataFilter, LooksAtEveryKey) {
  const KernelMetadata elementwise = elementwise_kernel();
  const std::vector<std::pair<std::string, std::string>> right_and_wrong{
      {"name=sm90_gemm-bf16-bf16-f32-f16-tnt-tile128x256x64", "name=sm90_gemm"},
      {"class=sm90_gemm", "class=sm80_gemm"},
      {"provider=cuda", "provider=cpu"},
      {"operation=gemm", "operation=elementwise"},
      {"target=sm_90a", "target=sm_80"},
      {"min_cc=90", "min_cc=80"},
      {"a=bf16", "a=e4m3"},
      {"b=e4m3", "b=bf16"},
      {"out=f16", "out=f32"},
      {"acc=f32", "acc=f16"},
      {"layouts=tnx", "layouts=tnt"},
      {"tile=128x256x64", "tile=256x128x64"},
      {"cluster=2x1", "cluster=1x2"},
      {"cluster=2x1x1", "cluster=2x1x2"},
      {"instruction=64x256x16", "instruction=64x128x16"},
      {"stages=4", "stages=3"},
      {"schedule=pingpong", "schedule=cooperative"},
      {"split=1", "split=2"},
      {"align_a=16", "align_a=8"},
      {"align_b=8", "align_b=16"},
      {"align_out=2", "align_out=16"},
      {"epilogue=\"D = relu(accum), aux = accum\"", "epilogue=\"\""},
  };
  for (const auto& [right, wrong] : right_and_wrong) {
    EXPECT_TRUE(accepts(right)) << right;
    EXPECT_FALSE(accepts(wrong)) << wrong;
    const std::string not_right = std::string(right).insert(right.find('='), "!");
    EXPECT_FALSE(accepts(not_right)) << not_right;
  }
  EXPECT_TRUE(accepts("op=add a=f32 out=f64 align_out=8 operation=elementwise target=cpu min_cc=0",
                      elementwise));
  EXPECT_FALSE(accepts("op=sub", elementwise));
}

TEST(MetadataFilter, HasNothingWhereThereIsNoSuchProperty) {
  EXPECT_FALSE(accepts("op=add"));
  EXPECT_TRUE(accepts("op!=add"));
  EXPECT_FALSE(accepts("acc=f*", elementwise_kernel()));
  EXPECT_TRUE(accepts("acc!=f32", elementwise_kernel()));
  EXPECT_FALSE(accepts("tile=1*", elementwise_kernel()));
  EXPECT_TRUE(accepts("instruction!=64x256x16", elementwise_kernel()));
  EXPECT_TRUE(accepts("schedule=\"\" epilogue=\"\"", elementwise_kernel()));
}

TEST(MetadataFilter, UnaryOperationsHaveNoB) {
  KernelMetadata unary = elementwise_kernel();
  EXPECT_TRUE(accepts("b=f32", unary));
  EXPECT_TRUE(accepts("align_b=4", unary));
  std::get<ElementwiseOperandsMetadata>(unary.operands).op = ElementwiseOp::relu;
  EXPECT_FALSE(accepts("b=f32", unary));
  EXPECT_FALSE(accepts("align_b=4", unary));
  EXPECT_TRUE(accepts("b!=f32", unary));
}

TEST(MetadataFilter, NeedsEveryTerm) {
  EXPECT_TRUE(accepts("class=sm90_gemm  tile=128x256x64\tstages=4"));
  EXPECT_FALSE(accepts("class=sm90_gemm tile=128x256x64 stages=3"));
  EXPECT_FALSE(accepts("stages=3 class=sm90_gemm"));
  EXPECT_TRUE(accepts("name=sm90* name!=sm80*"));
}

TEST(MetadataFilter, TakesAlternatives) {
  EXPECT_TRUE(accepts("a=f16,bf16"));
  EXPECT_FALSE(accepts("a=f16,f32"));
  EXPECT_FALSE(accepts("a!=f16,bf16"));
  EXPECT_TRUE(accepts("a!=f16,f32"));
  EXPECT_TRUE(accepts("target=sm_80,sm_100a"));
  EXPECT_FALSE(accepts("target!=sm_80,sm_100a"));
  EXPECT_TRUE(accepts("epilogue=\"\",\"D = relu(accum), aux = accum\""));
}

TEST(MetadataFilter, TakesBeginnings) {
  EXPECT_TRUE(accepts("name=sm90*"));
  EXPECT_FALSE(accepts("name=gemm*"));
  EXPECT_TRUE(accepts("a=bf*,x*"));
  EXPECT_TRUE(accepts("tile=128x*"));
  EXPECT_TRUE(accepts("schedule=*"));
  EXPECT_TRUE(accepts("epilogue=\"D = \"*"));
  EXPECT_FALSE(accepts("schedule!=ping*"));
}

TEST(MetadataFilter, RefusesUnknownKeys) {
  EXPECT_EQ(complaint("a=f32 tiel=1x1x1"),
            "filter, column 7: expected a key (name class provider operation target min_cc a b out "
            "acc layouts op tile cluster instruction stages schedule split align_a align_b "
            "align_out epilogue), got 'tiel'; did you mean tile?");
  EXPECT_THAT(complaint("=1"), testing::HasSubstr("column 1: expected a key"));
}

TEST(MetadataFilter, RefusesWhatIsMissing) {
  EXPECT_EQ(complaint("stages"), "filter, column 7: expected = or != after stages, got nothing");
  EXPECT_EQ(complaint("stages!4"), "filter, column 8: expected != after stages, got '4'");
  EXPECT_EQ(complaint("stages="), "filter, column 8: expected a value of stages, got nothing");
  EXPECT_EQ(complaint("name= class=x"), "filter, column 6: expected a value of name, got nothing");
  EXPECT_EQ(complaint("a=f16, b=f16"), "filter, column 7: expected a value of a, got nothing");
  EXPECT_EQ(complaint("a=,f16"), "filter, column 3: expected a value of a, got ',f16'");
}

TEST(MetadataFilter, RefusesValuesThatAKeyCannotHave) {
  EXPECT_EQ(complaint("a=bf17"), "filter, column 3: expected a dtype such as bf16, got 'bf17'");
  EXPECT_EQ(complaint("stages=four"),
            "filter, column 8: expected a whole number of 0 or more, got 'four'");
  EXPECT_EQ(complaint("stages=04"),
            "filter, column 8: expected a whole number of 0 or more, got '04'");
  EXPECT_NE(complaint("tile=128x064"), "");
  EXPECT_EQ(complaint("tile=128"),
            "filter, column 6: expected a shape such as 128x256x64, got '128'");
  EXPECT_NE(complaint("tile=128x"), "");
  EXPECT_NE(complaint("tile=1x2x3x4"), "");
  EXPECT_EQ(complaint("layouts=tt"),
            "filter, column 9: expected layouts of A, B and out such as tnt, x for any, got 'tt'");
  EXPECT_EQ(
      complaint("operation=conv"),
      "filter, column 11: expected an operation, gemm, elementwise or grouped_gemm, got 'conv'");
  EXPECT_EQ(complaint("target=cpu,sm_1"),
            "filter, column 12: expected a target such as cpu or sm_90a, got 'sm_1'");
  EXPECT_EQ(complaint("op=plus"),
            "filter, column 4: expected an elementwise operation such as add, got 'plus'");
}

TEST(MetadataFilter, RefusesStarsAndQuotesInTheMiddle) {
  EXPECT_EQ(complaint("name=sm*gemm"), "filter, column 8: expected * at the end of a value only");
  EXPECT_EQ(complaint("epilogue=\"a\"b"),
            "filter, column 13: expected a blank after the value of epilogue, got 'b'");
  EXPECT_EQ(complaint("epilogue=\"a"),
            "filter, column 10: expected a closing double quote, got the end of the text");
}

TEST(MetadataFilter, RefusesAMegabyteAtOnce) {
  EXPECT_EQ(complaint("name=" + std::string(1 << 20, 'x')),
            "filter, column 65537: expected at most 65536 characters, got 1048581");
}

TEST(MetadataFilter, AnyTextParsesOrNamesAColumn) {
  EXPECT_TRUE(rc::check([] {
    std::string text;
    const int pieces = uniform(0, 8);
    for (int i = 0; i < pieces; ++i) {
      text += flip() ? *rc::gen::element<std::string>("name", "a", "tile", "=", "!=", ",", " ", "*",
                                                      "\"", "\\", "bf16", "1x1", "4")
                     : *rc::gen::arbitrary<std::string>();
    }
    const auto error = error_of([&] { (void)MetadataFilter::parse(text)(gemm_kernel()); });
    if (error) RC_ASSERT(std::string(error->what()).starts_with("filter, column "));
  }));
}

}  // namespace
}  // namespace estoc::test

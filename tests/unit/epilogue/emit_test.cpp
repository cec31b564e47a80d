// The device code of epilogues is what the goldens say, which the emulator's tests run.
#include "epilogue/emit.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "estoc/epilogue.hpp"
#include "graphs.h"

namespace estoc {
namespace {

using epilogue_test::GraphBuilder;

TEST(EmitEpilogue, GivesTheGoldens) {
  for (const auto& [name, graph, transposed] : epilogue_test::goldens()) {
    const std::string path =
        fmt::format("{}/tests/golden/epilogues/{}.cuh", ESTOC_SOURCE_DIR, name);
    const std::string text = emit_epilogue(graph, transposed);
    if (std::getenv("ESTOC_WRITE_GOLDENS") != nullptr) std::ofstream(path) << text;
    std::stringstream golden;
    golden << std::ifstream(path).rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
  }
}

TEST(EmitEpilogue, NumbersReadBackAsTheSame) {
  GraphBuilder b("");
  const auto third = b.op(EpilogueOp::mul, {GraphBuilder::kAccumulator, b.literal(1.0 / 3)});
  const auto huge = b.op(EpilogueOp::add, {third, b.literal(-INFINITY)});
  const auto integer =
      b.op_of(EpilogueType::i32, EpilogueOp::add,
              {b.literal(-2147483648.0, EpilogueType::i32), b.literal(7, EpilogueType::i32)});
  const auto wide =
      b.op_of(EpilogueType::f64, EpilogueOp::add, {integer, b.literal(0.1, EpilogueType::f64)});
  b.store(huge, Dtype::f32).store(wide, Dtype::f64);
  const std::string text = emit_epilogue(b.build(), false);
  EXPECT_NE(text.find("ep::mul(accum, 0.33333334f)"), std::string::npos) << text;
  EXPECT_NE(text.find("-ep::from_bits<float>(0x7f800000)"), std::string::npos) << text;
  EXPECT_NE(text.find("ep::add((-2147483647 - 1), 7)"), std::string::npos) << text;
  EXPECT_NE(text.find("ep::to<double>(x"), std::string::npos) << text;
  EXPECT_NE(text.find(", 0.1)"), std::string::npos) << text;
}

// A node of it may count as f64 where an input is; the kernel hands it over as it is.
TEST(EmitEpilogue, AnAccumulatorOfF32IsWidenedBesideF64) {
  const auto graph =
      parse_epilogue_graph("acc f32; t0 f64 lmn; v2 = sub accum t0; store f64 v2; store f32 accum");
  const std::string text = emit_epilogue(*graph, false);
  EXPECT_NE(text.find("ep::sub(ep::to<double>(accum), x1)"), std::string::npos) << text;
  EXPECT_NE(text.find("out.template store<1>(ep::to<double>(accum))"), std::string::npos) << text;
}

TEST(EpilogueCost, CountsWhatIsHeldAtATime) {
  EXPECT_EQ(
      epilogue_cost(epilogue_test::bias(EpilogueOp::relu, Dtype::bf16, Dtype::bf16)).live_registers,
      3);
  const EpilogueGraph mixed = epilogue_test::mixed(EpilogueType::f32, Dtype::f32);
  EXPECT_GE(epilogue_cost(mixed).live_registers, 6);
  EXPECT_LE(epilogue_cost(mixed).live_registers, 10);
  EXPECT_EQ(epilogue_cost(epilogue_test::bias(EpilogueOp::silu, Dtype::bf16, Dtype::bf16)).special,
            2);
}

}  // namespace
}  // namespace estoc

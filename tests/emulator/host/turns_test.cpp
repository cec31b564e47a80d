// Which kernels of these tests are due: all without a file, each in its turn with one.
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "emulated.h"

namespace estoc::turns_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);

Kernel sm90_kernel() {
  const Problem problem = Problem::parse("gemm m=64 n=64 k=64 a=bf16 b=bf16:n out=bf16");
  return kernels_of(*problem.arguments(), kTarget, "class=sm90_gemm").front();
}

testing_support::Turns turns_of(const std::string& text) {
  const std::string path = testing::TempDir() + "turns_" + std::to_string(::getpid()) + ".txt";
  std::ofstream(path) << text;
  testing_support::Turns turns(path);
  std::filesystem::remove(path);
  return turns;
}

/// How many of so many neighbouring numbers are due.
int due_of(const testing_support::Turns& turns, std::uint64_t count) {
  const Kernel kernel = sm90_kernel();
  int due = 0;
  for (std::uint64_t number = 0; number < count; ++number)
    due += turns.is_due(kernel, kTarget, number) ? 1 : 0;
  return due;
}

TEST(Turns, AllAreDueWithoutAFileAndWhereItSaysSo) {
  EXPECT_EQ(due_of(testing_support::Turns(), 216), 216);
  EXPECT_EQ(due_of(turns_of("1 0\n"), 216), 216);
}

TEST(Turns, EachHasOneTurnInSoManyDays) {
  int due = 0;
  for (int day = 0; day < 8; ++day)
    due += due_of(turns_of("8 " + std::to_string(day) + "\n"), 216);
  EXPECT_EQ(due, 216);
}

TEST(Turns, AHeaderOfTheKernelHasItsOwnDays) {
  EXPECT_EQ(due_of(turns_of("8 5\nestoc/kernels/sm90_gemm.cuh 1\n"), 216), 216);
  EXPECT_EQ(due_of(turns_of("8 5\nestoc/kernels/sm90_gemm.cuh 3\n"), 216), 72);
  EXPECT_EQ(due_of(turns_of("8 5\nestoc/kernels/simt_gemm.cuh 1\n"), 216), 27);
}

TEST(Turns, FilesOfTestsThatChangedAreKnown) {
  const auto turns =
      turns_of("8 5\nestoc/kernels/sm90_gemm.cuh 3\ntests/emulator/host/f64_test.cpp 1\n");
  EXPECT_TRUE(turns.has_changed("/somewhere/tests/emulator/host/f64_test.cpp"));
  EXPECT_FALSE(turns.has_changed("/somewhere/tests/emulator/host/f32_test.cpp"));
  EXPECT_EQ(due_of(turns, 216), 72);
}

TEST(Turns, AFileThatIsNoneIsRefused) {
  EXPECT_THROW(testing_support::Turns("/no/such/file"), std::invalid_argument);
  EXPECT_THROW(turns_of("8 5\nheader days\n"), std::invalid_argument);
  EXPECT_THROW(turns_of("0 5\n"), std::invalid_argument);
}

}  // namespace
}  // namespace estoc::turns_test

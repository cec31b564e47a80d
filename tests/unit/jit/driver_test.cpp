// What a failed call of the driver says, on a table that no driver stands behind.
#include "jit/driver.h"

#include <gtest/gtest.h>

#include <string>

namespace estoc::jit {
namespace {

CUresult fake_name(CUresult code, const char** name) {
  *name = code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER";
  return kCudaSuccess;
}

CUresult fake_text(CUresult /*code*/, const char** text) {
  *text = "the driver's words";
  return kCudaSuccess;
}

DriverError error_of(CUresult code) {
  DriverTable table{};
  table.get_error_name = fake_name;
  table.get_error_string = fake_text;
  try {
    table.check(code, "cuSomeCall");
  } catch (const DriverError& error) {
    return error;
  }
  throw std::logic_error("no error");
}

bool says_sticky(CUresult code) {
  const std::string text = error_of(code).what();
  return text.find("ran earlier") != std::string::npos &&
         text.find("can no longer be used") != std::string::npos;
}

TEST(DriverCheck, SuccessIsNoError) {
  EXPECT_NO_THROW(DriverTable{}.check(kCudaSuccess, "cuSomeCall"));
}

TEST(DriverCheck, NamesTheCallAndTheDriversWords) {
  const DriverError error = error_of(719);
  EXPECT_EQ(error.kind(), ErrorKind::driver);
  EXPECT_EQ(error.code(), 719);
  EXPECT_EQ(std::string(error.what()).rfind("cuSomeCall: CUDA_ERROR_LAUNCH_FAILED (", 0), 0U)
      << error.what();
}

TEST(DriverCheck, ErrorsThatStayWithTheContextSaySo) {
  for (const CUresult code : {214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721}) {
    EXPECT_TRUE(says_sticky(code)) << code;
  }
}

TEST(DriverCheck, OtherErrorsAreTheCallsOwn) {
  for (const CUresult code : {1, 2, 100, 201, 500, 701, 709}) {
    EXPECT_FALSE(says_sticky(code)) << code;
  }
  EXPECT_EQ(error_of(2).kind(), ErrorKind::memory);
}

}  // namespace
}  // namespace estoc::jit

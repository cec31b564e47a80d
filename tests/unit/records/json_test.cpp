// Records of tuned kernels as JSON: what is written is read back, and every mistake is named.
#include "records/json.h"

#include <gtest/gtest.h>

#include <string>

#include "estoc/status.hpp"

namespace estoc::records {
namespace {

TunedKernel full_record() {
  return {.device = "NVIDIA H200",
          .cc = 90,
          .driver = "13.0",
          .library = "0.1.0",
          .signature = "gemm m=1",
          .problem = "gemm m=1 \"quoted\"",
          .kernel = "sm90_gemm-x",
          .knobs = {.raster = Knobs::Raster::along_n, .swizzle = 4, .split = 2, .zigzag = true},
          .seconds = 1.25e-6,
          .predicted_seconds = 1e-6,
          .runner_up = "sm90_gemm-y",
          .runner_up_seconds = 2e-6,
          .noise = 0.01,
          .candidates = 7,
          .rounds = 3,
          .time = 1'700'000'000};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  try {
    (void)from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value);
    return error.what();
  }
  return "none";
}

TEST(RecordsAsJson, ComeBackAsTheyWere) {
  TunedKernel other = full_record();
  other.predicted_seconds.reset();
  other.runner_up.clear();
  other.problem = "caf\xc3\xa9";
  const std::vector<TunedKernel> records{full_record(), other};
  EXPECT_EQ(from_json(to_json(records)), records);
  EXPECT_TRUE(from_json(to_json({})).empty());
}

TEST(RecordsAsJson, BytesThatAreNoTextAreReplaced) {
  TunedKernel record = full_record();
  record.problem = "a\xff";
  EXPECT_EQ(from_json(to_json({record})).at(0).problem, "a\xef\xbf\xbd");
}

TEST(RecordsAsJson, AMistakeIsNamedWithItsRecord) {
  const std::string text = to_json({full_record(), full_record()});
  EXPECT_EQ(complaint(replaced(text, "\"schema\": 1", "\"schema\": 2")),
            "tuned kernels: expected schema 1, got 2");
  EXPECT_EQ(complaint(R"({"schema": 1, "tuned": {}})"), "tuned kernels: expected a list as tuned");
  EXPECT_EQ(complaint(replaced(text, "\"cc\": 90", "\"cc\": 9.5")),
            "record 1: tuned kernels: expected a whole number that fits as cc");
  EXPECT_EQ(complaint(replaced(text, "\"cc\": 90", "\"cc\": 3000000000")),
            "record 1: tuned kernels: expected a whole number that fits as cc");
  EXPECT_EQ(complaint(replaced(text, "\"noise\": 0.01", "\"noise\": \"0.01\"")),
            "record 1: tuned kernels: expected a number as noise");
  EXPECT_EQ(complaint(replaced(text, "1.25e-06", "-1")),
            "record 1: tuned kernels: seconds: expected more than 0, got -1");
  std::string second = text;
  const std::size_t last = second.rfind("\"swizzle\": 4");
  second.replace(last, 12, "\"swizzle\": 0");
  EXPECT_EQ(complaint(second).substr(0, 10), "record 2: ");
}

TEST(RecordsAsJson, WhatIsNoJsonOrNestsDeeplyIsRefused) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"),
                                  std::string("{\"schema\": 1}"), std::string(100000, '[')}) {
    EXPECT_NE(complaint(text), "none") << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace estoc::records

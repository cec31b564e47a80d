// Fills and copies of the virtual GPU stay within one allocation, as those of a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "virtual_driver.h"

namespace {

using namespace estoc::jit;
using estoc::testing::VirtualDriver;

constexpr std::size_t kBytes = 64;

/// The virtual driver and, on its first device, two allocations of kBytes.
class VirtualMemory : public VirtualDriver {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(VirtualDriver::SetUp());
    for (CUdeviceptr& address : memory_) {
      ASSERT_EQ(call<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&address, kBytes),
                kCudaSuccess);
      ASSERT_EQ(fill(address, 7, kBytes), kCudaSuccess);
    }
  }
  void TearDown() override {
    for (const CUdeviceptr address : memory_)
      call<CUresult(CUdeviceptr)>("cuMemFree_v2")(address);
  }

  CUresult fill(CUdeviceptr to, unsigned char value, std::size_t bytes) const {
    return call<CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream)>("cuMemsetD8Async")(
        to, value, bytes, nullptr);
  }
  CUresult fill_words(CUdeviceptr to, unsigned value, std::size_t count) const {
    return call<CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)>("cuMemsetD32Async")(
        to, value, count, nullptr);
  }
  CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                CUstream stream = nullptr) const {
    return call<CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>("cuMemcpyDtoDAsync_v2")(
        to, from, bytes, stream);
  }
  std::vector<unsigned char> bytes(std::size_t allocation) const {
    std::vector<unsigned char> read(kBytes);
    EXPECT_EQ((call<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(
                  read.data(), memory_[allocation], kBytes)),
              kCudaSuccess);
    return read;
  }
  /// Whether nothing has been written since the beginning.
  void expect_untouched() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      EXPECT_EQ(bytes(i), std::vector<unsigned char>(kBytes, 7));
  }

  std::array<CUdeviceptr, 2> memory_{};
};

TEST_F(VirtualMemory, AFillWithinAnAllocationIsMade) {
  EXPECT_EQ(fill(memory_[0] + 3, 9, 5), kCudaSuccess);
  EXPECT_EQ(fill_words(memory_[1] + 60, 0x01020304, 1), kCudaSuccess);
  std::vector<unsigned char> expected(kBytes, 7);
  std::fill_n(expected.begin() + 3, 5, 9);
  EXPECT_EQ(bytes(0), expected);
  expected.assign(kBytes, 7);
  for (unsigned char i = 0; i < 4; ++i)
    expected[60 + i] = static_cast<unsigned char>(4 - i);
  EXPECT_EQ(bytes(1), expected);
}

TEST_F(VirtualMemory, AFillOutsideAnAllocationIsRefused) {
  EXPECT_EQ(fill(memory_[0], 9, kBytes + 1), kCudaErrorInvalidValue);
  EXPECT_EQ(fill(memory_[0] + 1, 9, kBytes), kCudaErrorInvalidValue);
  EXPECT_EQ(fill_words(memory_[0] + 4, 9, kBytes / 4), kCudaErrorInvalidValue);
  // A host's own address is none of the device.
  unsigned word = 5;
  EXPECT_EQ(fill_words(reinterpret_cast<std::uintptr_t>(&word), 9, 1), kCudaErrorInvalidValue);
  EXPECT_EQ(word, 5u);
  expect_untouched();
}

TEST_F(VirtualMemory, AnExtentThatWrapsIsRefused) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(fill(memory_[0] + 8, 9, kMax - 4), kCudaErrorInvalidValue);
  EXPECT_EQ(fill_words(memory_[0], 9, kMax / 4 + 2), kCudaErrorInvalidValue);
  EXPECT_EQ(copy(memory_[1] + 8, memory_[0], kMax - 4), kCudaErrorInvalidValue);
  expect_untouched();
}

TEST_F(VirtualMemory, WordsAreFilledWhereWordsMayBe) {
  EXPECT_EQ(fill_words(memory_[0] + 2, 9, 1), kCudaErrorInvalidValue);
  expect_untouched();
}

TEST_F(VirtualMemory, ACopyStaysWithinItsAllocations) {
  EXPECT_EQ(copy(memory_[0], memory_[1] + 1, kBytes), kCudaErrorInvalidValue);
  EXPECT_EQ(copy(memory_[0] + 1, memory_[1], kBytes), kCudaErrorInvalidValue);
  expect_untouched();
}

TEST_F(VirtualMemory, WhatWasFreedIsNotFilled) {
  const CUdeviceptr freed = memory_[0];
  ASSERT_EQ(call<CUresult(CUdeviceptr)>("cuMemFree_v2")(freed), kCudaSuccess);
  EXPECT_EQ(fill(freed, 9, 1), kCudaErrorInvalidValue);
  ASSERT_EQ((call<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&memory_[0], kBytes)),
            kCudaSuccess);
}

TEST_F(VirtualMemory, WhatIsUploadedIsThereForStreamsThatWaitForIt) {
  constexpr unsigned kNonBlocking = 1;
  const std::vector<unsigned char> old(kBytes, 7);
  unsigned char value = 0;
  for (const unsigned flags : {kNonBlocking, 0U}) {
    CUstream stream = nullptr;
    ASSERT_EQ((call<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, flags)),
              kCudaSuccess);
    for (const bool waits : {false, true}) {
      ASSERT_EQ(fill(memory_[0], 7, kBytes), kCudaSuccess);
      const std::vector<unsigned char> uploaded(kBytes, ++value);
      ASSERT_EQ((call<CUresult(CUdeviceptr, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
                    memory_[0], uploaded.data(), kBytes)),
                kCudaSuccess);
      if (waits) {
        ASSERT_EQ(call<CUresult(CUstream)>("cuStreamSynchronize")(nullptr), kCudaSuccess);
      }
      ASSERT_EQ(copy(memory_[1], memory_[0], kBytes, stream), kCudaSuccess);
      EXPECT_EQ(bytes(1), waits || flags == 0 ? uploaded : old);
    }
    call<CUresult(CUstream)>("cuStreamDestroy_v2")(stream);
  }
}

}  // namespace

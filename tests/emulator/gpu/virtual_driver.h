// The virtual driver, opened for tests that ask it alone, with its first device's context current.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "jit/cuda_types.h"

namespace estoc::testing {

class VirtualDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(library_, nullptr) << ::dlerror();
    ASSERT_EQ(call<jit::CUresult(unsigned)>("cuInit")(0), jit::kCudaSuccess);
    jit::CUcontext context = nullptr;
    ASSERT_EQ(call<jit::CUresult(jit::CUcontext*, jit::CUdevice)>("cuDevicePrimaryCtxRetain")(
                  &context, 0),
              jit::kCudaSuccess);
    ASSERT_EQ(call<jit::CUresult(jit::CUcontext)>("cuCtxPushCurrent_v2")(context),
              jit::kCudaSuccess);
  }

  template <typename Function>
  Function* call(const std::string& name) const {
    void* found = ::dlsym(library_, name.c_str());
    if (found == nullptr) throw std::runtime_error("the virtual driver has no " + name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* library_ = ::dlopen(ESTOC_TEST_VIRTUAL_DRIVER, RTLD_NOW | RTLD_LOCAL);
};

}  // namespace estoc::testing

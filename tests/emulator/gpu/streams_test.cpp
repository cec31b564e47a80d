// Streams, captures and graphs of the virtual GPU are as strict as those of a GPU.
#include <array>
#include <bit>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "image.h"
#include "virtual_driver.h"

namespace {

using namespace estoc::jit;
using estoc::testing::VirtualDriver;

constexpr CUresult kNotReady = 600;
constexpr CUresult kLaunchFailed = 719;
constexpr CUresult kCaptureUnsupported = 900;
constexpr CUresult kCaptureInvalidated = 901;
constexpr CUresult kCapturedEvent = 907;
constexpr int kGlobal = 0;
constexpr int kThreadLocal = 1;
constexpr int kRelaxed = 2;

std::string image_source() {
  return "extern \"C\" __global__ void nothing() {}\n";
}

std::string image() {
  return estoc::virtual_gpu::write_image(
      {.name = "nothing", .target = estoc::Target::sm(90, true), .source = image_source()});
}

class VirtualStreams : public VirtualDriver {
 protected:
  CUstream create() const {
    CUstream stream = nullptr;
    EXPECT_EQ((call<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 1)), kCudaSuccess);
    return stream;
  }
  CUresult destroy(CUstream stream) const {
    return call<CUresult(CUstream)>("cuStreamDestroy_v2")(stream);
  }
  CUresult get_id(CUstream stream, unsigned long long* id) const {
    return call<CUresult(CUstream, unsigned long long*)>("cuStreamGetId")(stream, id);
  }
  unsigned long long id(CUstream stream) const {
    unsigned long long id = 0;
    EXPECT_EQ(get_id(stream, &id), kCudaSuccess);
    return id;
  }
  CUresult begin(CUstream stream, int mode) const {
    return call<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream, mode);
  }
  CUresult end(CUstream stream, CUgraph* graph) const {
    return call<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, graph);
  }
  CUevent event() const {
    CUevent event = nullptr;
    EXPECT_EQ((call<CUresult(CUevent*, unsigned)>("cuEventCreate")(&event, 0)), kCudaSuccess);
    return event;
  }
  CUresult record(CUevent event, CUstream stream) const {
    return call<CUresult(CUevent, CUstream)>("cuEventRecord")(event, stream);
  }
  CUresult query(CUevent event) const { return call<CUresult(CUevent)>("cuEventQuery")(event); }
  CUresult await(CUevent event) const {
    return call<CUresult(CUevent)>("cuEventSynchronize")(event);
  }
  CUresult await(CUstream stream) const {
    return call<CUresult(CUstream)>("cuStreamSynchronize")(stream);
  }
  CUresult synchronize() const { return call<CUresult()>("cuCtxSynchronize")(); }

  CUlibrary load() const {
    CUlibrary library = nullptr;
    EXPECT_EQ(
        (call<CUresult(CUlibrary*, const void*, int*, void**, unsigned, int*, void**, unsigned)>(
            "cuLibraryLoadData")(&library, image().c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                                 0)),
        kCudaSuccess);
    return library;
  }
  CUresult unload(CUlibrary library) const {
    return call<CUresult(CUlibrary)>("cuLibraryUnload")(library);
  }
  CUkernel kernel_of(CUlibrary library) const {
    CUkernel kernel = nullptr;
    EXPECT_EQ((call<CUresult(CUkernel*, CUlibrary, const char*)>("cuLibraryGetKernel")(
                  &kernel, library, "nothing")),
              kCudaSuccess);
    return kernel;
  }
  CUresult launch(CUkernel kernel, CUstream stream) const {
    const CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, stream, nullptr, 0};
    return call<CUresult(const CUlaunchConfig*, CUkernel, void**, void**)>("cuLaunchKernelEx")(
        &config, kernel, nullptr, nullptr);
  }
};

TEST(VirtualImage, ShowsTheKernelsOfItsText) {
  EXPECT_EQ(estoc::virtual_gpu::entries_in(image_source()), std::vector<std::string>{"nothing"});
  EXPECT_EQ(
      estoc::virtual_gpu::entries_in("void help();\n"
                                     "extern \"C\" __global__ void __launch_bounds__(f(), 1)\n"
                                     "first(const int p) {}\n"
                                     "extern \"C\" __global__ void second() {}\n"
                                     "template <int n> __global__ void third() {}\n"),
      (std::vector<std::string>{"first", "second"}));
}

TEST_F(VirtualStreams, AHandleComesAgainAnIdDoesNot) {
  const CUstream first = create();
  const unsigned long long first_id = id(first);
  ASSERT_EQ(destroy(first), kCudaSuccess);
  const CUstream second = create();
  EXPECT_EQ(second, first);
  EXPECT_NE(id(second), first_id);
  EXPECT_NE(id(second), id(nullptr));
  destroy(second);
}

TEST_F(VirtualStreams, EveryThreadHasAStreamOfItsOwn) {
  const auto per_thread = std::bit_cast<CUstream>(std::uintptr_t{2});
  const unsigned long long here = id(per_thread);
  unsigned long long there = 0;
  std::jthread([&] {
    VirtualDriver::SetUp();
    there = id(per_thread);
  }).join();
  EXPECT_NE(here, there);
  EXPECT_EQ(id(per_thread), here);
}

TEST_F(VirtualStreams, ACaptureForbidsToWaitAndToUnload) {
  const CUlibrary library = load();
  const CUstream stream = create();
  CUgraph graph = nullptr;
  for (const int mode : {kGlobal, kThreadLocal}) {
    for (const auto& call : {std::function<CUresult()>([&] { return synchronize(); }),
                             std::function<CUresult()>([&] { return unload(library); })}) {
      ASSERT_EQ(begin(stream, mode), kCudaSuccess);
      EXPECT_EQ(call(), kCaptureUnsupported);
      EXPECT_EQ(end(stream, &graph), kCaptureInvalidated);
      EXPECT_EQ(graph, nullptr);
    }
  }
  ASSERT_EQ(begin(stream, kRelaxed), kCudaSuccess);
  EXPECT_EQ(synchronize(), kCudaSuccess);
  EXPECT_EQ(end(stream, &graph), kCudaSuccess);
  ASSERT_EQ(begin(stream, kThreadLocal), kCudaSuccess);
  std::jthread([&] {
    VirtualDriver::SetUp();
    EXPECT_EQ(synchronize(), kCudaSuccess);
  }).join();
  EXPECT_EQ(end(stream, &graph), kCudaSuccess);
  destroy(stream);
}

TEST_F(VirtualStreams, ACapturedStreamIsNotAskedForItsId) {
  const CUstream stream = create();
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(begin(stream, kRelaxed), kCudaSuccess);
  EXPECT_EQ(get_id(stream, &id), kCaptureUnsupported);
  EXPECT_EQ(end(stream, &graph), kCaptureInvalidated);
  destroy(stream);
}

TEST_F(VirtualStreams, AnEventIsReachedWhenSomebodyHasWaited) {
  const CUstream stream = create();
  const CUstream other = create();
  const CUevent first = event();
  const CUevent second = event();
  EXPECT_EQ(query(first), kCudaSuccess) << "nothing was recorded";
  for (const auto& wait : {std::function<CUresult()>([&] { return await(second); }),
                           std::function<CUresult()>([&] { return await(stream); }),
                           std::function<CUresult()>([&] { return synchronize(); })}) {
    ASSERT_EQ(record(first, stream), kCudaSuccess);
    ASSERT_EQ(record(second, stream), kCudaSuccess);
    EXPECT_EQ(await(other), kCudaSuccess);
    EXPECT_EQ(await(first), kCudaSuccess);
    EXPECT_EQ(query(first), kCudaSuccess);
    EXPECT_EQ(query(second), kNotReady);
    EXPECT_EQ(wait(), kCudaSuccess);
    EXPECT_EQ(query(second), kCudaSuccess);
  }
  ASSERT_EQ(record(first, stream), kCudaSuccess);
  destroy(stream);
  EXPECT_EQ(await(create()), kCudaSuccess) << "another stream at the same handle";
  EXPECT_EQ(query(first), kNotReady);
  EXPECT_EQ(synchronize(), kCudaSuccess);
  EXPECT_EQ(query(first), kCudaSuccess);
}

TEST_F(VirtualStreams, AnEventIsNotAskedInACapture) {
  const CUstream stream = create();
  const CUevent captured = event();
  const CUevent plain = event();
  CUgraph graph = nullptr;
  ASSERT_EQ(begin(stream, kRelaxed), kCudaSuccess);
  ASSERT_EQ(record(captured, stream), kCudaSuccess);
  EXPECT_EQ(query(captured), kCapturedEvent);
  EXPECT_EQ(query(plain), kCudaSuccess);
  EXPECT_EQ(end(stream, &graph), kCudaSuccess);
  ASSERT_EQ(begin(stream, kThreadLocal), kCudaSuccess);
  EXPECT_EQ(query(plain), kCaptureUnsupported);
  EXPECT_EQ(end(stream, &graph), kCaptureInvalidated);
  destroy(stream);
}

// The last test: its context can no longer be used.
TEST_F(VirtualStreams, WhatWasUnloadedIsNotReplayed) {
  const CUlibrary library = load();
  const CUkernel kernel = kernel_of(library);
  const CUstream stream = create();
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  ASSERT_EQ(begin(stream, kThreadLocal), kCudaSuccess);
  ASSERT_EQ(launch(kernel, stream), kCudaSuccess);
  ASSERT_EQ(end(stream, &graph), kCudaSuccess);
  ASSERT_EQ((call<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
                "cuGraphInstantiateWithFlags")(&instance, graph, 0)),
            kCudaSuccess);
  const auto replay = call<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch");
  EXPECT_EQ(replay(instance, stream), kCudaSuccess);
  ASSERT_EQ(unload(library), kCudaSuccess);
  EXPECT_EQ(replay(instance, stream), kLaunchFailed);
  EXPECT_EQ(synchronize(), kLaunchFailed);
}

}  // namespace

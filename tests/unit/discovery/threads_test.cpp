// Any number of threads discover, run, register and unregister at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fake_class.h"

namespace estoc::testing {
namespace {

constexpr int kRounds = 200;

/// Joins its threads at the end of the scope.
class Crowd {
 public:
  template <typename Work>
  void add(Work work) {
    threads_.emplace_back([work] {
      for (int round = 0; round < kRounds; ++round)
        work(round);
    });
  }
  ~Crowd() {
    for (std::thread& thread : threads_)
      thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

TEST(Threads, DiscoverWhileOthersRegister) {
  const auto lasting = make_class("lasting", small_space());
  const Registered there(lasting);
  std::atomic<int> wrong = 0;
  {
    Crowd crowd;
    for (int worker = 0; worker < 3; ++worker) {
      crowd.add([worker](int round) {
        const std::string name = "w" + std::to_string(worker);
        register_kernel_class(name + "_provider", make_class(name, plain_space(4)));
        if (round % 3 == 0)
          unregister_provider(name + "_provider");
        else
          unregister_kernel_class(name);
      });
      crowd.add([&wrong, worker](int) {
        const KernelList kernels = get_kernels(gemm({.alignment = worker == 0 ? 4 : 16}));
        if (kernels.size() != (worker == 0 ? 2U : 4U)) ++wrong;
        for (const Kernel& kernel : kernels) {
          if (kernel.name() != kernel_by_name(kernel.name()).name()) ++wrong;
        }
      });
    }
    crowd.add([&wrong](int) {
      const KernelSequence all = get_kernels({.providers = {"fake"}});
      if (all.size() != 48 || all[47].metadata().kernel_class != "lasting") ++wrong;
      if (explain(gemm(), {.providers = {"fake"}})[0].supported != 4) ++wrong;
      clear_discovery_cache();
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ShareOneFilteredSequence) {
  const Registered there(make_class("small", small_space()));
  const KernelSequence wide = get_kernels(
      {.filter = MetadataFilter([](const KernelMetadata& m) { return m.design.tile->m == 128; })});
  std::atomic<int> wrong = 0;
  {
    Crowd crowd;
    for (int worker = 0; worker < 4; ++worker) {
      crowd.add([&](int round) {
        if (wide.size() != 24) ++wrong;
        if (wide[static_cast<std::uint64_t>(round) % 24].metadata().design.tile->m != 128) ++wrong;
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CompileAndReadMetadataOfOneKernel) {
  const auto fake = make_class("plain", plain_space());
  const Registered there(fake);
  std::atomic<int> wrong = 0;
  {
    Crowd crowd;
    for (int worker = 0; worker < 4; ++worker) {
      crowd.add([&](int) {
        const Kernel kernel = get_kernels(f32_gemm()).front();
        if (kernel.compile(f32_gemm()).kernel().name() != "plain-f32-v0") ++wrong;
        if (!kernel.supports(f32_gemm()).ok()) ++wrong;
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fake->compilations, 1);
}

}  // namespace
}  // namespace estoc::testing

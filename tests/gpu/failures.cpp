// Promises about what goes wrong: mistakes are refused with a reason, and nothing is left broken.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <set>
#include <string>

#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

void refuses_host_memory(Device device) {
  Gemm gemm(8, 8, 8, 4, device);
  const TensorView claimed = TensorView::row_major(gemm.host_data(), Dtype::bf16, {8, 8}, device);
  refuses(ErrorKind::value, {"A", "host pointer"}, [&] {
    const GemmArguments arguments(claimed, gemm.b().view(), gemm.out().view(), Dtype::f32);
  });
}

void refuses_memory_of_another_device(Device device) {
  if (cuda_devices().size() < 2) throw Skipped("this machine has one device");
  Gemm here(8, 8, 8, 4, device);
  Gemm there(8, 8, 8, 4, Device::cuda(1));
  const TensorView claimed =
      TensorView::row_major(there.a().view().data(), Dtype::bf16, {8, 8}, device);
  refuses(ErrorKind::value, {"A", "cuda:0", "cuda:1"}, [&] {
    const GemmArguments arguments(claimed, here.b().view(), here.out().view(), Dtype::f32);
  });
  refuses(ErrorKind::value, {"cuda:0", "cuda:1"}, [&] {
    const GemmArguments arguments(there.a().view(), here.b().view(), here.out().view(), Dtype::f32);
  });
}

/// Refused where it is too small or not aligned; right where it is exactly what is asked for.
void check_workspace(const Kernel& kernel, Gemm& gemm, const GemmArguments& arguments,
                     Device device) {
  const std::size_t bytes = kernel.workspace_size(arguments);
  const DeviceMemory memory(bytes + 256, device);
  RunOptions options;
  options.workspace = {memory.data(), bytes - 1};
  refuses(ErrorKind::value, {"workspace", std::to_string(bytes)},
          [&] { kernel.run(arguments, options); });
  options.workspace = {static_cast<std::byte*>(memory.data()) + 16, bytes};
  refuses(ErrorKind::value, {"workspace", "256"}, [&] { kernel.run(arguments, options); });
  options.workspace = {memory.data(), bytes};
  gemm.poison();
  kernel.run(arguments, options);
  synchronize(device);
  gemm.verify();
}

void refuses_a_bad_workspace(Device device) {
  Gemm deep(64, 64, 65536, 9, device);
  const GemmArguments plain = deep.arguments();
  std::set<std::string> checked;
  for (const Kernel& kernel : get_kernels(plain)) {
    if (kernel.workspace_size(plain) == 0) continue;
    if (!checked.insert(kernel.metadata().kernel_class).second) continue;
    check_workspace(kernel, deep, plain, device);
  }
  Gemm gemm(64, 64, 64, 9, device);
  const DeviceMemory sum(sizeof(float), device);
  const TensorView scalar = TensorView::row_major(sum.data(), Dtype::f32, {}, device);
  const GemmArguments reducing(gemm.a().view(), gemm.b().view(), gemm.out().view(), Dtype::f32, {},
                               EpilogueArguments("D = accum; s = sum(D)", {{"s", scalar}}));
  for (const Kernel& kernel : one_of_each_class(reducing)) {
    require(kernel.workspace_size(reducing) > 0, kernel.name() + " sums without a workspace");
    check_workspace(kernel, gemm, reducing, device);
  }
}

/// Takes what is left of a device's memory.
std::vector<DeviceMemory> take_all_memory(Device device) {
  std::vector<DeviceMemory> taken;
  std::size_t piece = std::size_t{32} << 30;
  while (piece >= std::size_t{1} << 16) {
    try {
      taken.emplace_back(piece, device);
    } catch (const Error& error) {
      require(error.kind() == ErrorKind::memory, error.what());
      piece /= 2;
    }
  }
  return taken;
}

void survives_running_out_of_memory(Device device) {
  refuses(ErrorKind::memory, {"cuda:0", "free of"},
          [&] { const DeviceMemory memory(std::size_t{1} << 44, device); });
  Gemm gemm(96, 72, 4096, 10, device);
  const GemmArguments arguments = gemm.arguments();
  const std::vector<Kernel> kernels = one_of_each_class(arguments);
  std::vector<DeviceMemory> taken = take_all_memory(device);
  for (const Kernel& kernel : kernels) {
    gemm.poison();
    try {
      kernel.run(arguments);
      synchronize(device);
      gemm.verify();
    } catch (const Error& error) {
      require(error.kind() == ErrorKind::memory, kernel.name() + ": " + error.what());
    }
  }
  taken.clear();
  for (const Kernel& kernel : kernels) {
    gemm.poison();
    kernel.run(arguments);
    synchronize(device);
    gemm.verify();
  }
}

/// What the child of a fork says about running a kernel.
std::string word_of_a_child(const std::function<void()>& action) {
  std::array<int, 2> ends{};
  require(::pipe(ends.data()) == 0, "no pipe");
  const pid_t child = ::fork();
  require(child >= 0, "no fork");
  if (child == 0) {
    std::string word = "it ran";
    try {
      action();
    } catch (const std::exception& error) {
      word = error.what();
    }
    [[maybe_unused]] const ssize_t ignored = ::write(ends[1], word.data(), word.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string word;
  std::array<char, 512> buffer{};
  for (ssize_t count; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    word.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return word;
}

void refuses_to_run_in_a_forked_child(Device device) {
  Gemm gemm(32, 32, 32, 11, device);
  const GemmArguments arguments = gemm.arguments();
  const Kernel kernel = get_kernels(arguments)[0];
  kernel.run(arguments);
  synchronize(device);
  for (const std::function<void()>& action :
       {std::function<void()>([&] { kernel.run(arguments); }),
        std::function<void()>([&] { const DeviceMemory memory(16, device); })}) {
    const std::string word = word_of_a_child(action);
    require(word.find("fork") != std::string::npos, "the child said: " + word);
  }
  gemm.poison();
  kernel.run(arguments);
  synchronize(device);
  gemm.verify();
}

// The rows of A lie far outside of what was allocated.
void names_a_sticky_error(Device device) {
  const DeviceMemory memory(std::size_t{1} << 20, device);
  const std::int64_t stride = std::int64_t{1} << 36;
  const std::array<std::int64_t, 2> shape{64, 64};
  const std::array<std::int64_t, 2> strides{stride, 1};
  const TensorView a(memory.data(), Dtype::f32, shape, strides, device);
  Gemm other(64, 64, 64, 12, device);
  const GemmArguments innocent = other.arguments();
  const DeviceMemory b(64 * 64 * 4, device);
  const GemmArguments arguments(a, TensorView::row_major(b.data(), Dtype::f32, {64, 64}, device),
                                other.out().view(), Dtype::f32);
  KernelQuery query;
  query.filter = MetadataFilter::parse("class=simt_gemm");
  const auto fault = [&] {
    get_kernels(arguments, query)[0].run(arguments);
    synchronize(device);
  };
  refuses(ErrorKind::driver, {"CUDA_ERROR_ILLEGAL_ADDRESS"}, fault);
  refuses(ErrorKind::driver, {"CUDA_ERROR_ILLEGAL_ADDRESS"}, [&] {
    get_kernels(innocent)[0].run(innocent);
    synchronize(device);
  });
}

}  // namespace

std::vector<Feature> failure_features() {
  return {
      {"refuses_host_memory", refuses_host_memory},
      {"refuses_memory_of_another_device", refuses_memory_of_another_device},
      {"refuses_a_bad_workspace", refuses_a_bad_workspace, true},
      {"survives_running_out_of_memory", survives_running_out_of_memory, true},
      {"refuses_to_run_in_a_forked_child", refuses_to_run_in_a_forked_child, true},
      {"names_a_sticky_error", names_a_sticky_error, true},
  };
}

}  // namespace estoc::gpu_test

// A GEMM with its operands on host and device, for checks that are not about the product.
#include "gemm.h"

#include <fmt/core.h>

#include <limits>
#include <set>

#include "estoc/check.hpp"
#include "estoc/discovery.hpp"

namespace estoc::gpu_test {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void refuses(ErrorKind kind, const std::vector<std::string>& words,
             const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    require(error.kind() == kind, "an error of another kind: " + message);
    for (const std::string& word : words) {
      require(message.find(word) != std::string::npos,
              fmt::format("expected '{}' in: {}", word, message));
    }
    return;
  }
  throw std::runtime_error("it was not refused");
}

std::vector<Kernel> one_of_each_class(const RuntimeArguments& arguments) {
  std::vector<Kernel> kernels;
  std::set<std::string> classes;
  for (const Kernel& kernel : get_kernels(arguments)) {
    if (classes.insert(kernel.metadata().kernel_class).second) kernels.push_back(kernel);
  }
  return kernels;
}

Kernel first_without_workspace(const RuntimeArguments& arguments) {
  for (const Kernel& kernel : get_kernels(arguments)) {
    if (kernel.workspace_size(arguments) == 0) return kernel;
  }
  throw std::runtime_error("every kernel needs workspace");
}

Gemm::Gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed, Device device)
    : m_(m),
      n_(n),
      k_(k),
      a_(static_cast<std::size_t>(m * k)),
      b_(static_cast<std::size_t>(k * n)),
      out_(static_cast<std::size_t>(m * n), std::numeric_limits<float>::quiet_NaN()) {
  fill_random(host_a(), seed);
  fill_random(host_b(), seed + 1);
  device_a_ = DeviceTensor::copy_of(host_a(), device);
  device_b_ = DeviceTensor::copy_of(host_b(), device);
  device_out_ = DeviceTensor::copy_of(host_out(), device);
}

GemmArguments Gemm::arguments() const {
  return {device_a_.view(), device_b_.view(), device_out_.view(), Dtype::f32};
}

void Gemm::poison() {
  out_.assign(out_.size(), std::numeric_limits<float>::quiet_NaN());
  device_out_.copy_from(host_out());
}

void Gemm::verify() {
  device_out_.copy_to(host_out());
  const GemmArguments on_host(host_a(), host_b(), host_out(), Dtype::f32);
  const CheckResult result = check_output(on_host);
  require(result.passed,
          fmt::format("error {:.3g} over {:.3g}; {}", result.error, result.bound, result.worst));
}

}  // namespace estoc::gpu_test

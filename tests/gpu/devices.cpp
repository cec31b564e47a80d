// Promises about several devices: each is ranked for by its own rates, and a kernel runs where it
// was found for.
#include <fmt/core.h>

#include <optional>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

/// The first device for which `holds`.
template <typename Holds>
std::optional<Device> find_device(const Holds& holds) {
  for (const DeviceInfo& info : cuda_devices()) {
    if (holds(info)) return Device::cuda(info.index);
  }
  return std::nullopt;
}

Device named(const std::string& name) {
  const auto device = find_device(
      [&](const DeviceInfo& info) { return info.name.find(name) != std::string::npos; });
  if (!device) throw Skipped("there is no " + name);
  return *device;
}

double best_seconds(const Problem& problem, Device device) {
  const auto arguments = problem.arguments(device);
  KernelQuery query;
  query.providers = {"cuda"};
  const KernelList kernels = get_kernels(*arguments, query);
  require(!kernels.empty() && kernels[0].predicted_seconds().has_value(), "nothing is predicted");
  return *kernels[0].predicted_seconds();
}

// An H200 is an H100 with faster memory, and has the same target.
void devices_are_ranked_for_by_their_own_rates(Device /*device*/) {
  const Device slow = named("H100");
  const Device fast = named("H200");
  for (const char* const text : {"gemm m=8 n=16384 k=16384 a=bf16:t b=bf16:n",
                                 "elementwise op=relu shape=8192x8192 a=f32 out=f16"}) {
    Problem problem = Problem::parse(text);
    problem.complete();
    const double on_slow = best_seconds(problem, slow);
    const double on_fast = best_seconds(problem, fast);
    require(on_slow > 1.2 * on_fast,
            fmt::format("{}: {} s on the slower one, {} s on the faster", text, on_slow, on_fast));
  }
}

// Found for one device, asked about operands on another one.
void supports_agrees_with_run(Device device) {
  const Target target = cuda_devices()[static_cast<std::size_t>(device.index)].target;
  const auto other = find_device([&](const DeviceInfo& info) {
    return !info.target.is_cpu() && info.target.cc() != target.cc();
  });
  if (!other) throw Skipped("all devices are of one architecture");
  Gemm here(40, 24, 32, 5, device);
  Gemm there(40, 24, 32, 6, *other);
  const GemmArguments arguments = here.arguments();
  const GemmArguments others = there.arguments();
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    const Status status = kernel.supports(others);
    require(!status.ok() && status.reason() == Reason::device, "it is said to support them");
    for (const std::string& word : {target.name(), other->name()})
      require(status.error().find(word) != std::string::npos, status.error());
    refuses(ErrorKind::unsupported, {"can reach"}, [&] { kernel.run(others); });
    require(kernel.supports(arguments).ok(), "where it was found");
  }
  for (const Kernel& kernel : one_of_each_class(others)) {
    there.poison();
    kernel.run(others);
    synchronize(*other);
    there.verify();
  }
}

void a_lost_device_hurts_no_other(Device device) {
  const auto lost = find_device([](const DeviceInfo& info) { return info.target.is_cpu(); });
  if (!lost) throw Skipped("all devices answer");
  const std::string& name = cuda_devices()[static_cast<std::size_t>(lost->index)].name;
  require(name.find("CUDA_ERROR_DEVICE_UNAVAILABLE") != std::string::npos, name);
  refuses(ErrorKind::driver, {lost->name(), "CUDA_ERROR_DEVICE_UNAVAILABLE"},
          [&] { const DeviceMemory memory(16, *lost); });
  Gemm gemm(40, 24, 32, 5, device);
  const GemmArguments arguments = gemm.arguments();
  get_kernels(arguments)[0].run(arguments);
  synchronize(device);
  gemm.verify();
}

void refuses_a_device_that_is_not_there(Device /*device*/) {
  const int count = static_cast<int>(cuda_devices().size());
  for (const int index : {-1, count, 1 << 30}) {
    const Device none = Device::cuda(index);
    const std::vector<std::string> words{none.name(), fmt::format("{} CUDA device", count)};
    refuses(ErrorKind::driver, words, [&] { const DeviceMemory memory(64, none); });
    refuses(ErrorKind::driver, words, [&] { const DeviceStream stream(none); });
    refuses(ErrorKind::driver, words, [&] { synchronize(none); });
  }
}

}  // namespace

std::vector<Feature> device_features() {
  return {{"devices_are_ranked_for_by_their_own_rates", devices_are_ranked_for_by_their_own_rates},
          {"supports_agrees_with_run", supports_agrees_with_run},
          {"a_lost_device_hurts_no_other", a_lost_device_hurts_no_other},
          {"refuses_a_device_that_is_not_there", refuses_a_device_that_is_not_there}};
}

}  // namespace estoc::gpu_test

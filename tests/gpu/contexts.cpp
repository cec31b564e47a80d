// Promises about contexts and devices: the caller's stay as they are, every one of them works.
#include <fmt/core.h>

#include <memory>

#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"
#include "jit/driver.h"
#include "jit/shared_library.h"
#include "probe.h"

namespace estoc::gpu_test {
namespace {

Device second_device() {
  if (cuda_devices().size() < 2) throw Skipped("this machine has one device");
  return Device::cuda(1);
}

jit::CUcontext current_context() {
  jit::CUcontext context = nullptr;
  jit::driver().check(jit::driver().ctx_get_current(&context), "cuCtxGetCurrent");
  return context;
}

/// The first kernel of each class, on the null stream and on one of its own.
void run_each_class(Gemm& gemm, Device device) {
  const GemmArguments arguments = gemm.arguments();
  const DeviceStream stream(device);
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    for (void* handle : {static_cast<void*>(nullptr), stream.handle()}) {
      gemm.poison();
      RunOptions options;
      options.stream = handle;
      kernel.run(arguments, options);
      synchronize(device);
      try {
        gemm.verify();
      } catch (const std::exception& error) {
        throw std::runtime_error(kernel.name() + ": " + error.what());
      }
    }
  }
}

/// A context as a program makes it for itself; current while it lives.
class OwnContext {
 public:
  explicit OwnContext(Device device) {
    const auto library = jit::SharedLibrary::find({.what = "CUDA driver",
                                                   .file_names = {"libcuda.so.1"},
                                                   .explicit_variable = {},
                                                   .pip_package = {},
                                                   .part_of_toolkit = false});
    jit::CUresult (*create)(jit::CUcontext*, unsigned, jit::CUdevice) = nullptr;
    if (!library || !library->load(create, "cuCtxCreate_v2") ||
        !library->load(destroy_, "cuCtxDestroy_v2")) {
      throw Skipped("the driver has no cuCtxCreate_v2");
    }
    jit::CUdevice handle = 0;
    jit::driver().check(jit::driver().device_get(&handle, device.index), "cuDeviceGet");
    jit::driver().check(create(&context_, 0, handle), "cuCtxCreate");
  }
  ~OwnContext() { destroy_(context_); }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

  jit::CUcontext handle() const { return context_; }

 private:
  jit::CUresult (*destroy_)(jit::CUcontext) = nullptr;
  jit::CUcontext context_ = nullptr;
};

void leaves_the_current_context_alone(Device device) {
  Gemm gemm(33, 17, 65, 3, device);
  const GemmArguments arguments = gemm.arguments();
  const jit::DriverTable& table = jit::driver();
  jit::CUcontext before = nullptr;
  jit::CUcontext after = nullptr;
  table.check(table.ctx_get_current(&before), "cuCtxGetCurrent");
  get_kernels(arguments)[0].run(arguments);
  table.check(table.ctx_get_current(&after), "cuCtxGetCurrent");
  require(before == after, "the current context changed");
  synchronize(device);
  gemm.verify();
}

// Before, in, and after the life of a context of the caller's.
void works_in_a_context_of_the_callers(Device device) {
  for (int round = 0; round < 2; ++round) {
    {
      const OwnContext context(device);
      Gemm gemm(129, 200, 515, 20, device);
      run_each_class(gemm, device);
      require(current_context() == context.handle(), "the caller's context is no longer current");
    }
    Gemm gemm(129, 200, 515, 21, device);
    run_each_class(gemm, device);
  }
}

// Kernels that were first used in the primary context.
void works_in_a_context_after_the_primary_one(Device device) {
  Gemm before(64, 80, 512, 22, device);
  run_each_class(before, device);
  {
    const OwnContext context(device);
    Gemm gemm(64, 80, 512, 23, device);
    run_each_class(gemm, device);
  }
  run_each_class(before, device);
}

// Whatever is current: a stream and the memory belong together.
void follows_a_stream_into_its_context(Device device) {
  ProbeCase probe(device, 4096);
  const DeviceStream stream(device);
  ProbeCase plain(device, 0);
  BoundKernel bound =
      plain.kernel().bind(plain.arguments(), plain.kernel().compile(plain.arguments()));
  {
    const OwnContext context(device);
    const DeviceStream other(device);
    probe.run(stream.handle());
    bound.launch(stream.handle());
    stream.synchronize();
    require(current_context() == context.handle(), "the caller's context is no longer current");
    refuses(ErrorKind::driver, {"stream: expected one of the context", "another context of cuda:0"},
            [&] { bound.launch(other.handle()); });
  }
  probe.verify();
  plain.verify();
}

void works_on_a_second_device(Device /*first*/) {
  const Device second = second_device();
  Gemm gemm(120, 60, 200, 5, second);
  run_each_class(gemm, second);
}

void works_while_another_device_is_current(Device device) {
  const Device second = second_device();
  Gemm gemm(120, 60, 200, 6, device);
  const jit::ContextScope scope(second.index);
  run_each_class(gemm, device);
  require(current_context() == scope.context(), "the other device's context is no longer current");
}

void shares_an_artifact_between_devices(Device device) {
  const Device second = second_device();
  Gemm here(70, 90, 130, 7, device);
  Gemm there(70, 90, 130, 8, second);
  const GemmArguments arguments = here.arguments();
  const GemmArguments others = there.arguments();
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    if (!kernel.supports(others)) continue;
    const Artifact artifact = kernel.compile(arguments);
    here.poison();
    there.poison();
    kernel.run(arguments, artifact);
    kernel.run(others, artifact);
    synchronize(device);
    synchronize(second);
    here.verify();
    there.verify();
  }
}

}  // namespace

std::vector<Feature> context_features() {
  return {
      {"leaves_the_current_context_alone", leaves_the_current_context_alone},
      {"works_in_a_context_of_the_callers", works_in_a_context_of_the_callers, true},
      {"works_in_a_context_after_the_primary_one", works_in_a_context_after_the_primary_one, true},
      {"follows_a_stream_into_its_context", follows_a_stream_into_its_context, true},
      {"works_on_a_second_device", works_on_a_second_device},
      {"works_while_another_device_is_current", works_while_another_device_is_current},
      {"shares_an_artifact_between_devices", shares_an_artifact_between_devices},
  };
}

}  // namespace estoc::gpu_test

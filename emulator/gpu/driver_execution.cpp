// The virtual driver's calls about code, launches and events.
#include "execution.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <stdexcept>

#include "core/architectures.h"
#include "emulator/functions.h"
#include "emulator/launch.h"
#include "emulator/tensor_map.h"
#include "estoc/status.hpp"
#include "image.h"

#define ESTOC_DRIVER_CALL extern "C" __attribute__((visibility("default"))) CUresult

namespace estoc::virtual_gpu {
namespace {

using emulator::Fault;
using jit::kCudaErrorInvalidValue;
using jit::kCudaSuccess;

constexpr unsigned kFreeSharedBytes = 48 << 10;

template <typename Function>
Function* symbol(void* library, const std::string& name) {
  return reinterpret_cast<Function*>(::dlsym(library, name.c_str()));
}

/// One launch, with parameters that are its own or the caller's.
struct Launch {
  jit::KernelHandle* kernel = nullptr;
  CUcontext context = nullptr;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> cluster{1, 1, 1};
  unsigned shared_bytes = 0;
  bool programmatic = false;
};

std::vector<emulator::Allocation> device_memory(int device) {
  std::vector<emulator::Allocation> all;
  const std::lock_guard lock(state().mutex);
  for (const auto& [address, memory] : state().memory) {
    if (memory.context->device != device) continue;
    all.push_back({std::bit_cast<const void*>(address), memory.bytes, "device memory"});
  }
  return all;
}

CUresult failure_of(Fault fault) {
  if (fault == Fault::out_of_bounds || fault == Fault::read_only) return kIllegalAddress;
  return fault == Fault::misaligned ? kMisalignedAddress : kLaunchFailed;
}

// As on a GPU, the launch succeeds, and all that follows in its context fails.
void fail_context(const Launch& launch, const emulator::Report& report) {
  const CUresult code = failure_of(report.findings.front().fault);
  const std::lock_guard lock(state().mutex);
  launch.context->failure = refuse(code, report.findings.front().text());
}

CUresult refuse_unloaded(const Launch& launch) {
  const std::lock_guard lock(state().mutex);
  launch.context->failure =
      refuse(kLaunchFailed, "the library of kernel " + launch.kernel->library->name +
                                " was unloaded, and something still launches it");
  return kLaunchFailed;
}

CUresult execute(const Launch& launch, void** parameters) {
  if (launch.kernel->library->unloaded) return refuse_unloaded(launch);
  emulator::Options options;
  options.kernel_name = launch.kernel->library->name;
  options.cluster = launch.cluster;
  options.programmatic = launch.programmatic;
  options.memory = device_memory(launch.context->device);
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  const std::lock_guard lock(launch.kernel->library->mutex);
  symbol<void(const emulator::FunctionTable*, const unsigned*)>(
      launch.kernel->code, emulator::kConnectName)(&emulator::function_table(),
                                                   launch.block.data());
  try {
    const emulator::Report report = emulator::launch(launch.kernel->function, launch.grid, threads,
                                                     launch.shared_bytes, parameters, options);
    if (!report.clean()) fail_context(launch, report);
  } catch (const std::invalid_argument& refusal) {
    return refuse(kCudaErrorInvalidValue, refusal.what());
  }
  return kCudaSuccess;
}

/// Copies of the parameters, for a launch that happens later.
class Parameters {
 public:
  Parameters(const std::vector<std::size_t>& sizes, void** from) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto& copy = copies_.emplace_back((sizes[i] + sizeof(Chunk) - 1) / sizeof(Chunk));
      std::memcpy(copy.data(), from[i], sizes[i]);
    }
  }
  std::vector<void*> addresses() {
    std::vector<void*> all;
    for (auto& copy : copies_)
      all.push_back(copy.data());
    return all;
  }

 private:
  struct alignas(64) Chunk {
    std::array<std::byte, 64> bytes;
  };
  std::vector<std::vector<Chunk>> copies_;
};

CUresult read_attributes(const jit::CUlaunchConfig& config, Launch& launch) {
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const jit::CUlaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == jit::kLaunchAttributeClusterDimension) {
      const auto& cluster = attribute.value.cluster;
      launch.cluster = {cluster.x, cluster.y, cluster.z};
    } else if (attribute.id == jit::kLaunchAttributeProgrammaticStreamSerialization) {
      launch.programmatic = attribute.value.programmatic_serialization != 0;
    } else {
      return refuse(kCudaErrorInvalidValue, "a launch attribute that is not known");
    }
  }
  return kCudaSuccess;
}

/// CTAs of this geometry that share a multiprocessor.
unsigned ctas_of_multiprocessor(const Launch& launch) {
  constexpr unsigned kThreads = 2048;
  constexpr unsigned kSharedBytes = 228 << 10;
  constexpr unsigned kReservedBytes = 1 << 10;
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  return std::min(kThreads / std::max(threads, 1U),
                  kSharedBytes / (launch.shared_bytes + kReservedBytes));
}

CUresult check_launch(const Launch& launch) {
  const auto device = static_cast<std::size_t>(launch.context->device);
  const unsigned allowed = std::max(kFreeSharedBytes, launch.kernel->shared_bytes[device]);
  if (launch.shared_bytes > allowed) {
    return refuse(kCudaErrorInvalidValue,
                  fmt::format("{} bytes of dynamic shared memory, of which {} are allowed",
                              launch.shared_bytes, allowed));
  }
  if (!runs_on(launch.kernel->library->target, state().devices[device].target)) {
    return kNoBinaryForGpu;
  }
  return kCudaSuccess;
}

void build_entries(jit::LibraryHandle& library, std::vector<std::string> entries) {
  library.code = emulator::build_kernel({.kernel = library.name,
                                         .source = library.source,
                                         .entries = entries,
                                         .target = library.target,
                                         .optimised = false});
  library.entries = std::move(entries);
}

/// The number of an entry in the library's code. It is built with all that the text shows, as most
/// are asked for one after the other; where these are not all compiled in, alone.
std::size_t number_of(jit::LibraryHandle& library, const std::string& entry) {
  const auto number = [&] {
    const auto found = std::ranges::find(library.entries, entry);
    return static_cast<std::size_t>(found - library.entries.begin());
  };
  if (number() < library.entries.size()) return number();
  std::vector<std::string> shown = entries_in(library.source);
  if (std::ranges::find(shown, entry) != shown.end()) {
    try {
      build_entries(library, std::move(shown));
      return number();
    } catch (const CompileError&) {
    }
  }
  build_entries(library, {entry});
  return 0;
}

std::unique_ptr<jit::KernelHandle> build(jit::LibraryHandle& library, const std::string& entry) {
  const std::size_t number = number_of(library, entry);
  auto kernel = std::make_unique<jit::KernelHandle>();
  kernel->library = &library;
  kernel->entry = entry;
  kernel->code = library.code.handle;
  kernel->function = symbol<void(void**)>(kernel->code, emulator::entry_name(number));
  const auto sizes = symbol<const unsigned*()>(kernel->code, emulator::sizes_name(number));
  for (const unsigned* size = sizes(); *size != 0; ++size)
    kernel->parameter_sizes.push_back(*size);
  return kernel;
}

}  // namespace

ESTOC_DRIVER_CALL cuLibraryLoadData(jit::CUlibrary* library, const void* code, int*, void**,
                                    unsigned, int*, void**, unsigned) {
  auto loaded = std::make_unique<jit::LibraryHandle>();
  const auto image = read_image(static_cast<const char*>(code));
  if (!image) {
    return refuse(kInvalidImage, "the virtual GPU takes only what its own NVRTC has compiled");
  }
  loaded->name = image->name;
  loaded->source = image->source;
  loaded->target = image->target;
  *library = loaded.release();
  return kCudaSuccess;
}

// A graph that launches from it is found out when it is replayed; on a GPU that ends the process.
ESTOC_DRIVER_CALL cuLibraryUnload(jit::CUlibrary library) {
  if (const CUresult result = refuse_while_capturing(); result != kCudaSuccess) return result;
  if (library->unloaded) return kCudaErrorInvalidValue;
  library->unloaded = true;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuLibraryGetKernel(jit::CUkernel* kernel, jit::CUlibrary library,
                                     const char* name) {
  const bool mangled = std::strncmp(name, "_Z", 2) == 0;
  if (!mangled && library->source.find(name) == std::string::npos) return jit::kCudaErrorNotFound;
  const std::lock_guard lock(library->mutex);
  try {
    library->kernels.push_back(build(*library, name));
  } catch (const std::exception& error) {
    return refuse(kInvalidSource, error.what());
  }
  *kernel = library->kernels.back().get();
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuKernelGetFunction(jit::CUfunction* function, jit::CUkernel kernel) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  const auto device = static_cast<std::size_t>(current_context()->device);
  if (!runs_on(kernel->library->target, state().devices[device].target)) return kNoBinaryForGpu;
  *function = reinterpret_cast<jit::CUfunction>(kernel);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuKernelSetAttribute(jit::FunctionAttribute which, int value,
                                       jit::CUkernel kernel, CUdevice device) {
  if (which != jit::kFunctionMaxDynamicSharedSizeBytes || value < 0 || device < 0) {
    return kCudaErrorInvalidValue;
  }
  const auto index = static_cast<std::size_t>(device);
  if (index >= state().devices.size()) return kInvalidDevice;
  const int most = core::architecture(state().devices[index].target.cc()).shared_bytes;
  if (value > most) return kCudaErrorInvalidValue;
  kernel->shared_bytes[index] = static_cast<unsigned>(value);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuFuncLoad(jit::CUfunction /*function*/) {
  return usable_context();
}

// The host's compiler tells neither registers nor local memory.
ESTOC_DRIVER_CALL cuFuncGetAttribute(int* value, jit::FunctionAttribute which,
                                     jit::CUfunction /*function*/) {
  *value = which == jit::kFunctionMaxThreadsPerBlock ? 1024 : 0;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuOccupancyMaxActiveClusters(int* clusters, jit::CUfunction function,
                                               const jit::CUlaunchConfig* config) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  Launch launch{.kernel = reinterpret_cast<jit::KernelHandle*>(function),
                .context = current_context(),
                .block = {config->block_x, config->block_y, config->block_z},
                .shared_bytes = config->shared_bytes};
  if (const CUresult result = read_attributes(*config, launch); result != kCudaSuccess) {
    return result;
  }
  if (const CUresult result = check_launch(launch); result != kCudaSuccess) return result;
  const auto device = static_cast<std::size_t>(launch.context->device);
  if (state().devices[device].target.cc() < 90) {
    return refuse(kCudaErrorInvalidValue, "the device has no clusters");
  }
  const unsigned size = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  *clusters = 0;
  for (const int group : kMultiprocessorGroups) {
    const unsigned ctas = static_cast<unsigned>(group) * ctas_of_multiprocessor(launch);
    *clusters += static_cast<int>(ctas / std::max(size, 1U));
  }
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuLaunchKernelEx(const jit::CUlaunchConfig* config, jit::CUkernel kernel,
                                   void** parameters, void** /*extra*/) {
  // As the kernel belongs to no context, it runs in that of the stream.
  const jit::StreamHandle* const stream = resolve(config->stream);
  const CUcontext context = stream != nullptr ? stream->context : current_context();
  if (const CUresult result = usable_context(context); result != kCudaSuccess) return result;
  Launch launch{.kernel = kernel,
                .context = context,
                .grid = {config->grid_x, config->grid_y, config->grid_z},
                .block = {config->block_x, config->block_y, config->block_z},
                .shared_bytes = config->shared_bytes};
  if (const CUresult result = read_attributes(*config, launch); result != kCudaSuccess) {
    return result;
  }
  if (const CUresult result = check_launch(launch); result != kCudaSuccess) return result;
  if (capture_of(config->stream) == nullptr) {
    begin_work(config->stream);
    return execute(launch, parameters);
  }
  return submit(config->stream,
                [launch, copies = Parameters(kernel->parameter_sizes, parameters)]() mutable {
                  return execute(launch, copies.addresses().data());
                });
}

ESTOC_DRIVER_CALL cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes,
                                  CUstream stream) {
  if (const CUresult result = check_stream(stream); result != kCudaSuccess) return result;
  if (const CUresult result = check_range(to, bytes); result != kCudaSuccess) return result;
  return submit(stream, [=] {
    std::memset(std::bit_cast<void*>(to), value, bytes);
    return kCudaSuccess;
  });
}

ESTOC_DRIVER_CALL cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                                   CUstream stream) {
  if (const CUresult result = check_stream(stream); result != kCudaSuccess) return result;
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  const std::size_t bytes = count > kMax / 4 ? kMax : 4 * count;
  if (const CUresult result = check_range(to, bytes); result != kCudaSuccess) return result;
  if (to % 4 != 0) return kCudaErrorInvalidValue;
  return submit(stream, [=] {
    std::fill_n(std::bit_cast<unsigned*>(to), count, value);
    return kCudaSuccess;
  });
}

ESTOC_DRIVER_CALL cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                       CUstream stream) {
  if (const CUresult result = check_stream(stream); result != kCudaSuccess) return result;
  if (const CUresult result = check_range(to, bytes); result != kCudaSuccess) return result;
  if (const CUresult result = check_range(from, bytes); result != kCudaSuccess) return result;
  return submit(stream, [=] {
    std::memmove(std::bit_cast<void*>(to), std::bit_cast<const void*>(from), bytes);
    return kCudaSuccess;
  });
}

ESTOC_DRIVER_CALL cuEventCreate(jit::CUevent* event, unsigned /*flags*/) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  *event = new jit::EventHandle;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuEventDestroy_v2(jit::CUevent event) {
  delete event;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuEventRecord(jit::CUevent event, CUstream stream) {
  if (const CUresult result = check_stream(stream); result != kCudaSuccess) return result;
  {
    const std::lock_guard lock(event->mutex);
    event->captured = capture_of(stream);
    event->number = next_number();
    event->context = current_context();
    event->awaited = awaited_of(stream);
  }
  return submit(stream, [time = event->time] {
    *time = std::chrono::steady_clock::now();
    return kCudaSuccess;
  });
}

/// What was submitted is done; a wait for a part of a graph makes the stream capture it, too.
ESTOC_DRIVER_CALL cuStreamWaitEvent(CUstream stream, jit::CUevent event, unsigned /*flags*/) {
  if (const CUresult result = check_stream(stream); result != kCudaSuccess) return result;
  const auto captured = [&] {
    const std::lock_guard lock(event->mutex);
    return event->captured.lock();
  }();
  const auto own = capture_of(stream);
  if (own != nullptr && captured != own) return kCaptureIsolation;
  if (own != nullptr || captured == nullptr) return kCudaSuccess;
  jit::StreamHandle* const waiting = resolve(stream);
  if (waiting == nullptr) return kCaptureIsolation;
  waiting->joined = captured;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuEventSynchronize(jit::CUevent event) {
  const std::lock_guard lock(event->mutex);
  if (event->awaited != nullptr) note_wait(*event->awaited, event->number);
  return kCudaSuccess;
}

// Captures forbid it, as on a GPU.
ESTOC_DRIVER_CALL cuEventQuery(jit::CUevent event) {
  if (const CUresult result = refuse_while_capturing(); result != kCudaSuccess) return result;
  const std::lock_guard lock(event->mutex);
  if (!event->captured.expired()) return kCapturedEvent;
  if (event->awaited == nullptr) return kCudaSuccess;
  const std::uint64_t known = std::max(event->awaited->load(), event->context->awaited.load());
  return event->number <= known ? kCudaSuccess : kNotReady;
}

ESTOC_DRIVER_CALL cuEventElapsedTime(float* milliseconds, jit::CUevent start, jit::CUevent end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time->load() - start->time->load()).count();
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuTensorMapEncodeTiled(void* map, int dtype, unsigned rank, void* address,
                                         const std::uint64_t* extents, const std::uint64_t* strides,
                                         const std::uint32_t* box,
                                         const std::uint32_t* element_strides, int interleave,
                                         int swizzle, int l2_promotion, int fill) {
  if (const CUresult code = usable_context(); code != kCudaSuccess) return code;
  const int result =
      emulator::encode_tiled(map, dtype, rank, address, extents, strides, box, element_strides,
                             interleave, swizzle, l2_promotion, fill);
  return result == 0 ? kCudaSuccess : refuse(result, emulator::encode_problem());
}

}  // namespace estoc::virtual_gpu

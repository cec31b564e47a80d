// The CUDA driver, opened at run time: its function table, error texts and device list.
#include "jit/driver.h"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "jit/nvrtc.h"
#include "jit/shared_library.h"

namespace estoc::jit {
namespace {

constexpr int kOldestDriver = 12000;

std::atomic<bool> forked{false};

LibrarySpec driver_spec() {
  return {.what = "CUDA driver",
          .file_names = {"libcuda.so.1"},
          .explicit_variable = {},
          .pip_package = {},
          .part_of_toolkit = false};
}

bool load_symbols(const SharedLibrary& library, DriverTable& t, std::string& missing) {
  auto get = [&](auto*& function, const char* name) {
    if (!library.load(function, name) && missing.empty()) missing = name;
  };
  get(t.init, "cuInit");
  get(t.driver_get_version, "cuDriverGetVersion");
  get(t.get_error_name, "cuGetErrorName");
  get(t.get_error_string, "cuGetErrorString");
  get(t.device_get_count, "cuDeviceGetCount");
  get(t.device_get, "cuDeviceGet");
  get(t.device_get_name, "cuDeviceGetName");
  get(t.device_get_attribute, "cuDeviceGetAttribute");
  get(t.device_total_mem, "cuDeviceTotalMem_v2");
  get(t.device_get_uuid, "cuDeviceGetUuid_v2");
  get(t.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  get(t.device_primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  get(t.ctx_get_current, "cuCtxGetCurrent");
  get(t.ctx_push_current, "cuCtxPushCurrent_v2");
  get(t.ctx_pop_current, "cuCtxPopCurrent_v2");
  get(t.ctx_get_device, "cuCtxGetDevice");
  get(t.ctx_get_id, "cuCtxGetId");
  get(t.ctx_synchronize, "cuCtxSynchronize");
  get(t.library_load_data, "cuLibraryLoadData");
  get(t.library_unload, "cuLibraryUnload");
  get(t.library_get_kernel, "cuLibraryGetKernel");
  get(t.kernel_get_function, "cuKernelGetFunction");
  get(t.kernel_set_attribute, "cuKernelSetAttribute");
  get(t.func_load, "cuFuncLoad");
  get(t.func_get_attribute, "cuFuncGetAttribute");
  get(t.launch_kernel_ex, "cuLaunchKernelEx");
  get(t.mem_alloc, "cuMemAlloc_v2");
  get(t.mem_free, "cuMemFree_v2");
  get(t.mem_get_info, "cuMemGetInfo_v2");
  get(t.memcpy_htod, "cuMemcpyHtoD_v2");
  get(t.memcpy_dtoh, "cuMemcpyDtoH_v2");
  get(t.memcpy_dtod_async, "cuMemcpyDtoDAsync_v2");
  get(t.memset_d8_async, "cuMemsetD8Async");
  get(t.memset_d32_async, "cuMemsetD32Async");
  get(t.pointer_get_attribute, "cuPointerGetAttribute");
  get(t.stream_create, "cuStreamCreate");
  get(t.stream_destroy, "cuStreamDestroy_v2");
  get(t.stream_synchronize, "cuStreamSynchronize");
  get(t.stream_get_ctx, "cuStreamGetCtx");
  get(t.stream_get_id, "cuStreamGetId");
  get(t.stream_is_capturing, "cuStreamIsCapturing");
  get(t.stream_wait_event, "cuStreamWaitEvent");
  get(t.stream_begin_capture, "cuStreamBeginCapture_v2");
  get(t.stream_end_capture, "cuStreamEndCapture");
  get(t.graph_instantiate, "cuGraphInstantiateWithFlags");
  get(t.graph_launch, "cuGraphLaunch");
  get(t.graph_exec_destroy, "cuGraphExecDestroy");
  get(t.graph_destroy, "cuGraphDestroy");
  get(t.event_create, "cuEventCreate");
  get(t.event_destroy, "cuEventDestroy_v2");
  get(t.event_record, "cuEventRecord");
  get(t.event_query, "cuEventQuery");
  get(t.event_synchronize, "cuEventSynchronize");
  get(t.event_elapsed_time, "cuEventElapsedTime");
  get(t.tensor_map_encode_tiled, "cuTensorMapEncodeTiled");
  (void)library.load(t.occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters");
  return missing.empty();
}

std::string describe(const DriverTable& table, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  table.get_error_name(result, &name);
  table.get_error_string(result, &text);
  return fmt::format("{} ({})", name != nullptr ? name : "unknown error",
                     text != nullptr ? text : std::to_string(result));
}

// After one of these every call in the context gives it again, whatever that call was.
constexpr std::array kStickyErrors{
    214,  // CUDA_ERROR_ECC_UNCORRECTABLE
    700,  // CUDA_ERROR_ILLEGAL_ADDRESS
    702,  // CUDA_ERROR_LAUNCH_TIMEOUT
    710,  // CUDA_ERROR_ASSERT
    714,  // CUDA_ERROR_HARDWARE_STACK_ERROR
    715,  // CUDA_ERROR_ILLEGAL_INSTRUCTION
    716,  // CUDA_ERROR_MISALIGNED_ADDRESS
    717,  // CUDA_ERROR_INVALID_ADDRESS_SPACE
    718,  // CUDA_ERROR_INVALID_PC
    719,  // CUDA_ERROR_LAUNCH_FAILED
    721,  // CUDA_ERROR_TENSOR_MEMORY_LEAK
};

bool is_sticky(CUresult result) {
  return std::find(kStickyErrors.begin(), kStickyErrors.end(), result) != kStickyErrors.end();
}

struct Opened {
  DriverTable table;
  std::string problem;
};

// Never destroyed: the driver may be called while static objects go away.
const Opened& opened() {
  static const Opened* instance = [] {
    auto* result = new Opened;
    DriverTable& table = result->table;
    const auto library = SharedLibrary::find(driver_spec());
    std::string missing;
    if (!library) {
      result->problem = "the CUDA driver (libcuda.so.1) is not installed";
      return result;
    }
    table.path = library->path();
    if (library->load(table.driver_get_version, "cuDriverGetVersion")) {
      table.driver_get_version(&table.version);
    }
    if (!load_symbols(*library, table, missing)) {
      result->problem =
          fmt::format("the CUDA driver {} is for CUDA {}.{} and has no {}; expected 12.0 or newer",
                      table.path, table.version / 1000, table.version % 1000 / 10, missing);
    } else if (table.version < kOldestDriver) {
      result->problem = fmt::format("the CUDA driver is for CUDA {}.{}; expected 12.0 or newer",
                                    table.version / 1000, table.version % 1000 / 10);
    } else if (const CUresult code = table.init(0); code != kCudaSuccess) {
      result->problem = fmt::format("the CUDA driver does not start: {}", describe(table, code));
    }
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
    return result;
  }();
  return *instance;
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

/// What a device is given: its own architecture or, where that is not known, PTX of the newest
/// before it that NVRTC compiles for.
Target target_for(int cc) {
  const std::span<const Target> known = cuda_targets();
  for (const Target own : {Target::sm(cc, true), Target::sm(cc)}) {
    if (std::ranges::find(known, own) != known.end()) return own;
  }
  const bool asks = nvrtc_info() != nullptr;
  const auto newest = std::find_if(known.rbegin(), known.rend(), [&](const Target& target) {
    return !target.arch_specific() && target.cc() < cc && (!asks || nvrtc_knows(target));
  });
  return newest != known.rend() ? Target::ptx(newest->cc()) : Target::sm(cc);
}

DeviceInfo read_device(const DriverTable& table, int index) {
  DeviceInfo info;
  info.index = index;
  CUdevice device = 0;
  table.check(table.device_get(&device, index), "cuDeviceGet");
  std::array<char, 256> name{};
  table.check(table.device_get_name(name.data(), static_cast<int>(name.size()), device),
              "cuDeviceGetName");
  info.name = name.data();
  const int version = table.version;
  info.driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  CUuuid uuid{};
  table.check(table.device_get_uuid(&uuid, device), "cuDeviceGetUuid");
  info.uuid = uuid_text(uuid);
  auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    table.check(table.device_get_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  info.cc = 10 * attribute(kComputeCapabilityMajor) + attribute(kComputeCapabilityMinor);
  info.target = target_for(info.cc);
  info.multiprocessors = attribute(kMultiprocessorCount);
  info.l2_bytes = attribute(kL2CacheSize);
  info.shared_bytes_per_block = attribute(kMaxSharedMemoryPerBlockOptin);
  info.clock_khz = attribute(kClockRate);
  info.memory_clock_khz = attribute(kMemoryClockRate);
  info.memory_bus_bits = attribute(kGlobalMemoryBusWidth);
  std::size_t bytes = 0;
  table.check(table.device_total_mem(&bytes, device), "cuDeviceTotalMem");
  info.memory_bytes = static_cast<std::int64_t>(bytes);
  return info;
}

std::vector<DeviceInfo> read_devices() {
  std::vector<DeviceInfo> found;
  const DriverState state = driver_state();
  if (state.table == nullptr) return found;
  int count = 0;
  if (state.table->device_get_count(&count) != kCudaSuccess) return found;
  for (int index = 0; index < count; ++index) {
    try {
      found.push_back(read_device(*state.table, index));
    } catch (const DriverError& error) {
      found.push_back({.index = index, .name = error.what(), .uuid = {}});
    }
  }
  return found;
}

// Retained once for the life of the process; released by the driver at exit.
CUcontext primary_context(int device) {
  (void)device_target(device);  // names the device that is missing
  static std::mutex mutex;
  static std::vector<CUcontext> contexts;
  const std::lock_guard lock(mutex);
  const auto slot = static_cast<std::size_t>(device);
  if (contexts.size() <= slot) contexts.resize(slot + 1, nullptr);
  if (contexts[slot] == nullptr) {
    const DriverTable& table = driver();
    CUdevice handle = 0;
    table.check(table.device_get(&handle, device), "cuDeviceGet");
    table.check(table.device_primary_ctx_retain(&contexts[slot], handle),
                "cuDevicePrimaryCtxRetain");
  }
  return contexts[slot];
}

/// The driver's handles of the devices, queried once.
const std::vector<CUdevice>& handles() {
  static const auto* all = new std::vector<CUdevice>([] {
    std::vector<CUdevice> found(devices().size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (driver().device_get(&found[i], static_cast<int>(i)) != kCudaSuccess) found[i] = -1;
    }
    return found;
  }());
  return *all;
}

CUcontext current_context_of(const DriverTable& table, int device) {
  CUcontext current = nullptr;
  CUdevice current_device = -1;
  if (table.ctx_get_current(&current) != kCudaSuccess || current == nullptr) return nullptr;
  if (table.ctx_get_device(&current_device) != kCudaSuccess) return nullptr;
  const std::vector<CUdevice>& all = handles();
  const auto index = static_cast<std::size_t>(device);
  return index < all.size() && all[index] == current_device ? current : nullptr;
}

}  // namespace

void DriverTable::check(CUresult result, std::string_view call) const {
  if (result == kCudaSuccess) return;
  const ErrorKind kind = result == kCudaErrorOutOfMemory ? ErrorKind::memory : ErrorKind::driver;
  const std::string_view sticky =
      is_sticky(result)
          ? "; a kernel that ran earlier in this process failed, not necessarily one of Estoc's, "
            "and its context can no longer be used"
          : "";
  throw DriverError(kind, result, fmt::format("{}: {}{}", call, describe(*this, result), sticky));
}

DriverState driver_state() {
  const Opened& driver = opened();
  if (!driver.problem.empty()) return {nullptr, driver.problem};
  if (forked.load(std::memory_order_relaxed)) {
    return {nullptr,
            "this process was forked after CUDA was started in its parent, and CUDA does not "
            "survive a fork; start a new process instead"};
  }
  return {&driver.table, {}};
}

const DriverTable& driver() {
  const DriverState state = driver_state();
  if (state.table == nullptr) throw Error(ErrorKind::driver, state.problem);
  return *state.table;
}

const std::vector<DeviceInfo>& devices() {
  static const auto* found = new std::vector<DeviceInfo>(read_devices());
  return *found;
}

Target device_target(int index) {
  const auto& all = devices();
  if (index < 0 || static_cast<std::size_t>(index) >= all.size()) {
    const DriverState state = driver_state();
    const std::string reason = state.table == nullptr
                                   ? state.problem
                                   : fmt::format("there are {} CUDA devices", all.size());
    throw Error(ErrorKind::driver, fmt::format("device cuda:{}: {}", index, reason));
  }
  const DeviceInfo& device = all[static_cast<std::size_t>(index)];
  if (device.target.is_cpu()) {
    throw Error(ErrorKind::driver, fmt::format("device cuda:{}: {}", index, device.name));
  }
  return device.target;
}

int installed_driver_version() {
  int (*get_version)(int*) = nullptr;
  int version = 0;
  const auto library = SharedLibrary::find(driver_spec());
  if (library && library->load(get_version, "cuDriverGetVersion")) get_version(&version);
  return version;
}

int current_device() {
  CUdevice handle = -1;
  if (driver().ctx_get_device(&handle) != kCudaSuccess) return -1;
  const std::vector<CUdevice>& all = handles();
  const auto found = std::find(all.begin(), all.end(), handle);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

ContextScope::ContextScope(int device) {
  const DriverTable& table = driver();
  context_ = current_context_of(table, device);
  if (context_ != nullptr) return;
  context_ = primary_context(device);
  table.check(table.ctx_push_current(context_), "cuCtxPushCurrent");
  pushed_ = true;
}

ContextScope::ContextScope(CUcontext context) : context_(context) {
  const DriverTable& table = driver();
  CUcontext current = nullptr;
  table.check(table.ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == context) return;
  table.check(table.ctx_push_current(context), "cuCtxPushCurrent");
  pushed_ = true;
}

ContextScope::~ContextScope() {
  if (!pushed_) return;
  CUcontext popped = nullptr;
  opened().table.ctx_pop_current(&popped);
}

}  // namespace estoc::jit

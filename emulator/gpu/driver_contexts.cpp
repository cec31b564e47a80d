// The virtual driver's calls about itself, devices, contexts and memory.
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "core/architectures.h"
#include "driver_state.h"
#include "execution.h"

#define ESTOC_DRIVER_CALL extern "C" __attribute__((visibility("default"))) CUresult

namespace estoc::virtual_gpu {
namespace {

using jit::kCudaErrorInvalidContext;
using jit::kCudaErrorInvalidValue;
using jit::kCudaSuccess;

/// Of a multiprocessor's shared memory what each CTA's runtime takes.
constexpr int kReservedSharedBytes = 1 << 10;

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

// Names and words of the codes that this driver gives, as in the driver API's reference.
constexpr std::array kErrors{
    ErrorText{0, "CUDA_SUCCESS", "no error"},
    ErrorText{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorText{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorText{kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE",
              "CUDA-capable device(s) is/are busy or unavailable"},
    ErrorText{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorText{kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    ErrorText{kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "the kernel image is invalid"},
    ErrorText{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorText{kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
              "there is no kernel image for this device"},
    ErrorText{kInvalidSource, "CUDA_ERROR_INVALID_SOURCE", "the kernel's source is invalid"},
    ErrorText{kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    ErrorText{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorText{kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    ErrorText{kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
              "an illegal memory access was encountered"},
    ErrorText{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    ErrorText{kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    ErrorText{kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    ErrorText{kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
              "operation not permitted when stream is capturing"},
    ErrorText{kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
              "operation failed due to a previous error during capture"},
    ErrorText{kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
              "dependency created on uncaptured work in another stream"},
    ErrorText{kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
              "operation not permitted on an event last recorded in a capturing stream"},
};

const ErrorText* error_of(CUresult code) {
  const auto found = std::find_if(kErrors.begin(), kErrors.end(),
                                  [&](const ErrorText& error) { return error.code == code; });
  return found == kErrors.end() ? nullptr : &*found;
}

bool is_device(CUdevice device) {
  return device >= 0 && static_cast<std::size_t>(device) < state().devices.size();
}

CUresult check_device(CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  const bool lost = state().devices[static_cast<std::size_t>(device)].lost;
  return lost ? kDeviceUnavailable : kCudaSuccess;
}

VirtualDevice& device_of(CUcontext context) {
  return state().devices[static_cast<std::size_t>(context->device)];
}

/// The allocation that an address is in; the mutex is held.
std::map<CUdeviceptr, Memory>::iterator memory_at(CUdeviceptr address) {
  auto& all = state().memory;
  auto next = all.upper_bound(address);
  if (next == all.begin()) return all.end();
  --next;
  return address < next->first + next->second.bytes ? next : all.end();
}

}  // namespace

CUresult check_range(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto found = memory_at(address);
  if (found != state().memory.end() &&
      bytes <= found->first + found->second.bytes - address) {  // no sum that wraps
    return kCudaSuccess;
  }
  return refuse(kCudaErrorInvalidValue,
                fmt::format("{} bytes at {:#x} are not in one allocation", bytes, address));
}

ESTOC_DRIVER_CALL cuInit(unsigned /*flags*/) {
  return state().devices.empty() ? jit::kCudaErrorNoDevice : kCudaSuccess;
}

ESTOC_DRIVER_CALL cuDriverGetVersion(int* version) {
  *version = 13000;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGetErrorName(CUresult code, const char** name) {
  const ErrorText* error = error_of(code);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? kCudaErrorInvalidValue : kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGetErrorString(CUresult code, const char** text) {
  const ErrorText* error = error_of(code);
  *text = error == nullptr ? nullptr : error->text;
  if (!reason(code).empty()) *text = reason(code).c_str();
  return error == nullptr ? kCudaErrorInvalidValue : kCudaSuccess;
}

ESTOC_DRIVER_CALL cuDeviceGetCount(int* count) {
  *count = static_cast<int>(state().devices.size());
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? kCudaSuccess : kInvalidDevice;
}

ESTOC_DRIVER_CALL cuDeviceGetName(char* name, int length, CUdevice device) {
  if (const CUresult result = check_device(device); result != kCudaSuccess) return result;
  std::snprintf(name, static_cast<std::size_t>(length), "%s",
                state().devices[static_cast<std::size_t>(device)].name.c_str());
  return kCudaSuccess;
}

// Figures of real chips for the limits of a kernel; the number of multiprocessors is smaller.
ESTOC_DRIVER_CALL cuDeviceGetAttribute(int* value, jit::DeviceAttribute which, CUdevice device) {
  if (const CUresult result = check_device(device); result != kCudaSuccess) return result;
  const int cc = state().devices[static_cast<std::size_t>(device)].target.cc();
  switch (which) {
    case jit::kComputeCapabilityMajor:
      *value = cc / 10;
      return kCudaSuccess;
    case jit::kComputeCapabilityMinor:
      *value = cc % 10;
      return kCudaSuccess;
    case jit::kMultiprocessorCount:
      *value = 0;
      for (const int group : kMultiprocessorGroups)
        *value += group;
      return kCudaSuccess;
    case jit::kL2CacheSize:
      *value = 1 << 20;
      return kCudaSuccess;
    case jit::kMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      return kCudaSuccess;
    case jit::kMaxSharedMemoryPerBlockOptin:
      *value = core::architecture(cc).shared_bytes;
      return kCudaSuccess;
    case jit::kMaxSharedMemoryPerMultiprocessor:
      *value = core::architecture(cc).shared_bytes + kReservedSharedBytes;
      return kCudaSuccess;
    case jit::kClockRate:
    case jit::kMemoryClockRate:
      *value = 1'000'000;
      return kCudaSuccess;
    case jit::kGlobalMemoryBusWidth:
      *value = 256;
      return kCudaSuccess;
  }
  return kCudaErrorInvalidValue;
}

ESTOC_DRIVER_CALL cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  *bytes = kDeviceBytes;
  return check_device(device);
}

ESTOC_DRIVER_CALL cuDeviceGetUuid_v2(jit::CUuuid* uuid, CUdevice device) {
  if (const CUresult result = check_device(device); result != kCudaSuccess) return result;
  *uuid = {};
  uuid->bytes[15] = static_cast<unsigned char>(device + 1);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult result = check_device(device); result != kCudaSuccess) return result;
  const std::lock_guard lock(state().mutex);
  VirtualDevice& owner = state().devices[static_cast<std::size_t>(device)];
  if (owner.primary == nullptr) owner.primary = new_context(device);
  *context = owner.primary;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return is_device(device) ? kCudaSuccess : kInvalidDevice;
}

ESTOC_DRIVER_CALL cuCtxCreate_v2(CUcontext* context, unsigned /*flags*/, CUdevice device) {
  if (const CUresult result = check_device(device); result != kCudaSuccess) return result;
  const std::lock_guard lock(state().mutex);
  *context = new_context(device);
  context_stack().push_back(*context);
  return kCudaSuccess;
}

// Its memory goes with it; a thread in which it was current has none afterwards.
ESTOC_DRIVER_CALL cuCtxDestroy_v2(CUcontext context) {
  end_uploads();
  const std::lock_guard lock(state().mutex);
  if (context->destroyed) return kCudaErrorInvalidContext;
  context->destroyed = true;
  std::erase(context_stack(), context);
  for (auto each = state().memory.begin(); each != state().memory.end();) {
    if (each->second.context == context) {
      device_of(context).used -= each->second.bytes;
      ::munmap(std::bit_cast<void*>(each->first), each->second.bytes);
      each = state().memory.erase(each);
    } else {
      ++each;
    }
  }
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxGetCurrent(CUcontext* context) {
  *context = current_context();
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxPushCurrent_v2(CUcontext context) {
  if (context == nullptr || context->destroyed) return kCudaErrorInvalidContext;
  context_stack().push_back(context);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxPopCurrent_v2(CUcontext* context) {
  if (context_stack().empty()) return kCudaErrorInvalidContext;
  *context = context_stack().back();
  context_stack().pop_back();
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxGetDevice(CUdevice* device) {
  if (current_context() == nullptr) return kCudaErrorInvalidContext;
  *device = current_context()->device;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (context == nullptr) context = current_context();
  if (context == nullptr) return kCudaErrorInvalidContext;
  *id = context->id;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuCtxSynchronize() {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  const CUresult result = refuse_while_capturing();
  if (result != kCudaSuccess) return result;
  end_uploads();
  note_wait(current_context()->awaited);
  return result;
}

ESTOC_DRIVER_CALL cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  if (bytes == 0) return kCudaErrorInvalidValue;
  if (const CUresult result = refuse_while_capturing(); result != kCudaSuccess) return result;
  const std::lock_guard lock(state().mutex);
  VirtualDevice& device = device_of(current_context());
  if (bytes > kDeviceBytes - device.used) return jit::kCudaErrorOutOfMemory;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return jit::kCudaErrorOutOfMemory;
  device.used += bytes;
  *address = std::bit_cast<CUdeviceptr>(memory);
  state().memory[*address] = {bytes, current_context()};
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuMemFree_v2(CUdeviceptr address) {
  if (const CUresult result = refuse_while_capturing(); result != kCudaSuccess) return result;
  end_uploads();
  const std::lock_guard lock(state().mutex);
  const auto found = state().memory.find(address);
  if (found == state().memory.end()) return kCudaErrorInvalidValue;
  device_of(found->second.context).used -= found->second.bytes;
  ::munmap(std::bit_cast<void*>(address), found->second.bytes);
  state().memory.erase(found);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  const std::lock_guard lock(state().mutex);
  *free = kDeviceBytes - device_of(current_context()).used;
  *total = kDeviceBytes;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  if (const CUresult result = check_range(to, bytes); result != kCudaSuccess) return result;
  const auto* const first = static_cast<const std::byte*>(from);
  const std::lock_guard lock(state().mutex);
  state().uploads.push_back({to, {first, first + bytes}});
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  if (const CUresult result = check_range(from, bytes); result != kCudaSuccess) return result;
  end_uploads();
  std::memcpy(to, std::bit_cast<const void*>(from), bytes);
  note_wait(*current_context()->legacy_awaited);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuPointerGetAttribute(void* value, jit::PointerAttribute which,
                                        CUdeviceptr address) {
  const std::lock_guard lock(state().mutex);
  const auto found = memory_at(address);
  if (found == state().memory.end()) return kCudaErrorInvalidValue;
  const CUcontext context = found->second.context;
  switch (which) {
    case jit::kPointerContext:
      *static_cast<CUcontext*>(value) = context;
      return kCudaSuccess;
    case jit::kPointerMemoryType:
      *static_cast<unsigned*>(value) = jit::kMemoryTypeDevice;
      return kCudaSuccess;
    case jit::kPointerIsManaged:
      *static_cast<unsigned*>(value) = 0;
      return kCudaSuccess;
    case jit::kPointerDeviceOrdinal:
      *static_cast<int*>(value) = context->device;
      return kCudaSuccess;
  }
  return kCudaErrorInvalidValue;
}

}  // namespace estoc::virtual_gpu

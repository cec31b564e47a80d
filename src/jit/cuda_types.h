// The types and constants of the CUDA driver's ABI that Estoc uses, so that no toolkit is needed.
// Values and layouts: CUDA Driver API reference, cuda.h of CUDA 12 and 13 (stable within both).
#pragma once

#include <cstddef>
#include <cstdint>

namespace estoc::jit {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
struct ContextHandle;
struct StreamHandle;
struct EventHandle;
struct FunctionHandle;
struct KernelHandle;
struct LibraryHandle;
struct GraphHandle;
struct GraphExecHandle;
using CUcontext = ContextHandle*;
using CUstream = StreamHandle*;
using CUevent = EventHandle*;
using CUfunction = FunctionHandle*;
using CUkernel = KernelHandle*;
using CUlibrary = LibraryHandle*;
using CUgraph = GraphHandle*;
using CUgraphExec = GraphExecHandle*;

inline constexpr CUresult kCudaSuccess = 0;
inline constexpr CUresult kCudaErrorInvalidValue = 1;
inline constexpr CUresult kCudaErrorOutOfMemory = 2;
inline constexpr CUresult kCudaErrorDeinitialized = 4;
inline constexpr CUresult kCudaErrorNoDevice = 100;
inline constexpr CUresult kCudaErrorInvalidContext = 201;
inline constexpr CUresult kCudaErrorNotFound = 500;
inline constexpr CUresult kCudaErrorContextIsDestroyed = 709;

/// CUdevice_attribute
enum DeviceAttribute : int {
  kMaxSharedMemoryPerBlock = 8,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxSharedMemoryPerBlockOptin = 97,
};

/// CUfunction_attribute
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedSizeBytes = 1,
  kFunctionLocalSizeBytes = 3,
  kFunctionNumRegs = 4,
  kFunctionMaxDynamicSharedSizeBytes = 8,
  kFunctionNonPortableClusterSizeAllowed = 13,
};

/// CUpointer_attribute
enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
};
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr unsigned kMemoryTypeUnified = 4;

/// CUlaunchAttributeID
enum LaunchAttributeId : int {
  kLaunchAttributeClusterDimension = 4,
  kLaunchAttributeProgrammaticStreamSerialization = 6,
};

/// CUlaunchAttribute: an id and 64 bytes of value.
struct alignas(8) CUlaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic_serialization;
  } value;
};
static_assert(sizeof(CUlaunchAttribute) == 72);

/// CUlaunchConfig
struct CUlaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(CUlaunchConfig) == 56);

/// CUuuid
struct CUuuid {
  unsigned char bytes[16];
};

}  // namespace estoc::jit

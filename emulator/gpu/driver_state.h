// What the virtual driver knows: devices, contexts, memory, streams, and what it last refused.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/entry.h"
#include "estoc/target.hpp"
#include "jit/cuda_types.h"

namespace estoc::jit {

/// All that happened up to this number is known to have ended: the program waited for it. Work is
/// done when it is submitted, but as on a GPU, the program learns that only by waiting.
using Awaited = std::atomic<std::uint64_t>;

/// The primary context of a device, or one that the program made.
struct ContextHandle {
  int device = 0;
  unsigned long long id = 0;
  CUresult failure = kCudaSuccess;  ///< stays once a kernel has failed
  bool destroyed = false;
  Awaited awaited{0};
  std::shared_ptr<Awaited> legacy_awaited = std::make_shared<Awaited>(0);  ///< of its null stream
};

}  // namespace estoc::jit

namespace estoc::virtual_gpu {

using jit::CUcontext;
using jit::CUdevice;
using jit::CUdeviceptr;
using jit::CUresult;
using jit::CUstream;

inline constexpr CUresult kDeviceUnavailable = 46;
inline constexpr CUresult kInvalidDevice = 101;
inline constexpr CUresult kInvalidImage = 200;
inline constexpr CUresult kNoBinaryForGpu = 209;
inline constexpr CUresult kInvalidSource = 300;
inline constexpr CUresult kInvalidHandle = 400;
inline constexpr CUresult kNotReady = 600;
inline constexpr CUresult kIllegalAddress = 700;
inline constexpr CUresult kMisalignedAddress = 716;
inline constexpr CUresult kLaunchFailed = 719;
inline constexpr CUresult kCaptureUnsupported = 900;
inline constexpr CUresult kCaptureInvalidated = 901;
inline constexpr CUresult kCaptureIsolation = 905;
inline constexpr CUresult kCapturedEvent = 907;

struct VirtualDevice {
  Target target;
  std::string name;
  bool lost = false;  ///< it answers nothing
  std::size_t used = 0;
  CUcontext primary = nullptr;
};

struct Memory {
  std::size_t bytes = 0;
  CUcontext context = nullptr;
};

/// A copy from the host whose bytes are not in the device's memory yet.
struct Upload {
  CUdeviceptr to = 0;
  std::vector<std::byte> bytes;
};

/// The driver of this process. All members are guarded by `mutex`.
struct State {
  std::mutex mutex;
  std::vector<VirtualDevice> devices;
  std::vector<std::unique_ptr<jit::ContextHandle>> contexts;  ///< the destroyed ones, too
  std::map<CUdeviceptr, Memory> memory;
  std::vector<Upload> uploads;
};

/// Bytes of memory of every device.
inline constexpr std::size_t kDeviceBytes = std::size_t{1} << 30;

/// Multiprocessors of every device, by the groups that a cluster has to lie within; they differ, as
/// on GPUs.
inline constexpr std::array kMultiprocessorGroups{5, 1};

/// Devices as ESTOC_VIRTUAL_GPU has them, apart by commas: TARGET, TARGET:NAME, or `lost` for one
/// that is there and answers nothing; else two of sm_90a.
State& state();

CUcontext new_context(int device);

/// Contexts that are current in this thread, the last one on top.
std::vector<CUcontext>& context_stack();

/// The current context; null when there is none.
CUcontext current_context();

/// kCudaSuccess where a context can be used, the current one or that one; null is none.
CUresult usable_context();
CUresult usable_context(CUcontext context);

/// kCudaSuccess where these bytes lie in one allocation, of any device.
CUresult check_range(CUdeviceptr address, std::size_t bytes);

/// Ends the copies from the host. They are work of the null stream: a stream that does not wait for
/// that one may be ahead of them.
void end_uploads();

/// A number for something that happens now, larger than all before.
std::uint64_t next_number();

/// The program has waited for what happened up to `number`, by default until now.
void note_wait(jit::Awaited& awaited, std::uint64_t number = next_number());

/// Remembers why a call of this thread fails, for cuGetErrorString, and returns `code`.
CUresult refuse(CUresult code, std::string why);

/// What `refuse` was last told for that code; empty when nothing.
const std::string& reason(CUresult code);

}  // namespace estoc::virtual_gpu

// The CUDA driver, opened at run time: its function table, error texts and device list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/status.hpp"
#include "estoc/target.hpp"
#include "jit/cuda_types.h"

namespace estoc::jit {

/// The driver's functions that Estoc calls, named as in its reference without `cu` and version
/// suffix. Every pointer is set when the table exists (driver 12.0 or newer), but for those that
/// say otherwise.
struct DriverTable {
  CUresult (*init)(unsigned flags);
  CUresult (*driver_get_version)(int* version);
  CUresult (*get_error_name)(CUresult, const char**);
  CUresult (*get_error_string)(CUresult, const char**);

  CUresult (*device_get_count)(int*);
  CUresult (*device_get)(CUdevice*, int ordinal);
  CUresult (*device_get_name)(char*, int length, CUdevice);
  CUresult (*device_get_attribute)(int*, DeviceAttribute, CUdevice);
  CUresult (*device_total_mem)(std::size_t*, CUdevice);
  CUresult (*device_get_uuid)(CUuuid*, CUdevice);
  CUresult (*device_primary_ctx_retain)(CUcontext*, CUdevice);
  CUresult (*device_primary_ctx_release)(CUdevice);

  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_push_current)(CUcontext);
  CUresult (*ctx_pop_current)(CUcontext*);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*ctx_get_id)(CUcontext, unsigned long long* id);
  CUresult (*ctx_synchronize)();

  CUresult (*library_load_data)(CUlibrary*, const void* code, int* jit_options, void** jit_values,
                                unsigned jit_count, int* library_options, void** library_values,
                                unsigned library_count);
  CUresult (*library_unload)(CUlibrary);
  CUresult (*library_get_kernel)(CUkernel*, CUlibrary, const char* name);
  CUresult (*kernel_get_function)(CUfunction*, CUkernel);
  CUresult (*kernel_set_attribute)(FunctionAttribute, int, CUkernel, CUdevice);
  CUresult (*func_load)(CUfunction);
  CUresult (*func_get_attribute)(int*, FunctionAttribute, CUfunction);
  CUresult (*launch_kernel_ex)(const CUlaunchConfig*, CUkernel, void** parameters, void** extra);

  /// Null in a driver that does not have it.
  CUresult (*occupancy_max_active_clusters)(int* clusters, CUfunction, const CUlaunchConfig*);

  CUresult (*mem_alloc)(CUdeviceptr*, std::size_t);
  CUresult (*mem_free)(CUdeviceptr);
  CUresult (*mem_get_info)(std::size_t* free, std::size_t* total);
  CUresult (*memcpy_htod)(CUdeviceptr, const void*, std::size_t);
  CUresult (*memcpy_dtoh)(void*, CUdeviceptr, std::size_t);
  CUresult (*memcpy_dtod_async)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
  CUresult (*memset_d8_async)(CUdeviceptr, unsigned char, std::size_t, CUstream);
  CUresult (*memset_d32_async)(CUdeviceptr, unsigned, std::size_t, CUstream);
  CUresult (*pointer_get_attribute)(void*, PointerAttribute, CUdeviceptr);

  CUresult (*stream_create)(CUstream*, unsigned flags);
  CUresult (*stream_destroy)(CUstream);
  CUresult (*stream_synchronize)(CUstream);
  CUresult (*stream_get_ctx)(CUstream, CUcontext*);
  CUresult (*stream_get_id)(CUstream, unsigned long long* id);
  CUresult (*stream_is_capturing)(CUstream, int* status);
  CUresult (*stream_wait_event)(CUstream, CUevent, unsigned flags);
  CUresult (*stream_begin_capture)(CUstream, int mode);
  CUresult (*stream_end_capture)(CUstream, CUgraph*);
  CUresult (*graph_instantiate)(CUgraphExec*, CUgraph, unsigned long long flags);
  CUresult (*graph_launch)(CUgraphExec, CUstream);
  CUresult (*graph_exec_destroy)(CUgraphExec);
  CUresult (*graph_destroy)(CUgraph);
  CUresult (*event_create)(CUevent*, unsigned flags);
  CUresult (*event_destroy)(CUevent);
  CUresult (*event_record)(CUevent, CUstream);
  CUresult (*event_query)(CUevent);
  CUresult (*event_synchronize)(CUevent);
  CUresult (*event_elapsed_time)(float* milliseconds, CUevent, CUevent);

  CUresult (*tensor_map_encode_tiled)(void* map, int dtype, unsigned rank, void* address,
                                      const std::uint64_t* extents, const std::uint64_t* strides,
                                      const std::uint32_t* box,
                                      const std::uint32_t* element_strides, int interleave,
                                      int swizzle, int l2_promotion, int fill);

  /// Where the table came from.
  std::string path;
  int version = 0;  ///< 1000 * major + 10 * minor

  /// Throws DriverError when `result` is not success: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out
  /// of memory)". An error that stays with its context is named as such: it says nothing about the
  /// call that reports it.
  void check(CUresult result, std::string_view call) const;
};

/// A call of the CUDA driver failed.
class DriverError : public Error {
 public:
  DriverError(ErrorKind kind, CUresult code, const std::string& message)
      : Error(kind, message), code_(code) {}
  CUresult code() const { return code_; }

 private:
  CUresult code_;
};

/// Whether there is a driver to use, and if not, one sentence that says why.
struct DriverState {
  const DriverTable* table = nullptr;
  std::string problem;
};

/// Opens and initialises the driver at the first call; later calls return the same answer. In a
/// child process forked after that, the table is withheld: CUDA does not survive a fork.
DriverState driver_state();

/// The table. Throws Error{driver} with the problem when there is none.
const DriverTable& driver();

/// CUDA version of the driver that is installed, 1000 * major + 10 * minor; 0 where there is none.
/// Does not start the driver.
int installed_driver_version();

/// cuda_devices().
const std::vector<DeviceInfo>& devices();

/// Target of a device: the architecture-specific variant from compute capability 9.0 on. Throws
/// Error{driver} when there is no such device, and for one that cannot be used.
Target device_target(int index);

/// Index of the current context's device; -1 where there is no context, or its device is none of
/// devices().
int current_device();

/// Makes the primary context of a device, or the current context where it belongs to that device,
/// current for the lifetime of the object, and restores what was current before.
class ContextScope {
 public:
  explicit ContextScope(int device);
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
  bool pushed_ = false;
};

}  // namespace estoc::jit

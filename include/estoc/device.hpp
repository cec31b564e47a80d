// CUDA devices and libraries of the machine, and owned device memory, streams and events.
//
// The library itself takes pointers; the owning types here serve tests, examples and tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "estoc/target.hpp"
#include "estoc/tensor.hpp"

namespace estoc {

/// A CUDA device as the driver describes it.
struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string uuid;
  /// The architecture-specific one from 9.0 on, sm_90a; PTX, compute_121, of a device that is newer
  /// than every architecture Estoc knows.
  Target target = Target::cpu();
  int cc = 0;            ///< ten times the compute capability
  std::string driver{};  ///< CUDA version of the driver, "13.0"
  int multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t shared_bytes_per_block = 0;  ///< with opt-in
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

/// The devices, in the driver's order; empty without a driver. Read once. One that the driver
/// cannot describe has its index and, in place of a name, the driver's error; its target is cpu.
const std::vector<DeviceInfo>& cuda_devices();

/// A library that Estoc opens at run time.
struct LibraryInfo {
  std::string name;     ///< "CUDA driver", "NVRTC", "cuBLASLt", "NVML"
  std::string path;     ///< empty when it was not found
  std::string version;  ///< "13.0"
  std::string problem;  ///< one sentence, with the command that brings it; empty when usable
};

/// What was found of the driver, NVRTC, cuBLASLt and NVML. Loads them.
std::vector<LibraryInfo> cuda_libraries();

/// Waits for all work of a device. Throws Error{driver}, also for work that failed.
void synchronize(Device device);

/// Whether `stream` is being captured into a graph; the legacy stream never is. Throws
/// Error{driver}.
bool is_capturing(void* stream, Device device);

/// Has later work on `stream` wait, on the device, for what `other` has been given so far. Does
/// nothing while `stream` is captured: a graph cannot wait for what runs outside it. Throws
/// Error{driver}.
void await_stream(void* stream, void* other, Device device);

/// A stream of a device; freed with the object.
class DeviceStream {
 public:
  explicit DeviceStream(Device device);
  ~DeviceStream();
  DeviceStream(DeviceStream&& other) noexcept;
  DeviceStream& operator=(DeviceStream&& other) noexcept;

  /// The CUstream.
  void* handle() const { return handle_; }
  void synchronize() const;

 private:
  int device_ = 0;
  void* handle_ = nullptr;
};

/// Points in time on a stream.
class DeviceEvent {
 public:
  explicit DeviceEvent(Device device);
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&& other) noexcept;
  DeviceEvent& operator=(DeviceEvent&& other) noexcept;

  void record(void* stream);
  /// Has later work on `stream` wait, on the device, for what was recorded.
  void delay(void* stream) const;
  void synchronize() const;
  /// Seconds from `start` to this event; both must have been reached.
  double seconds_since(const DeviceEvent& start) const;

 private:
  int device_ = 0;
  void* handle_ = nullptr;
};

/// Device memory; freed with the object.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws Error{memory} with the number of bytes requested and free.
  DeviceMemory(std::size_t bytes, Device device);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  /// Copies between host and device and waits; at most bytes() - offset bytes.
  void upload(const void* host, std::size_t bytes, std::size_t offset = 0);
  void download(void* host, std::size_t bytes, std::size_t offset = 0) const;
  /// Sets every byte, in the order of `stream`.
  void fill(std::uint8_t value, void* stream = nullptr);

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
};

/// A tensor on a device with the strides of the host tensor it is a copy of.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Copies the bytes from the first to the last element of `host`, gaps included.
  static DeviceTensor copy_of(const TensorView& host, Device device);

  const TensorView& view() const { return view_; }
  /// Copies to and from a host tensor of the same dtype, shape and strides.
  void copy_to(const TensorView& host) const;
  void copy_from(const TensorView& host);
  /// Sets every byte from the first to the last element.
  void fill(std::uint8_t value);

 private:
  DeviceMemory memory_;
  TensorView view_;
};

}  // namespace estoc

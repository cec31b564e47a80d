// Owned device memory, streams and events, over the driver's table.
#include "estoc/device.hpp"

#include <fmt/core.h>

#include <bit>
#include <utility>

#include "core/text.h"
#include "jit/driver.h"
#include "jit/stream.h"

namespace estoc {
namespace {

using jit::ContextScope;
using jit::driver;
using jit::DriverTable;

int index_of(Device device) {
  if (device.is_cuda()) return device.index;
  throw Error(ErrorKind::value, "device: expected a CUDA device, got cpu");
}

jit::CUdeviceptr address(const void* data, std::size_t offset = 0) {
  return reinterpret_cast<std::uintptr_t>(data) + offset;
}

void require_room(std::size_t bytes, std::size_t offset, std::size_t room) {
  if (offset <= room && bytes <= room - offset) return;
  throw Error(ErrorKind::value,
              fmt::format("device memory: expected at most {} bytes at {}, got {}",
                          room - std::min(offset, room), offset, bytes));
}

}  // namespace

const std::vector<DeviceInfo>& cuda_devices() {
  return jit::devices();
}

void synchronize(Device device) {
  const ContextScope scope(index_of(device));
  driver().check(driver().ctx_synchronize(), "cuCtxSynchronize");
}

DeviceStream::DeviceStream(Device device) : device_(index_of(device)) {
  constexpr unsigned kNonBlocking = 1;
  const ContextScope scope(device_);
  jit::CUstream stream = nullptr;
  driver().check(driver().stream_create(&stream, kNonBlocking), "cuStreamCreate");
  handle_ = stream;
}

DeviceStream::~DeviceStream() {
  const DriverTable* table = handle_ != nullptr ? jit::driver_state().table : nullptr;
  if (table != nullptr) table->stream_destroy(static_cast<jit::CUstream>(handle_));
}

DeviceStream::DeviceStream(DeviceStream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

DeviceStream& DeviceStream::operator=(DeviceStream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

void DeviceStream::synchronize() const {
  driver().check(driver().stream_synchronize(static_cast<jit::CUstream>(handle_)),
                 "cuStreamSynchronize");
}

DeviceEvent::DeviceEvent(Device device) : device_(index_of(device)) {
  const ContextScope scope(device_);
  jit::CUevent event = nullptr;
  driver().check(driver().event_create(&event, 0), "cuEventCreate");
  handle_ = event;
}

DeviceEvent::~DeviceEvent() {
  const DriverTable* table = handle_ != nullptr ? jit::driver_state().table : nullptr;
  if (table != nullptr) table->event_destroy(static_cast<jit::CUevent>(handle_));
}

DeviceEvent::DeviceEvent(DeviceEvent&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

DeviceEvent& DeviceEvent::operator=(DeviceEvent&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

void DeviceEvent::record(void* stream) {
  const ContextScope scope(device_);
  driver().check(
      driver().event_record(static_cast<jit::CUevent>(handle_), static_cast<jit::CUstream>(stream)),
      "cuEventRecord");
}

void DeviceEvent::delay(void* stream) const {
  const ContextScope scope(device_);
  driver().check(driver().stream_wait_event(static_cast<jit::CUstream>(stream),
                                            static_cast<jit::CUevent>(handle_), 0),
                 "cuStreamWaitEvent");
}

void DeviceEvent::synchronize() const {
  driver().check(driver().event_synchronize(static_cast<jit::CUevent>(handle_)),
                 "cuEventSynchronize");
}

double DeviceEvent::seconds_since(const DeviceEvent& start) const {
  float milliseconds = 0;
  driver().check(
      driver().event_elapsed_time(&milliseconds, static_cast<jit::CUevent>(start.handle_),
                                  static_cast<jit::CUevent>(handle_)),
      "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

bool is_capturing(void* stream, Device device) {
  const ContextScope scope(index_of(device));
  return jit::is_capturing(driver(), static_cast<jit::CUstream>(stream));
}

void await_stream(void* stream, void* other, Device device) {
  if (is_capturing(stream, device)) return;
  const ContextScope scope(index_of(device));
  DeviceEvent event(device);
  event.record(other);
  event.delay(stream);
}

DeviceMemory::DeviceMemory(std::size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes == 0) return;
  const ContextScope scope(index_of(device));
  jit::CUdeviceptr memory = 0;
  const jit::CUresult result = driver().mem_alloc(&memory, bytes);
  if (result == jit::kCudaErrorOutOfMemory) {
    std::size_t free = 0;
    std::size_t total = 0;
    driver().mem_get_info(&free, &total);
    throw Error(ErrorKind::memory,
                fmt::format("{}: expected room for {}, got {} free of {}", device.name(),
                            core::format_bytes(static_cast<std::int64_t>(bytes)),
                            core::format_bytes(static_cast<std::int64_t>(free)),
                            core::format_bytes(static_cast<std::int64_t>(total))));
  }
  driver().check(result, "cuMemAlloc");
  data_ = std::bit_cast<void*>(memory);
}

DeviceMemory::~DeviceMemory() {
  const DriverTable* table = data_ != nullptr ? jit::driver_state().table : nullptr;
  if (table != nullptr) table->mem_free(address(data_));
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), device_(other.device_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  return *this;
}

void DeviceMemory::upload(const void* host, std::size_t bytes, std::size_t offset) {
  require_room(bytes, offset, bytes_);
  if (bytes == 0) return;
  const ContextScope scope(device_.index);
  driver().check(driver().memcpy_htod(address(data_, offset), host, bytes), "cuMemcpyHtoD");
  // The copy returns when the bytes are staged; streams that do not wait for the null one go on.
  driver().check(driver().stream_synchronize(nullptr), "cuStreamSynchronize");
}

void DeviceMemory::download(void* host, std::size_t bytes, std::size_t offset) const {
  require_room(bytes, offset, bytes_);
  if (bytes == 0) return;
  const ContextScope scope(device_.index);
  driver().check(driver().memcpy_dtoh(host, address(data_, offset), bytes), "cuMemcpyDtoH");
}

void DeviceMemory::fill(std::uint8_t value, void* stream) {
  if (bytes_ == 0) return;
  const ContextScope scope(device_.index);
  driver().check(
      driver().memset_d8_async(address(data_), value, bytes_, static_cast<jit::CUstream>(stream)),
      "cuMemsetD8Async");
}

DeviceTensor DeviceTensor::copy_of(const TensorView& host, Device device) {
  DeviceTensor tensor;
  const auto bytes = static_cast<std::size_t>(host.span_bytes());
  tensor.memory_ = DeviceMemory(bytes, device);
  tensor.memory_.upload(host.data(), bytes);
  tensor.view_ =
      TensorView(tensor.memory_.data(), host.dtype(), host.shape(), host.strides(), device);
  return tensor;
}

void DeviceTensor::copy_to(const TensorView& host) const {
  memory_.download(host.data(), static_cast<std::size_t>(host.span_bytes()));
}

void DeviceTensor::copy_from(const TensorView& host) {
  memory_.upload(host.data(), static_cast<std::size_t>(host.span_bytes()));
}

void DeviceTensor::fill(std::uint8_t value) {
  memory_.fill(value);
}

}  // namespace estoc

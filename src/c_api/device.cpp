// The C interface to CUDA devices, their memory, streams and events.
#include "estoc/device.hpp"

#include "c_api/support.h"

struct estoc_libraries : estoc::c_api::Holder<13, std::vector<estoc::LibraryInfo>> {
  using Holder::Holder;
};
struct estoc_memory : estoc::c_api::Holder<14, estoc::DeviceMemory> {
  using Holder::Holder;
};
struct estoc_stream : estoc::c_api::Holder<15, estoc::DeviceStream> {
  using Holder::Holder;
};
struct estoc_event : estoc::c_api::Holder<16, estoc::DeviceEvent> {
  using Holder::Holder;
};

namespace estoc::c_api {
namespace {

estoc_device_info info_of(const DeviceInfo& device) {
  estoc_device_info info{};
  info.index = device.index;
  info.cc = device.cc;
  info.name = device.name.c_str();
  info.uuid = device.uuid.c_str();
  info.target = name_of_target(device.target);
  info.memory_bytes = device.memory_bytes;
  info.l2_bytes = device.l2_bytes;
  info.shared_bytes_per_block = device.shared_bytes_per_block;
  info.multiprocessors = device.multiprocessors;
  info.clock_khz = device.clock_khz;
  info.memory_clock_khz = device.memory_clock_khz;
  info.memory_bus_bits = device.memory_bus_bits;
  return info;
}

void check_range(const DeviceMemory& memory, const void* host, std::size_t bytes,
                 std::size_t offset) {
  if (bytes > 0 && host == nullptr) refuse_null("host");
  if (offset <= memory.bytes() && bytes <= memory.bytes() - offset) return;
  throw Error(ErrorKind::value, "bytes: expected a range within the " +
                                    std::to_string(memory.bytes()) + " of the memory, got " +
                                    std::to_string(bytes) + " from " + std::to_string(offset));
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::give;
using c_api::guarded;
using c_api::value_of;

size_t estoc_device_count(void) {
  size_t count = 0;
  (void)guarded([&] { count = estoc::cuda_devices().size(); });
  return count;
}

estoc_status estoc_device_get(size_t index, estoc_device_info* info) {
  return guarded([&] {
    const auto& device = c_api::element(estoc::cuda_devices(), index, "device");
    c_api::write_struct(info, c_api::info_of(device), "info");
  });
}

estoc_status estoc_libraries_find(estoc_libraries** libraries) {
  return guarded([&] { give(libraries, "libraries", [] { return estoc::cuda_libraries(); }); });
}

size_t estoc_libraries_count(const estoc_libraries* libraries) {
  return c_api::count_of(libraries);
}

estoc_status estoc_libraries_get(const estoc_libraries* libraries, size_t index,
                                 estoc_library_info* info) {
  return guarded([&] {
    const auto& library = c_api::element(value_of(libraries, "libraries"), index, "library");
    const estoc_library_info filled = {sizeof(estoc_library_info), library.name.c_str(),
                                       library.path.c_str(), library.version.c_str(),
                                       library.problem.c_str()};
    c_api::write_struct(info, filled, "info");
  });
}

void estoc_libraries_destroy(estoc_libraries* libraries) {
  c_api::destroy(libraries);
}

estoc_status estoc_device_synchronize(int device) {
  return guarded([&] { estoc::synchronize(c_api::cuda_device(device)); });
}

estoc_status estoc_await_stream(void* stream, void* other, int device) {
  return guarded([&] { estoc::await_stream(stream, other, c_api::cuda_device(device)); });
}

estoc_status estoc_memory_allocate(size_t bytes, int device, estoc_memory** memory) {
  return guarded([&] {
    give(memory, "memory", [&] { return estoc::DeviceMemory(bytes, c_api::cuda_device(device)); });
  });
}

void* estoc_memory_data(const estoc_memory* memory) {
  return memory != nullptr && memory->intact() ? memory->value.data() : nullptr;
}

size_t estoc_memory_bytes(const estoc_memory* memory) {
  return memory != nullptr && memory->intact() ? memory->value.bytes() : 0;
}

estoc_status estoc_memory_upload(estoc_memory* memory, const void* host, size_t bytes,
                                 size_t offset) {
  return guarded([&] {
    estoc::DeviceMemory& value = value_of(memory, "memory");
    c_api::check_range(value, host, bytes, offset);
    value.upload(host, bytes, offset);
  });
}

estoc_status estoc_memory_download(const estoc_memory* memory, void* host, size_t bytes,
                                   size_t offset) {
  return guarded([&] {
    const estoc::DeviceMemory& value = value_of(memory, "memory");
    c_api::check_range(value, host, bytes, offset);
    value.download(host, bytes, offset);
  });
}

estoc_status estoc_memory_fill(estoc_memory* memory, uint8_t value, void* stream) {
  return guarded([&] { value_of(memory, "memory").fill(value, stream); });
}

void estoc_memory_destroy(estoc_memory* memory) {
  c_api::destroy(memory);
}

estoc_status estoc_stream_create(int device, estoc_stream** stream) {
  return guarded([&] {
    give(stream, "stream", [&] { return estoc::DeviceStream(c_api::cuda_device(device)); });
  });
}

void* estoc_stream_handle(const estoc_stream* stream) {
  return stream != nullptr && stream->intact() ? stream->value.handle() : nullptr;
}

estoc_status estoc_stream_synchronize(const estoc_stream* stream) {
  return guarded([&] { value_of(stream, "stream").synchronize(); });
}

void estoc_stream_destroy(estoc_stream* stream) {
  c_api::destroy(stream);
}

estoc_status estoc_event_create(int device, estoc_event** event) {
  return guarded([&] {
    give(event, "event", [&] { return estoc::DeviceEvent(c_api::cuda_device(device)); });
  });
}

estoc_status estoc_event_record(estoc_event* event, void* stream) {
  return guarded([&] { value_of(event, "event").record(stream); });
}

estoc_status estoc_event_delay(const estoc_event* event, void* stream) {
  return guarded([&] { value_of(event, "event").delay(stream); });
}

estoc_status estoc_event_synchronize(const estoc_event* event) {
  return guarded([&] { value_of(event, "event").synchronize(); });
}

estoc_status estoc_event_seconds(const estoc_event* start, const estoc_event* event,
                                 double* seconds) {
  return guarded([&] {
    const estoc::DeviceEvent& first = value_of(start, "start");
    double& place = c_api::required(seconds, "seconds");
    place = value_of(event, "event").seconds_since(first);
  });
}

void estoc_event_destroy(estoc_event* event) {
  c_api::destroy(event);
}

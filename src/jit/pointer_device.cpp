// Whether a pointer is memory of the device it is claimed to be of, by the driver's own word.
#include "core/pointer_device.h"

#include <fmt/core.h>

#include "jit/driver.h"

namespace estoc::core {

using jit::DriverState;
using jit::DriverTable;

Status check_pointer_device(const void* data, Device device) {
  const DriverState state = jit::driver_state();
  if (state.table == nullptr) {
    return Status::fail(Reason::device,
                        fmt::format("expected memory of {}, but {}", device.name(), state.problem));
  }
  const DriverTable& table = *state.table;
  const auto address = reinterpret_cast<jit::CUdeviceptr>(data);
  // The attribute that suffices in nearly every case goes first: each query takes time.
  int index = -1;
  const bool known =
      table.pointer_get_attribute(&index, jit::kPointerDeviceOrdinal, address) == jit::kCudaSuccess;
  if (known && index == device.index) return Status::success();
  unsigned type = 0;
  if (table.pointer_get_attribute(&type, jit::kPointerMemoryType, address) != jit::kCudaSuccess ||
      type == 0) {
    return Status::fail(Reason::device,
                        fmt::format("expected memory of {}, got a host pointer", device.name()));
  }
  int managed = 0;
  table.pointer_get_attribute(&managed, jit::kPointerIsManaged, address);
  if (managed != 0 || type == jit::kMemoryTypeHost) return Status::success();
  return Status::fail(Reason::device, fmt::format("expected memory of {}, got memory of cuda:{}",
                                                  device.name(), index));
}

}  // namespace estoc::core

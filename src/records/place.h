// The device, driver and version of Estoc that a measurement holds for.
#pragma once

#include <optional>
#include <string>

#include "estoc/tensor.hpp"
#include "estoc/tuned.hpp"

namespace estoc::records {

struct Place {
  std::string device;
  int cc = 0;
  std::string driver;
  std::string library;

  /// Whether the record was measured on such a device.
  bool has_device(const TunedKernel& record) const {
    return record.device == device && record.cc == cc;
  }
  /// Whether the record was measured here, with this driver and version.
  bool is_of(const TunedKernel& record) const {
    return has_device(record) && record.driver == driver && record.library == library;
  }
};

/// That of a device of this machine; nullopt where there is no such device.
std::optional<Place> place_of(Device device);

}  // namespace estoc::records

// Addresses, which Python hands on as whole numbers.
#pragma once

#include <cstdint>

#include "binding.h"

namespace estoc::python {

inline void* pointer_at(std::uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): there is no other way
  return reinterpret_cast<void*>(address);
}

inline void* pointer_of(nb::handle number) {
  return pointer_at(nb::cast<std::uintptr_t>(number));
}

inline std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace estoc::python

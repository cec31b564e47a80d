// A tensor map, as host and device agree on it.
#pragma once

namespace estoc::abi {

/// A tensor map, encoded by the driver. Kernels take it in a `const __grid_constant__` parameter
/// and hand it on by reference.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace estoc::abi

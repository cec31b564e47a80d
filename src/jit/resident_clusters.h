// How many clusters of CTAs a device runs at once, as its driver says.
#pragma once

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/device.hpp"
#include "jit/driver.h"

namespace estoc::jit {

/// The largest cluster that a device may have, in CTAs.
inline constexpr int kMaxClusterSize = 16;

/// How many clusters of `size` CTAs device `index` runs at once when a CTA takes a whole
/// multiprocessor; 0 while the driver was not queried, or when it cannot tell.
/// Takes no lock.
int resident_clusters(int index, int size);

/// CTAs of a cluster of that geometry.
int cluster_size(const CudaGeometry& geometry);

/// Queries the driver for that number, by a kernel that is loaded in the current context and
/// prepared for this geometry, and remembers it; where the driver does not tell, as if any
/// multiprocessors could form a cluster. Only a CTA that takes more than half of a multiprocessor's
/// shared memory tells; others leave the number as it is. True when the number is another now than
/// a plan had to assume so far.
bool learn_resident_clusters(const DriverTable& table, const DeviceInfo& device, CUkernel kernel,
                             const CudaGeometry& geometry);

}  // namespace estoc::jit

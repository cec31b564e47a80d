// How many clusters of CTAs a device runs at once, as its driver says.
#include "jit/resident_clusters.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace estoc::jit {
namespace {

// Devices beyond those are never known.
constexpr std::size_t kDevices = 64;
using CountsBySize = std::array<std::atomic<int>, kMaxClusterSize + 1>;
std::array<CountsBySize, kDevices> counts{};

std::atomic<int>* count_of(int index, int size) {
  const auto device = static_cast<std::size_t>(index);
  if (index < 0 || device >= kDevices || size < 1 || size > kMaxClusterSize) return nullptr;
  return &counts[device][static_cast<std::size_t>(size)];
}

/// The number that the driver reports; 0 where it reports none.
int query_driver(const DriverTable& table, CUkernel kernel, const CudaGeometry& geometry) {
  CUfunction function = nullptr;
  if (table.occupancy_max_active_clusters == nullptr ||
      table.kernel_get_function(&function, kernel) != kCudaSuccess) {
    return 0;
  }
  CUlaunchAttribute attribute;
  attribute.id = kLaunchAttributeClusterDimension;
  attribute.value.cluster = {geometry.cluster[0], geometry.cluster[1], geometry.cluster[2]};
  const CUlaunchConfig config{.grid_x = geometry.cluster[0],
                              .grid_y = geometry.cluster[1],
                              .grid_z = geometry.cluster[2],
                              .block_x = geometry.block[0],
                              .block_y = geometry.block[1],
                              .block_z = geometry.block[2],
                              .shared_bytes = geometry.shared_bytes,
                              .stream = nullptr,
                              .attributes = &attribute,
                              .attribute_count = 1};
  int clusters = 0;
  const CUresult result = table.occupancy_max_active_clusters(&clusters, function, &config);
  return result == kCudaSuccess ? clusters : 0;
}

}  // namespace

int resident_clusters(int index, int size) {
  const std::atomic<int>* count = count_of(index, size);
  return count != nullptr ? count->load(std::memory_order_relaxed) : 0;
}

int cluster_size(const CudaGeometry& geometry) {
  return static_cast<int>(geometry.cluster[0] * geometry.cluster[1] * geometry.cluster[2]);
}

bool learn_resident_clusters(const DriverTable& table, const DeviceInfo& device, CUkernel kernel,
                             const CudaGeometry& geometry) {
  const int size = cluster_size(geometry);
  std::atomic<int>* count = count_of(device.index, size);
  const auto shared = static_cast<std::int64_t>(geometry.shared_bytes);
  if (count == nullptr || 2 * shared <= device.shared_bytes_per_block) return false;
  const int assumed = std::max(device.multiprocessors / size, 1);
  const int clusters = query_driver(table, kernel, geometry);
  const int known = clusters > 0 ? clusters : assumed;
  count->store(known, std::memory_order_relaxed);
  return known != assumed;
}

}  // namespace estoc::jit

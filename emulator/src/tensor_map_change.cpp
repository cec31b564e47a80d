// Changes of tensor maps by kernels, and the fences between them and TMA.
#include <fmt/core.h>

#include <atomic>
#include <cstring>

#include "tma_box.h"

namespace estoc::emulator {
namespace {

constexpr u32 kMapBytes = sizeof(EncodedMap);

// Empty where the value may stand there.
std::string check_value(const EncodedMap& map, MapField field, u32 mode, u64 value) {
  const u32 modes = field == MapField::stride ? map.rank - 1u : map.rank;
  if (field != MapField::address && mode >= modes) {
    return fmt::format("mode {} of a tensor map of rank {}", mode, map.rank);
  }
  switch (field) {
    case MapField::address:
      return value % 16 == 0 ? "" : "the address is not a multiple of 16";
    case MapField::extent:
      return value != 0 ? "" : "the extent is 0";
    case MapField::stride:
      break;
  }
  if (value % 16 == 0 && value < u64{1} << 40) return {};
  return fmt::format("the stride is {} bytes, not a multiple of 16 below 2^40", value);
}

void put(EncodedMap& map, MapField field, u32 mode, u64 value) {
  switch (field) {
    case MapField::address:
      map.address = value;
      return;
    case MapField::extent:
      map.last[mode] = static_cast<u32>(value - 1);
      return;
    case MapField::stride:
      map.strides[mode] = value;
  }
}

bool touch_map(Thread& thread, u64 map, bool write, Site site) {
  if (map % kMapBytes != 0) {
    Machine::current().report(Fault::misaligned, thread, site, map,
                              "a tensor map that is changed is aligned to 128 bytes");
    return false;
  }
  return touch_global(Accessor::generic(thread, site, write), map, kMapBytes);
}

}  // namespace

void tensormap_replace(u64 map, MapField field, u32 mode, u64 value, Site site) {
  static std::atomic<u64> changes{0};
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  if (!touch_map(thread, map, false, site) || !touch_map(thread, map, true, site)) return;
  EncodedMap encoded{};
  std::memcpy(&encoded, host_pointer(map), kMapBytes);
  std::string problem = encoded.magic != kMapMagic ? "this is no tensor map"
                                                   : check_value(encoded, field, mode, value);
  if (!problem.empty()) {
    m.report(Fault::bad_descriptor, thread, site, map, std::move(problem));
    return;
  }
  put(encoded, field, mode, value);
  encoded.change = ++changes;
  std::memcpy(host_pointer(map), &encoded, kMapBytes);
  std::vector<u64>& changed = thread.changed_maps;
  if (std::find(changed.begin(), changed.end(), map) == changed.end()) changed.push_back(map);
}

void fence_tensormap_release(Site site) {
  Thread& thread = Machine::self();
  for (const u64 map : thread.changed_maps) {
    // Whoever reads the map is ordered after the fence, not only after the changes.
    if (!touch_map(thread, map, true, site)) continue;
    auto* const encoded = host_pointer<EncodedMap>(map);
    encoded->released = encoded->change;
  }
  thread.changed_maps.clear();
}

void fence_tensormap_acquire(u64 map, Site site) {
  Thread& thread = Machine::self();
  if (!touch_map(thread, map, false, site)) return;
  thread.acquired_maps[map] = host_pointer<EncodedMap>(map)->change;
}

void check_map(Thread& thread, const TensorMap& map, Site site) {
  Machine& m = Machine::current();
  const auto address = reinterpret_cast<u64>(&map);
  // Parameters are in no allocation, and nothing writes them.
  if (!m.checks() || m.find_allocation(address, kMapBytes) == nullptr) return;
  if (!touch_global(Accessor::generic(thread, site, false), address, kMapBytes)) return;
  const EncodedMap& encoded = *host_pointer<EncodedMap>(address);
  if (encoded.released != encoded.change) {
    m.report(
        Fault::missing_proxy_fence, thread, site, address,
        "the tensor map was changed, and TMA need not see that: call "
        "fence_proxy_tensormap_release_gpu() in the thread that changes it, before the barrier "
        "or the end of the launch that hands it over");
  }
  const auto found = thread.acquired_maps.find(address);
  if (found != thread.acquired_maps.end() && found->second == encoded.change) return;
  m.report(Fault::missing_proxy_fence, thread, site, address,
           "TMA may read the tensor map, which is in global memory, as it was before: call "
           "fence_proxy_tensormap_acquire_gpu() in the thread that issues the copy, after what "
           "orders it behind the change");
}

}  // namespace estoc::emulator

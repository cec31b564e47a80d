// Chooses what a search tries.
#include "tune/candidates.h"

#include <algorithm>
#include <map>

namespace estoc::tuning {
namespace {

constexpr std::size_t kMaxOfALibrary = 8;
constexpr int kMaxSwizzle = 64;
constexpr int kMaxSplit = 256;
constexpr std::int16_t kClusterSplit = 8;

std::vector<Knobs> neighbours(const Knobs& knobs) {
  std::vector<Knobs> all;
  const auto add = [&](auto change) {
    Knobs other = knobs;
    change(other);
    const bool in_range = other.swizzle >= 1 && other.swizzle <= kMaxSwizzle && other.split >= 1 &&
                          other.split <= kMaxSplit;
    if (in_range && !(other == knobs)) all.push_back(other);
  };
  add([](Knobs& each) {
    each.raster =
        each.raster == Knobs::Raster::along_m ? Knobs::Raster::along_n : Knobs::Raster::along_m;
  });
  add([](Knobs& each) { each.zigzag = !each.zigzag; });
  add([](Knobs& each) { each.swizzle = static_cast<std::int16_t>(each.swizzle * 2); });
  add([](Knobs& each) { each.swizzle = static_cast<std::int16_t>(each.swizzle / 2); });
  // A kernel that does not divide K would be the same one again.
  if (knobs.split > 1) {
    add([](Knobs& each) { each.split = static_cast<std::int16_t>(each.split + 1); });
    add([](Knobs& each) { each.split = static_cast<std::int16_t>(each.split - 1); });
    add([](Knobs& each) { each.split = static_cast<std::int16_t>(each.split * 2); });
  }
  // The same parts in clusters, without a second kernel.
  if (knobs.split_tiles > 0) {
    add([](Knobs& each) {
      each.split = std::min(each.split, kClusterSplit);
      each.split_tiles = 0;
    });
  }
  return all;
}

}  // namespace

std::vector<Kernel> first_candidates(const KernelList& list, std::size_t top) {
  std::vector<Kernel> kernels;
  std::map<const KernelClass*, std::size_t> of_library;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Kernel& kernel = list[i];
    const KernelClass& of = kernel.kernel_class();
    const bool wanted = of.needs_device() && of_library[&of]++ < kMaxOfALibrary;
    if (i < top || wanted) kernels.push_back(kernel);
  }
  return kernels;
}

std::vector<Kernel> other_knobs(const Kernel& kernel, const RuntimeArguments& arguments) {
  std::vector<Kernel> kernels;
  if (kernel.knobs() == Knobs{} || arguments.controls().keeps_order()) return kernels;
  for (const Knobs& knobs : neighbours(kernel.knobs())) {
    const Kernel other = kernel.with_knobs(knobs);
    if (other.supports(arguments)) kernels.push_back(other);
  }
  return kernels;
}

}  // namespace estoc::tuning

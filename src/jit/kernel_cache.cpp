// The public view of the disk cache.
#include "estoc/kernel_cache.hpp"

#include "core/text.h"
#include "jit/compile.h"

namespace estoc {

std::string kernel_cache_path() {
  const jit::DiskCache* cache = jit::disk_cache();
  return cache != nullptr ? cache->folder().string() : std::string{};
}

std::string kernel_cache_problem() {
  std::string problem;
  (void)jit::DiskCache::default_limit(&problem);
  if (!problem.empty()) return problem;
  if (const jit::DiskCache* cache = jit::disk_cache()) return cache->problem();
  return "there is no kernel cache: neither ESTOC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set";
}

std::int64_t kernel_cache_limit() {
  return jit::DiskCache::default_limit();
}

std::optional<std::int64_t> parse_cache_size(std::string_view text) {
  return core::parse_bytes(text);
}

std::vector<CachedKernel> list_kernel_cache() {
  std::vector<CachedKernel> kernels;
  const jit::DiskCache* cache = jit::disk_cache();
  if (cache == nullptr) return kernels;
  for (jit::CacheListing& entry : cache->list()) {
    kernels.push_back({std::move(entry.key), std::move(entry.kernel), std::move(entry.target),
                       std::move(entry.compiler), entry.bytes, entry.last_used, entry.intact});
  }
  return kernels;
}

int verify_kernel_cache() {
  const jit::DiskCache* cache = jit::disk_cache();
  return cache != nullptr ? cache->verify() : 0;
}

int prune_kernel_cache(std::int64_t bytes) {
  const jit::DiskCache* cache = jit::disk_cache();
  return cache != nullptr ? cache->prune(bytes) : 0;
}

int clear_kernel_cache() {
  const jit::DiskCache* cache = jit::disk_cache();
  return cache != nullptr ? cache->clear() : 0;
}

}  // namespace estoc

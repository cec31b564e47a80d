// The processes that cache_stress.py starts, kills and starves:
//
//   worker work FOLDER COUNTERS SEED    looks for kernels, judges them, stores the missing, for
//   ever worker heal FOLDER                  every kernel is missed or right, and right after a
//   store worker kinds                        prints the kinds of hostile files worker make KIND
//   BYTES FILE         writes a hostile file worker open FILE                    opens it; prints
//   the error that refuses it
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "estoc/bundle.hpp"
#include "hostile_files.h"
#include "jit/disk_cache.h"

namespace {

using estoc::core::Hash128;
using estoc::jit::CacheEntry;
using estoc::jit::DiskCache;

constexpr int kKernels = 48;
constexpr const char* kCompiler = "nvrtc-13.0-00000000";
// Small enough that entries are evicted all the time.
constexpr std::int64_t kLimit = 4 << 20;

Hash128 key_of(int kernel) {
  return estoc::core::hash("kernel " + std::to_string(kernel));
}

/// The one right entry of a kernel.
CacheEntry entry_of(int kernel) {
  CacheEntry entry;
  entry.kernel = "kernel " + std::to_string(kernel);
  entry.target = "sm_90a";
  entry.compiler = kCompiler;
  entry.resources.registers = kernel;
  entry.log = std::string(static_cast<std::size_t>(kernel) * 100, 'l');
  std::mt19937 random(static_cast<unsigned>(kernel));  // NOLINT: the same bytes in every process
  entry.cubin.resize(1000 + random() % 300'000);
  std::generate(entry.cubin.begin(), entry.cubin.end(),
                [&] { return static_cast<char>(random()); });
  return entry;
}

bool same(const CacheEntry& a, const CacheEntry& b) {
  return a.kernel == b.kernel && a.target == b.target && a.compiler == b.compiler &&
         a.resources == b.resources && a.log == b.log && a.cubin == b.cubin;
}

/// Shared by all workers, so that the work of those that are killed counts too.
struct Counters {
  std::atomic<std::int64_t> hits, misses, wrong;
};

Counters& map_counters(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  void* const memory =
      ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the counters cannot be mapped");
  return *static_cast<Counters*>(memory);
}

[[noreturn]] void work(const char* folder, const char* counters_path, unsigned seed) {
  Counters& counters = map_counters(counters_path);
  std::mt19937 random(seed);
  const DiskCache cache(folder, kLimit);
  for (;;) {
    const int kernel = static_cast<int>(random() % kKernels);
    const CacheEntry right = entry_of(kernel);
    // Seldom without a compiler, which goes through the folder.
    const auto found = cache.find(key_of(kernel), random() % 16 == 0 ? "" : kCompiler);
    if (!found) {
      ++counters.misses;
      cache.store(key_of(kernel), right);
    } else {
      ++(same(*found, right) ? counters.hits : counters.wrong);
    }
    if (random() % 256 == 0) (void)cache.verify();
  }
}

int heal(const char* folder) {
  const DiskCache cache(folder);
  int wrong = 0;
  int sick = 0;
  for (int kernel = 0; kernel < kKernels; ++kernel) {
    const CacheEntry right = entry_of(kernel);
    const auto found = cache.find(key_of(kernel), kCompiler);
    if (found && !same(*found, right)) ++wrong;
    if (!found) cache.store(key_of(kernel), right);
    const auto again = cache.find(key_of(kernel), kCompiler);
    if (!again || !same(*again, right)) ++sick;
  }
  (void)cache.verify();
  const auto listed = cache.list();
  const auto damaged = std::count_if(listed.begin(), listed.end(),
                                     [](const auto& listing) { return !listing.intact; });
  std::printf("%d wrong, %d not healed, %d damaged\n", wrong, sick, static_cast<int>(damaged));
  return wrong + sick + static_cast<int>(damaged) == 0 ? 0 : 1;
}

int open_file(const char* path) {
  try {
    const estoc::Bundle bundle = estoc::Bundle::open(path);
    std::printf("opened: %zu artifacts\n", bundle.size());
  } catch (const estoc::Error& error) {
    std::printf("refused: %.300s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::printf("refused: out of memory\n");
  }
  return 0;
}

int write_file(std::string_view kind, std::string_view size, const char* path) {
  std::size_t bytes = 0;
  (void)std::from_chars(size.data(), size.data() + size.size(), bytes);
  const std::string file = estoc::stress::hostile_file(kind, bytes);
  std::ofstream out(path, std::ios::binary);
  out.write(file.data(), static_cast<std::streamsize>(file.size()));
  return out.flush() ? 0 : 1;
}

int run(std::span<char*> words) {
  const std::string_view mode = words.empty() ? "" : words[0];
  if (mode == "work" && words.size() == 4) {
    work(words[1], words[2], static_cast<unsigned>(std::stoul(words[3])));
  }
  if (mode == "heal" && words.size() == 2) return heal(words[1]);
  if (mode == "open" && words.size() == 2) return open_file(words[1]);
  if (mode == "make" && words.size() == 4) return write_file(words[1], words[2], words[3]);
  if (mode == "kinds") {
    for (const std::string& kind : estoc::stress::hostile_kinds())
      std::puts(kind.c_str());
    return 0;
  }
  std::fputs("see the head of worker.cpp\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

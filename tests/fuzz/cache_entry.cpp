// Fuzzes records of the kernel cache: whatever lies beside a compiled kernel, looking it up throws
// nothing and gives no other code than what was stored.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "expect.h"
#include "jit/disk_cache.h"

namespace {

namespace fs = std::filesystem;
using estoc::fuzz::expect;
using estoc::jit::CacheEntry;
using estoc::jit::DiskCache;

/// A cache of one entry, in memory where the system has a folder for that.
class Folder {
 public:
  Folder()
      : path_(fs::path(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") /
              ("estoc_fuzz_cache_" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

CacheEntry entry() {
  CacheEntry made;
  made.kernel = "some_gemm-f32";
  made.target = "sm_90a";
  made.compiler = "nvrtc-13.0";
  made.cubin = std::string("\x7f") + "ELF and what the compiler made";
  return made;
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

// The input is the record; that which was stored is a seed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const DiskCache cache(folder.path());
  static const estoc::core::Hash128 content = estoc::core::hash("the text of a kernel");
  static const CacheEntry stored = entry();
  static const fs::path code = [] {
    cache.store(content, stored);
    return cache.code_file(content, stored);
  }();
  fs::path record = code;
  record.replace_extension(".json");
  write(record, {reinterpret_cast<const char*>(data), size});
  for (const std::string_view compiler : {"nvrtc-13.0", ""}) {
    const auto found = cache.find(content, compiler);
    if (found) expect(found->cubin == stored.cubin);
  }
  for (const auto& listed : cache.list())
    expect(listed.key == code.stem().string());
  expect(fs::exists(code));
  return 0;
}

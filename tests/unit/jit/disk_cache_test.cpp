// The disk cache under every fault that a file system and other processes can bring about.
#include "jit/disk_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

namespace estoc::jit {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "estoc-cache-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    folder_ = root_ / "cache";
  }
  ~DiskCacheTest() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
  }

  static CacheEntry entry(const std::string& kernel, std::size_t bytes = 100) {
    CacheEntry made;
    made.kernel = kernel;
    made.target = "sm_90a";
    made.compiler = "nvrtc-13.0";
    made.resources.registers = 40;
    made.resources.spill_store_bytes = 8;
    made.log = "ptxas info: \"quoted\"\n";
    made.cubin = std::string(bytes, kernel.empty() ? 'x' : kernel[0]);
    return made;
  }
  static core::Hash128 key(const std::string& text) { return core::hash(text); }

  fs::path file_of(const std::string& text, const char* suffix) const {
    return folder_ / (key(text).hex() + "-nvrtc-13.0" + suffix);
  }

  fs::path root_;
  fs::path folder_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  const auto found = cache.find(key("a"), "nvrtc-13.0");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernel, "a");
  EXPECT_EQ(found->cubin, entry("a").cubin);
  EXPECT_EQ(found->log, entry("a").log);
  EXPECT_EQ(found->resources, entry("a").resources);
  EXPECT_FALSE(cache.find(key("b"), "nvrtc-13.0"));
}

TEST_F(DiskCacheTest, KeepsSharedObjectsBesideCubins) {
  const DiskCache cache(folder_);
  CacheEntry library = entry("library");
  library.format = "so";
  cache.store(key("library"), library);
  cache.store(key("cubin"), entry("cubin"));
  EXPECT_TRUE(fs::exists(file_of("library", ".so")));
  EXPECT_TRUE(fs::exists(file_of("cubin", ".cubin")));
  const auto found = cache.find(key("library"), "nvrtc-13.0");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, library.cubin);
  EXPECT_EQ(cache.code_file(key("library"), *found), file_of("library", ".so"));
  ASSERT_EQ(cache.list().size(), 2U);
  for (const CacheListing& listing : cache.list())
    EXPECT_GT(listing.bytes, 100);
  EXPECT_EQ(cache.verify(), 0);
  std::ofstream(file_of("library", ".so")) << "another";
  EXPECT_FALSE(cache.find(key("library"), "nvrtc-13.0"));
  EXPECT_EQ(cache.verify(), 2);
  cache.store(key("library"), library);
  EXPECT_EQ(cache.prune(0), 2);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DiskCacheTest, IsPrivate) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(file_of("a", ".cubin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DiskCacheTest, AnotherCompilersEntryServesOnlyWhenNoneIsKnown) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  EXPECT_FALSE(cache.find(key("a"), "nvrtc-12.9"));
  EXPECT_TRUE(cache.find(key("a"), ""));
}

TEST_F(DiskCacheTest, WhereNoCompilerIsKnownTheNewestOfNvidiasServes) {
  const DiskCache cache(folder_);
  for (const char* compiler : {"nvrtc-12.10-aa", "nvrtc-12.9-bb", "nvrtc-0.1-cc", "zig-99"}) {
    CacheEntry made = entry("a");
    made.compiler = compiler;
    cache.store(key("a"), made);
    made.compiler = "nvrtc-0.1-cc";
    cache.store(key("virtual"), made);
  }
  const auto found = cache.find(key("a"), "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->compiler, "nvrtc-12.10-aa");
  EXPECT_FALSE(cache.find(key("virtual"), "")) << "code of the virtual GPU";
}

TEST_F(DiskCacheTest, EveryTruncationAndFlippedByteIsAMissAndHeals) {
  const DiskCache cache(folder_);
  for (const char* suffix : {".cubin", ".json"}) {
    cache.store(key("a"), entry("a"));
    const auto size = fs::file_size(file_of("a", suffix));
    for (std::uintmax_t keep = 0; keep < size; keep += std::max<std::uintmax_t>(size / 23, 1)) {
      cache.store(key("a"), entry("a"));
      fs::resize_file(file_of("a", suffix), keep);
      EXPECT_FALSE(cache.find(key("a"), "nvrtc-13.0")) << suffix << " cut to " << keep;
    }
    cache.store(key("a"), entry("a"));
    ASSERT_TRUE(cache.find(key("a"), "nvrtc-13.0"));
  }
  for (int at = 0; at < 100; at += 7) {
    cache.store(key("a"), entry("a"));
    std::fstream file(file_of("a", ".cubin"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('#');
    file.close();
    EXPECT_FALSE(cache.find(key("a"), "nvrtc-13.0")) << "byte " << at;
  }
  cache.store(key("a"), entry("a"));
  EXPECT_TRUE(cache.find(key("a"), "nvrtc-13.0"));
}

TEST_F(DiskCacheTest, FlippedBitsOfARecordAreMisses) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  std::ifstream in(file_of("a", ".json"));
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 11) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    std::ofstream(file_of("a", ".json")) << flipped;
    const auto found = cache.find(key("a"), "nvrtc-13.0");
    // White space may change.
    EXPECT_TRUE(!found ||
                (found->resources == entry("a").resources && found->log == entry("a").log))
        << bit;
  }
}

TEST_F(DiskCacheTest, AnEntryUnderAnothersNameIsAMiss) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  for (const char* suffix : {".cubin", ".json"})
    fs::copy_file(file_of("a", suffix), file_of("b", suffix));
  EXPECT_FALSE(cache.find(key("b"), "nvrtc-13.0"));
  EXPECT_TRUE(cache.find(key("a"), "nvrtc-13.0"));
  EXPECT_EQ(cache.verify(), 2);
}

TEST_F(DiskCacheTest, AnEntryOfAnotherSchemaIsAMiss) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  std::ifstream in(file_of("a", ".json"));
  std::string text(std::istreambuf_iterator<char>(in), {});
  const auto at = text.find("\"schema\": 2");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 11, "\"schema\": 1");
  std::ofstream(file_of("a", ".json")) << text;
  EXPECT_FALSE(cache.find(key("a"), "nvrtc-13.0"));
}

TEST_F(DiskCacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
  fs::create_directories(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  EXPECT_FALSE(cache.find(key("a"), "nvrtc-13.0"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DiskCacheTest, SaysWhyAFolderCannotBeUsed) {
  EXPECT_EQ(DiskCache(folder_).problem(), "");
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_NE(DiskCache(folder_).problem().find("others"), std::string::npos);
  const DiskCache impossible("/proc/estoc");
  EXPECT_NE(impossible.problem().find("/proc/estoc: it cannot be made"), std::string::npos)
      << impossible.problem();
}

TEST_F(DiskCacheTest, AFileInTheFoldersPlaceIsAnEmptyCache) {
  std::ofstream(folder_) << "not a folder";
  const DiskCache cache(folder_);
  EXPECT_NE(cache.problem(), "");
  cache.store(key("a"), entry("a"));
  EXPECT_FALSE(cache.find(key("a"), ""));
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(cache.clear(), 0);
}

TEST_F(DiskCacheTest, PrunesWhatWasUsedLongestAgo) {
  const DiskCache cache(folder_);
  for (const char* name : {"a", "b", "c"}) {
    cache.store(key(name), entry(name, 10'000));
  }
  auto age = [&](const char* name, int hours) {
    fs::last_write_time(file_of(name, ".json"),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  age("a", 1);
  age("b", 3);
  age("c", 2);
  EXPECT_EQ(cache.prune(25'000), 1);
  EXPECT_FALSE(cache.find(key("b"), ""));
  EXPECT_TRUE(cache.find(key("a"), ""));
  EXPECT_TRUE(cache.find(key("c"), ""));
}

TEST_F(DiskCacheTest, AHitCountsAsUse) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a", 10'000));
  cache.store(key("b"), entry("b", 10'000));
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(file_of("a", ".json"), old);
  fs::last_write_time(file_of("b", ".json"), old + std::chrono::hours(1));
  ASSERT_TRUE(cache.find(key("a"), "nvrtc-13.0"));
  cache.prune(15'000);
  EXPECT_TRUE(cache.find(key("a"), ""));
  EXPECT_FALSE(cache.find(key("b"), ""));
}

TEST_F(DiskCacheTest, StoringPastTheLimitEvicts) {
  const DiskCache cache(folder_, 50'000);
  for (int i = 0; i < 20; ++i)
    cache.store(key(std::to_string(i)), entry("k", 10'000));
  std::int64_t total = 0;
  for (const CacheListing& listing : cache.list())
    total += listing.bytes;
  EXPECT_LE(total, 50'000);
  EXPECT_GE(cache.list().size(), 3u);
}

TEST_F(DiskCacheTest, VerifyRemovesWhatIsBrokenAndNothingElse) {
  const DiskCache cache(folder_);
  cache.store(key("a"), entry("a"));
  cache.store(key("b"), entry("b"));
  fs::resize_file(file_of("b", ".cubin"), 5);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
  std::ofstream(folder_ / ".estoc-1-2-3.tmp") << "x";
  fs::last_write_time(folder_ / ".estoc-1-2-3.tmp", old);
  fs::last_write_time(file_of("b", ".cubin"), old);
  EXPECT_EQ(cache.verify(), 3);
  EXPECT_TRUE(cache.find(key("a"), ""));
  EXPECT_EQ(cache.list().size(), 1u);
}

TEST_F(DiskCacheTest, FilesOfOthersAreLeftAlone) {
  const DiskCache cache(folder_, 1000);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const char* name : {"package.json", "mine.cubin", "notes", "compiler.record", "a.tmp"}) {
    std::ofstream(folder_ / name) << "not the cache's";
    fs::last_write_time(folder_ / name, old);
  }
  cache.store(key("a"), entry("a", 5000));
  cache.store(key("b"), entry("b", 5000));
  EXPECT_EQ(cache.verify(), 0);
  EXPECT_TRUE(cache.list().empty()) << "the limit is smaller than one";
  EXPECT_EQ(cache.clear(), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 5);
}

// What a process leaves that is killed between its writes.
void leave_behind(const fs::path& cubin, const fs::path& temporary) {
  std::ofstream(cubin) << "half an entry";
  std::ofstream(temporary) << "less";
}

TEST_F(DiskCacheTest, VerifyAndClearRemoveWhatDeadProcessesLeftAtOnce) {
  const DiskCache cache(folder_);
  const fs::path temporary = folder_ / ".estoc-1-2-3.tmp";
  cache.store(key("b"), entry("b"));
  leave_behind(file_of("a", ".cubin"), temporary);
  EXPECT_EQ(cache.verify(), 2);
  EXPECT_TRUE(cache.find(key("b"), ""));
  leave_behind(file_of("a", ".cubin"), temporary);
  EXPECT_EQ(cache.clear(), 1);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DiskCacheTest, VerifySparesWhatALivingProcessWrites) {
  const DiskCache cache(folder_);
  const int writer = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_SH), 0);
  leave_behind(file_of("a", ".cubin"), folder_ / ".estoc-1-2-3.tmp");
  EXPECT_EQ(cache.verify(), 0);
  ::close(writer);
  EXPECT_EQ(cache.verify(), 2);
}

TEST_F(DiskCacheTest, StoringRemovesOldLeftovers) {
  const DiskCache cache(folder_);
  const fs::path temporary = folder_ / ".estoc-1-2-3.tmp";
  leave_behind(file_of("a", ".cubin"), temporary);
  cache.store(key("b"), entry("b"));
  EXPECT_TRUE(fs::exists(temporary)) << "it may still be written";
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const fs::path& path : {file_of("a", ".cubin"), file_of("b", ".cubin"), temporary})
    fs::last_write_time(path, old);
  for (const char* name : {"c", "d", "e"})
    cache.store(key(name), entry(name));
  EXPECT_TRUE(fs::exists(temporary)) << "the folder is looked through once for many entries";
  DiskCache(folder_).store(key("f"), entry("f"));
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_FALSE(fs::exists(file_of("a", ".cubin")));
  EXPECT_TRUE(cache.find(key("b"), ""));
}

TEST_F(DiskCacheTest, EntriesThatAreCutWhileTheyAreReadAreMisses) {
  const DiskCache cache(folder_);
  const CacheEntry large = entry("a", 4'000'000);
  cache.store(key("a"), large);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) {
      fs::resize_file(file_of("a", ".cubin"), 10);
      DiskCache(folder_).store(key("a"), large);
    }
  }
  for (int i = 0; i < 200; ++i) {
    const auto found = cache.find(key("a"), "nvrtc-13.0");
    EXPECT_TRUE(!found || found->cubin == large.cubin);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(DiskCacheTest, ProcessesKilledAtAnyMomentLeaveNothingWrong) {
  std::mt19937 random(7);  // NOLINT: the same moments in every run
  const DiskCache cache(folder_);
  for (int round = 0; round < 30; ++round) {
    std::vector<pid_t> children;
    for (int process = 0; process < 4; ++process) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        for (int i = process;; ++i) {
          const std::string name = std::to_string(i % 4);
          DiskCache(folder_).store(key(name), entry(name, 300'000));
        }
      }
      children.push_back(child);
    }
    ::usleep(static_cast<useconds_t>(random() % 12'000));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    for (int i = 0; i < 4; ++i) {
      const std::string name = std::to_string(i);
      const auto found = cache.find(key(name), "nvrtc-13.0");
      EXPECT_TRUE(!found || found->cubin == entry(name, 300'000).cubin) << name;
    }
  }
  cache.verify();
  const auto files = std::distance(fs::directory_iterator(folder_), {});
  EXPECT_EQ(static_cast<std::size_t>(files), 2 * cache.list().size())
      << "only whole entries are left";
  for (const CacheListing& listing : cache.list())
    EXPECT_TRUE(listing.intact);
}

TEST_F(DiskCacheTest, ThirtyTwoProcessesWriteAndReadAtOnce) {
  constexpr int kProcesses = 32;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const DiskCache cache(folder_, 200'000);
      bool right = true;
      for (int i = 0; i < 12; ++i) {
        const std::string name = std::to_string(i % 4);
        cache.store(key(name), entry(name, 20'000));
        const auto found = cache.find(key(name), "nvrtc-13.0");
        // A miss is allowed, a wrong entry is not.
        if (found && found->cubin != entry(name, 20'000).cubin) right = false;
      }
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const DiskCache cache(folder_);
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    EXPECT_TRUE(cache.find(key(name), "nvrtc-13.0")) << name;
  }
}

}  // namespace
}  // namespace estoc::jit

// Implements files that appear whole or not at all.
#include "core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace estoc::core {
namespace {

/// A place for the path of one temporary, in memory that a signal handler may read. Whoever moves
/// the state away from `ready` has the path to itself.
struct PendingSlot {
  enum class State : int { free, busy, ready };
  std::atomic<State> state{State::free};
  std::array<char, PATH_MAX> path;

  bool move(State from, State to) noexcept { return state.compare_exchange_strong(from, to); }
};
static_assert(std::atomic<PendingSlot::State>::is_always_lock_free);

constexpr int kPendingSlots = 64;
constinit std::array<PendingSlot, kPendingSlots> pending_slots{};

PendingSlot& slot_at(int index) noexcept {
  return pending_slots[static_cast<std::size_t>(index)];
}

/// The index of the slot that now holds the path, or -1 when there is none free or large enough.
int remember_pending(const std::filesystem::path& path) noexcept {
  const std::size_t size = path.native().size() + 1;
  if (size > PATH_MAX) return -1;
  for (int i = 0; i < kPendingSlots; ++i) {
    PendingSlot& slot = slot_at(i);
    if (!slot.move(PendingSlot::State::free, PendingSlot::State::busy)) continue;
    std::memcpy(slot.path.data(), path.c_str(), size);
    slot.state.store(PendingSlot::State::ready);
    return i;
  }
  return -1;
}

void forget_pending(int index) noexcept {
  // A slot that a signal handler is reading right now is left to it: the process is about to end.
  if (index >= 0) slot_at(index).move(PendingSlot::State::ready, PendingSlot::State::free);
}

/// The path that a commit replaces: absolute, with a symbolic link at its end followed.
std::filesystem::path resolve_target(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::absolute(path, error);
  if (error) throw_file_error("write", path, error.value());
  const std::filesystem::file_status status = std::filesystem::symlink_status(target, error);
  if (std::filesystem::is_symlink(status)) {
    std::filesystem::path followed = std::filesystem::canonical(target, error);
    if (!error) target = std::move(followed);
  }
  if (!target.has_filename() || std::filesystem::is_directory(target, error)) {
    throw_file_error("write", path, "it is a folder");
  }
  const bool exists = std::filesystem::exists(target, error);
  if (exists && !std::filesystem::is_regular_file(target, error)) {
    throw_file_error("write", path, "it exists and is not a regular file");
  }
  return target;
}

/// A unique name: a signal handler may remove a file of that name at any time.
std::filesystem::path next_temporary(const std::filesystem::path& folder) {
  static constinit std::atomic<std::uint64_t> counter{0};
  std::uint64_t salt = 0;
  [[maybe_unused]] const ssize_t got = ::getrandom(&salt, sizeof(salt), 0);
  return folder / fmt::format(".estoc-{}-{}-{:016x}.tmp", ::getpid(), counter.fetch_add(1), salt);
}

void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const FileDescriptor descriptor = open_file(folder, O_RDONLY | O_DIRECTORY);
  // A folder that may be written but not listed cannot be synced by us.
  if (!descriptor && errno == EACCES) return;
  if (!descriptor) throw_file_error("sync the folder of", path, errno);
  if (::fsync(descriptor.get()) == 0) return;
  const bool no_such_operation = errno == EINVAL || errno == ENOTSUP;
  if (!no_such_operation) throw_file_error("sync the folder of", path, errno);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, FileAccess access)
    : path_(resolve_target(path)) {
  const unsigned mode = access == FileAccess::owner ? 0600 : 0644;
  do {
    // Known before it exists: a signal in between must find it.
    forget_pending(std::exchange(pending_slot_, -1));
    temporary_ = next_temporary(path_.parent_path());
    pending_slot_ = remember_pending(temporary_);
    file_ = open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL, mode);
  } while (!file_ && errno == EEXIST);
  if (!file_) {
    const int error = errno;
    forget_pending(std::exchange(pending_slot_, -1));
    throw_file_error("write", path_, error);
  }
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget_pending(std::exchange(pending_slot_, -1));
  temporary_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  assert(file_ && "write after commit");
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::commit(Sync sync) {
  assert(file_ && "commit comes once");
  if (sync == Sync::yes && ::fsync(file_.get()) != 0) throw_file_error("write", path_, errno);
  if (const int error = file_.close(); error != 0) throw_file_error("write", path_, error);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_file_error("write", path_, errno);
  forget_pending(std::exchange(pending_slot_, -1));
  temporary_.clear();
  if (sync == Sync::yes) sync_folder(path_.parent_path(), path_);
}

void unlink_pending_files() noexcept {
  const int saved_errno = errno;
  for (PendingSlot& slot : pending_slots) {
    if (!slot.move(PendingSlot::State::ready, PendingSlot::State::busy)) continue;
    ::unlink(slot.path.data());
    slot.state.store(PendingSlot::State::ready);
  }
  errno = saved_errno;
}

}  // namespace estoc::core

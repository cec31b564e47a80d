// Who touched a piece of memory last: enough to see that two accesses are not ordered.
#pragma once

#include <array>
#include <vector>

#include "clock.h"

namespace estoc::emulator {

/// One access, or the same one by several lanes of a warp. Agents 32 w to 32 w + 31 are the threads
/// of warp w; higher ones stand for asynchronous operations, which have no lanes.
struct Access {
  u32 agent;
  u32 lanes;  ///< of the warp that starts at `agent`; 0 for an asynchronous operation
  u32 time;
  u32 site;
  u32 cluster;
  u16 bytes;  ///< mask within the cell
  bool write;
  bool async_proxy;
};

enum class Conflict { none, race, proxy };

/// What 16 bytes of memory remember. What is used most is in the first cache line.
class alignas(64) Cell {
 public:
  u16 initialised = 0;
  u16 barriers = 0;  ///< bytes of mbarriers, which never count as initialised

  Cell() {}  // NOLINT(modernize-use-equals-default): leaves near_ as it is
  void forget() {
    initialised = barriers = 0;
    truncate(0);
  }

  /// Enters an access, of which `View` says what it knows: seen(access, lane), fenced(access,
  /// lane). Answers how it conflicts with an earlier one, which goes to `other`.
  template <typename View>
  Conflict enter(const Access& now, const View& view, Access& other);

 private:
  static constexpr u32 kNear = 3;

  Access& access(u32 i) { return i < kNear ? near_[i] : far_[i - kNear]; }
  void push_back(const Access& access) {
    if (count_ < kNear) {
      near_[count_] = access;
    } else {
      far_.push_back(access);
    }
    ++count_;
  }
  /// Keeps the first `count`.
  void truncate(u32 count) {
    if (count_ > kNear) far_.resize(count > kNear ? count - kNear : 0);
    count_ = static_cast<u16>(count);
  }

  u16 count_ = 0;
  std::array<Access, kNear> near_;
  std::vector<Access> far_;
};

namespace detail {

template <typename View>
Conflict compare(const Access& before, const Access& now, const View& view) {
  if (!before.write && !now.write) return Conflict::none;
  const bool proxies = now.async_proxy && before.write && !before.async_proxy;
  u32 lanes = before.lanes == 0 ? 1 : before.lanes;
  for (u32 lane = 0; lanes != 0; ++lane, lanes >>= 1) {
    if ((lanes & 1) == 0) continue;
    if (!view.seen(before, lane)) return Conflict::race;
    if (proxies && !view.fenced(before, lane)) return Conflict::proxy;
  }
  return Conflict::none;
}

inline bool same_warp_read(const Access& a, const Access& b) {
  return !a.write && !b.write && a.lanes != 0 && b.lanes != 0 && a.agent == b.agent &&
         a.time == b.time && a.bytes == b.bytes && a.cluster == b.cluster &&
         a.async_proxy == b.async_proxy;
}

}  // namespace detail

template <typename View>
Conflict Cell::enter(const Access& now, const View& view, Access& other) {
  Conflict worst = Conflict::none;
  bool merged = false;
  u32 kept = 0;
  for (u32 i = 0; i < count_; ++i) {
    Access& before = access(i);
    if (detail::same_warp_read(before, now)) {
      before.lanes |= now.lanes;
      merged = true;
    } else if ((before.bytes & now.bytes) != 0) {
      const Conflict conflict = detail::compare(before, now, view);
      if (conflict != Conflict::none && worst != Conflict::race) {
        worst = conflict;
        other = before;
      }
      // A write takes the place of what it follows; whoever follows it follows that as well.
      if (now.write) before.bytes = static_cast<u16>(before.bytes & ~now.bytes);
      // So does a read of the reads of the same thread.
      const bool own = !before.write && before.agent == now.agent && before.lanes == now.lanes &&
                       before.async_proxy == now.async_proxy && before.cluster == now.cluster;
      if (!now.write && own) before.bytes = static_cast<u16>(before.bytes & ~now.bytes);
    }
    if (before.bytes == 0) continue;
    if (kept != i) access(kept) = before;
    ++kept;
  }
  truncate(kept);
  if (!merged) push_back(now);
  return worst;
}

}  // namespace estoc::emulator

// Who touched a piece of memory last: enough to see that two accesses are not ordered.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
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
    initialised = barriers = count_ = 0;
    far_.clear();
  }

  /// Enters an access, of which `View` says what it knows: seen(access, lane), fenced(access,
  /// lane). Answers how it conflicts with an earlier one, which goes to `other`.
  template <typename View>
  Conflict enter(const Access& now, const View& view, Access& other);

 private:
  template <typename View>
  friend class CellRun;
  static constexpr u32 kNear = 3;

  /// Takes note of `now` in what `before` says; false when nothing of that is left.
  template <typename View>
  static bool meet(Access& before, const Access& now, const View& view, bool& merged,
                   Conflict& worst, Access& other);

  void push_back(const Access& access) {
    if (count_ < kNear) {
      near_[count_] = access;
    } else {
      far_.push_back(access);
    }
    ++count_;
  }
  template <typename View>
  Conflict enter_among_many(const Access& now, const View& view, Access& other);

  u16 count_ = 0;
  std::array<Access, kNear> near_;
  std::vector<Access> far_;
};

namespace detail {

template <typename View>
[[gnu::noinline]] Conflict compare_lanes(const Access& before, bool proxies, const View& view) {
  for (u32 lane = 0, lanes = before.lanes; lanes != 0; ++lane, lanes >>= 1) {
    if ((lanes & 1) == 0) continue;
    if (!view.seen(before, lane)) return Conflict::race;
    if (proxies && !view.fenced(before, lane)) return Conflict::proxy;
  }
  return Conflict::none;
}

template <typename View>
[[gnu::always_inline]] inline Conflict compare(const Access& before, const Access& now,
                                               const View& view) {
  if (!before.write && !now.write) return Conflict::none;
  const bool proxies = now.async_proxy && before.write && !before.async_proxy;
  if (before.lanes != 0) return compare_lanes(before, proxies, view);
  if (!view.seen(before, 0)) return Conflict::race;
  return proxies && !view.fenced(before, 0) ? Conflict::proxy : Conflict::none;
}

inline bool same_warp_read(const Access& a, const Access& b) {
  return !a.write && !b.write && a.lanes != 0 && b.lanes != 0 && a.agent == b.agent &&
         a.time == b.time && a.bytes == b.bytes && a.cluster == b.cluster &&
         a.async_proxy == b.async_proxy;
}

}  // namespace detail

template <typename View>
[[gnu::always_inline]] inline bool Cell::meet(Access& before, const Access& now, const View& view,
                                              bool& merged, Conflict& worst, Access& other) {
  if (detail::same_warp_read(before, now)) {
    before.lanes |= now.lanes;
    merged = true;
    return true;
  }
  if ((before.bytes & now.bytes) == 0) return true;
  if (const Conflict conflict = detail::compare(before, now, view);
      conflict != Conflict::none && worst != Conflict::race) {
    worst = conflict;
    other = before;
  }
  // A write takes the place of what it follows; whoever follows it follows that as well. So does a
  // read of the reads of the same thread.
  const bool replaces =
      now.write || (!before.write && before.agent == now.agent && before.lanes == now.lanes &&
                    before.async_proxy == now.async_proxy && before.cluster == now.cluster);
  if (!replaces) return true;
  before.bytes = static_cast<u16>(before.bytes & ~now.bytes);
  return before.bytes != 0;
}

template <typename View>
[[gnu::always_inline]] inline Conflict Cell::enter(const Access& now, const View& view,
                                                   Access& other) {
  if (count_ > kNear) return enter_among_many(now, view, other);
  Conflict worst = Conflict::none;
  bool merged = false;
  u32 kept = 0;
  for (u32 i = 0; i < count_; ++i) {
    if (!meet(near_[i], now, view, merged, worst, other)) continue;
    if (kept != i) near_[kept] = near_[i];
    ++kept;
  }
  count_ = static_cast<u16>(kept);
  if (!merged) push_back(now);
  return worst;
}

template <typename View>
[[gnu::noinline]] Conflict Cell::enter_among_many(const Access& now, const View& view,
                                                  Access& other) {
  Conflict worst = Conflict::none;
  bool merged = false;
  const auto access = [&](u32 i) -> Access& { return i < kNear ? near_[i] : far_[i - kNear]; };
  u32 kept = 0;
  for (u32 i = 0; i < count_; ++i) {
    if (!meet(access(i), now, view, merged, worst, other)) continue;
    if (kept != i) access(kept) = access(i);
    ++kept;
  }
  count_ = static_cast<u16>(kept);
  far_.resize(kept > kNear ? kept - kNear : 0);
  if (!merged) push_back(now);
  return worst;
}

/// Enters an access into many whole cells. Often they have the same history: then what comes of it
/// is what came of it in the cell before.
template <typename View>
class CellRun {
 public:
  CellRun(const Access& now, const View& view) : now_(now), view_(view) { now_.bytes = 0xffff; }

  [[gnu::always_inline]] Conflict enter(Cell& cell, Access& other) {
    if (cell.count_ == count_ && equal(cell.near_.data(), before_.data(), count_)) {
      cell.count_ = after_->count_;
      for (u32 i = 0; i < cell.count_; ++i)
        cell.near_[i] = after_->near_[i];
      return Conflict::none;
    }
    return enter_first(cell, other);
  }

 private:
  static_assert(std::has_unique_object_representations_v<Access> && sizeof(Access) == 24);

  static bool equal(const Access* a, const Access* b, u32 count) {
    u64 difference = 0;
    for (u32 i = 0; i < count; ++i) {
      u64 one[3];
      u64 another[3];
      std::memcpy(one, a + i, sizeof(one));
      std::memcpy(another, b + i, sizeof(another));
      difference |= (one[0] ^ another[0]) | (one[1] ^ another[1]) | (one[2] ^ another[2]);
    }
    return difference == 0;
  }

  [[gnu::noinline]] Conflict enter_first(Cell& cell, Access& other) {
    const u32 count = cell.count_;
    if (count <= Cell::kNear) std::copy_n(cell.near_.begin(), count, before_.begin());
    const Conflict conflict = cell.enter(now_, view_, other);
    const bool repeats =
        conflict == Conflict::none && count <= Cell::kNear && cell.count_ <= Cell::kNear;
    count_ = repeats ? count : kNone;
    after_ = &cell;
    return conflict;
  }

  static constexpr u32 kNone = ~0u;

  Access now_;
  const View& view_;
  u32 count_ = kNone;  ///< entries of `before_`
  std::array<Access, Cell::kNear> before_;
  const Cell* after_ = nullptr;
};

}  // namespace estoc::emulator

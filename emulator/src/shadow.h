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
    initialised = barriers = count_ = 0;
    history_ = kNoHistory;
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
  static constexpr u64 kNoHistory = 1;

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

  static u64 new_history() {
    static thread_local u64 latest = kNoHistory;
    return ++latest;
  }

  u16 count_ = 0;
  u64 history_ = kNoHistory;  ///< cells with the same number remember the same, if it is not 0
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
  history_ = 0;
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

/// Enters an access into many whole cells. Often they have the same history as one before: then
/// what comes of it is the same, too.
template <typename View>
class CellRun {
 public:
  CellRun(const Access& now, const View& view) : now_(now), view_(view) { now_.bytes = 0xffff; }

  [[gnu::always_inline]] Conflict enter(Cell& cell, Access& other) {
    const Cell* after = after_[cell.history_ % kKnown];
    if (cell.history_ == 0 || before_[cell.history_ % kKnown] != cell.history_) {
      return enter_first(cell, other);
    }
    cell.history_ = after->history_;
    cell.count_ = after->count_;
    for (u32 i = 0; i < cell.count_; ++i)
      cell.near_[i] = after->near_[i];
    return Conflict::none;
  }

 private:
  [[gnu::noinline]] Conflict enter_first(Cell& cell, Access& other) {
    const u64 before = cell.history_;
    const bool near = cell.count_ <= Cell::kNear;
    const Conflict conflict = cell.enter(now_, view_, other);
    if (conflict != Conflict::none || !near || cell.count_ > Cell::kNear) return conflict;
    if (now_.write) {
      // Nothing is left of what was before.
      cell.history_ = written_ = written_ == 0 ? Cell::new_history() : written_;
    } else if (before != 0) {
      cell.history_ = Cell::new_history();
    }
    before_[before % kKnown] = before;
    after_[before % kKnown] = &cell;
    return conflict;
  }

  static constexpr u32 kKnown = 8;

  Access now_;
  const View& view_;
  std::array<u64, kKnown> before_{};  ///< histories that end as those of `after_` have
  std::array<const Cell*, kKnown> after_;
  u64 written_ = 0;  ///< of cells that have seen this access alone
};

}  // namespace estoc::emulator

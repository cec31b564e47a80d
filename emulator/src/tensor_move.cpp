// tcgen05.ld and st: a warp moves words between its lanes of tensor memory and registers, which
// hold NaN from the load until tcgen05_use.
#include <fmt/core.h>

#include <algorithm>

#include "tensor_memory.h"

namespace estoc::emulator {
namespace {

using abi::TensorShape;

constexpr u32 kUnloaded = 0x7fc07eadu;

struct MoveOperands {
  TensorMove move;
  u32* to;
  const u32* from;
};

const MoveOperands& move_of(const Team& team, std::size_t lane) {
  return *static_cast<const MoveOperands*>(team.operands[lane]);
}

u32 lanes_of(TensorShape shape) {
  return shape == TensorShape::lanes32x32 ? 32 : 16;
}

// The lane and the column, from the address on, that register r of thread t holds (PTX ISA
// 9.7.16.2.3, data movement shapes).
std::pair<u32, u32> place_of(TensorShape shape, u32 t, u32 r) {
  switch (shape) {
    case TensorShape::lanes32x32:
      return {t, r};
    case TensorShape::lanes16x64:
      return {8 * (t & 1) + (t >> 2), 2 * r + (t >> 1 & 1)};
    case TensorShape::lanes16x128:
      return {(t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1)};
    default:
      return {(t >> 2) + 8 * (r >> 1 & 1), 2 * (t & 3) + (r & 1) + 8 * (r >> 2)};
  }
}

// The word of tensor memory that register r of thread t moves.
u32& word_of(TensorMemory& memory, const TensorMove& move, u32 t, u32 r) {
  const auto [lane, column] = place_of(move.shape, t, r);
  return memory.row((move.address >> 16) + lane)[(move.address & 0xffff) + column];
}

// Whether the warp can make the move, which is entered; reports why not.
bool enter_move(Team& team, const TensorMove& move, bool loads, const char* what, Site site) {
  Machine& m = Machine::current();
  Thread& first = *team.members[0];
  for (std::size_t lane = 1; lane < team.members.size(); ++lane) {
    if (move_of(team, lane).move.address == move.address) continue;
    m.report(Fault::divergent, *team.members[lane], site, move.address,
             fmt::format("{} with different addresses in the threads of a warp", what));
  }
  if (team.members.size() != kWarpLanes) {
    m.report(Fault::divergent, first, site, 0, fmt::format("{} needs a warp of 32 threads", what));
    return false;
  }
  const u32 quarter = first.place.tid / kWarpLanes % 4 * kWarpLanes;
  const u32 lane = move.address >> 16;
  const u32 lanes = lanes_of(move.shape);
  if (lane != quarter && !(lanes == 16 && lane == quarter + 16)) {
    m.report(Fault::tensor_memory, first, site, move.address,
             fmt::format("{} from lane {} on: warp {} reaches lanes {} to {}, and moves {} from {}",
                         what, lane, first.place.tid / kWarpLanes, quarter, quarter + 31, lanes,
                         lanes == 32 ? "the first of them on" : "the first or the 17th on"));
    return false;
  }
  TensorMemory& memory = tensor_memory(*first.cta);
  const u32 column = move.address & 0xffff;
  const auto columns = static_cast<u32>(move.columns());
  if (!check_tensor_columns(first, memory, column, columns, site)) return false;
  TensorWarp& warp = tensor_warp(first);
  warp.latest = site;
  const auto groups = static_cast<u16>(((1u << lanes / 8) - 1) << lane / 8);
  touch_tensor({first, site, loads ? warp.load_agent : warp.store_agent, ~0u,
                loads ? ++warp.loads : ++warp.stores, !loads},
               TensorView{team.members, &warp}, memory, {column, columns, groups});
  return true;
}

void begin_load(Team& team, const TensorMove& move, Site site) {
  Machine& m = Machine::current();
  TensorWarp& warp = tensor_warp(*team.members[0]);
  TensorMemory& memory = tensor_memory(*team.members[0]->cta);
  const bool now = m.options().schedule == Schedule::eager ||
                   (m.options().schedule == Schedule::random && m.draw(2));
  for (u32 lane = 0; lane < kWarpLanes; ++lane) {
    u32* registers = move_of(team, lane).to;
    std::vector<TensorLoad>& arriving = warp.arriving[lane];
    std::erase_if(arriving, [&](const auto& load) { return load.registers == registers; });
    const auto read = [&memory, move, lane](std::vector<u32>& values) {
      for (u32 r = 0; r < values.size(); ++r)
        values[r] = word_of(memory, move, lane, r);
    };
    TensorLoad& load = arriving.emplace_back(TensorLoad{registers, site, {}, nullptr, false});
    load.values.resize(static_cast<std::size_t>(move.registers()));
    if (now) {
      read(load.values);
    } else {
      load.read = read;
    }
  }
}

void complete_loads(Team& team) {
  TensorWarp& warp = tensor_warp(*team.members[0]);
  warp.loads_done = warp.loads;
  const bool checks = Machine::current().checks();
  for (std::vector<TensorLoad>& arriving : warp.arriving) {
    for (TensorLoad& load : arriving) {
      if (load.read != nullptr) load.read(load.values);
      load.read = nullptr;
      load.complete = true;
      if (!checks) std::copy(load.values.begin(), load.values.end(), load.registers);
    }
    if (!checks) arriving.clear();
  }
}

void begin_store(Team& team, const TensorMove& move) {
  Machine& m = Machine::current();
  TensorWarp& warp = tensor_warp(*team.members[0]);
  TensorMemory& memory = tensor_memory(*team.members[0]->cta);
  const auto count = static_cast<u32>(move.registers());
  std::vector<u32> values;
  for (u32 lane = 0; lane < kWarpLanes; ++lane) {
    const u32* from = move_of(team, lane).from;
    values.insert(values.end(), from, from + count);
  }
  warp.writes.emplace_back([&memory, move, count, values = std::move(values)] {
    for (u32 lane = 0; lane < kWarpLanes; ++lane) {
      for (u32 r = 0; r < count; ++r)
        word_of(memory, move, lane, r) = values[lane * count + r];
    }
  });
  if (m.options().schedule != Schedule::eager) return;
  warp.writes.back()();
  warp.writes.clear();
}

}  // namespace

void tensor_load(const TensorMove& move, u32* words, Site site) {
  Thread& thread = Machine::self();
  MoveOperands mine{move, words, nullptr};
  std::fill_n(words, move.registers(), kUnloaded);
  together(*thread.warp, thread, "tcgen05.ld", site, &mine, [&](Team& team) {
    if (enter_move(team, move, true, "tcgen05.ld", site)) begin_load(team, move, site);
  });
}

void tensor_store(const TensorMove& move, const u32* words, Site site) {
  Thread& thread = Machine::self();
  MoveOperands mine{move, nullptr, words};
  together(*thread.warp, thread, "tcgen05.st", site, &mine, [&](Team& team) {
    if (enter_move(team, move, false, "tcgen05.st", site)) begin_store(team, move);
  });
}

void tensor_wait(bool loads, Site site) {
  Thread& thread = Machine::self();
  const char* what = loads ? "tcgen05.wait::ld" : "tcgen05.wait::st";
  together(*thread.warp, thread, what, site, nullptr, [loads](Team& team) {
    if (loads) return complete_loads(team);
    TensorWarp& warp = tensor_warp(*team.members[0]);
    warp.stores_done = warp.stores;
    for (const auto& write : warp.writes)
      write();
    warp.writes.clear();
  });
}

void tensor_used(u32* words, Site site) {
  Thread& thread = Machine::self();
  std::vector<TensorLoad>& arriving = tensor_warp(thread).arriving[thread.lane];
  const auto load = std::find_if(arriving.begin(), arriving.end(),
                                 [&](const auto& l) { return l.registers == words; });
  if (load == arriving.end()) return;
  if (!load->complete) {
    Machine::current().report(Fault::accumulator_in_flight, thread, site, 0,
                              "words of tensor memory are used while their tcgen05.ld is under "
                              "way: call tcgen05_wait_ld first");
    return;
  }
  std::copy(load->values.begin(), load->values.end(), words);
  arriving.erase(load);
}

}  // namespace estoc::emulator

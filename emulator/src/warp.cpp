// What the threads of a warp do together: exchange, and moves of 8 x 8 matrices.
#include <algorithm>
#include <bit>
#include <cstring>

#include "machine.h"

namespace estoc::emulator {
namespace {

struct Exchange {
  u32 value;
  u32 operand;
  u32 result;
};

Exchange& exchange_of(const Team& team, std::size_t lane) {
  return *static_cast<Exchange*>(team.operands[lane]);
}

}  // namespace

void warp_sync(Site site) {
  Thread& thread = Machine::self();
  together(*thread.warp, thread, "bar.warp.sync", site, nullptr, [](Team& team) {
    if (!Machine::current().checks()) return;
    Knowledge all;
    for (Thread* member : team.members)
      release(*member, all);
    for (Thread* member : team.members)
      acquire(*member, all);
  });
}

bool elect(Site site) {
  Thread& thread = Machine::self();
  together(*thread.warp, thread, "elect.sync", site, nullptr, [](Team&) {});
  return thread.lane == Machine::current().elected(thread.warp->members.size());
}

u32 shuffle(Shuffle mode, u32 value, u32 operand, Site site) {
  Thread& thread = Machine::self();
  Exchange mine{value, operand, value};
  together(*thread.warp, thread, "shfl.sync", site, &mine, [mode](Team& team) {
    const auto lanes = static_cast<u32>(team.members.size());
    for (u32 lane = 0; lane < lanes; ++lane) {
      Exchange& e = exchange_of(team, lane);
      u32 source = lane;
      if (mode == Shuffle::idx) source = e.operand % kWarpLanes;
      if (mode == Shuffle::bfly) source = lane ^ e.operand;
      if (mode == Shuffle::down) source = lane + e.operand;
      if (mode == Shuffle::up) source = lane < e.operand ? lane : lane - e.operand;
      e.result = exchange_of(team, source < lanes ? source : lane).value;
    }
  });
  return mine.result;
}

u32 ballot(bool predicate, const char* what, Site site) {
  Thread& thread = Machine::self();
  Exchange mine{predicate ? 1u : 0u, 0, 0};
  together(*thread.warp, thread, what, site, &mine, [](Team& team) {
    u32 mask = 0;
    for (std::size_t lane = 0; lane < team.members.size(); ++lane)
      mask |= exchange_of(team, lane).value << lane;
    for (std::size_t lane = 0; lane < team.members.size(); ++lane)
      exchange_of(team, lane).result = mask;
  });
  return mine.result;
}

namespace {

template <typename Value>
Value reduce_values(Reduce operation, Value value, Site site) {
  Thread& thread = Machine::self();
  Exchange mine{std::bit_cast<u32>(value), 0, 0};
  together(*thread.warp, thread, "redux.sync", site, &mine, [operation](Team& team) {
    u32 total = exchange_of(team, 0).value;
    for (std::size_t lane = 1; lane < team.members.size(); ++lane) {
      const u32 next = exchange_of(team, lane).value;
      const auto a = std::bit_cast<Value>(total);
      const auto b = std::bit_cast<Value>(next);
      if (operation == Reduce::add) total += next;
      if (operation == Reduce::min) total = std::bit_cast<u32>(std::min(a, b));
      if (operation == Reduce::max) total = std::bit_cast<u32>(std::max(a, b));
    }
    for (std::size_t lane = 0; lane < team.members.size(); ++lane)
      exchange_of(team, lane).result = total;
  });
  return std::bit_cast<Value>(mine.result);
}

}  // namespace

u32 reduce_u32(Reduce operation, u32 value, Site site) {
  return reduce_values(operation, value, site);
}

i32 reduce_i32(Reduce operation, i32 value, Site site) {
  return reduce_values(operation, value, site);
}

namespace {

struct MatrixOperands {
  u32 address;
  u32* words;
};

// Moves row `row` of matrix `matrix`, which thread 8 * matrix + row points to.
void move_row(Team& team, int matrix, int row, bool transpose, bool load, Site site) {
  const auto pointer = static_cast<unsigned>(8 * matrix + row);
  Thread& thread = *team.members[pointer];
  const u32 address = static_cast<MatrixOperands*>(team.operands[pointer])->address;
  if (address % 16 != 0) {
    Machine::current().report(Fault::misaligned, thread, site, address,
                              "a row of a matrix is aligned to 16 bytes");
  }
  SharedPlace place{};
  if (!locate_shared(thread, address, 16, site, place)) return;
  touch_shared(Accessor::generic(thread, site, !load), *place.cta, place.offset, 16);
  std::byte* memory = place.cta->shared + place.offset;
  for (int column = 0; column < 8; ++column) {
    const int major = transpose ? column : row;
    const int minor = transpose ? row : column;
    const auto lane = static_cast<unsigned>(4 * major + minor / 2);
    u32& word = static_cast<MatrixOperands*>(team.operands[lane])->words[matrix];
    const int shift = 16 * (minor % 2);
    u16 element = 0;
    if (load) {
      std::memcpy(&element, memory + 2 * column, 2);
      word = (word & ~(0xffffu << shift)) | static_cast<u32>(element) << shift;
    } else {
      element = static_cast<u16>(word >> shift);
      std::memcpy(memory + 2 * column, &element, 2);
    }
  }
}

void move_matrices(const char* what, MatrixOperands mine, int count, bool transpose, bool load,
                   Site site) {
  Thread& thread = Machine::self();
  together(*thread.warp, thread, what, site, &mine, [=](Team& team) {
    for (int matrix = 0; matrix < count; ++matrix) {
      for (int row = 0; row < 8; ++row)
        move_row(team, matrix, row, transpose, load, site);
    }
  });
}

}  // namespace

void ldmatrix(u32 address, u32* words, int count, bool transpose, Site site) {
  move_matrices("ldmatrix", {address, words}, count, transpose, true, site);
}

void stmatrix(u32 address, const u32* words, int count, bool transpose, Site site) {
  u32 copy[4] = {};
  std::copy_n(words, count, copy);
  move_matrices("stmatrix", {address, copy}, count, transpose, false, site);
}

}  // namespace estoc::emulator

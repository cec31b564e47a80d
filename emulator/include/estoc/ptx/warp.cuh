// Host twin: exchange between the threads of a warp, all 32 of which take part (PTX ISA 9.7.9.6,
// shfl.sync; 9.7.13.9 to 13, vote, match, redux, elect).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void bar_warp_sync(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::warp_sync({file, line});
}

inline bool elect_one(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  return emulator::elect({file, line});
}

inline u32 shfl_sync_idx(u32 value, u32 lane, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  return emulator::shuffle(emulator::Shuffle::idx, value, lane, {file, line});
}

inline float shfl_sync_idx(float value, u32 lane, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  return bit_cast<float>(
      emulator::shuffle(emulator::Shuffle::idx, bit_cast<u32>(value), lane, {file, line}));
}

inline u32 shfl_sync_bfly(u32 value, u32 mask, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::shuffle(emulator::Shuffle::bfly, value, mask, {file, line});
}

inline float shfl_sync_bfly(float value, u32 mask, int line = __builtin_LINE(),
                            const char* file = __builtin_FILE()) {
  return bit_cast<float>(
      emulator::shuffle(emulator::Shuffle::bfly, bit_cast<u32>(value), mask, {file, line}));
}

inline u32 shfl_sync_down(u32 value, u32 delta, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::shuffle(emulator::Shuffle::down, value, delta, {file, line});
}

inline float shfl_sync_down(float value, u32 delta, int line = __builtin_LINE(),
                            const char* file = __builtin_FILE()) {
  return bit_cast<float>(
      emulator::shuffle(emulator::Shuffle::down, bit_cast<u32>(value), delta, {file, line}));
}

inline u32 shfl_sync_up(u32 value, u32 delta, int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
  return emulator::shuffle(emulator::Shuffle::up, value, delta, {file, line});
}

inline float shfl_sync_up(float value, u32 delta, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return bit_cast<float>(
      emulator::shuffle(emulator::Shuffle::up, bit_cast<u32>(value), delta, {file, line}));
}

inline bool vote_sync_any(bool predicate, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::ballot(predicate, "vote.sync.any", {file, line}) != 0;
}

inline bool vote_sync_all(bool predicate, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::ballot(!predicate, "vote.sync.all", {file, line}) == 0;
}

inline u32 vote_sync_ballot(bool predicate, int line = __builtin_LINE(),
                            const char* file = __builtin_FILE()) {
  return emulator::ballot(predicate, "vote.sync.ballot", {file, line});
}

inline u32 redux_sync_add(u32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_u32(emulator::Reduce::add, value, {file, line});
}

inline i32 redux_sync_add(i32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_i32(emulator::Reduce::add, value, {file, line});
}

inline u32 redux_sync_min(u32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_u32(emulator::Reduce::min, value, {file, line});
}

inline i32 redux_sync_min(i32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_i32(emulator::Reduce::min, value, {file, line});
}

inline u32 redux_sync_max(u32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_u32(emulator::Reduce::max, value, {file, line});
}

inline i32 redux_sync_max(i32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  return emulator::reduce_i32(emulator::Reduce::max, value, {file, line});
}

}  // namespace estoc::ptx

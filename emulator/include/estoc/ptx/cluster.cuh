// Host twin: clusters of CTAs and their distributed shared memory (PTX ISA 10, special
// registers; 9.7.13.3, barrier.cluster; 9.7.9.23, mapa).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline u32 cluster_ctaid_x() {
  return emulator::place().cluster_ctaid[0];
}

inline u32 cluster_ctaid_y() {
  return emulator::place().cluster_ctaid[1];
}

inline u32 cluster_ctaid_z() {
  return emulator::place().cluster_ctaid[2];
}

inline u32 cluster_ctarank() {
  return emulator::place().cluster_ctarank;
}

inline u32 cluster_nctarank() {
  return emulator::place().cluster_nctarank;
}

inline u32 clusterid_x() {
  return emulator::place().clusterid;
}

inline u32 nclusterid_x() {
  return emulator::place().nclusterid;
}

inline void barrier_cluster_arrive_release(int line = __builtin_LINE(),
                                           const char* file = __builtin_FILE()) {
  emulator::cluster_arrive(true, {file, line});
}

inline void barrier_cluster_arrive_relaxed(int line = __builtin_LINE(),
                                           const char* file = __builtin_FILE()) {
  emulator::cluster_arrive(false, {file, line});
}

inline void barrier_cluster_wait(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::cluster_wait({file, line});
}

inline u32 mapa(u32 address, u32 cta, int line = __builtin_LINE(),
                const char* file = __builtin_FILE()) {
  return emulator::mapa(address, cta, {file, line});
}

template <int count>
inline Words<count> ld_shared_cluster(u32 address, int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  Words<count> v;
  emulator::load_shared(address, v.word, 4 * count, {file, line});
  return v;
}

template <int count>
inline void st_shared_cluster(u32 address, Words<count> v, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  emulator::store_shared(address, v.word, 4 * count, {file, line});
}

}  // namespace estoc::ptx

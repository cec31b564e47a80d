// Host twin: special registers: where a thread stands (PTX ISA 10, special registers).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline u32 tid() {
  return emulator::place().tid;
}

inline u32 ntid() {
  return emulator::place().ntid;
}

inline u32 laneid() {
  return emulator::place().tid % 32;
}

inline u32 ctaid_x() {
  return emulator::place().ctaid[0];
}

inline u32 ctaid_y() {
  return emulator::place().ctaid[1];
}

inline u32 ctaid_z() {
  return emulator::place().ctaid[2];
}

inline u32 nctaid_x() {
  return emulator::place().nctaid[0];
}

inline u32 nctaid_y() {
  return emulator::place().nctaid[1];
}

inline u32 nctaid_z() {
  return emulator::place().nctaid[2];
}

inline u32 smid() {
  return emulator::place().clusterid;
}

inline u64 clock64() {
  return emulator::clock();
}

inline u64 globaltimer() {
  return emulator::clock();
}

}  // namespace estoc::ptx

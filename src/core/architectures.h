// The CUDA architectures that Estoc knows, and what each has: one row each.
#pragma once

#include <array>
#include <cstdint>

namespace estoc::core {

/// Which targets an architecture has: `sm_80`, `sm_110a`, or `sm_90` and `sm_90a`.
enum class Variants : std::uint8_t { plain, specific, both };

struct Architecture {
  int cc;  ///< ten times the compute capability
  Variants variants;
  int shared_bytes;       ///< dynamic shared memory that a CTA can have
  int registers = 65536;  ///< of a multiprocessor, 32 bits each
  int registers_per_thread = 255;
};

/// From CUDA C++ Programming Guide, technical specifications per compute capability. Everything
/// from Ampere on that NVRTC 13.0 compiles for, by number.
inline constexpr std::array kArchitectures{Architecture{80, Variants::plain, 163 * 1024},
                                           Architecture{86, Variants::plain, 99 * 1024},
                                           Architecture{87, Variants::plain, 163 * 1024},
                                           Architecture{88, Variants::plain, 99 * 1024},
                                           Architecture{89, Variants::plain, 99 * 1024},
                                           Architecture{90, Variants::both, 227 * 1024},
                                           Architecture{100, Variants::both, 227 * 1024},
                                           Architecture{103, Variants::both, 227 * 1024},
                                           Architecture{110, Variants::specific, 227 * 1024},
                                           Architecture{120, Variants::both, 99 * 1024},
                                           Architecture{121, Variants::both, 99 * 1024}};

/// The row of a compute capability; the last one for one that is not in the table.
constexpr const Architecture& architecture(int cc) {
  for (const Architecture& each : kArchitectures) {
    if (each.cc == cc) return each;
  }
  return kArchitectures.back();
}

}  // namespace estoc::core

// What a kernel is compiled for: the host processor or one CUDA architecture.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace estoc {

/// `cpu`, or a CUDA architecture such as `sm_80` or `sm_90a`.
class Target {
 public:
  /// The host processor.
  static constexpr Target cpu() { return Target(0, false); }

  /// A CUDA architecture: `cc` is ten times the compute capability (90 for 9.0);
  /// `arch_specific` selects the variant with features of that architecture alone (`sm_90a`).
  static constexpr Target sm(int cc, bool arch_specific = false) {
    return Target(cc, arch_specific);
  }

  /// PTX of a virtual architecture, which the driver compiles further for the device it meets: what
  /// devices newer than every known architecture are given.
  static constexpr Target ptx(int cc) { return Target(cc, false, true); }

  /// The target of that name, "cpu", "sm_90a" or "compute_120"; nullopt when the name is not of
  /// that form or the architecture is not one Estoc knows (`known_targets`).
  static std::optional<Target> parse(std::string_view name);

  bool is_cpu() const { return cc_ == 0; }
  bool is_cuda() const { return cc_ != 0; }

  /// Ten times the compute capability; 0 for cpu.
  int cc() const { return cc_; }
  bool arch_specific() const { return arch_specific_; }

  bool is_ptx() const { return ptx_; }

  /// "cpu", "sm_80", "sm_90a", "compute_120".
  std::string name() const;

  auto operator<=>(const Target&) const = default;

 private:
  constexpr Target(int cc, bool arch_specific, bool ptx = false)
      : cc_(static_cast<std::int16_t>(cc)), arch_specific_(arch_specific), ptx_(ptx) {}

  std::int16_t cc_;
  bool arch_specific_;
  bool ptx_;
};

/// The host and every architecture Estoc knows: cpu first, then by number. Those without an `a` can
/// be compiled to PTX too.
std::span<const Target> known_targets();

/// Those of `known_targets` that are CUDA architectures: everything from Ampere on that NVRTC 13.0
/// compiles for.
std::span<const Target> cuda_targets();

/// Whether code for one of `targets` can be made for `target`, which is one of them, or PTX of one.
bool covers(std::span<const Target> targets, Target target);

}  // namespace estoc

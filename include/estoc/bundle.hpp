// Compiled kernels in files: single artifacts, and bundles with a table of what to use when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"
#include "estoc/problem.hpp"

namespace estoc {

/// Says for which problems an artifact of a bundle is meant: those of these dtypes, layouts, other
/// extents and controls whose M is in the range, ends included.
struct DispatchRule {
  Problem problem;  ///< complete but for m, which is not looked at
  std::int64_t m_low = 0;
  std::int64_t m_high = std::numeric_limits<std::int64_t>::max();
  std::size_t artifact = 0;  ///< its index
};

/// Writes artifacts, and rules on their use, into one file that Bundle::open reads on machines
/// without NVRTC. The bytes depend on kernels, targets, compiler and rules alone. The file appears
/// whole or not at all.
///
/// Throws Error{unsupported} for a kernel that exists only beside its device (cublaslt), Error
/// {value} for a rule of an artifact that is not there, Error{io}.
void save_bundle(const std::string& path, std::span<const Artifact> artifacts,
                 std::span<const DispatchRule> rules = {});

/// The artifacts of some problems that differ in M alone, ordered for look-up.
class Dispatch {
 public:
  /// The artifact of the first rule that covers `m`; null when there is none. Takes no lock and
  /// allocates nothing. It does not check with the kernel: where a stride of an operand is M itself
  /// (A of layout n, a transposed out), some M of a range may not be aligned as the kernel
  /// requires. Bundle::find() looks on in such a case, and kernel().supports() tells.
  const Artifact* select(std::int64_t m) const noexcept;
  bool empty() const { return ranges_.empty(); }

 private:
  friend class Bundle;
  struct Range {
    std::int64_t low, high;
    std::shared_ptr<const Artifact> artifact;
    bool holds(std::int64_t m) const { return low <= m && m <= high; }
  };
  std::vector<Range> ranges_;  // of two that overlap, the rule that came first is nearer the front
};

/// A file of compiled kernels, read and checked. Cheap to copy; immutable. The checks find
/// accidents and no attacks: the file holds code that the GPU will execute, and nothing says who
/// wrote it.
class Bundle {
 public:
  /// Reads a file that save_bundle wrote. Nothing of it reaches the driver before magic, schema,
  /// hash, and each kernel's name, target and ABI have been compared.
  ///
  /// Throws Error{not_found | io} when it cannot be read, Error{value} when it is no such file, is
  /// damaged, of another schema or of another version of the kernels, Error{not_found} when it
  /// holds a kernel whose class is not registered.
  static Bundle open(const std::string& path);

  std::size_t size() const { return contents_->artifacts.size(); }
  const Artifact& artifact(std::size_t index) const { return *contents_->artifacts.at(index); }
  std::span<const DispatchRule> rules() const { return contents_->rules; }

  /// The artifact to use: of those that support the arguments and are for `target` (by default the
  /// one of the operands' device), that of the first rule that covers the arguments, else the
  /// first. Throws Error{not_found} when there is none.
  Artifact find(const RuntimeArguments& arguments,
                std::optional<Target> target = std::nullopt) const;

  /// The rules that cover `arguments` for some M, for programs that choose by M as they run.
  Dispatch dispatch(const RuntimeArguments& arguments,
                    std::optional<Target> target = std::nullopt) const;

 private:
  struct Contents {
    std::vector<std::shared_ptr<const Artifact>> artifacts;
    std::vector<DispatchRule> rules;
    std::vector<std::string> keys;  ///< of the rules: their problems as texts
  };
  explicit Bundle(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

}  // namespace estoc

// The plans that matmul and grouped_mm remember.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "run/signature.h"

namespace estoc::run {

/// What was found for a signature: a kernel, and plans of it, one for each thread that uses it.
class Remembered {
 public:
  /// `generation` is the registry's from before the kernel was looked for.
  Remembered(const Artifact& artifact, const RuntimeArguments& arguments,
             const PlanOptions& options, std::string_view epilogue, std::uint64_t generation);

  /// Whether the epilogue is that of the options, of which a signature holds hashes alone.
  bool matches(const MatmulOptions& options) const;
  std::uint64_t generation() const { return generation_; }

  /// A plan that no other thread uses until it is put back.
  class Lease;

 private:
  static constexpr std::size_t kPlans = 8;
  struct Slot {
    std::atomic<bool> is_taken = false;
    std::unique_ptr<Plan> plan;  ///< made when it is first taken
  };

  Plan make_plan() const { return {artifact_, *arguments_, options_}; }

  Artifact artifact_;
  std::unique_ptr<const RuntimeArguments> arguments_;
  PlanOptions options_;
  std::string epilogue_;
  std::uint64_t generation_;
  std::array<Slot, kPlans> slots_;
};

class Remembered::Lease {
 public:
  /// Takes the plan that the thread had before, where it can, else another or a new one.
  explicit Lease(Remembered& remembered);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Plan& plan() { return *plan_; }

 private:
  Slot* slot_ = nullptr;  ///< null: the plan is this object's own
  std::unique_ptr<Plan> own_;
  Plan* plan_ = nullptr;
};

/// Keeps those used last. Any number of threads search at once; only an insertion makes others
/// wait.
class PlanCache {
 public:
  /// The one cache, which is cleared when kernel classes come or go. Never destroyed: those of a
  /// plug-in may be gone by then.
  static PlanCache& instance();

  /// Null where there is none of that signature, or it is of another generation.
  std::shared_ptr<Remembered> find(const Signature& signature, std::uint64_t generation) const;
  /// Does nothing for one of an earlier generation.
  void insert(const Signature& signature, std::shared_ptr<Remembered> remembered);
  void clear();

 private:
  static constexpr std::size_t kMaxEntries = 512;

  struct Entry {
    std::shared_ptr<Remembered> remembered;
    mutable std::atomic<std::uint64_t> used = 0;  ///< the larger, the later
  };

  void note_use(const Entry& entry) const;

  mutable std::shared_mutex mutex_;
  std::unordered_map<Signature, Entry, SignatureHash> entries_;
  mutable std::atomic<std::uint64_t> uses_ = 1;  ///< more than that of a new entry
};

}  // namespace estoc::run

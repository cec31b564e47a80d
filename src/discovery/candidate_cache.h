// Remembers which kernels of a class fit the signatures met lately.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "discovery/kernel_state.h"

namespace estoc::discovery {

/// The kernels of one class that fit arguments of one signature, in the order of the space.
using Candidates = std::shared_ptr<const KernelGroup>;

/// What the list depends on. The graph may be null.
struct CandidateKey {
  CandidateKey(const SignatureKey& of_signature,  // NOLINT: without an epilogue it is the whole key
               const EpilogueGraph* graph = nullptr, Target for_target = Target::cpu())
      : signature(of_signature), epilogue(graph), target(for_target) {}

  SignatureKey signature;
  const EpilogueGraph* epilogue;
  Target target;

  bool operator==(const CandidateKey&) const = default;
};

/// Keeps the lists used last, bounded in their number and in the kernels they hold together.
class CandidateCache {
 public:
  static constexpr std::size_t kMaxSignatures = 256;
  static constexpr std::size_t kMaxKernels = std::size_t{1} << 16;

  /// Null when the signature is not remembered.
  Candidates find(const CandidateKey& key);

  /// Remembers `candidates`, and gives back what is remembered then: another thread's list where
  /// that came first. A list too long for the cache is given back and not remembered. The graph is
  /// kept alive, so that its address stays its own.
  Candidates insert(const CandidateKey& key, Candidates candidates,
                    std::shared_ptr<const EpilogueGraph> epilogue = nullptr);

  void clear();

 private:
  struct Entry {
    CandidateKey key;
    Candidates candidates;
    std::shared_ptr<const EpilogueGraph> epilogue;
  };
  using Entries = std::list<Entry>;
  struct KeyHash {
    std::size_t operator()(const CandidateKey& key) const {
      return key.signature.hash() * 31 + std::hash<const void*>()(key.epilogue);
    }
  };

  Candidates use(Entries::iterator entry);
  Entries evict();

  std::mutex mutex_;
  Entries entries_;  // the one used last is in front
  std::unordered_map<CandidateKey, Entries::iterator, KeyHash> by_key_;
  std::size_t kernels_ = 0;
};

}  // namespace estoc::discovery

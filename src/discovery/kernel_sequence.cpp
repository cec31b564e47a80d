// get_kernels without arguments: the described spaces one behind the other, read lazily.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "discovery/guard.h"
#include "discovery/kernel_state.h"
#include "discovery/metadata_of.h"
#include "estoc/discovery.hpp"

namespace estoc {
namespace {

using discovery::ClassInfo;

/// One class's kernels, which begin at number `first` of the sequence.
struct Part {
  std::shared_ptr<const ClassInfo> info;
  std::uint64_t first = 0;
};

/// A kernel that passed the filter.
struct Match {
  const Part* part;
  DesignPoint point;
};

using Matches = std::vector<Match>;

}  // namespace

struct KernelSequence::State {
  std::vector<Part> parts;
  std::uint64_t described = 0;
  std::vector<DiscoveryFailure> failures;
  std::optional<Target> target;
  MetadataFilter filter;

  mutable std::mutex mutex;
  mutable std::shared_ptr<const Matches> matches;

  void append(std::shared_ptr<const ClassInfo> info) {
    if (target && !info->has_target(*target)) return;
    const std::uint64_t size = info->space->size();
    parts.push_back({std::move(info), described});
    described += size;
  }

  const Part& part_of(std::uint64_t index) const {
    const auto next = std::upper_bound(
        parts.begin(), parts.end(), index,
        [](std::uint64_t wanted, const Part& part) { return wanted < part.first; });
    return *std::prev(next);
  }

  /// What passes the filter. Found at the first call, without a lock because the filter is the
  /// caller's: threads that come at the same moment may each look.
  std::shared_ptr<const Matches> filtered() const {
    {
      const std::lock_guard lock(mutex);
      if (matches != nullptr) return matches;
    }
    auto found = std::make_shared<const Matches>(find_matches());
    const std::lock_guard lock(mutex);
    if (matches == nullptr) matches = std::move(found);
    return matches;
  }

  Matches find_matches() const {
    Matches found;
    for (const Part& part : parts) {
      part.info->space->visit(Selection(*part.info->space), [&](const DesignPoint& point) {
        if (filter(discovery::metadata_of(*part.info, point))) {
          found.push_back({&part, point});
        }
        return true;
      });
    }
    return found;
  }

  Kernel make(const Part& part, const DesignPoint& point) const {
    Kernel kernel = KernelAccess::make(discovery::single_state(part.info, point));
    KernelAccess::set_target(kernel, target);
    return kernel;
  }
};

std::uint64_t KernelSequence::size() const {
  if (state_ == nullptr) return 0;
  return state_->filter.accepts_all() ? state_->described : state_->filtered()->size();
}

Kernel KernelSequence::operator[](std::uint64_t index) const {
  const std::uint64_t count = size();
  if (index >= count) {
    throw Error(ErrorKind::value,
                fmt::format("index: expected less than {}, got {}", count, index));
  }
  if (!state_->filter.accepts_all()) {
    const Match& match = (*state_->filtered())[index];
    return state_->make(*match.part, match.point);
  }
  const Part& part = state_->part_of(index);
  return state_->make(part, part.info->space->at(index - part.first));
}

const std::vector<DiscoveryFailure>& KernelSequence::failures() const {
  static const std::vector<DiscoveryFailure> none;
  return state_ == nullptr ? none : state_->failures;
}

KernelSequence get_kernels(const KernelQuery& query) {
  auto state = std::make_shared<KernelSequence::State>();
  state->target = query.target;
  state->filter = query.filter;
  const auto snapshot = discovery::Registry::instance().snapshot();
  for (const auto& entry : snapshot->classes(query.providers)) {
    query_guarded(*entry, state->failures, [&] {
      if (!entry->kernel_class().needs_device()) state->append(entry->info());
    });
  }
  KernelSequence sequence;
  sequence.state_ = std::move(state);
  return sequence;
}

}  // namespace estoc

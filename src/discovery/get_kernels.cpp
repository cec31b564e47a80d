// get_kernels with arguments: from the cache, or the ranked candidates of every class.
#include <algorithm>

#include "core/ranges.h"
#include "discovery/empty_query.h"
#include "discovery/guard.h"
#include "discovery/matching.h"
#include "discovery/problem_key.h"
#include "discovery/ranking.h"
#include "discovery/summation.h"
#include "discovery/tuned_first.h"

namespace estoc {
namespace {

using discovery::ClassEntries;
using discovery::ClassQuery;
using discovery::Origin;
using discovery::RankedListCache;
using Failures = std::vector<DiscoveryFailure>;

/// The key to remember the list by. A filter, and classes from outside, may look at anything.
std::optional<RankedListCache::Key> key_of(const ClassQuery& class_query, const KernelQuery& query,
                                           const ClassEntries& classes) {
  const bool known = std::ranges::all_of(
      classes, [](const auto& entry) { return entry->origin() == Origin::library; });
  if (!known || !query.filter.accepts_all()) return std::nullopt;
  return problem_key(class_query, classes);
}

RankedListCache::List ranked_list(const ClassEntries& classes, const ClassQuery& class_query,
                                  const MetadataFilter& filter, Failures& failures) {
  std::vector<discovery::ClassCandidates> candidates;
  candidates.reserve(classes.size());
  for (const auto& entry : classes)
    candidates.push_back(query_class(*entry, class_query, filter, failures));
  std::vector<Kernel> kernels = rank(candidates, class_query, failures);
  put_tuned_first(kernels, class_query);
  return std::make_shared<const std::vector<Kernel>>(std::move(kernels));
}

KernelList find(ClassQuery class_query, const KernelQuery& query) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  Failures failures;
  const ClassEntries classes =
      discovery::classes_for(snapshot->classes(query.providers), class_query, query, failures);
  RankedListCache& lists = *snapshot->lists;
  auto key = key_of(class_query, query, classes);
  if (key && failures.empty()) {
    if (auto known = lists.find(*key)) return KernelList(std::move(known));
  }
  discovery::refresh_tuned();
  const std::uint64_t generation = lists.generation();
  class_query.summation = discovery::choose_summation(classes, class_query, query.filter);
  RankedListCache::List list = ranked_list(classes, class_query, query.filter, failures);
  if (key && failures.empty()) {
    lists.insert(std::move(*key), list, generation, class_query.epilogue);
  }
  return KernelList(std::move(list), std::move(failures));
}

}  // namespace

KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query) {
  const core::Range range([] { return std::string("estoc get_kernels"); });
  const ClassQuery class_query{arguments, discovery::Signature(arguments),
                               discovery::query_target(arguments, query.target)};
  KernelList list = find(class_query, query);
  if (list.empty()) {
    list.empty_query_ = std::make_shared<const KernelList::EmptyQuery>(arguments, query);
  }
  return list;
}

}  // namespace estoc

// get_kernels with arguments: from the cache, or the ranked candidates of every class.
#include <algorithm>

#include "discovery/guard.h"
#include "discovery/matching.h"
#include "discovery/problem_key.h"
#include "discovery/ranking.h"
#include "discovery/summation.h"
#include "discovery/tuned_first.h"
#include "discovery/unanswered.h"

namespace estoc {
namespace {

using discovery::AnswerCache;
using discovery::ClassEntries;
using discovery::ClassQuery;
using discovery::Origin;
using Failures = std::vector<DiscoveryFailure>;

/// The key to remember the answer by. A filter, and classes from outside, may look at anything.
std::optional<AnswerCache::Key> key_of(const ClassQuery& class_query, const KernelQuery& query,
                                       const ClassEntries& asked) {
  const bool known = std::ranges::all_of(
      asked, [](const auto& entry) { return entry->origin() == Origin::library; });
  if (!known || !query.filter.accepts_all()) return std::nullopt;
  return problem_key(class_query, asked);
}

AnswerCache::Answer ask(const ClassEntries& asked, const ClassQuery& class_query,
                        const MetadataFilter& filter, Failures& failures) {
  std::vector<discovery::ClassCandidates> candidates;
  candidates.reserve(asked.size());
  for (const auto& entry : asked)
    candidates.push_back(query_class(*entry, class_query, filter, failures));
  std::vector<Kernel> kernels = rank(candidates, class_query, failures);
  put_tuned_first(kernels, class_query);
  return std::make_shared<const std::vector<Kernel>>(std::move(kernels));
}

KernelList find(ClassQuery class_query, const KernelQuery& query) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  Failures failures;
  const ClassEntries asked =
      discovery::asked_classes(snapshot->classes(query.providers), class_query, query, failures);
  AnswerCache& answers = *snapshot->answers;
  auto key = key_of(class_query, query, asked);
  if (key && failures.empty()) {
    if (auto known = answers.find(*key)) return KernelList(std::move(known));
  }
  discovery::refresh_tuned();
  const std::uint64_t generation = answers.generation();
  class_query.summation = discovery::choose_summation(asked, class_query, query.filter);
  AnswerCache::Answer answer = ask(asked, class_query, query.filter, failures);
  if (key && failures.empty()) {
    answers.insert(std::move(*key), answer, generation, class_query.epilogue);
  }
  return KernelList(std::move(answer), std::move(failures));
}

}  // namespace

KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query) {
  const ClassQuery class_query{arguments, discovery::Signature(arguments),
                               discovery::query_target(arguments, query.target)};
  KernelList list = find(class_query, query);
  if (list.empty()) {
    list.unanswered_ = std::make_shared<const KernelList::Unanswered>(arguments, query);
  }
  return list;
}

}  // namespace estoc

// get_kernels with arguments: remembered, or every class is asked and what they offer is ranked.
#include <algorithm>

#include "discovery/guard.h"
#include "discovery/matching.h"
#include "discovery/problem_key.h"
#include "discovery/ranking.h"
#include "discovery/summation.h"
#include "discovery/unanswered.h"

namespace estoc {
namespace {

using discovery::AnswerCache;
using discovery::ClassEntries;
using discovery::Origin;
using discovery::Question;
using Failures = std::vector<DiscoveryFailure>;

/// The key to remember the answer by. A filter, and classes from outside, may look at anything.
std::optional<AnswerCache::Key> key_of(const Question& question, const KernelQuery& query,
                                       const ClassEntries& asked) {
  const bool known = std::ranges::all_of(
      asked, [](const auto& entry) { return entry->origin() == Origin::library; });
  if (!known || !query.filter.accepts_all()) return std::nullopt;
  return problem_key(question, asked);
}

AnswerCache::Answer ask(const ClassEntries& asked, const Question& question,
                        const MetadataFilter& filter, Failures& failures) {
  std::vector<discovery::Offer> offers;
  offers.reserve(asked.size());
  for (const auto& entry : asked)
    offers.push_back(ask_class(*entry, question, filter, failures));
  return std::make_shared<const std::vector<Kernel>>(rank(offers, question.target));
}

KernelList find(Question question, const KernelQuery& query) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  Failures failures;
  const ClassEntries asked =
      discovery::asked_classes(snapshot->classes(query.providers), question, query, failures);
  AnswerCache& answers = *snapshot->answers;
  const std::uint64_t generation = answers.generation();
  auto key = key_of(question, query, asked);
  if (key && failures.empty()) {
    if (auto known = answers.find(*key)) return KernelList(std::move(known));
  }
  question.summation = discovery::choose_summation(asked, question, query.filter);
  AnswerCache::Answer answer = ask(asked, question, query.filter, failures);
  if (key && failures.empty()) {
    answers.insert(std::move(*key), answer, generation, question.epilogue);
  }
  return KernelList(std::move(answer), std::move(failures));
}

}  // namespace

KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query) {
  const Question question{arguments, discovery::Signature(arguments),
                          discovery::query_target(arguments, query.target)};
  KernelList list = find(question, query);
  if (list.empty()) {
    list.unanswered_ = std::make_shared<const KernelList::Unanswered>(arguments, query);
  }
  return list;
}

}  // namespace estoc

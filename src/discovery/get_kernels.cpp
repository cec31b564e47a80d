// get_kernels with arguments: every class is asked, what they offer is ranked.
#include <iterator>

#include "discovery/matching.h"
#include "discovery/ranking.h"
#include "estoc/discovery.hpp"

namespace estoc {

KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  const discovery::Question question{arguments, discovery::signature_of(arguments),
                                     discovery::query_target(arguments, query.target)};
  std::vector<discovery::Candidate> candidates;
  std::vector<DiscoveryFailure> failures;
  for (const auto& entry : snapshot->classes(query.providers)) {
    if (query.portable && entry->kernel_class().needs_device()) continue;
    auto offer = ask_class(*entry, question, query.filter, failures);
    candidates.insert(candidates.end(), std::make_move_iterator(offer.candidates.begin()),
                      std::make_move_iterator(offer.candidates.end()));
  }
  return {rank(std::move(candidates)), std::move(failures)};
}

}  // namespace estoc

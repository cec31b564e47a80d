// The query of an empty list of kernels.
#pragma once

#include <memory>
#include <string>

#include "estoc/discovery.hpp"

namespace estoc {

/// Why no kernel carries out the arguments, by the classes of the query that are of the operation
/// and the target.
std::string why_none(const RuntimeArguments& arguments, const KernelQuery& query);

/// A query that no kernel fits. Reasons are found when they are requested; where the query has a
/// filter, which may not outlive the search, at once.
struct KernelList::EmptyQuery {
  EmptyQuery(const RuntimeArguments& given, const KernelQuery& given_query);
  std::string reasons() const;

  std::shared_ptr<const RuntimeArguments> arguments;  ///< null: `known` has the reasons
  KernelQuery query;
  std::string known;
};

}  // namespace estoc

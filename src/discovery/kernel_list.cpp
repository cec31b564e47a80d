// Lists of kernels that are empty: their query, and why no kernel fits.
#include <fmt/format.h>

#include "discovery/empty_query.h"
#include "estoc/arguments.hpp"

namespace estoc {
KernelList::EmptyQuery::EmptyQuery(const RuntimeArguments& given, const KernelQuery& given_query) {
  if (given_query.filter.accepts_all()) {
    arguments = given.clone();
    query = given_query;
  } else {
    known = why_none(given, given_query);
  }
}

std::string KernelList::EmptyQuery::reasons() const {
  return arguments != nullptr ? why_none(*arguments, query) : known;
}

std::string KernelList::why_empty() const {
  if (!empty()) return {};
  return empty_query_ != nullptr ? empty_query_->reasons() : "the list has no kernels";
}

void KernelList::refuse(std::size_t index) const {
  if (empty()) throw Error(ErrorKind::unsupported, why_empty());
  throw Error(ErrorKind::value, fmt::format("index: expected less than {}, got {}", size(), index));
}

}  // namespace estoc

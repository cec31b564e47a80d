// What a ranked list can depend on when only the library's own classes are queried.
#pragma once

#include <optional>

#include "discovery/matching.h"

namespace estoc::discovery {

/// Everything of the query that classes of the library look at, and the classes queried; they
/// look at an address no further than to its alignment. nullopt for queries that are not worth
/// remembering or too intricate: epilogues with scalars given by value, which may be others each
/// time.
std::optional<RankedListCache::Key> problem_key(const ClassQuery& class_query,
                                                const ClassEntries& classes);

}  // namespace estoc::discovery

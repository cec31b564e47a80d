// How `estoc tune` shows records and searches.
#pragma once

#include <vector>

#include "estoc/tune.hpp"
#include "json.h"
#include "output.h"

namespace estoc::cli {

Json to_json(const TunedKernel& record);
Json to_json(const TuneResult& result);

/// A line for each record.
void print_records(Output& output, const std::vector<TunedKernel>& records);

/// What one search came to: the kernel chosen, and the first of those that it was chosen from.
void print_search(Output& output, const TuneResult& result);

}  // namespace estoc::cli

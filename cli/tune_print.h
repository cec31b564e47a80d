// How `estoc tune` shows records and searches.
#pragma once

#include <string>
#include <vector>

#include "estoc/tune.hpp"
#include "json.h"
#include "output.h"

namespace estoc::cli {

Json to_json(const TunedKernel& record);
Json to_json(const TuneResult& result);

/// "raster=m swizzle=8 split=1".
std::string knobs_line(const Knobs& knobs);

/// "-" for a kernel that was not timed.
std::string time_cell(double seconds);

/// "40 candidates in 3.60 s, noise 0.4 %", or that there was a record.
std::string search_evidence(const TuneResult& result);

/// A line for each record.
void print_records(Output& output, const std::vector<TunedKernel>& records);

/// What one search came to: the kernel chosen, and the first of those that it was chosen from.
void print_search(Output& output, const TuneResult& result);

}  // namespace estoc::cli

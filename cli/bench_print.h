// Results of `estoc bench` as a table for people, and as CSV.
#pragma once

#include <span>
#include <string>

#include "bench_record.h"
#include "output.h"

namespace estoc::cli {

void print_record(Output& output, const BenchRecord& record);

/// A line for each kernel of each problem.
std::string csv_text(std::span<const BenchRecord> records);

}  // namespace estoc::cli

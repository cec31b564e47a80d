// Results as an HTML page.
#pragma once

#include <span>
#include <string>

#include "bench_record.h"

namespace estoc::cli {

/// The charts of results (bench_charts.h), and behind them a table with a line for each kernel.
std::string bench_page(std::span<const BenchRecord> records, const std::string& against);

}  // namespace estoc::cli

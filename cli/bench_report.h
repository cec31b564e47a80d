// A report on result files: `estoc bench --report FOLDER`.
#pragma once

#include <string>
#include <vector>

#include "bench_record.h"

namespace estoc::cli {

/// The records of every .json and .jsonl file in the folder, by file name; of several of one
/// problem on one device in one mode the last counts. What other benchmarks write is passed over:
/// Google Benchmark's files, and lines without `kernels`. Throws Failure{file}.
std::vector<BenchRecord> read_results(const std::string& folder);

/// The records of one such file. Throws Failure{file}.
std::vector<BenchRecord> read_result_file(const std::string& path);

/// The text of a problem without what has its default anyway.
std::string brief_problem(const std::string& text);

/// Tables in Markdown, one for each device: the fastest kernel of each problem, and its speed over
/// the baseline's, which is the fastest of the provider `against`; burst and sustained side by
/// side.
std::string markdown(const std::vector<BenchRecord>& records, const std::string& against);

}  // namespace estoc::cli

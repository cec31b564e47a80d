// Charts of results, as SVG text.
#pragma once

#include <span>
#include <string>

#include "bench_record.h"

namespace estoc::cli {

/// A row for each problem: how fast each kernel is as a multiple of the baseline (see compare()),
/// the fastest as a bar.
std::string ratio_chart(std::span<const BenchRecord> records, const std::string& against);

/// Operations a second of the fastest kernel and of the baseline over operations a byte, both axes
/// logarithmic, below what the memory and the arithmetic units of the GPU allow (where results
/// name the GPU, and this file knows its kind). Problems that are no GEMM are left out.
std::string roofline_chart(std::span<const BenchRecord> records, const std::string& against);

}  // namespace estoc::cli

// What the units of a GPU can do at most, and how near to it a kernel comes.
#pragma once

#include <optional>
#include <string>

#include "bench_record.h"
#include "estoc/dtype.hpp"

namespace estoc::cli {

/// The dtype that stands for those whose products have the same rate.
Dtype rate_class(Dtype dtype);

/// "f16, bf16": the dtypes of a class.
std::string rate_label(Dtype rate_class);

/// Multiplications and additions a second of products of the dtype, on the record's GPU at its
/// highest clock; nullopt where this file does not know its kind.
std::optional<double> peak_rate(const BenchRecord& record, Dtype dtype);

/// Seconds that the record's problem takes at least: those of its operations at the peak rate, or
/// those of its bytes at the memory's, whichever is more. nullopt where the GPU is not known, and
/// for a processor.
std::optional<double> least_seconds(const BenchRecord& record);

/// "93%": the least seconds as a part of those measured; "-" where they are not known.
std::string peak_cell(const std::optional<double>& least, double seconds);

}  // namespace estoc::cli

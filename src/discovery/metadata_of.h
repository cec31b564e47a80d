// Metadata of a kernel, derived from its place in the design space.
#pragma once

#include "discovery/class_info.h"

namespace estoc::discovery {

/// Dtypes, layouts and alignments as the dimensions say. Where there is no dimension: B has the
/// dtype of A; the accumulator is default_accumulator_type(A); out has the accumulator's dtype
/// (elementwise: A's); any layout will do; the alignment is that of one element.
KernelMetadata metadata_of(const ClassInfo& info, const DesignPoint& point);

}  // namespace estoc::discovery

// Which kernels, and which knobs of them, a search tries.
#pragma once

#include <cstddef>
#include <vector>

#include "estoc/discovery.hpp"

namespace estoc::tuning {

/// The first `top` of the list, and the first few of every library of the machine's.
std::vector<Kernel> first_candidates(const KernelList& list, std::size_t top);

/// The kernel with other knobs, of which each differs from the given ones in one: nothing for a
/// class that chooses none, and where an order of summation is promised.
std::vector<Kernel> other_knobs(const Kernel& kernel, const RuntimeArguments& arguments);

}  // namespace estoc::tuning

// Puts the kernel that tuning found before those that the ranking chose.
#pragma once

#include <vector>

#include "discovery/matching.h"

namespace estoc::discovery {

/// Reads the records anew where their file has changed; lists made with older ones are
/// forgotten then.
void refresh_tuned();

/// Forgets lists and plans, as records have changed.
void forget_ranked();

/// Moves the kernel that the records name for the arguments to the front of a ranked list, if it
/// is in the list, and gives it the knobs it was measured with. The rest keeps its order.
void put_tuned_first(std::vector<Kernel>& kernels, const ClassQuery& class_query);

}  // namespace estoc::discovery

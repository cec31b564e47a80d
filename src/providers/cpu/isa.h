// Chooses the variant of the product file that suits the processor at hand.
#pragma once

#include <string_view>
#include <vector>

#include "providers/cpu/product.h"

namespace estoc::cpu {

/// The functions for the best instruction set the processor has; null when it has none of those
/// the library was built for (an x86-64 processor without SSE4.2).
const ProductTable* active_products();

/// Every variant in the library that this processor can execute, the plainest first.
std::vector<const ProductTable*> usable_products();

/// Makes active_products() return the variant of that name ("v2", "v3", "v4", "generic", "native"),
/// or the best again for an empty name. False when there is no such variant or it cannot be
/// executed.
bool set_variant_for_testing(std::string_view name);

}  // namespace estoc::cpu

// Kernels for given arguments: the one that was named, or those that were found.
#pragma once

#include <string>

#include "estoc/discovery.hpp"

namespace estoc::cli {

/// The kernel of that name. Throws Failure with the nearest when there is none.
Kernel kernel_named(const std::string& name);

/// The same, which must carry out the arguments; else Failure{not_found} with the reason.
Kernel fitting_kernel_named(const std::string& name, const RuntimeArguments& arguments,
                            Target target);

/// get_kernels, with a warning for each class that failed; Failure{not_found} when none is found.
KernelList find_kernels(const RuntimeArguments& arguments, const KernelQuery& query);

/// Failure that says that no kernel carries out the arguments; of these providers, if some are
/// named.
[[noreturn]] void fail_without_kernels(const RuntimeArguments& arguments, Target target,
                                       const std::vector<std::string>& providers = {});

}  // namespace estoc::cli

// Looks kernels up and says what is wrong when there are none.
#include "kernel_choice.h"

#include "estoc/device.hpp"
#include "estoc/problem.hpp"
#include "failure.h"
#include "options.h"

namespace estoc::cli {

Kernel kernel_named(const std::string& name) {
  return with_hint("'estoc list' prints every kernel, 'estoc find' those for a problem",
                   [&] { return kernel_by_name(name); });
}

Kernel fitting_kernel_named(const std::string& name, const RuntimeArguments& arguments,
                            Target target) {
  Kernel kernel = kernel_named(name).with_epilogue(arguments.epilogue_graph());
  const Status status = kernel.supports(arguments, target);
  if (status) return kernel;
  throw Failure(Exit::not_found, kernel.name() + " does not apply: " + status.error(),
                "'estoc find' with the same problem lists the kernels that do");
}

KernelList find_kernels(const RuntimeArguments& arguments, const KernelQuery& query) {
  KernelList kernels = get_kernels(arguments, query);
  warn_of_failures(kernels.failures());
  if (kernels.empty())
    fail_without_kernels(arguments, query.target.value_or(Target::cpu()), query.providers);
  return kernels;
}

void fail_without_kernels(const RuntimeArguments& arguments, Target target,
                          const std::vector<std::string>& providers) {
  const bool no_gpu = target.is_cpu() && !providers.empty() && cuda_devices().empty();
  throw Failure(
      Exit::not_found,
      "no kernel for " + target.name() + " carries out: " + Problem::of(arguments).to_string(),
      no_gpu ? "there is no GPU here; --target sm_90a finds kernels for one"
             : "'estoc explain' with the same problem says why");
}

}  // namespace estoc::cli

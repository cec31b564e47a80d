// Finds the record for a query, and its kernel in the list.
#include "discovery/tuned_first.h"

#include <algorithm>

#include "discovery/device_target.h"
#include "discovery/nearest_kernel.h"
#include "records/known.h"
#include "records/signature.h"

namespace estoc::discovery {
namespace {

/// nullopt where the records have nothing to say, as of another target than the device's.
std::optional<TunedKernel> record_for(const ClassQuery& class_query) {
  const auto table = records::Known::instance().table();
  const RuntimeArguments& arguments = class_query.arguments;
  if (table->empty() || class_query.target != target_of(arguments.device())) return std::nullopt;
  const auto place = records::place_of(arguments.device());
  const auto signature = records::signature_of(arguments);
  if (!place || !signature) return std::nullopt;
  const TunedKernel* const record = table->find(*place, *signature);
  return record != nullptr ? std::optional(*record) : std::nullopt;
}

/// The kernel of that name, which is not compared by name: most kernels of a list have none yet.
std::vector<Kernel>::iterator find_named(std::vector<Kernel>& kernels, const std::string& name) {
  const std::string_view of = class_part(name);
  const auto first = std::ranges::find_if(
      kernels, [&](const Kernel& kernel) { return KernelAccess::state(kernel).info().name == of; });
  if (first == kernels.end()) return first;
  const auto point = KernelAccess::state(*first).info().space->parse(suffix_part(name));
  if (!point) return kernels.end();
  return std::find_if(first, kernels.end(), [&](const Kernel& kernel) {
    const KernelAccess::State& state = KernelAccess::state(kernel);
    return state.info().name == of && state.point == *point;
  });
}

/// Those that were measured, unless an order of summation is promised: the ranking's keep it.
Knobs knobs_for(const Kernel& kernel, const TunedKernel& record, const ClassQuery& class_query) {
  if (class_query.arguments.controls().keeps_order()) return kernel.knobs();
  const Status fits =
      check_workspace(KernelAccess::state(kernel), record.knobs, class_query.arguments);
  return fits.ok() ? record.knobs : kernel.knobs();
}

}  // namespace

void forget_ranked() {
  Registry::instance().snapshot()->lists->clear();
  Registry::instance().forget_lists();
}

void refresh_tuned() {
  if (records::Known::instance().refresh()) forget_ranked();
}

void put_tuned_first(std::vector<Kernel>& kernels, const ClassQuery& class_query) {
  const auto record = record_for(class_query);
  if (!record) return;
  const auto found = find_named(kernels, record->kernel);
  if (found == kernels.end()) return;
  KernelAccess::set_tuned(*found, knobs_for(*found, *record, class_query), record->seconds);
  std::rotate(kernels.begin(), found, found + 1);
}

}  // namespace estoc::discovery

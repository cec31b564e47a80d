// Parts of K whose sums pass through the workspace.
#include "providers/cuda/tails.h"

#include <fmt/core.h>

namespace estoc::cuda {

std::string sums_source(std::string_view folder, std::string_view type_name,
                        const EpilogueGraph* epilogue) {
  constexpr std::string_view kEntry = R"(
extern "C" __global__ void __launch_bounds__(32 * kSumWarps)
estoc_sum_parts(const __grid_constant__ {2}Parameters parameters{0}) {{
  estoc::{3}::sum_parts<kConfig>(parameters, estoc::epilogue::{1});
}}
)";
  if (epilogue == nullptr) return fmt::format(kEntry, "", "Identity{}", type_name, folder);
  return fmt::format(kEntry,
                     ",\n                const __grid_constant__ Epilogue::Parameters epilogue",
                     "Fused<Epilogue>{epilogue}", type_name, folder);
}

void set_split(cost::Plan& plan, const Sm90Split& split) {
  Knobs knobs = plan.knobs;
  knobs.split = static_cast<std::int16_t>(split.parts);
  knobs.split_tiles = split.tiles;
  cost::set_knobs(plan, knobs);
  plan.execution = split.execution;
}

}  // namespace estoc::cuda

// Parts of K whose sums pass through the workspace, and the second kernel that adds them up. Config
// is that of sm90_gemm, sm90_f64_gemm or sm100_gemm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "estoc/abi/sum_parts.cuh"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/sm90_cost.h"

namespace estoc::cuda {

/// The tiles of which K is divided, the last ones, and in how many parts.
struct Tail {
  std::int64_t tiles = 0;
  std::int64_t parts = 1;
};

template <typename Config>
std::int64_t cluster_tiles(const Config& config, const GemmProblem& problem) {
  return ceil_div(problem.m, config.cluster_rows()) *
         ceil_div(problem.n, config.cluster_columns()) * problem.l;
}

/// As many as the knobs say and the kernel, K and the workspace's numbers allow.
template <typename Config>
Tail tail_of(const Config& config, const GemmArguments& gemm, const GemmProblem& problem,
             const Knobs& knobs) {
  constexpr std::int64_t kMaxSlots = 1 << 20;
  const EpilogueBinding* const epilogue = gemm.epilogue_binding();
  const bool reduces = epilogue != nullptr && !epilogue->graph->reduced.empty();
  const bool quantises = gemm.out_scaled() != nullptr && gemm.out_scaled()->has_blocks();
  if (knobs.split_tiles <= 0 || gemm.controls().batch_invariant || reduces || quantises ||
      !config.has_tails())
    return {};
  const Tail tail{std::min<std::int64_t>(knobs.split_tiles, cluster_tiles(config, problem)),
                  std::min<std::int64_t>(
                      {knobs.split, ceil_div(problem.k, config.tile_k()), Config::kMaxTailParts})};
  return tail.parts > 1 && tail.tiles <= kMaxSlots / tail.parts ? tail : Tail{};
}

/// Of workspace, for the sums of all parts.
template <typename Config>
std::int64_t tail_bytes(const Config& config, const Tail& tail) {
  return tail.parts > 1 ? tail.tiles * tail.parts * config.cluster_size() * config.sums_bytes() : 0;
}

/// Of kSumElements each, in the tile of a cluster.
template <typename Config>
unsigned tile_chunks(const Config& config) {
  return static_cast<unsigned>(config.cluster_rows() * config.cluster_columns() /
                               abi::kSumElements);
}

/// Fills in of parameters what says which items are parts.
template <typename Config, typename Parameters>
void add_tail(const Config& config, const Tail& tail, std::int64_t tiles,
              const Workspace& workspace, Parameters& p) {
  p.undivided = static_cast<unsigned>(tiles - tail.tiles);
  p.tail_tiles = static_cast<unsigned>(tail.tiles);
  p.tail_parts = static_cast<unsigned>(tail.parts);
  p.items = p.undivided + static_cast<unsigned>(tail.tiles * tail.parts);
  // More warps share a chunk where there are many parts.
  p.chunks = std::min<unsigned>(abi::kSumWarps, tile_chunks(config));
  for (unsigned each = 8; p.chunks > 1 && each < p.tail_parts; each *= 2)
    p.chunks /= 2;
  p.sums = reinterpret_cast<std::uintptr_t>(workspace.data);
}

/// Adds the second kernel, number 1 of the unit; false without parts.
template <typename Config, typename Parameters>
bool add_sums_kernel(const Config& config, const Parameters& p, LaunchPlan& plan) {
  if (p.tail_parts == 1) return false;
  const int elements = config.cluster_rows() * config.cluster_columns();
  const int sum_bytes = config.sums_bytes() * config.cluster_size() / elements;
  plan.kernel(1,
              {.grid = {p.tail_tiles * tile_chunks(config) / p.chunks, 1, 1},
               .block = {32 * abi::kSumWarps, 1, 1},
               .shared_bytes = static_cast<unsigned>(4 * sum_bytes * 32 * abi::kSumWarps)},
              p);
  plan.launch_programmatically();
  return true;
}

/// The text of its entry, estoc_sum_parts, for code of `folder`, "sm90" or "sm100".
std::string sums_source(std::string_view folder, std::string_view type_name,
                        const EpilogueGraph* epilogue);

/// Gives the plan the knobs of a division.
void set_split(cost::Plan& plan, const Sm90Split& split);

/// Gives it those of the fastest division whose workspace the controls allow.
template <typename Config>
void set_fastest_split(const Config& config, const Sm90SplitSearch& search,
                       const PerformanceControls& controls, cost::Plan& plan) {
  const Sm90Split cluster = search.in_clusters();
  const Sm90Split tail = search.through_workspace(cluster.execution.seconds);
  const std::int64_t bytes = tail_bytes(config, {tail.tiles, tail.parts});
  const bool allowed = bytes <= controls.workspace_limit.value_or(bytes);
  set_split(plan, tail.parts > 1 && allowed ? tail : cluster);
}

}  // namespace estoc::cuda

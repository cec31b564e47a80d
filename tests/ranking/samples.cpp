// What a table says of each kernel, beside what the models say of it.
#include "samples.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "estoc/discovery.hpp"
#include "providers/cublaslt/lt_cost.h"
#include "providers/cuda/gemm_class.h"

namespace estoc::ranking {
namespace {

double number(const TableEntry& entry, const char* name) {
  const auto found = entry.facts.find(name);
  return found == entry.facts.end() ? 0 : found->second;
}
int fact(const TableEntry& entry, const char* name) {
  return static_cast<int>(number(entry, name));
}

cost::Plan library_plan(const TableEntry& entry, const GemmArguments& gemm,
                        const cost::DeviceModel& device) {
  cublaslt::LtFacts facts;
  facts.tile_rows = fact(entry, "tile rows");
  facts.tile_columns = fact(entry, "tile columns");
  facts.cluster_m = fact(entry, "cluster m");
  facts.cluster_n = fact(entry, "cluster n");
  facts.split_k = fact(entry, "split K");
  facts.algorithm = fact(entry, "algorithm");
  facts.stages_id = fact(entry, "stages");
  facts.waves = number(entry, "waves");
  facts.workspace_bytes = static_cast<std::size_t>(number(entry, "workspace bytes"));
  const auto out_order =
      fact(entry, "row order") != 0 ? cublaslt::OutOrder::row : cublaslt::OutOrder::column;
  const Dtype a = gemm.a_matrix().dtype;
  const Dtype multiplied = a == Dtype::f32 && gemm.controls().allow_tf32 ? Dtype::tf32 : a;
  return cublaslt::lt_plan(facts, multiplied, out_order, fact(entry, "heuristic"), gemm, device);
}

cost::Plan plan_of(const TableEntry& entry, const GemmArguments& gemm,
                   const cost::DeviceModel& device) {
  if (!entry.facts.empty()) return library_plan(entry, gemm, device);
  const Kernel kernel = kernel_by_name(entry.kernel);
  const auto* const kernel_class = dynamic_cast<const cuda::GemmClass*>(&kernel.kernel_class());
  if (kernel_class == nullptr) throw std::runtime_error(entry.kernel + ": no class with a model");
  cost::Plan plan = kernel_class->cost_plan(kernel.point(), cuda::CostQuery(gemm, device));
  cost::set_knobs(plan, entry.knobs);
  return plan;
}

Sample sample_of(const TableEntry& entry, int row, const GemmArguments& gemm,
                 const cost::DeviceModel& device) {
  const cost::Plan plan = plan_of(entry, gemm, device);
  const cost::Execution execution = cost::execute(plan.work, plan.design, device);
  Sample sample;
  sample.row = row;
  sample.family = plan.family;
  sample.seconds = entry.seconds;
  sample.physical = execution.seconds;
  sample.before = plan.seconds_before;
  sample.corrected =
      !plan.design.older_instructions && static_cast<int>(plan.family) < cost::kFamilies;
  sample.caution = cost::caution(plan);
  sample.features = cost::features_of(plan, execution, device);
  return sample;
}

/// Measures each of the samples against the fastest of its kind: ours, or the library's.
void compare(std::span<Sample> row) {
  for (const bool library : {false, true}) {
    auto is_kind = [&](const Sample& s) { return (s.family == cost::Family::library) == library; };
    double least = 0;
    for (const Sample& s : row) {
      if (is_kind(s) && (least == 0 || s.seconds < least)) least = s.seconds;
    }
    for (Sample& s : row) {
      if (is_kind(s)) s.over_best = s.seconds / least;
    }
  }
}

/// A hash of the extents.
std::uint32_t shape_of(const std::array<std::int64_t, 4>& extents) {
  std::uint32_t shape = 0;
  for (const std::int64_t extent : extents) {
    shape = (shape ^ static_cast<std::uint32_t>(extent)) * 2654435761U;
    shape ^= shape >> 16;
  }
  return shape;
}

}  // namespace

SampledTable sample(const Table& table) {
  SampledTable sampled;
  sampled.device = table.device;
  sampled.model = cost::find_device_model(table.device);
  if (sampled.model == nullptr)
    throw std::runtime_error(table.device + ": no model of this device");
  for (const TableRow& row : table.rows) {
    const auto* const arguments = dynamic_cast<const GemmArguments*>(row.arguments.get());
    if (arguments == nullptr) throw std::runtime_error(row.problem + ": expected a gemm");
    const GemmArguments& gemm = *arguments;
    const GemmExtents& e = gemm.extents();
    const int index = static_cast<int>(sampled.problems.size());
    const std::size_t first = sampled.samples.size();
    for (const TableEntry& entry : row.entries)
      sampled.samples.push_back(sample_of(entry, index, gemm, *sampled.model));
    compare(std::span(sampled.samples).subspan(first));
    sampled.problems.push_back(row.problem);
    sampled.shapes.push_back(shape_of({e.m, e.n, e.k, e.l}));
  }
  return sampled;
}

}  // namespace estoc::ranking

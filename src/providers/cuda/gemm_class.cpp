// What the GEMM classes of Estoc's own device sources share: checks, plans, workspace, generated
// text, predictions, and what they promise of the order of summation.
#include "providers/cuda/gemm_class.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "cost/factor_batch.h"
#include "epilogue/emit.h"
#include "estoc/arguments.hpp"
#include "model/key_numbers.h"
#include "model/same_dimensions.h"

namespace estoc::cuda {
namespace {

using operations::Orientation;

CostQuery cost_query(const RuntimeArguments& arguments, Target target) {
  return {arguments, cost::device_model(target, arguments.device())};
}

/// The product as if its groups were of one size: each a batch.
GemmProblem balanced(GemmProblem problem) {
  using operations::Mapping;
  const std::int64_t groups = std::max<std::int64_t>(problem.groups.count, 1);
  const auto part = [&](std::int64_t& extent) { extent = ceil_div(extent, groups); };
  if (problem.mapping == Mapping::rows) part(problem.m);
  if (problem.mapping == Mapping::columns) part(problem.n);
  if (problem.mapping == Mapping::reduction) part(problem.k);
  if (problem.mapping != Mapping::strided) problem.l = groups;
  return problem;
}

/// What widest() and is_transposed() look at: all but shapes, stages and schedules.
model::SameInDimensions what_alignments_follow_from(const DesignSpace& space) {
  model::SameInDimensions same;
  std::size_t number = 0;
  for (const Dimension& dimension : space.dimensions()) {
    const Role role = dimension.role;
    const bool design = role == Role::tile || role == Role::cluster || role == Role::stages ||
                        role == Role::schedule || role == Role::instruction || role == Role::split;
    if (!design) same.add(number);
    ++number;
  }
  return same;
}

/// A bit for each dimension of these roles that the space has.
std::uint32_t dimension_bits(const DesignSpace& space, std::initializer_list<Role> roles) {
  std::uint32_t bits = 0;
  for (const Role role : roles) {
    if (const int dimension = space.find(role); dimension >= 0)
      bits |= std::uint32_t{1} << static_cast<unsigned>(dimension);
  }
  return bits;
}

/// What predictions of one query depend on: a design but for its alignments, and those they take.
model::KeyNumbers::Key key_of(const std::array<std::uint64_t, 2>& others,
                              const Alignments& widest) {
  const auto word = [](int bytes) { return static_cast<std::uint64_t>(bytes); };
  return {others[0], others[1], word(widest.a) << 40 | word(widest.b) << 20 | word(widest.out)};
}

}  // namespace

CostQuery::CostQuery(const RuntimeArguments& arguments, const cost::DeviceModel& device)
    : controls_(arguments.controls()),
      device_(device),
      problems_{balanced(operations::lower_product(arguments, Orientation::as_given)),
                balanced(operations::lower_product(arguments, Orientation::transposed))} {
  const cost::EpilogueTraffic traffic = epilogue_traffic(operations::product_of(arguments));
  for (std::size_t i = 0; i < works_.size(); ++i)
    works_[i] = cost::work_of(problems_[i], traffic);
}

std::string GemmClass::summation(const DesignPoint& point, const EpilogueGraph* epilogue) const {
  const bool transposed = is_transposed(point);
  if (epilogue != nullptr) {
    // Neighbours that share a reciprocal are of different rows there.
    if (transposed && shares_reciprocals(*epilogue)) return {};
    // The compiler makes one instruction of a product and a sum in one kernel and not in another.
    return std::string(name()) + point.space().suffix(point);
  }
  if (point.dtype(Role::accumulator_type) == Dtype::i32) return "whole numbers";
  return sums_of(point) + (transposed ? ", B^T A^T" : "");
}

cost::Plan GemmClass::cost_plan(const DesignPoint& point, const CostQuery& query) const {
  const Alignments own = alignments_of(point);
  const Alignments counted = widest(point, own, query.problem(is_transposed(point)));
  cost::Plan plan = widest_plan(point, counted, query);
  if (counted != own) plan.design.narrower = true;
  return plan;
}

std::optional<Prediction> GemmClass::predict(const DesignPoint& point,
                                             const RuntimeArguments& arguments,
                                             Target target) const {
  const CostQuery query = cost_query(arguments, target);
  return cost::predict(cost_plan(point, query), query.device());
}

std::vector<std::optional<Prediction>> GemmClass::predict_each(
    std::span<const DesignPoint* const> points, const CostQuery& query, bool closely) const {
  /// What is predicted for a kernel: the first that has it, and the alignments it is given.
  struct First {
    const DesignPoint* point;
    Alignments widest;
  };
  struct Answer {
    std::uint32_t number;  ///< of the first
    bool narrower;         ///< than those alignments
  };
  std::vector<First> firsts;
  std::vector<Answer> answers(points.size());
  const AlignmentDimensions alignments(points.front()->space());
  {
    firsts.reserve(points.size());
    model::KeyNumbers numbers(points.size());
    model::SameInDimensions same = what_alignments_follow_from(points.front()->space());
    Alignments counted;
    bool narrower = false;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const DesignPoint& point = *points[i];
      if (!same(point)) {
        const Alignments own = alignments.of(point);
        counted = widest(point, own, query.problem(is_transposed(point)));
        narrower = counted != own;
      }
      answers[i] = {numbers.number_of(key_of(alignments.others(point), counted)), narrower};
      if (answers[i].number == firsts.size()) firsts.push_back({&point, counted});
    }
  }
  struct Design {
    cost::Outline outline;
    double narrower_caution = 0;
    std::array<std::optional<Prediction>, 2> predictions{};  ///< of the widest, of others
  };
  std::vector<Design> designs(firsts.size());
  cost::FactorBatch factors(query.device(), closely, firsts.size());
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    cost::Plan plan = widest_plan(*firsts[i].point, firsts[i].widest, query);
    if (!plan.execution) plan.execution = cost::execution_of(plan, query.device());
    factors.add(plan, *plan.execution);
    designs[i].outline = cost::outline_of(plan, *plan.execution);
    plan.design.narrower = true;
    designs[i].narrower_caution = cost::caution(plan);
  }
  const std::vector<double>& by_number = factors.finish();
  std::vector<std::optional<Prediction>> predictions;
  predictions.reserve(points.size());
  for (const Answer& answer : answers) {
    Design& design = designs[answer.number];
    std::optional<Prediction>& prediction = design.predictions[answer.narrower ? 1 : 0];
    if (!prediction) {
      cost::Outline outline = design.outline;
      if (answer.narrower) outline.caution = design.narrower_caution;
      prediction = cost::prediction_of(outline, by_number[answer.number]);
    }
    predictions.push_back(prediction);
  }
  return predictions;
}

std::vector<std::optional<Prediction>> GemmClass::predict_all(
    std::span<const DesignPoint* const> points, const RuntimeArguments& arguments,
    Target target) const {
  if (points.empty()) return {};
  return predict_each(points, cost_query(arguments, target), false);
}

std::vector<std::optional<Prediction>> GemmClass::predict_closely(
    std::span<const DesignPoint* const> points, const RuntimeArguments& arguments,
    Target target) const {
  if (points.empty()) return {};
  return predict_each(points, cost_query(arguments, target), true);
}

std::vector<PredictionPart> GemmClass::predict_parts(const DesignPoint& point,
                                                     const RuntimeArguments& arguments,
                                                     Target target) const {
  const CostQuery query = cost_query(arguments, target);
  return cost::prediction_parts(cost_plan(point, query), query.device());
}

// One batch of common size, without a division: each tile has an element.
bool GemmClass::is_common(const GemmLimits& limits, const GemmExtents& e) {
  constexpr std::int64_t kCommon = std::int64_t{1} << 31;
  return e.l <= 1 && std::max({e.m, e.n, e.k}) <= std::min(limits.extent, kCommon) &&
         e.m * e.n <= limits.tiles && std::max(e.m, e.n) <= limits.tiles;
}

std::uint32_t GemmClass::operand_dimensions(const DesignSpace& space) {
  return dimension_bits(
      space, {Role::a_dtype, Role::b_dtype, Role::accumulator_type, Role::out_dtype, Role::layouts,
              Role::a_alignment, Role::b_alignment, Role::out_alignment});
}

std::uint32_t GemmClass::input_alignments(const DesignSpace& space) {
  return dimension_bits(space, {Role::a_alignment, Role::b_alignment});
}

Status GemmClass::check_limits(const GemmLimits& limits, const GemmExtents& e, const Shape3& tile) {
  if (is_common(limits, e)) return Status::success();
  const std::int64_t tiles_m = ceil_div(e.m, tile.m);
  const std::int64_t tiles_n = ceil_div(e.n, tile.n);
  // Numbers first whose product cannot overflow.
  const bool few = std::max({e.m, e.n, e.k}) <= limits.extent && e.l <= limits.batches &&
                   std::max(tiles_m, tiles_n) <= limits.tiles &&
                   tiles_m * tiles_n <= limits.tiles &&
                   (e.l <= 1 || tiles_m * tiles_n <= limits.all_tiles / e.l);
  if (few) return Status::success();
  const std::string extents = limits.extent < GemmLimits{}.extent
                                  ? fmt::format("extents of at most {} and ", limits.extent)
                                  : "";
  return Status::fail(
      Reason::shape,
      fmt::format("out.shape: expected {}at most {} tiles of {} x {}, got m={} n={} k={} l={}",
                  extents, limits.tiles, tile.m, tile.n, e.m, e.n, e.k, e.l));
}

std::string GemmClass::fused_entry() const {
  return fmt::format(R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), {2})
estoc_kernel(const __grid_constant__ {1}Parameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue) {{
  estoc::{0}<kConfig>(parameters, estoc::epilogue::Fused<Epilogue>{{epilogue}});
}}
)",
                     device_name(), type_name_, least_ctas(true));
}

std::string GemmClass::unit_text(std::string_view config, std::string_view asserts,
                                 const EpilogueGraph* epilogue, bool transposed) const {
  const std::string plain_entry =
      fmt::format(R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), {2})
estoc_kernel(const __grid_constant__ {1}Parameters parameters) {{
  estoc::{0}<kConfig>(parameters, estoc::epilogue::Identity{{}});
}}
)",
                  device_name(), type_name_, least_ctas(false));
  return fmt::format(R"(#include <estoc/kernels/{}.cuh>

using namespace estoc::abi;
namespace {{
{}{}}}  // namespace
{}
{})",
                     device_name(), config, asserts, epilogue_source(epilogue, transposed),
                     epilogue != nullptr ? fused_entry() : plain_entry);
}

}  // namespace estoc::cuda

// Tries problems that differ from one in a single value.
#include "near_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "estoc/status.hpp"

namespace estoc::cli {
namespace {

struct NearProblem {
  std::string change;
  Problem problem;
};

constexpr std::array kNearDtypes{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                 Dtype::i8,  Dtype::i32, Dtype::f64};

/// The problem with defaults for what follows from the dtypes of A and B.
Problem with_default_results(Problem problem) {
  problem.accumulator_type.reset();
  problem.out.dtype.reset();
  problem.complete();
  return problem;
}

std::string letter_of(Layout layout) {
  return layout == Layout::n ? "n" : "t";
}

/// With other layouts, which dtypes are kept for.
void add_layouts(const Problem& problem, std::vector<NearProblem>& found) {
  for (const auto& [name, place] :
       {std::pair{"a", &Problem::a}, {"b", &Problem::b}, {"out", &Problem::out}}) {
    const OperandSpec& spec = problem.*place;
    if (!spec.layout) continue;
    Problem near = problem;
    (near.*place).layout = *spec.layout == Layout::t ? Layout::n : Layout::t;
    found.push_back(
        {fmt::format("{}={}:{}", name, dtype_name(*spec.dtype), letter_of(*(near.*place).layout)),
         near});
  }
}

void add_dtypes(const Problem& problem, std::vector<NearProblem>& found) {
  for (const Dtype dtype : kNearDtypes) {
    Problem near = problem;
    near.accumulator_type = dtype;
    found.push_back({fmt::format("acc={}", dtype_name(dtype)), near});
    near = problem;
    near.out.dtype = dtype;
    found.push_back({fmt::format("out={}", dtype_name(dtype)), near});
  }
  // That of the other input first.
  for (const auto& [name, place, other] :
       {std::tuple{"b", &Problem::b, &Problem::a}, {"a", &Problem::a, &Problem::b}}) {
    std::vector<Dtype> dtypes{*(problem.*other).dtype};
    dtypes.insert(dtypes.end(), kNearDtypes.begin(), kNearDtypes.end());
    for (const Dtype dtype : dtypes) {
      Problem near = problem;
      (near.*place).dtype = dtype;
      found.push_back({fmt::format("{}={}", name, dtype_name(dtype)), near});
      near = with_default_results(near);
      found.push_back({fmt::format("{}={} acc={} out={}", name, dtype_name(dtype),
                                   dtype_name(*near.accumulator_type), dtype_name(*near.out.dtype)),
                       near});
    }
  }
}

bool fits(const NearProblem& near, const KernelQuery& query, Device device) {
  try {
    return !get_kernels(*near.problem.arguments(device), query).empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> near_problems(const Problem& problem, const KernelQuery& query,
                                       Device device, std::size_t most) {
  if (problem.operation != Operation::gemm) return {};
  std::vector<NearProblem> near;
  add_layouts(problem, near);
  add_dtypes(problem, near);
  std::vector<std::string> changes;
  for (const NearProblem& each : near) {
    if (changes.size() == most) break;
    const bool known = std::ranges::find(changes, each.change) != changes.end();
    if (!known && each.problem != problem && fits(each, query, device)) {
      changes.push_back(each.change);
    }
  }
  return changes;
}

}  // namespace estoc::cli

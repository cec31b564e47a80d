// How good the first kernel of a ranking is: the time of the best over that of the first.
#include "regret.h"

#include <algorithm>
#include <array>
#include <span>

#include "discovery/ranking.h"
#include "estoc/problem.hpp"

namespace estoc::ranking {
namespace {

constexpr double kLow = 0.85;

bool takes_part(const Sample& sample, Field field) {
  return field == Field::all ||
         (sample.family == cost::Family::library) == (field == Field::library);
}

char letter_of(const OperandSpec& operand) {
  return operand.layout == Layout::n ? 'n' : 't';
}

/// One kernel of a row.
struct Entrant {
  Predicted predicted;
  double measured = 0;
};

/// As discovery::rank does.
Choice choose(std::vector<Entrant>& row) {
  std::ranges::stable_sort(row, {}, [](const Entrant& each) { return each.predicted.seconds; });
  const auto close = std::span(row).first(std::min(row.size(), discovery::kCloselyPredicted));
  const auto first = std::ranges::min_element(
      close, {}, [](const Entrant& each) { return each.predicted.closely; });
  const auto best = std::ranges::min_element(row, {}, &Entrant::measured);
  return {.first = first->measured, .best = best->measured};
}

}  // namespace

std::vector<Choice> choices(const SampledTable& table, Field field, const Predict& predict) {
  std::vector<std::vector<Entrant>> entrants(table.problems.size());
  for (const Sample& sample : table.samples) {
    if (!takes_part(sample, field)) continue;
    entrants[static_cast<std::size_t>(sample.row)].push_back({predict(sample), sample.seconds});
  }
  std::vector<Choice> found;
  for (std::vector<Entrant>& row : entrants)
    found.push_back(row.empty() ? Choice{} : choose(row));
  return found;
}

std::vector<std::optional<double>> regrets(const SampledTable& table, Field field,
                                           const Predict& predict) {
  std::vector<std::optional<double>> found;
  for (const Choice& choice : choices(table, field, predict))
    found.push_back(choice.first > 0 ? std::optional(choice.best / choice.first) : std::nullopt);
  return found;
}

Summary summarise(const SampledTable& table, const std::vector<std::optional<double>>& regrets,
                  const std::function<bool(const std::string& problem)>& takes) {
  Summary summary;
  for (std::size_t row = 0; row < regrets.size(); ++row) {
    if (!regrets[row] || (takes && !takes(table.problems[row]))) continue;
    ++summary.rows;
    if (*regrets[row] < kLow) ++summary.low;
    summary.mean += *regrets[row];
    if (*regrets[row] >= summary.worst) continue;
    summary.worst = *regrets[row];
    summary.worst_problem = table.problems[row];
  }
  if (summary.rows > 0) summary.mean /= summary.rows;
  return summary;
}

std::string kind_of(const std::string& text) {
  const Problem problem = Problem::parse(text);
  if (!problem.epilogue.empty()) return "epilogues";
  if (problem.l.value_or(1) > 1) return "batches";
  std::string dtype(dtype_name(problem.a.dtype.value_or(Dtype::f32)));
  const std::string layout{letter_of(problem.a), letter_of(problem.b), letter_of(problem.out)};
  const bool narrow = problem.out.dtype == problem.a.dtype;
  if (dtype == "bf16") return layout == "tnt" && narrow ? "bf16 tnt" : "bf16, others";
  return dtype;
}

std::string band_of(const std::string& text) {
  const std::int64_t m = Problem::parse(text).m.value_or(1);
  constexpr std::array<std::int64_t, 4> kBands{1, 64, 512, 2048};
  for (std::size_t i = 0; i < kBands.size(); ++i) {
    if (m > kBands[i]) continue;
    return i == 0 ? "M = 1"
                  : "M = " + std::to_string(kBands[i - 1] + 1) + ".." + std::to_string(kBands[i]);
  }
  return "M > 2048";
}

}  // namespace estoc::ranking

// How good the first kernel of a ranking is: the time of the best over that of the first.
#include "regret.h"

#include <algorithm>
#include <array>
#include <limits>

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

}  // namespace

std::vector<Choice> choices(const SampledTable& table, Field field, const Predict& predict) {
  std::vector<Choice> found(table.problems.size());
  std::vector<double> least(table.problems.size(), std::numeric_limits<double>::infinity());
  for (const Sample& sample : table.samples) {
    if (!takes_part(sample, field)) continue;
    const auto row = static_cast<std::size_t>(sample.row);
    Choice& choice = found[row];
    choice.best = choice.best > 0 ? std::min(choice.best, sample.seconds) : sample.seconds;
    const double predicted = predict(sample);
    if (predicted >= least[row]) continue;
    least[row] = predicted;
    choice.first = sample.seconds;
  }
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

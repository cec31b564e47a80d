// Replays the ranking on tables of measured kernels, and fits the residuals of its model to them.
//
//   estoc_ranking regret TABLE...            each shape by a fit without it; 1 below the floor
//   estoc_ranking shipped TABLE...           the same with the library's own residuals
//   estoc_ranking rows TABLE...              likewise, each problem by itself, as text with tabs
//   estoc_ranking fit --out FOLDER TABLE...  writes residuals_DEVICE.cpp, of src/cost
//
// A TABLE is a file of `estoc bench --table`, not compressed.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "fit.h"
#include "regret.h"
#include "write.h"

namespace estoc::ranking {
namespace {

constexpr double kLeastMean = 0.97;

SampledTable load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return sample(read_table(file));
}

DeviceFit fit_device(const SampledTable& table) {
  DeviceFit fit{std::string(table.model->name), {}};
  for (int family = 0; family < cost::kFamilies; ++family)
    fit.families.push_back(fit_family(table, static_cast<cost::Family>(family)));
  return fit;
}

double seconds_by(const cost::Residual& residual, const Sample& sample) {
  return sample.physical * sample.caution * std::exp(cost::evaluate(residual, sample.features));
}

/// By the fit that has not seen the sample's shape.
Predict left_out(const SampledTable& table, const DeviceFit& fit) {
  return [&](const Sample& sample) {
    const int shape = table.shapes[static_cast<std::size_t>(sample.row)];
    const FamilyFit& family = fit.families[static_cast<std::size_t>(sample.family)];
    return seconds_by(family.without[static_cast<std::size_t>(part_of(shape))].view(), sample);
  };
}

Predict shipped(const SampledTable& table) {
  return [&](const Sample& sample) {
    return seconds_by(cost::residual_of(*table.model, sample.family), sample);
  };
}

void print(const std::string& name, const Summary& summary) {
  if (summary.rows == 0) return;
  std::printf("  %-28s %4d   %.4f   %.3f   %s\n", name.c_str(), summary.rows, summary.mean,
              summary.worst, summary.worst_problem.substr(0, 70).c_str());
}

/// Prints means and worst; true when the means are not below the floor.
bool report(const SampledTable& table, const Predict& predict) {
  const auto ours = regrets(table, Field::ours, predict);
  const auto all = regrets(table, Field::all, predict);
  std::printf("%s: %zu problems, %zu kernels\n  %-28s rows   mean     worst\n",
              table.device.c_str(), table.problems.size(), table.samples.size(), "");
  const Summary plain = summarise(table, ours);
  const Summary whole = summarise(table, all);
  print("ours", plain);
  print("whole list", whole);
  std::set<std::string> kinds;
  std::set<std::string> bands;
  for (const std::string& problem : table.problems) {
    kinds.insert(kind_of(problem));
    bands.insert(band_of(problem));
  }
  for (const std::string& kind : kinds)
    print(kind, summarise(table, ours, [&](const auto& p) { return kind_of(p) == kind; }));
  for (const std::string& band : bands)
    print(band, summarise(table, ours, [&](const auto& p) { return band_of(p) == band; }));
  return plain.mean >= kLeastMean && whole.mean >= kLeastMean;
}

/// A line for each problem: text, kind, band of M, and microseconds of the first and the best of
/// our kernels, of the best of the library (0: there is none), and of the first of the whole list.
void print_rows(const SampledTable& table, const Predict& predict) {
  const auto ours = choices(table, Field::ours, predict);
  const auto library = choices(table, Field::library, predict);
  const auto all = choices(table, Field::all, predict);
  for (std::size_t row = 0; row < table.problems.size(); ++row) {
    const std::string& problem = table.problems[row];
    fmt::print("{}\t{}\t{}\t{:.4g}\t{:.4g}\t{:.4g}\t{:.4g}\n", problem, kind_of(problem),
               band_of(problem), 1e6 * ours[row].first, 1e6 * ours[row].best,
               1e6 * library[row].best, 1e6 * all[row].first);
  }
}

int run(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.at(0);
  std::string out;
  std::vector<DeviceFit> fits;
  bool passed = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--out") {
      out = arguments.at(++i);
      continue;
    }
    const SampledTable table = load(arguments[i]);
    if (command == "shipped") {
      passed = report(table, shipped(table)) && passed;
      continue;
    }
    fits.push_back(fit_device(table));
    if (command == "rows") {
      print_rows(table, left_out(table, fits.back()));
      continue;
    }
    passed = report(table, left_out(table, fits.back())) && passed;
  }
  if (command == "fit") {
    for (const DeviceFit& fit : fits)
      write_residuals(fit, out);
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace estoc::ranking

int main(int count, char** arguments) {
  try {
    return estoc::ranking::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "estoc_ranking: %s\n", error.what());
    return 2;
  }
}

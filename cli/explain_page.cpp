// Puts the answers of kernel classes, and what predictions are made of, on a page.
#include "explain_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bars.h"
#include "page.h"
#include "text.h"

namespace estoc::cli {
namespace {

using ExplainRow = std::vector<std::string>;

constexpr std::size_t kMaxKernels = 20;

/// Seconds that decide a kernel's place: measured, else predicted.
std::optional<double> deciding_seconds(const Kernel& kernel) {
  return kernel.tuned_seconds() ? kernel.tuned_seconds() : kernel.predicted_seconds();
}

/// The classes that fit and say how long they take, the fastest first.
std::vector<const ExplainedClass*> fastest_first(std::span<const ExplainedClass> classes) {
  std::vector<const ExplainedClass*> found;
  for (const ExplainedClass& one : classes) {
    if (one.explanation.first && deciding_seconds(*one.explanation.first).value_or(0) > 0) {
      found.push_back(&one);
    }
  }
  std::ranges::stable_sort(found, {}, [](const ExplainedClass* one) {
    return *deciding_seconds(*one->explanation.first);
  });
  return found;
}

/// A bar for each class: the speed of its first kernel as a part of the fastest one's.
std::string speed_chart(const std::vector<const ExplainedClass*>& classes) {
  std::vector<Bar> bars;
  for (const ExplainedClass* one : classes) {
    const Kernel& first = *one->explanation.first;
    const double part =
        *deciding_seconds(*classes.front()->explanation.first) / *deciding_seconds(first);
    bars.push_back({one->explanation.kernel_class, part, predicted_cell(first)});
  }
  return bar_chart("speed of the best kernel of each class, and its time", bars);
}

std::string part_value(const PredictionPart& part) {
  switch (part.unit) {
    case PredictionPart::Unit::seconds:
      return format_seconds(part.value);
    case PredictionPart::Unit::factor:
      return fmt::format("{:.3f}", part.value);
    case PredictionPart::Unit::count:
      break;
  }
  return format_number(part.value);
}

std::vector<ExplainRow> parts_table(const std::vector<const ExplainedClass*>& classes) {
  std::vector<ExplainRow> rows;
  for (const ExplainedClass* one : classes) {
    const PredictionPart* const limit = limiting_part(one->parts);
    for (const PredictionPart& part : one->parts) {
      rows.push_back({one->explanation.kernel_class, printable(part.name), part_value(part),
                      &part == limit ? "the longest" : ""});
    }
  }
  return rows;
}

std::vector<ExplainRow> kernels_table(const KernelList& kernels) {
  std::vector<ExplainRow> rows;
  for (std::size_t rank = 0; rank < std::min(kernels.size(), kMaxKernels); ++rank) {
    const Kernel& kernel = kernels[rank];
    rows.push_back({std::to_string(rank + 1), kernel.name(), kernel.metadata().provider,
                    predicted_cell(kernel)});
  }
  return rows;
}

std::vector<ExplainRow> refusals(std::span<const ExplainedClass> classes) {
  std::vector<ExplainRow> rows;
  for (const ExplainedClass& one : classes) {
    const Explanation& explanation = one.explanation;
    if (explanation.status) continue;
    rows.push_back({explanation.kernel_class, explanation.provider,
                    std::to_string(explanation.described), printable(explanation.status.error())});
  }
  return rows;
}

}  // namespace

std::string explain_page(const ExplainedQuery& query, std::span<const ExplainedClass> classes,
                         const KernelList& kernels) {
  Page page("Estoc: why this kernel");
  page.paragraph(query.problem);
  page.paragraph("For " + query.target + ", " + counted(kernels.size(), "kernel") + ".");
  const std::vector<const ExplainedClass*> best = fastest_first(classes);
  page.heading("The best of each class");
  page.picture(speed_chart(best));
  page.heading("What the predicted times are made of");
  page.table({{"class"}, {"part"}, {"value", true}, {""}}, parts_table(best));
  page.heading("The first kernels");
  page.table({{"rank", true}, {"kernel"}, {"provider"}, {"time", true}}, kernels_table(kernels));
  page.heading("Classes that do not fit");
  page.table({{"class"}, {"provider"}, {"kernels", true}, {"reason"}}, refusals(classes));
  return page.take();
}

}  // namespace estoc::cli

// Formats what predicted times are made of.
#include "prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "failure.h"
#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

using Unit = PredictionPart::Unit;

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return "seconds";
    case Unit::count:
      return "count";
    case Unit::factor:
      break;
  }
  return "factor";
}

const PredictionPart* find_part(std::span<const PredictionPart> parts, const std::string& name) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const PredictionPart& part) { return part.name == name; });
  return found == parts.end() ? nullptr : &*found;
}

std::string part_cell(const PredictionPart* part) {
  if (part == nullptr) return "-";
  if (part->unit == Unit::seconds) return format_seconds(part->value);
  const bool is_integer = part->unit == Unit::count && std::floor(part->value) == part->value;
  return is_integer ? fmt::format("{:.0f}", part->value) : format_number(part->value);
}

std::string limit_cell(std::span<const PredictionPart> parts) {
  const PredictionPart* limit = limiting_part(parts);
  return limit == nullptr ? "-" : printable(limit->name);
}

/// Names of the parts of any of the kernels, in the order in which they come up.
std::vector<std::string> part_names(std::span<const PredictedKernel* const> kernels) {
  std::vector<std::string> names;
  for (const PredictedKernel* kernel : kernels) {
    for (const PredictionPart& part : kernel->parts) {
      if (std::find(names.begin(), names.end(), part.name) == names.end()) {
        names.push_back(part.name);
      }
    }
  }
  return names;
}

void print_class(Output& output, std::span<const PredictedKernel* const> kernels) {
  const std::vector<std::string> names = part_names(kernels);
  const KernelMetadata& metadata = kernels.front()->kernel->metadata();
  output.print("\n" + labelled_line(output, "class", metadata.kernel_class));
  if (names.empty()) {
    output.print("It does not say what its predictions are made of.\n");
    return;
  }
  using Align = Table::Align;
  std::vector<Table::Column> columns{
      {"rank", Align::right}, {"predicted", Align::right}, {"limited by"}};
  for (const std::string& name : names)
    columns.push_back({printable(name), Align::right});
  Table table(output, columns);
  for (const PredictedKernel* each : kernels) {
    std::vector<std::string> cells{std::to_string(each->rank), predicted_cell(*each->kernel),
                                   limit_cell(each->parts)};
    for (const std::string& name : names)
      cells.push_back(part_cell(find_part(each->parts, name)));
    table.add_row(std::move(cells));
  }
  output.print(table.take());
}

}  // namespace

std::vector<PredictionPart> parts_of(const Kernel& kernel, const RuntimeArguments& arguments,
                                     Target target) {
  try {
    return kernel.prediction_parts(arguments, target);
  } catch (const std::exception& error) {
    warn("kernel class " + kernel.metadata().kernel_class + ": " + printable(error.what()));
    return {};
  }
}

const PredictionPart* limiting_part(std::span<const PredictionPart> parts) {
  const PredictionPart* limit = nullptr;
  for (const PredictionPart& part : parts) {
    if (part.unit != Unit::seconds) continue;
    if (limit == nullptr || part.value > limit->value) limit = &part;
  }
  return limit;
}

Json to_json(const PredictionPart& part) {
  return {{"name", part.name}, {"value", part.value}, {"unit", unit_name(part.unit)}};
}

Json to_json(std::span<const PredictionPart> parts) {
  Json json = Json::array();
  for (const PredictionPart& part : parts)
    json.push_back(to_json(part));
  return json;
}

std::string predicted_cell(const Kernel& kernel) {
  if (const auto tuned = kernel.tuned_seconds()) return "tuned, " + format_seconds(*tuned);
  const auto seconds = kernel.predicted_seconds();
  return seconds ? format_seconds(*seconds) : "-";
}

void print_parts(Output& output, std::span<const PredictedKernel> kernels) {
  std::vector<std::vector<const PredictedKernel*>> classes;
  for (const PredictedKernel& kernel : kernels) {
    const auto same = std::find_if(classes.begin(), classes.end(), [&](const auto& one) {
      return &one.front()->kernel->kernel_class() == &kernel.kernel->kernel_class();
    });
    if (same == classes.end()) {
      classes.push_back({&kernel});
    } else {
      same->push_back(&kernel);
    }
  }
  for (const auto& one : classes)
    print_class(output, one);
}

}  // namespace estoc::cli

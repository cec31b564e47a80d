// Writes fitted residuals as the source that the library is built with.
#include "write.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <fstream>
#include <span>
#include <stdexcept>

namespace estoc::ranking {
namespace {

constexpr std::size_t kLineWidth = 100;
// Of thresholds and units, with which the leaves were fitted.
constexpr int kDigitsOfTrees = 6;

std::string number(float value, int digits = 4) {
  std::string text = fmt::format("{:.{}g}", value, digits);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "F";
}
std::string number(std::uint8_t value, int /*digits*/) {
  return std::to_string(value);
}

template <typename Number>
void write_array(std::ostream& out, const std::string& type, const std::string& name,
                 std::span<const Number> values, int digits = 4) {
  out << fmt::format("constexpr {} {}[] = {{", type, name);
  std::size_t width = kLineWidth;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string text = number(values[i], digits) + (i + 1 < values.size() ? "," : "");
    if (width + 1 + text.size() > kLineWidth) {
      out << "\n   ";
      width = 3;
    }
    out << ' ' << text;
    width += 1 + text.size();
  }
  out << "};\n";
}

/// The band whose array has the numbers of `band`: a family without bands has one array.
std::size_t source_of(const Fitted& fitted, std::size_t band) {
  return fitted.coefficients[band] == fitted.coefficients[0] ? 0 : band;
}

void write_family(std::ostream& out, const Fitted& fitted, const std::string& name) {
  write_array<std::uint8_t>(out, "std::uint8_t", name + "Features", fitted.features);
  write_array<float>(out, "float", name + "Means", fitted.means);
  write_array<float>(out, "float", name + "Scales", fitted.scales);
  for (std::size_t band = 0; band < fitted.coefficients.size(); ++band) {
    if (source_of(fitted, band) != band) continue;
    write_array<float>(out, "float", name + "Coefficients" + std::to_string(band),
                       fitted.coefficients[band]);
  }
}

void write_trees(std::ostream& out, const FittedTrees& trees, const std::string& name) {
  if (trees.units.empty()) return;
  write_array<std::uint8_t>(out, "std::uint8_t", name + "TreeFeatures", trees.features);
  write_array<float>(out, "float", name + "Thresholds", trees.thresholds, kDigitsOfTrees);
  write_array<float>(out, "float", name + "Units", trees.units, kDigitsOfTrees);
  write_array<std::uint8_t>(out, "std::uint8_t", name + "Leaves", trees.leaves);
}

std::string trees_of(const FittedTrees& trees, const std::string& name) {
  if (trees.units.empty()) return "Trees{}";
  return fmt::format("Trees{{{1}, {0}TreeFeatures, {0}Thresholds, {0}Units, {0}Leaves}}", name,
                     trees.depth);
}

std::string array_name(std::size_t family) {
  constexpr std::array kNames{"kSm90", "kSm80", "kSimt", "kLibrary"};
  static_assert(kNames.size() == cost::kFamilies);
  return kNames[family];
}

/// "h200" of "H200".
std::string short_name(const std::string& device) {
  std::string name = device.substr(0, device.find(' '));
  for (char& letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

}  // namespace

void write_residuals(const DeviceFit& fit, const std::string& folder) {
  const std::string name = short_name(fit.device);
  const std::string path = folder + "/residuals_" + name + ".cpp";
  std::ofstream out(path);
  out << "// Residuals of the " << fit.device
      << ", which `estoc_ranking fit` wrote from the table in bench/results.\n"
         "#include \"cost/residuals.h\"\n\n"
         "namespace estoc::cost {\nnamespace {\n\n// clang-format off\n";
  for (std::size_t family = 0; family < fit.families.size(); ++family) {
    write_family(out, fit.families[family].all, array_name(family));
    write_trees(out, fit.families[family].all.trees, array_name(family));
  }
  out << "\n}  // namespace\n\nconst DeviceResiduals& residuals_" << name
      << "() {\n  static constexpr DeviceResiduals kAll{{{\n";
  for (std::size_t family = 0; family < fit.families.size(); ++family) {
    out << "      {{";
    for (std::size_t band = 0; band < cost::kBands; ++band) {
      out << fmt::format("{1}Residual{{{0}Features, {0}Means, {0}Scales, {0}Coefficients{2}}}",
                         array_name(family), band == 0 ? "" : ",\n        ",
                         source_of(fit.families[family].all, band));
    }
    out << "}},\n";
  }
  out << "  }},\n   {{\n";
  for (std::size_t family = 0; family < fit.families.size(); ++family)
    out << "      " << trees_of(fit.families[family].all.trees, array_name(family)) << ",\n";
  out << "  }}};\n  return kAll;\n}\n// clang-format on\n\n}  // namespace estoc::cost\n";
  if (!out.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace estoc::ranking

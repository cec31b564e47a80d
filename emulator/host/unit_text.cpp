// The text that makes kernels functions which the emulator calls.
#include "unit_text.h"

#include <cxxabi.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace estoc::emulator {
namespace {

using Jobs = std::span<const BuildJob>;

// Says which instructions a header of the device declares; its twin has one function for all.
constexpr std::string_view kColumns = "#define ESTOC_WGMMA_COLUMNS ";

/// Calls `action` with each line of a source that is for the preprocessor.
template <typename Action>
void for_directives(std::string_view source, const Action& action) {
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    const std::string_view line = source.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] == '#') action(line.substr(first));
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

bool includes_library(std::string_view line) {
  return line.starts_with("#include <estoc/");
}

/// Whether a source means the same behind all includes, in a namespace.
bool can_stand_behind(const BuildJob& job) {
  const auto is_mangled = [](const std::string& entry) { return entry.starts_with("_Z"); };
  bool can = job.debug_folder.empty() && std::ranges::none_of(job.entries, is_mangled);
  for_directives(job.source, [&](std::string_view line) {
    can = can && (includes_library(line) || line.starts_with(kColumns));
  });
  return can;
}

std::string functions_of(const BuildJob& job, std::size_t first) {
  std::string text;
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    text += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(void** arguments) {{\n"
        "  estoc::emulator::entry<{2}>(arguments);\n"
        "}}\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) const unsigned* {1}() {{\n"
        "  return estoc::emulator::parameter_sizes<{2}>();\n"
        "}}\n",
        entry_name(first + i), sizes_name(first + i), cpp_name(job.entries[i]));
  }
  return text;
}

/// What all sources include, so that in a namespace nothing is left to include.
std::string all_includes(Jobs jobs) {
  std::vector<std::string_view> lines;
  for (const BuildJob& job : jobs) {
    for_directives(job.source, [&](std::string_view line) {
      if (includes_library(line) && std::ranges::find(lines, line) == lines.end())
        lines.push_back(line);
    });
  }
  std::string text;
  for (const std::string_view line : lines)
    text.append(line).append("\n");
  return text;
}

/// A job among others. Its entries get names of their own: to functions of C, namespaces are
/// nothing.
std::string part_of(Jobs jobs, std::size_t index, std::size_t first) {
  const BuildJob& job = jobs[index];
  std::string names;
  std::string end = "#undef ESTOC_WGMMA_COLUMNS\n";
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    names += fmt::format("#define {0} {0}_{1}\n", job.entries[i], first + i);
    end += fmt::format("#undef {}\n", job.entries[i]);
  }
  return fmt::format("{}namespace unit_{} {{\n#include \"{}\"\n{}}}\n{}", names, index,
                     source_name(jobs, index), functions_of(job, first), end);
}

}  // namespace

std::string cpp_name(const std::string& entry) {
  if (!entry.starts_with("_Z")) return entry;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      ::abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return entry;
  std::string name = text.get();
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = name.find(kUnnamed)) != std::string::npos;)
    name.erase(at, kUnnamed.size());
  // The parameters are the last pair of parentheses; a template has its result in front.
  int depth = 0;
  std::size_t end = name.size();
  do {
    --end;
    depth += name[end] == ')' ? 1 : name[end] == '(' ? -1 : 0;
  } while (end > 0 && depth > 0);
  name.erase(end);
  return name.starts_with("void ") ? name.substr(5) : name;
}

std::string source_name(Jobs jobs, std::size_t index) {
  const std::string name = jobs[index].kernel + ".cu";
  return jobs.size() == 1 ? name : fmt::format("{}/{}", index, name);
}

std::string unit_text(Jobs jobs) {
  std::string text = fmt::format(
      "// Makes kernels functions that the emulator calls.\n"
      "#include <emulator/kernel_unit.h>\n"
      "#define __CUDA_ARCH__ {}0\n",
      jobs.front().target.cc());
  if (jobs.size() == 1) {
    return text +
           fmt::format("#include \"{}\"\n{}", source_name(jobs, 0), functions_of(jobs[0], 0));
  }
  text += all_includes(jobs);
  std::size_t first = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    text += part_of(jobs, i, first);
    first += jobs[i].entries.size();
  }
  return text;
}

bool can_share_unit(const BuildJob& one, const BuildJob& other) {
  return one.target.cc() == other.target.cc() && one.optimised == other.optimised &&
         can_stand_behind(one) && can_stand_behind(other);
}

}  // namespace estoc::emulator

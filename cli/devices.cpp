// `estoc devices`: what kernels can run on here, and which targets they can be found for.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "estoc/device.hpp"
#include "estoc/environment.hpp"
#include "estoc/kernel_pack.hpp"
#include "host.h"
#include "json.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kDevicesFooter =
    "Examples:\n"
    "  estoc devices\n"
    "  estoc devices --json\n"
    "  estoc devices --environment";

/// Of "CUDA driver".
constexpr std::size_t kLabelWidth = 11;

struct ListedDevice {
  Target target = Target::cpu();
  std::string name;
  std::string instruction_set;
  int cores = 1;
  std::int64_t memory_bytes = 0;
};

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

/// The x86-64 level (psABI) that the processor reaches; elsewhere the architecture's name.
std::string instruction_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

ListedDevice host_device() {
  ListedDevice host;
  host.name = processor_name();
  host.instruction_set = instruction_set();
  host.cores = usable_cores();
  host.memory_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  return host;
}

/// The host, then the CUDA devices.
std::vector<ListedDevice> list_devices() {
  std::vector<ListedDevice> devices{host_device()};
  for (const DeviceInfo& cuda : cuda_devices()) {
    devices.push_back(
        {cuda.target, cuda.name, cuda.target.name(), cuda.multiprocessors, cuda.memory_bytes});
  }
  return devices;
}

Json libraries_json() {
  Json json = Json::array();
  for (const LibraryInfo& library : cuda_libraries()) {
    json.push_back({{"name", library.name},
                    {"path", library.path},
                    {"version", library.version},
                    {"problem", library.problem}});
  }
  return json;
}

Json packs_json() {
  Json json = Json::array();
  for (const KernelPack& pack : kernel_packs()) {
    json.push_back({{"path", pack.path},
                    {"bytes", pack.bytes},
                    {"targets", pack.targets},
                    {"kernels", pack.kernels},
                    {"outdated", pack.outdated},
                    {"problem", pack.problem}});
  }
  return json;
}

void print_packs(Output& output) {
  for (const KernelPack& pack : kernel_packs()) {
    std::string text = printable(pack.path);
    if (pack.kernels > 0) {
      text += fmt::format("  {} kernels for {}", pack.kernels, join(pack.targets));
    }
    if (!pack.problem.empty()) text += "; " + pack.problem;
    output.print(labelled_line(output, "pack", text, kLabelWidth));
  }
}

void print_json(Output& output, const std::vector<ListedDevice>& devices) {
  Json json;
  json["devices"] = Json::array();
  for (const ListedDevice& device : devices) {
    json["devices"].push_back({{"target", device.target.name()},
                               {"name", device.name},
                               {"instruction_set", device.instruction_set},
                               {"cores", device.cores},
                               {"memory_bytes", device.memory_bytes}});
  }
  json["libraries"] = libraries_json();
  json["packs"] = packs_json();
  json["targets"] = target_names();
  json["providers"] = available_providers();
  output.print(dump(json));
}

void print_text(Output& output, const std::vector<ListedDevice>& devices) {
  Table table(output, {{"target"},
                       {"device"},
                       {"instructions"},
                       {"cores", Table::Align::right},
                       {"memory", Table::Align::right}});
  for (const ListedDevice& device : devices) {
    table.add_row({device.target.name(), device.name, device.instruction_set,
                   std::to_string(device.cores), format_bytes(device.memory_bytes)});
  }
  output.print(table.take());
  output.print("\n");
  for (const LibraryInfo& library : cuda_libraries()) {
    const std::string text =
        library.path.empty() ? library.problem
                             : fmt::format("{}  {}{}{}", library.version, library.path,
                                           library.problem.empty() ? "" : "; ", library.problem);
    output.print(labelled_line(output, library.name, text, kLabelWidth));
  }
  print_packs(output);
  output.print(labelled_line(output, "targets", join(target_names()), kLabelWidth));
  output.print(labelled_line(output, "providers", join(available_providers()), kLabelWidth));
}

Exit print_environment(bool as_json, Output& output) {
  Json json = Json::array();
  Table table(output, {{"variable"}, {"value"}, {"meaning"}});
  for (const EnvironmentVariable& variable : environment_variables()) {
    const Json value = variable.value ? Json(*variable.value) : Json(nullptr);
    json.push_back({{"name", variable.name}, {"meaning", variable.meaning}, {"value", value}});
    table.add_row({variable.name, variable.value.value_or("-"), variable.meaning});
  }
  output.print(as_json ? dump(json) : table.take());
  return Exit::ok;
}

Exit print_devices(bool as_json, Output& output) {
  const std::vector<ListedDevice> devices = list_devices();
  as_json ? print_json(output, devices) : print_text(output, devices);
  return Exit::ok;
}

}  // namespace

void add_devices(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("devices", "show what kernels can run on here, and the known targets");
  auto json = std::make_shared<bool>(false);
  auto environment = std::make_shared<bool>(false);
  command->add_flag("--environment", *environment, "the environment variables that Estoc reads");
  add_json_option(*command, *json);
  command->footer(kDevicesFooter);
  command->callback([&invocation, json, environment] {
    invocation.run = [json, environment](Context& context) {
      return *environment ? print_environment(*json, context.output)
                          : print_devices(*json, context.output);
    };
  });
}

}  // namespace estoc::cli

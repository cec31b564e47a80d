// What the cost models know of a device: measured on it, or from its data sheet.
#include "cost/device_model.h"

#include <array>
#include <cctype>
#include <vector>

#include "jit/driver.h"

namespace estoc::cost {
namespace {

// Where clusters fill all multiprocessors: no document says how many a B200's GPCs have.
constexpr std::array kBlackwellClusters{148, 74, 49, 37, 29, 24, 21, 18};

// Data sheets: A100 80GB SXM, L40S, GeForce RTX 3090, 4090 and 5090, B200, B300,
// DGX Spark (GB10).
// GeForce GPUs add up in f16 twice as fast as in f32. Clocks are those that are kept under load:
// about 0.85 of the highest where they were not measured. The L2 cache of B200 and B300 is as the
// emulator's estimate has it.
constexpr std::array kModels{
    DeviceModel{.name = "H200",
                .target = Target::sm(90, true),
                .measured = true,
                .l2_per_clock = 124,
                // Its tables are older than kernels that let the next one begin at their end.
                .second_kernel_seconds = 3.5e-6},
    DeviceModel{.name = "H100 80GB HBM3",
                .target = Target::sm(90, true),
                .measured = true,
                .memory_bytes_per_s = 2.9e12},
    DeviceModel{.name = "A100",
                .target = Target::sm(80),
                .multiprocessors = 108,
                .clock_hz = 1.3e9,
                .memory_bytes_per_s = 1.7e12,
                .l2_bytes = 40e6,
                .f64_products = 64},
    DeviceModel{.name = "L40S",
                .target = Target::sm(89),
                .multiprocessors = 142,
                .clock_hz = 2.1e9,
                .memory_bytes_per_s = 0.78e12,
                .l2_bytes = 96e6,
                .f16_products = 512,
                .f64_products = 2},
    DeviceModel{.name = "RTX 4090",
                .target = Target::sm(89),
                .multiprocessors = 128,
                .clock_hz = 2.3e9,
                .memory_bytes_per_s = 0.9e12,
                .l2_bytes = 72e6,
                .f16_products = 512,
                .f32_sums = 0.5,
                .f64_products = 2},
    DeviceModel{.name = "RTX 3090",
                .target = Target::sm(86),
                .multiprocessors = 82,
                .clock_hz = 1.5e9,
                .memory_bytes_per_s = 0.84e12,
                .l2_bytes = 6e6,
                .f16_products = 512,
                .f32_sums = 0.5,
                .f64_products = 2},
    DeviceModel{.name = "B200",
                .target = Target::sm(100, true),
                .multiprocessors = 148,
                .live_clusters = kBlackwellClusters,
                .clock_hz = 1.6e9,
                .memory_bytes_per_s = 7.2e12,
                .load_seconds = 1e-6,
                .l2_bytes = 126e6,
                .l2_per_clock = 52,
                .f64_products = 64},
    DeviceModel{.name = "B300",
                .target = Target::sm(103, true),
                .multiprocessors = 148,
                .live_clusters = kBlackwellClusters,
                .clock_hz = 1.6e9,
                .memory_bytes_per_s = 7.2e12,
                .load_seconds = 1e-6,
                .l2_bytes = 126e6,
                .l2_per_clock = 52,
                .f64_products = 64},
    DeviceModel{.name = "RTX 5090",
                .target = Target::sm(120, true),
                .multiprocessors = 170,
                .clock_hz = 2.0e9,
                .memory_bytes_per_s = 1.6e12,
                .l2_bytes = 96e6,
                .f16_products = 512,
                .f32_sums = 0.5,
                .f64_products = 2},
    DeviceModel{.name = "GB10",
                .target = Target::sm(121, true),
                .multiprocessors = 48,
                .clock_hz = 2.1e9,
                .memory_bytes_per_s = 0.25e12,
                .l2_bytes = 24e6,
                .f16_products = 512,
                .f32_sums = 0.5,
                .f64_products = 2},
};

/// Whether the words of `part` are words of `name`: an RTX A1000 is no A100.
bool has_words(std::string_view name, std::string_view part) {
  const auto ends_word = [&](std::size_t place) {
    return place >= name.size() || std::isalnum(static_cast<unsigned char>(name[place])) == 0;
  };
  const std::size_t at = name.find(part);
  if (at == std::string_view::npos) return false;
  return (at == 0 || ends_word(at - 1)) && ends_word(at + part.size());
}

/// Of an unknown device of that target.
const DeviceModel& first_of_list(Target target) {
  for (const DeviceModel& model : kModels) {
    if (model.target.cc() == target.cc()) return model;
  }
  return target.cc() < 90 ? kModels[2] : kModels[0];
}

const DeviceModel& model_for(Target target) {
  for (const DeviceInfo& device : jit::devices()) {
    if (device.target.cc() != target.cc()) continue;
    if (const DeviceModel* known = find_device_model(device.name)) return *known;
  }
  return first_of_list(target);
}

}  // namespace

const DeviceModel* find_device_model(std::string_view device_name) {
  for (const DeviceModel& model : kModels) {
    if (has_words(device_name, model.name)) return &model;
  }
  return nullptr;
}

const DeviceModel& device_model(Target target, Device device) {
  if (!device.is_cuda()) return device_model(target);
  static const auto* by_index = new std::vector<const DeviceModel*>([] {
    std::vector<const DeviceModel*> found;
    for (const DeviceInfo& info : jit::devices())
      found.push_back(find_device_model(info.name));
    return found;
  }());
  const auto index = static_cast<std::size_t>(device.index);
  const bool there = index < by_index->size();
  if (!there || jit::devices()[index].target.cc() != target.cc()) return device_model(target);
  const DeviceModel* const known = (*by_index)[index];
  return known != nullptr ? *known : first_of_list(target);
}

const DeviceModel& device_model(Target target) {
  static const auto models = [] {
    std::array<const DeviceModel*, 256> found{};
    for (const Target known : cuda_targets())
      found[static_cast<std::size_t>(known.cc())] = &model_for(known);
    return found;
  }();
  const DeviceModel* const model = models[static_cast<std::size_t>(target.cc()) % models.size()];
  return model != nullptr ? *model : kModels[0];
}

}  // namespace estoc::cost

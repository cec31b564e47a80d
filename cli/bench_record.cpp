// Writes and reads the JSON form of results, and compares kernels within one.
#include "bench_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "build_commit.h"
#include "estoc/device.hpp"
#include "estoc/problem.hpp"
#include "host.h"
#include "target_choice.h"

namespace estoc::cli {
namespace {

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

void describe_cuda(Surroundings& here, Target target) {
  const auto index = static_cast<std::size_t>(device_for(target).index);
  const DeviceInfo& device = cuda_devices().at(index);
  here.device = device.name;
  here.multiprocessors = device.multiprocessors;
  here.clock_hz = 1e3 * device.clock_khz;
  // Two transfers a clock.
  here.memory_bytes_per_s = 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8;
  for (const LibraryInfo& library : cuda_libraries()) {
    if (library.name == "CUDA driver" && here.driver.empty()) here.driver = library.version;
    // NVML knows the driver's own version, the driver that of CUDA.
    if (library.name == "NVML" && !library.version.empty()) here.driver = library.version;
    if (library.name == "NVRTC") here.nvrtc = library.version;
    if (library.name == "cuBLASLt") here.cublaslt = library.version;
  }
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json number_or_null(double value) {
  return value == 0 ? Json(nullptr) : Json(value);
}

Json surroundings_json(const Surroundings& here) {
  return {{"date", text_or_null(here.date)},
          {"version", text_or_null(here.version)},
          {"commit", text_or_null(here.commit)},
          {"device", text_or_null(here.device)},
          {"driver", text_or_null(here.driver)},
          {"nvrtc", text_or_null(here.nvrtc)},
          {"cublaslt", text_or_null(here.cublaslt)},
          {"multiprocessors", number_or_null(here.multiprocessors)},
          {"clock_hz", number_or_null(here.clock_hz)},
          {"memory_bytes_per_second", number_or_null(here.memory_bytes_per_s)}};
}

Json kernel_json(const KernelRecord& kernel, const Work& work) {
  Json json{{"kernel", kernel.kernel}, {"provider", kernel.provider}};
  json["seconds"] = nullptr;
  json[work.json_key] = nullptr;
  if (kernel.times) {
    const Times& times = *kernel.times;
    json["seconds"] = {
        {"min", times.min}, {"median", times.median}, {"max", times.max}, {"spread", times.spread}};
    json[work.json_key] = work.rate(times.median);
  }
  if (!kernel.failure.empty()) json["failure"] = kernel.failure;
  json["check"] = to_json(kernel.check);
  return json;
}

/// Sets `value` from a member, unless it is absent or null.
template <class Value>
void read(const Json& json, const char* name, Value& value) {
  const auto member = json.find(name);
  if (member != json.end() && !member->is_null()) member->get_to(value);
}

Surroundings surroundings_from_json(const Json& json) {
  Surroundings there;
  read(json, "date", there.date);
  read(json, "version", there.version);
  read(json, "commit", there.commit);
  read(json, "device", there.device);
  read(json, "driver", there.driver);
  read(json, "nvrtc", there.nvrtc);
  read(json, "cublaslt", there.cublaslt);
  read(json, "multiprocessors", there.multiprocessors);
  read(json, "clock_hz", there.clock_hz);
  read(json, "memory_bytes_per_second", there.memory_bytes_per_s);
  return there;
}

KernelRecord kernel_from_json(const Json& json) {
  KernelRecord kernel;
  json.at("kernel").get_to(kernel.kernel);
  json.at("provider").get_to(kernel.provider);
  const Json& check = json.at("check");
  check.at("passed").get_to(kernel.check.passed);
  check.at("error").get_to(kernel.check.error);
  check.at("bound").get_to(kernel.check.bound);
  check.at("rows_checked").get_to(kernel.check.rows_checked);
  check.at("rows_total").get_to(kernel.check.rows_total);
  check.at("worst").get_to(kernel.check.worst);
  read(json, "failure", kernel.failure);
  const Json& seconds = json.at("seconds");
  if (seconds.is_null()) return kernel;
  Times& times = kernel.times.emplace();
  seconds.at("min").get_to(times.min);
  seconds.at("median").get_to(times.median);
  seconds.at("max").get_to(times.max);
  seconds.at("spread").get_to(times.spread);
  return kernel;
}

}  // namespace

Surroundings surroundings_of(Target target) {
  Surroundings here;
  here.date = now();
  here.version = ESTOC_VERSION;
  here.commit = build_commit();
  if (target.is_cpu()) {
    here.device = processor_name();
  } else {
    describe_cuda(here, target);
  }
  return here;
}

Json to_json(const BenchRecord& record) {
  const Work work = work_of(record);
  Json json{{"problem", record.problem},
            {"target", record.target},
            {"mode", record.sustained ? "sustained" : "burst"},
            {"rounds", record.rounds},
            {"sm_clock_mhz", number_or_null(record.gpu.sm_clock_mhz)},
            {"watts", number_or_null(record.gpu.watts)},
            {"celsius", number_or_null(record.gpu.celsius)},
            {"noise", record.noise ? Json(*record.noise) : Json(nullptr)},
            {"check_seconds", number_or_null(record.check_seconds)}};
  json.update(surroundings_json(record.surroundings));
  json["kernels"] = Json::array();
  for (const KernelRecord& kernel : record.kernels)
    json["kernels"].push_back(kernel_json(kernel, work));
  return json;
}

BenchRecord record_from_json(const Json& json) {
  BenchRecord record;
  json.at("problem").get_to(record.problem);
  json.at("target").get_to(record.target);
  read(json, "rounds", record.rounds);
  read(json, "sm_clock_mhz", record.gpu.sm_clock_mhz);
  read(json, "watts", record.gpu.watts);
  read(json, "celsius", record.gpu.celsius);
  read(json, "check_seconds", record.check_seconds);
  std::string mode = "burst";
  read(json, "mode", mode);
  record.sustained = mode == "sustained";
  if (const auto noise = json.find("noise"); noise != json.end() && !noise->is_null()) {
    record.noise = noise->get<double>();
  }
  record.surroundings = surroundings_from_json(json);
  for (const Json& kernel : json.at("kernels"))
    record.kernels.push_back(kernel_from_json(kernel));
  (void)work_of(record);  // throws when the problem's text cannot be read
  return record;
}

Work work_of(const BenchRecord& record) {
  return work_of(*Problem::parse(record.problem).arguments());
}

const KernelRecord* fastest(const BenchRecord& record,
                            const std::function<bool(const KernelRecord&)>& passes) {
  const KernelRecord* best = nullptr;
  for (const KernelRecord& kernel : record.kernels) {
    if (!kernel.times || !passes(kernel)) continue;
    if (best == nullptr || kernel.times->median < best->times->median) best = &kernel;
  }
  return best;
}

std::optional<double> Comparison::ratio() const {
  if (ours == nullptr || baseline == nullptr || ours->times->median <= 0) return std::nullopt;
  return baseline->times->median / ours->times->median;
}

Comparison compare(const BenchRecord& record, const std::string& against) {
  Comparison comparison;
  const auto is_theirs = [&](const KernelRecord& kernel) { return kernel.provider == against; };
  if (against.empty()) {
    comparison.ours = fastest(record, [](const KernelRecord&) { return true; });
    const auto first = std::find_if(record.kernels.begin(), record.kernels.end(),
                                    [](const KernelRecord& kernel) { return kernel.times; });
    if (first != record.kernels.end()) comparison.baseline = &*first;
    return comparison;
  }
  comparison.ours = fastest(record, std::not_fn(is_theirs));
  comparison.baseline = fastest(record, is_theirs);
  return comparison;
}

}  // namespace estoc::cli

// The C interface to judging kernels: outputs against a float64 reference, times on a device.
#include "estoc/check.hpp"

#include "c_api/support.h"
#include "estoc/device_check.hpp"
#include "estoc/measure.hpp"

struct estoc_device_check : estoc::c_api::Holder<19, estoc::DeviceCheck> {
  using Holder::Holder;
};
struct estoc_measurement : estoc::c_api::Holder<20, estoc::Measurement> {
  using Holder::Holder;
};
struct estoc_measure_session : estoc::c_api::Holder<21, estoc::MeasureSession> {
  using Holder::Holder;
};

namespace estoc::c_api {
namespace {

std::function<bool(double)> progress_of(estoc_part_done progress, void* context) {
  if (progress == nullptr) return {};
  return [=](double part) { return progress(context, part) == 0; };
}

/// With max_products of 0 where the caller leaves it at its default.
CheckOptions check_options(const estoc_check_options* given) {
  const estoc_check_options o = read_optional(given, "options");
  if (o.threads < 0 || o.max_products < 0) {
    throw Error(ErrorKind::value, "options: expected threads and max_products of 0 or more, got " +
                                      std::to_string(o.threads) + " and " +
                                      std::to_string(o.max_products));
  }
  CheckOptions options;
  options.max_products = o.max_products;
  options.seed = o.seed;
  options.threads = o.threads;
  options.progress = progress_of(o.progress, o.context);
  return options;
}

CheckOptions host_options(const estoc_check_options* given) {
  CheckOptions options = check_options(given);
  if (options.max_products == 0) options.max_products = CheckOptions{}.max_products;
  return options;
}

DeviceCheckOptions device_options(const estoc_check_options* given) {
  DeviceCheckOptions options;
  options.host = host_options(given);
  const std::int64_t products = check_options(given).max_products;
  if (products != 0) options.max_products = products;
  return options;
}

void write_result(const CheckResult& found, estoc_check_result* result, char** worst) {
  const estoc_check_result filled = {
      sizeof(estoc_check_result), found.passed ? 1 : 0, found.error, found.bound,
      found.rows_checked,         found.rows_total};
  write_struct(result, filled, "result");
  if (worst != nullptr) give_text(worst, "worst", [&] { return found.worst; });
}

MeasureOptions mode_options(int mode) {
  if (mode == ESTOC_MEASURE_BURST) return MeasureOptions::burst();
  if (mode == ESTOC_MEASURE_SUSTAINED) return MeasureOptions::sustained();
  if (mode == ESTOC_MEASURE_SURVEY) return MeasureOptions::survey();
  throw Error(ErrorKind::value,
              "options.mode: expected one of estoc_measure_mode, got " + std::to_string(mode));
}

MeasureOptions measure_options(const estoc_measure_options* given) {
  const estoc_measure_options o = read_optional(given, "options");
  MeasureOptions options = mode_options(o.mode);
  if (o.rounds < 0 || !(o.slice_seconds >= 0) || !(o.patience_seconds >= 0)) {
    throw Error(ErrorKind::value, "options: expected rounds and seconds of 0 or more");
  }
  if (o.rounds != 0) options.rounds = o.rounds;
  if (o.slice_seconds != 0) options.slice_seconds = o.slice_seconds;
  if (o.seed != 0) options.seed = o.seed;
  if (o.patience_seconds != 0) options.patience_seconds = o.patience_seconds;
  options.noise_floor = o.noise_floor != 0;
  options.progress = progress_of(o.progress, o.context);
  return options;
}

estoc_timing timing_of(const KernelTiming& timing) {
  return {sizeof(estoc_timing),
          timing.kernel.c_str(),
          timing.provider.c_str(),
          timing.problem.c_str(),
          timing.median,
          timing.low,
          timing.high,
          timing.slices.data(),
          timing.slices.size()};
}

Problem complete_problem(const char* text) {
  Problem problem = Problem::parse(&required(text, "problem"));
  problem.complete();
  return problem;
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::give;
using c_api::guarded;
using c_api::value_of;

estoc_status estoc_check_output(const estoc_arguments* arguments,
                                const estoc_check_options* options, estoc_check_result* result,
                                char** worst) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    const estoc::CheckOptions wanted = c_api::host_options(options);
    (void)c_api::required(result, "result");
    c_api::write_result(estoc::check_output(given, wanted), result, worst);
  });
}

estoc_status estoc_device_check_create(const estoc_arguments* arguments,
                                       const estoc_check_options* options,
                                       estoc_device_check** check) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(check, "check", [&] { return estoc::DeviceCheck(given, c_api::device_options(options)); });
  });
}

estoc_status estoc_device_check_run(estoc_device_check* check, estoc_check_result* result,
                                    char** worst) {
  return guarded([&] {
    estoc::DeviceCheck& value = value_of(check, "check");
    (void)c_api::required(result, "result");
    c_api::write_result(value.check(), result, worst);
  });
}

const char* estoc_device_check_host_reason(const estoc_device_check* check) {
  return c_api::name_of(check, [](const auto& value) { return value.host_reason().c_str(); });
}

void estoc_device_check_destroy(estoc_device_check* check) {
  c_api::destroy(check);
}

size_t estoc_measurement_count(const estoc_measurement* measurement) {
  return measurement != nullptr && measurement->intact() ? measurement->value.timings.size() : 0;
}

estoc_status estoc_measurement_get(const estoc_measurement* measurement, size_t index,
                                   estoc_timing* timing) {
  return guarded([&] {
    const auto& timings = value_of(measurement, "measurement").timings;
    c_api::write_struct(timing, c_api::timing_of(c_api::element(timings, index, "timing")),
                        "timing");
  });
}

estoc_status estoc_measurement_get_info(const estoc_measurement* measurement,
                                        estoc_measurement_info* info) {
  return guarded([&] {
    const estoc::Measurement& found = value_of(measurement, "measurement");
    const estoc_measurement_info filled = {
        sizeof(estoc_measurement_info), found.gpu.sm_clock_mhz, found.gpu.watts, found.gpu.celsius,
        found.noise.value_or(0),        found.operand_sets};
    c_api::write_struct(info, filled, "info");
  });
}

void estoc_measurement_destroy(estoc_measurement* measurement) {
  c_api::destroy(measurement);
}

estoc_status estoc_measure_session_create(int device, estoc_measure_session** session) {
  return guarded([&] {
    give(session, "session", [&] { return estoc::MeasureSession(c_api::cuda_device(device)); });
  });
}

estoc_status estoc_measure(estoc_measure_session* session, const char* problem,
                           const estoc_kernel* const* kernels, size_t count,
                           const estoc_measure_options* options, estoc_measurement** measurement) {
  return guarded([&] {
    estoc::MeasureSession& value = value_of(session, "session");
    const estoc::Problem wanted = c_api::complete_problem(problem);
    const std::vector<estoc::Kernel> given = c_api::kernels_of(kernels, count);
    const estoc::MeasureOptions how = c_api::measure_options(options);
    give(measurement, "measurement", [&] { return value.measure(wanted, given, how); });
  });
}

void estoc_measure_session_destroy(estoc_measure_session* session) {
  c_api::destroy(session);
}

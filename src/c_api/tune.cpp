// The C interface to tuning and its records.
#include "estoc/tune.hpp"

#include "c_api/support.h"

struct estoc_tuned : estoc::c_api::Holder<22, std::vector<estoc::TunedKernel>> {
  using Holder::Holder;
};

namespace estoc::c_api {
namespace {

TuneOptions tune_options(const estoc_tune_options* options) {
  const estoc_tune_options given = read_optional(options, "options");
  if (given.budget_seconds < 0 || given.rounds < 0 || given.threads < 0) {
    throw Error(ErrorKind::value,
                "options: expected budget_seconds, rounds and threads of 0 or more, got " +
                    std::to_string(given.budget_seconds) + ", " + std::to_string(given.rounds) +
                    " and " + std::to_string(given.threads));
  }
  TuneOptions tuning;
  tuning.query = query_of(given.query);
  if (given.budget_seconds > 0) tuning.budget_seconds = given.budget_seconds;
  if (given.top > 0) tuning.top = given.top;
  if (given.rounds > 0) tuning.rounds = given.rounds;
  tuning.threads = given.threads;
  tuning.seed = given.seed;
  tuning.force = given.force != 0;
  tuning.store = given.dry == 0;
  if (given.progress != nullptr) {
    tuning.progress = [progress = given.progress, context = given.context](TuneStage stage,
                                                                           double part) {
      return progress(context, tune_stage_name(stage), part) == 0;
    };
  }
  return tuning;
}

estoc_tuned_kernel record_of(const TunedKernel& record) {
  estoc_tuned_kernel filled{};
  filled.device = record.device.c_str();
  filled.cc = record.cc;
  filled.driver = record.driver.c_str();
  filled.library = record.library.c_str();
  filled.signature = record.signature.c_str();
  filled.problem = record.problem.c_str();
  filled.kernel = record.kernel.c_str();
  filled.seconds = record.seconds;
  filled.predicted_seconds = record.predicted_seconds.value_or(0);
  filled.runner_up = record.runner_up.c_str();
  filled.runner_up_seconds = record.runner_up_seconds;
  filled.noise = record.noise;
  filled.candidates = record.candidates;
  filled.rounds = record.rounds;
  filled.time = record.time;
  return filled;
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::give;
using c_api::guarded;
using c_api::required;
using c_api::value_of;

estoc_status estoc_tune(const estoc_arguments* arguments, const estoc_tune_options* options,
                        estoc_tuned** record) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    const estoc::TuneOptions tuning = c_api::tune_options(options);
    give(record, "record", [&] { return std::vector{estoc::tune(given, tuning).record}; });
  });
}

estoc_status estoc_tuned_find(const estoc_arguments* arguments, estoc_tuned** record) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(record, "record", [&] {
      std::vector<estoc::TunedKernel> found;
      if (auto known = estoc::find_tuned(given)) found.push_back(std::move(*known));
      return found;
    });
  });
}

estoc_status estoc_tuned_list(estoc_tuned** records) {
  return guarded([&] { give(records, "records", [] { return estoc::tuned_kernels(); }); });
}

size_t estoc_tuned_count(const estoc_tuned* records) {
  return c_api::count_of(records);
}

estoc_status estoc_tuned_get(const estoc_tuned* records, size_t index, estoc_tuned_kernel* record) {
  return guarded([&] {
    const auto& found = c_api::element(value_of(records, "records"), index, "record");
    c_api::write_struct(record, c_api::record_of(found), "record");
  });
}

estoc_status estoc_tuned_get_knobs(const estoc_tuned* records, size_t index, estoc_knobs* knobs) {
  return guarded([&] {
    const auto& found = c_api::element(value_of(records, "records"), index, "record");
    c_api::write_struct(knobs, c_api::knobs_struct(found.knobs), "knobs");
  });
}

void estoc_tuned_destroy(estoc_tuned* records) {
  c_api::destroy(records);
}

estoc_status estoc_tuned_path(char** path) {
  return guarded([&] { c_api::give_text(path, "path", [] { return estoc::tuned_path(); }); });
}

estoc_status estoc_tuned_forget(const estoc_arguments* arguments, size_t* removed) {
  return guarded([&] {
    const std::size_t count = arguments == nullptr ? estoc::forget_all_tuned()
                                                   : estoc::forget_tuned(arguments_of(arguments));
    if (removed != nullptr) *removed = count;
  });
}

estoc_status estoc_tuned_export(const char* path) {
  return guarded([&] { estoc::export_tuned(&required(path, "path")); });
}

estoc_status estoc_tuned_import(const char* path, estoc_tuned_merge* merge) {
  return guarded([&] {
    const estoc::TunedMerge done = estoc::import_tuned(&required(path, "path"));
    const estoc_tuned_merge filled = {sizeof(estoc_tuned_merge), done.added, done.replaced,
                                      done.kept};
    if (merge != nullptr) c_api::write_struct(merge, filled, "merge");
  });
}

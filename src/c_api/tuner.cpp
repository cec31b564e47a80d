// The C interface to tuning in the background.
#include "estoc/background_tuner.hpp"

#include "c_api/support.h"

namespace estoc::c_api {
namespace {

BackgroundTuning tuning_of(const estoc_tuner_options* options) {
  const estoc_tuner_options given = read_optional(options, "options");
  BackgroundTuning tuning;
  if (given.budget_seconds != 0) tuning.budget_seconds = given.budget_seconds;
  if (given.top != 0) tuning.top = given.top;
  if (given.threads != 0) tuning.threads = given.threads;
  if (given.limit != 0) tuning.limit = given.limit;
  return tuning;
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::guarded;
using c_api::value_of;

estoc_status estoc_tuner_create(const estoc_tuner_options* options, estoc_tuner** tuner) {
  return guarded([&] {
    const estoc::BackgroundTuning tuning = c_api::tuning_of(options);
    c_api::give(tuner, "tuner", [&] { return std::make_unique<estoc::BackgroundTuner>(tuning); });
  });
}

estoc_status estoc_tuner_add(estoc_tuner* tuner, const estoc_arguments* arguments) {
  return guarded([&] { value_of(tuner, "tuner")->add(c_api::arguments_of(arguments)); });
}

estoc_status estoc_tuner_wait(estoc_tuner* tuner) {
  return guarded([&] { value_of(tuner, "tuner")->wait(); });
}

estoc_status estoc_tuner_get_progress(const estoc_tuner* tuner, estoc_tuner_progress* progress) {
  return guarded([&] {
    const estoc::BackgroundProgress made = value_of(tuner, "tuner")->progress();
    const estoc_tuner_progress filled = {sizeof(filled), made.waiting, made.tuned, made.failed};
    c_api::write_struct(progress, filled, "progress");
  });
}

estoc_status estoc_tuner_last_failure(const estoc_tuner* tuner, char** failure) {
  return guarded([&] {
    c_api::give_text(failure, "failure",
                     [&] { return value_of(tuner, "tuner")->progress().last_failure; });
  });
}

void estoc_tuner_destroy(estoc_tuner* tuner) {
  c_api::destroy(tuner);
}

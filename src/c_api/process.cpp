// The C interface to what a process shares: environment, cache of compiled kernels, messages.
#include "c_api/support.h"
#include "estoc/environment.hpp"
#include "estoc/interrupt.hpp"
#include "estoc/kernel_cache.hpp"
#include "estoc/library_search.hpp"
#include "estoc/log.hpp"
#include "estoc/profiling.hpp"
#include "estoc/text_file.hpp"

struct estoc_environment : estoc::c_api::Holder<17, std::vector<estoc::EnvironmentVariable>> {
  using Holder::Holder;
};
struct estoc_cache : estoc::c_api::Holder<18, std::vector<estoc::CachedKernel>> {
  using Holder::Holder;
};

namespace c_api = estoc::c_api;

namespace {

template <typename Remove>
estoc_status remove_kernels(int* removed, const Remove& remove) {
  return c_api::guarded([&] {
    const int count = remove();
    if (removed != nullptr) *removed = count;
  });
}

}  // namespace

using c_api::give;
using c_api::guarded;
using c_api::required;
using c_api::value_of;

static_assert(static_cast<int>(estoc::LogLevel::error) == ESTOC_LOG_ERROR &&
              static_cast<int>(estoc::LogLevel::warning) == ESTOC_LOG_WARNING &&
              static_cast<int>(estoc::LogLevel::info) == ESTOC_LOG_INFO &&
              static_cast<int>(estoc::LogLevel::debug) == ESTOC_LOG_DEBUG);

estoc_status estoc_environment_list(estoc_environment** environment) {
  return guarded(
      [&] { give(environment, "environment", [] { return estoc::environment_variables(); }); });
}

size_t estoc_environment_count(const estoc_environment* environment) {
  return c_api::count_of(environment);
}

estoc_status estoc_environment_get(const estoc_environment* environment, size_t index,
                                   estoc_variable* variable) {
  return guarded([&] {
    const auto& found = c_api::element(value_of(environment, "environment"), index, "variable");
    const estoc_variable filled = {sizeof(estoc_variable), found.name.c_str(),
                                   found.meaning.c_str(),
                                   found.value ? found.value->c_str() : nullptr};
    c_api::write_struct(variable, filled, "variable");
  });
}

void estoc_environment_destroy(estoc_environment* environment) {
  c_api::destroy(environment);
}

estoc_status estoc_cache_path(char** path) {
  return guarded(
      [&] { c_api::give_text(path, "path", [] { return estoc::kernel_cache_path(); }); });
}

estoc_status estoc_cache_problem(char** problem) {
  return guarded(
      [&] { c_api::give_text(problem, "problem", [] { return estoc::kernel_cache_problem(); }); });
}

estoc_status estoc_cache_limit(int64_t* bytes) {
  return guarded([&] { required(bytes, "bytes") = estoc::kernel_cache_limit(); });
}

estoc_status estoc_cache_parse_size(const char* text, int64_t* bytes) {
  return guarded([&] {
    int64_t& place = required(bytes, "bytes");
    const std::string_view given = &required(text, "text");
    const auto size = estoc::parse_cache_size(given);
    if (!size) {
      throw estoc::Error(estoc::ErrorKind::value,
                         "text: expected a size such as 512M, got '" + std::string(given) + "'");
    }
    place = *size;
  });
}

estoc_status estoc_cache_verify(int* removed) {
  return remove_kernels(removed, [] { return estoc::verify_kernel_cache(); });
}

estoc_status estoc_cache_prune(int64_t bytes, int* removed) {
  return remove_kernels(removed, [&] {
    if (bytes >= 0) return estoc::prune_kernel_cache(bytes);
    throw estoc::Error(estoc::ErrorKind::value,
                       "bytes: expected 0 or more, got " + std::to_string(bytes));
  });
}

estoc_status estoc_cache_clear(int* removed) {
  return remove_kernels(removed, [] { return estoc::clear_kernel_cache(); });
}

estoc_status estoc_cache_list(estoc_cache** cache) {
  return guarded([&] { give(cache, "cache", [] { return estoc::list_kernel_cache(); }); });
}

size_t estoc_cache_count(const estoc_cache* cache) {
  return c_api::count_of(cache);
}

estoc_status estoc_cache_get(const estoc_cache* cache, size_t index, estoc_cached_kernel* kernel) {
  return guarded([&] {
    const auto& found = c_api::element(value_of(cache, "cache"), index, "kernel");
    const estoc_cached_kernel filled = {
        sizeof(estoc_cached_kernel), found.key.c_str(), found.kernel.c_str(), found.target.c_str(),
        found.compiler.c_str(),      found.bytes,       found.last_used,      found.intact ? 0 : 1};
    c_api::write_struct(kernel, filled, "kernel");
  });
}

void estoc_cache_destroy(estoc_cache* cache) {
  c_api::destroy(cache);
}

estoc_status estoc_set_log_callback(estoc_log_callback callback, void* context) {
  return guarded([&] {
    if (callback == nullptr) return estoc::set_log_callback({});
    estoc::set_log_callback([=](estoc::LogLevel level, std::string_view message) {
      callback(context, static_cast<estoc_log_level>(level), std::string(message).c_str());
    });
  });
}

estoc_status estoc_set_nvtx_ranges(int on) {
  return guarded([&] { estoc::set_nvtx_ranges(on != 0); });
}

estoc_status estoc_set_package_folders(const char* const* folders, size_t count) {
  return guarded([&] {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i)
      names.emplace_back(&required((&required(folders, "folders"))[i], "folders"));
    estoc::set_package_folders(std::move(names));
  });
}

estoc_status estoc_save_text(const char* path, const char* text) {
  return guarded([&] { estoc::save_text(&required(path, "path"), &required(text, "text")); });
}

void estoc_discard_partial_files(void) {
  estoc::discard_partial_files();
}

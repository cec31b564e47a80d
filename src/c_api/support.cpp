// What the functions of the C interface share: the last error, refusals, names, lists of texts.
#include "c_api/support.h"

#include "estoc/dtype.hpp"
#include "estoc/error_kinds.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc::c_api {
namespace {

struct LastError {
  std::string message;
  std::string log;
  std::string source;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

[[noreturn]] void refuse(ErrorKind kind, std::string_view what, const std::string& why) {
  throw Error(kind, std::string(what) + why);
}

std::vector<std::pair<Target, std::string>> make_target_names() {
  std::vector<std::pair<Target, std::string>> names;
  for (const Target target : known_targets()) {
    names.emplace_back(target, target.name());
    if (target.is_cuda())
      names.emplace_back(Target::ptx(target.cc()), Target::ptx(target.cc()).name());
  }
  return names;
}

}  // namespace

static_assert(row_of(ErrorKind::value).c_status == ESTOC_ERROR_VALUE &&
              row_of(ErrorKind::type).c_status == ESTOC_ERROR_TYPE &&
              row_of(ErrorKind::not_found).c_status == ESTOC_ERROR_NOT_FOUND &&
              row_of(ErrorKind::exists).c_status == ESTOC_ERROR_EXISTS &&
              row_of(ErrorKind::unsupported).c_status == ESTOC_ERROR_UNSUPPORTED &&
              row_of(ErrorKind::io).c_status == ESTOC_ERROR_IO &&
              row_of(ErrorKind::memory).c_status == ESTOC_ERROR_MEMORY &&
              row_of(ErrorKind::compile).c_status == ESTOC_ERROR_COMPILE &&
              row_of(ErrorKind::driver).c_status == ESTOC_ERROR_DRIVER &&
              row_of(ErrorKind::cancelled).c_status == ESTOC_ERROR_CANCELLED);

estoc_status status_of(ErrorKind kind) {
  return static_cast<estoc_status>(row_of(kind).c_status);
}

static_assert(static_cast<int>(Reason::none) == ESTOC_REASON_NONE &&
              static_cast<int>(Reason::dtype) == ESTOC_REASON_DTYPE &&
              static_cast<int>(Reason::epilogue) == ESTOC_REASON_EPILOGUE &&
              static_cast<int>(Reason::other) == ESTOC_REASON_OTHER);

estoc_reason reason_of(Reason reason) {
  return static_cast<estoc_reason>(reason);
}

estoc_status failed(estoc_status status, const char* message, const char* log,
                    const char* source) noexcept {
  try {
    LastError& error = last_error();
    error.log = log;
    error.source = source;
    error.message = message;
  } catch (...) {
    // Without memory for the words the status has to do.
  }
  return status;
}

void refuse_null(std::string_view what) {
  refuse(ErrorKind::value, what, ": expected a pointer, got NULL");
}

void refuse_handle(std::string_view what) {
  refuse(ErrorKind::type, what,
         ": expected an object of that kind, got one of another kind or one that was destroyed");
}

void refuse_index(std::string_view what, std::size_t index, std::size_t count) {
  refuse(ErrorKind::value, what,
         ": expected an index below " + std::to_string(count) + ", got " + std::to_string(index));
}

void refuse_size(std::string_view what, std::size_t expected, std::size_t size) {
  refuse(ErrorKind::value, what,
         ".struct_size: expected the size of the struct, " + std::to_string(expected) + ", got " +
             std::to_string(size));
}

void refuse_newer(std::string_view what, std::size_t known, std::size_t size) {
  refuse(ErrorKind::unsupported, what,
         ".struct_size: expected 0 in all fields after the first " + std::to_string(known) +
             " bytes, got others in a struct of " + std::to_string(size) +
             "; the library is older than the program");
}

const RuntimeArguments& arguments_of(const estoc_arguments* arguments, std::string_view what) {
  return *value_of(arguments, what);
}

const char* name_of_dtype(Dtype dtype) {
  return dtype_name(dtype).data();  // a literal
}

const char* name_of_target(Target target) {
  static const std::vector<std::pair<Target, std::string>> kNames = make_target_names();
  for (const auto& [known, name] : kNames)
    if (known == target) return name.c_str();
  return "";
}

}  // namespace estoc::c_api

namespace c_api = estoc::c_api;

const char* estoc_version(void) {
  return ESTOC_VERSION;
}

const char* estoc_last_error(void) {
  return c_api::last_error().message.c_str();
}

const char* estoc_last_compile_log(void) {
  return c_api::last_error().log.c_str();
}

const char* estoc_last_compile_source(void) {
  return c_api::last_error().source.c_str();
}

void estoc_string_destroy(char* text) {  // NOLINT: C may write to it
  delete[] text;
}

size_t estoc_strings_count(const estoc_strings* strings) {
  return c_api::count_of(strings);
}

const char* estoc_strings_get(const estoc_strings* strings, size_t index) {
  return index < c_api::count_of(strings) ? strings->value[index].c_str() : nullptr;
}

void estoc_strings_destroy(estoc_strings* strings) {
  c_api::destroy(strings);
}

estoc_status estoc_dtypes(estoc_strings** names) {
  return c_api::guarded([&] {
    c_api::give(names, "names", [] {
      std::vector<std::string> all;
      for (const estoc::Dtype dtype : estoc::all_dtypes())
        all.emplace_back(estoc::dtype_name(dtype));
      return all;
    });
  });
}

estoc_status estoc_targets(estoc_strings** names) {
  return c_api::guarded([&] {
    c_api::give(names, "names", [] {
      std::vector<std::string> all;
      for (const estoc::Target target : estoc::known_targets())
        all.push_back(target.name());
      return all;
    });
  });
}

estoc_status estoc_providers(estoc_strings** names) {
  return c_api::guarded(
      [&] { c_api::give(names, "names", [] { return estoc::available_providers(); }); });
}

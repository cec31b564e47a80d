// What each kind of error is called in C, in Python and by the command line.
#pragma once

#include <array>
#include <string_view>

#include "estoc/status.hpp"

namespace estoc {

/// One kind of error.
struct ErrorKindRow {
  ErrorKind kind;
  std::string_view name;
  int c_status;                   ///< of enum estoc_status
  int exit_status;                ///< of the command `estoc`
  std::string_view python_class;  ///< a class of the package `estoc`
  std::string_view python_base;   ///< the built-in exception that it is, too
  std::string_view meaning;
};

/// All kinds, in the order of ErrorKind; docs/errors.md is this table.
inline constexpr std::array<ErrorKindRow, 10> kErrorKinds{{
    {ErrorKind::value, "value", 1, 2, "InvalidValueError", "ValueError",
     "An argument has the wrong value: a shape, a stride, text that does not parse."},
    {ErrorKind::type, "type", 2, 2, "InvalidTypeError", "TypeError",
     "An argument has the wrong type: its dtype, or the kind of object."},
    {ErrorKind::not_found, "not_found", 3, 3, "NotFoundError", "LookupError",
     "A kernel, provider, tensor or file does not exist."},
    {ErrorKind::exists, "exists", 4, 2, "ExistsError", "ValueError", "A name is already taken."},
    {ErrorKind::unsupported, "unsupported", 5, 3, "UnsupportedError", "RuntimeError",
     "The kernel does not support the arguments, or a feature is not there."},
    {ErrorKind::io, "io", 6, 4, "IoError", "OSError", "Reading or writing a file failed."},
    {ErrorKind::memory, "memory", 7, 6, "OutOfMemoryError", "MemoryError",
     "Out of host or device memory."},
    {ErrorKind::compile, "compile", 8, 5, "CompileError", "RuntimeError",
     "A kernel did not compile. The error has the compiler's log and the source."},
    {ErrorKind::driver, "driver", 9, 5, "DriverError", "RuntimeError",
     "The CUDA driver reported an error."},
    {ErrorKind::cancelled, "cancelled", 10, 7, "CancelledError", "RuntimeError",
     "The caller stopped the work."},
}};

constexpr const ErrorKindRow& row_of(ErrorKind kind) {
  return kErrorKinds[static_cast<std::size_t>(kind)];
}

}  // namespace estoc

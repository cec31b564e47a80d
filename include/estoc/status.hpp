// The answer to "does this kernel support these arguments", and the library's exceptions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace estoc {

/// What a rejection is about.
enum class Reason : std::uint8_t {
  none,
  operation,
  target,
  device,
  dtype,
  shape,
  layout,
  alignment,
  epilogue,
  controls,
  resource,
  other,
};

/// Success, or a reason that names the operand, what was expected and what came.
///
/// Contextually convertible to bool: true means supported. Example of a message:
/// "A.dtype: expected f16, got bf16".
class [[nodiscard]] Status {
 public:
  /// Supported.
  static Status success() { return {}; }

  /// Not supported: `message` says why.
  static Status fail(Reason reason, std::string message) {
    return Status(reason, std::move(message));
  }

  /// Not supported, for a reason of no listed kind.
  static Status fail(std::string message) { return Status(Reason::other, std::move(message)); }

  bool ok() const { return reason_ == Reason::none; }
  explicit operator bool() const { return ok(); }
  Reason reason() const { return reason_; }

  /// Empty on success.
  const std::string& error() const { return message_; }

 private:
  Status() = default;
  Status(Reason reason, std::string message) : reason_(reason), message_(std::move(message)) {}

  Reason reason_ = Reason::none;
  std::string message_;
};

/// What kind of mistake or failure an Error reports; error_kinds.hpp has a row for each.
enum class ErrorKind : std::uint8_t {
  value,        ///< an argument has the wrong value (shape, stride, text that does not parse)
  type,         ///< an argument has the wrong type (dtype, kind of operation)
  not_found,    ///< a kernel, provider, tensor or file does not exist
  exists,       ///< a name is already taken
  unsupported,  ///< the kernel does not support the arguments, or a feature is not there
  io,           ///< reading or writing a file failed
  memory,       ///< out of host or device memory
  compile,      ///< a kernel did not compile
  driver,       ///< the CUDA driver reported an error
  cancelled,    ///< the user requested a stop
};

/// Thrown for invalid arguments and run-time failures. what() is one sentence that names the
/// operand or file, what was expected and what came.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// A kernel did not compile, or compiled to something that must not run.
class CompileError : public Error {
 public:
  CompileError(const std::string& message, std::string log, std::string source)
      : Error(ErrorKind::compile, message), log_(std::move(log)), source_(std::move(source)) {}

  /// What the compiler said.
  const std::string& log() const { return log_; }
  /// The text that was compiled.
  const std::string& source() const { return source_; }

 private:
  std::string log_;
  std::string source_;
};

}  // namespace estoc

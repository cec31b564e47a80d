// Callers' streams: the context that a launch on one happens in, and whether it is still the same.
#pragma once

#include <optional>

#include "jit/driver.h"

namespace estoc::jit {

/// Whether `stream` is being captured into a graph: no other query is allowed then. The legacy
/// stream never is.
bool is_capturing(const DriverTable& table, CUstream stream);

/// What tells `stream` from all others of the process, also from a later one of the same handle and
/// from other threads' own ones. It is not being captured, and its context is current.
unsigned long long stream_id(const DriverTable& table, CUstream stream);

/// Makes the context that a launch on `stream` happens in current for the lifetime of the object:
/// the stream's own. For a stream that belongs to whatever is current, and for one that is being
/// captured, which cannot be queried, that is the context of ContextScope(device).
/// Throws Error{value} for a stream of another device than `device`.
class LaunchScope {
 public:
  LaunchScope(int device, void* stream);
  CUcontext context() const { return scope_->context(); }

 private:
  std::optional<ContextScope> scope_;
};

/// The stream that a launch was bound for, and which others will do.
class BoundStream {
 public:
  /// `context` is the current one, of `device`. With `has_workspace` no other stream will do: it
  /// could use the workspace at the same time.
  BoundStream(CUcontext context, int device, void* stream, bool has_workspace);

  /// Throws Error{value} for another stream where none will do, and for one of another device;
  /// Error{driver} for one of another context, for which it takes a new bind. A stream that passed
  /// is not queried again.
  void require(const DriverTable& table, CUstream stream);

 private:
  void require_same(const DriverTable& table, CUstream stream) const;
  void require_context(const DriverTable& table, CUstream stream) const;

  CUcontext context_;
  int device_;
  bool has_workspace_;
  CUstream passed_;  ///< the last one; at first the bound one
  std::optional<unsigned long long> id_;
};

}  // namespace estoc::jit

// Device workspace for callers who bring none: pieces of memory that streams use in turn.
#pragma once

#include <cstddef>

#include "estoc/kernel_class.hpp"
#include "jit/cuda_types.h"

namespace estoc::jit {

class WorkspaceSlot;

/// The workspace of launches on one stream: the caller's, or else a slot of the library's, which no
/// other stream is given while this object lives, and until the work that used it has ended.
///
/// A stream that gets the handle of one that is gone is another stream. A new stream is given the
/// slot of one whose work has ended, unless the slots of its context are smaller than 64 MiB
/// together: so memory grows with the streams that have unfinished work, not with the streams.
/// Slots are never freed, but where their context's device has no memory left for another one:
/// then those whose work has ended are, and that waits for the device.
class WorkspaceLease {
 public:
  WorkspaceLease() = default;

  /// `given` (checked before) where it has memory, else a slot of at least `bytes` for `stream`, of
  /// the current context, which is one of `device`. Where the stream has one, that takes no lock.
  ///
  /// Throws Error{memory}; Error{value} where it takes a slot and the stream is being captured,
  /// since a graph may be replayed beside other work: a capture needs the caller's own workspace.
  WorkspaceLease(const Workspace& given, std::size_t bytes, int device, void* stream);
  ~WorkspaceLease();
  WorkspaceLease(WorkspaceLease&& other) noexcept;
  WorkspaceLease& operator=(WorkspaceLease&& other) noexcept;

  const Workspace& workspace() const { return workspace_; }

 private:
  friend class WorkspaceUse;
  Workspace workspace_;
  WorkspaceSlot* slot_ = nullptr;
};

/// Lives while work that uses a lease is started on its stream, whose context is current; notes at
/// its end where that work ends. What is captured meanwhile may be replayed at any time: then the
/// slot is kept for it for good, and later leases of the stream have another one.
class WorkspaceUse {
 public:
  WorkspaceUse(const WorkspaceLease& lease, CUstream stream);
  ~WorkspaceUse();
  WorkspaceUse(const WorkspaceUse&) = delete;
  WorkspaceUse& operator=(const WorkspaceUse&) = delete;

 private:
  WorkspaceSlot* slot_;
  CUstream stream_;
};

}  // namespace estoc::jit

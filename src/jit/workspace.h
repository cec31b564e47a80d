// Device workspace for callers who bring none: one slot a context and stream.
#pragma once

#include <cstddef>

#include "estoc/kernel_class.hpp"

namespace estoc::jit {

/// The caller's workspace where it has one (checked before), else the slot of the current context,
/// which is one of `device`, and of `stream`, made or grown to `bytes`. A stream that gets the
/// handle of one that is gone has a slot of its own. A slot lives as long as the process, so that
/// work that is still queued on the stream keeps its memory; what it outgrows is kept too.
///
/// Throws Error{memory}; Error{value} while the stream is being captured, since a graph may be
/// replayed beside other work: a capture needs the caller's own workspace.
Workspace provide_workspace(const Workspace& given, std::size_t bytes, int device, void* stream);

}  // namespace estoc::jit

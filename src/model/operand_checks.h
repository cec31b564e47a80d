// Checks that GEMM and elementwise arguments share: packed extents, devices, pointers, overlap.
#pragma once

#include <span>

#include "estoc/tensor.hpp"
#include "model/overlap.h"

namespace estoc::model {

/// A view and its name in messages.
struct NamedView {
  const TensorView* view;
  const char* name;
};

/// Throws when a packed type's contiguous mode has an odd extent: its rows would share a byte.
void check_packed(NamedView operand);

/// Throws when the operand's device is not that of `reference`.
void check_device(NamedView operand, NamedView reference);

/// Throws when memory claimed to be of a CUDA device is not. Host pointers are not checked.
void check_pointer(NamedView operand);

[[noreturn]] void fail_overlap(NamedView out, Overlap found);
[[noreturn]] void fail_overlap(NamedView out, NamedView input, Overlap found);

/// Throws when elements of `out` coincide, or that cannot be told.
inline void check_self_overlap(NamedView out) {
  const Overlap found = find_self_overlap(*out.view);
  if (found != Overlap::none) fail_overlap(out, found);
}

/// Throws when an element of `out` is an element of `input`, or that cannot be told.
inline void check_overlap(NamedView out, NamedView input) {
  const Overlap found = find_overlap(*out.view, *input.view);
  if (found != Overlap::none) fail_overlap(out, input, found);
}

}  // namespace estoc::model

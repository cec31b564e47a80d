// What offsets of a grouped product hold: whether they are right, and where an index puts groups.
#pragma once

#include <cstdint>

#include "estoc/arguments.hpp"

namespace estoc {

/// Looks for offsets that are wrong: negative, less than the one before (but for masked groups), or
/// beyond the mode that they divide, of masked groups beyond M. Kernels compute with such offsets
/// by the rule of group_end(), so they harm nothing; most often they are a mistake all the same.
///
/// On a GPU this starts a kernel on `stream` (a CUstream) that adds the number of wrong offsets to
/// `status`, i32 of one element on the same device, and returns; the caller sets it to 0 before,
/// and reads it when that suits. The kernel may be captured into a graph. The first call of a
/// process for a device compiles or loads it, which a capture does not allow. On the CPU `status`
/// may be left out and gets the same number.
///
/// Throws Error{value}, on the CPU also for the first offset that is wrong: "offsets[3]: expected
/// at least 40 and at most 64, got 7", and for GroupLayout::pointers, which has none; Error{type}
/// for a status that is not i32. Arguments without offsets are right.
void check_groups(const GroupedGemmArguments& arguments, const TensorView& status = {},
                  void* stream = nullptr);

/// The ranges (GroupLayout::ranges) of groups that are given by an index: i32 of shape (E), the
/// group of each row in turn, negative for one of no group. Rows of a group follow one another, and
/// groups are in ascending order; between them there may be rows of no group, as many as there are.
/// `ranges`, i32 (G, 2), gets 0, 0 for a group without rows. An index that is not so gives ranges
/// that kernels take by the rule of group_end(); numbers of G and more are of no group.
///
/// On a GPU this is a fill and a kernel on `stream`, as of check_groups().
///
/// Throws Error{value | type} for tensors that do not fit or overlap.
void ranges_of_index(const TensorView& index, const TensorView& ranges, void* stream = nullptr);

/// As check_groups, of an index for `groups` groups: a row is wrong that is of group `groups` or
/// beyond, of an earlier group than a row ahead of it, or apart from the others of its group.
void check_group_index(const TensorView& index, std::int64_t groups, const TensorView& status = {},
                       void* stream = nullptr);

}  // namespace estoc

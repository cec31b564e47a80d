/* The C interface to offsets of grouped products: are they right, and what groups an index gives.
 */
#ifndef ESTOC_C_GROUPS_H
#define ESTOC_C_GROUPS_H

#include "estoc/c/arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* Looks for offsets that are negative, less than the one before (but for masked groups), or beyond
 * the mode that they divide. On a GPU a kernel on `stream` adds their number to `status`, i32 of
 * one element on the same device. On the CPU `status` may be NULL, and ESTOC_ERROR_VALUE names the
 * first one. ESTOC_ERROR_TYPE for another operation. */
ESTOC_API estoc_status estoc_check_groups(const estoc_arguments* arguments,
                                          const estoc_tensor* status, void* stream);
/* Writes `ranges`, i32 (G, 2), the beginning and end of each group, from `index`, i32: the group of
 * each row, negative for one of no group. Groups are in ascending order, each in one piece. */
ESTOC_API estoc_status estoc_ranges_of_index(const estoc_tensor* index, const estoc_tensor* ranges,
                                             void* stream);
/* As estoc_check_groups, of the rows of an index for `groups` groups. */
ESTOC_API estoc_status estoc_check_group_index(const estoc_tensor* index, int64_t groups,
                                               const estoc_tensor* status, void* stream);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_GROUPS_H */

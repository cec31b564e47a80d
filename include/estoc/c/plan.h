/* The C interface to products that repeat: plans, and matmul, which remembers plans. */
#ifndef ESTOC_C_PLAN_H
#define ESTOC_C_PLAN_H

#include "estoc/c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

typedef struct estoc_plan_options {
  size_t struct_size;
  const estoc_query* query; /* which kernels to choose from; NULL: all */
  int threads;              /* as of estoc_run_options */
  int programmatic;         /* as of estoc_run_options */
} estoc_plan_options;

/* A kernel that is found, compiled and bound for one operation, to be launched any number of times;
 * used by one thread at a time. It needs the operands' memory. */
typedef struct estoc_plan estoc_plan;
/* A plan of the kernel to use. `options` may be NULL. ESTOC_ERROR_UNSUPPORTED, with the reasons,
 * when there is none. */
ESTOC_API estoc_status estoc_plan_create(const estoc_arguments* arguments,
                                         const estoc_plan_options* options, estoc_plan** plan);
/* A plan of compiled code; the query is not used. */
ESTOC_API estoc_status estoc_plan_of_artifact(const estoc_artifact* artifact,
                                              const estoc_arguments* arguments,
                                              const estoc_plan_options* options, estoc_plan** plan);
ESTOC_API const char* estoc_plan_kernel_name(const estoc_plan* plan);
/* Bytes of workspace that a run needs. */
ESTOC_API estoc_status estoc_plan_workspace_size(const estoc_plan* plan, size_t* bytes);
/* Launches on `stream`. `workspace` may be NULL: then the library's own is used. */
ESTOC_API estoc_status estoc_plan_run(estoc_plan* plan, void* stream, void* workspace,
                                      size_t workspace_bytes);
/* Has later runs work on A, B and out at other addresses, otherwise alike, and on those operands of
 * the epilogue that are others now: tensors that are alike but for the address, and numbers. `b` is
 * NULL for an operation of one input. An operand that does not fit is named, and the plan is as it
 * was. */
ESTOC_API estoc_status estoc_plan_rebind(estoc_plan* plan, const void* a, const void* b, void* out,
                                         const estoc_operand* operands, size_t operand_count);
/* Has later runs work on other arguments that the plan's kernel supports, of other sizes too. */
ESTOC_API estoc_status estoc_plan_rebind_arguments(estoc_plan* plan,
                                                   const estoc_arguments* arguments);
ESTOC_API void estoc_plan_destroy(estoc_plan* plan);

/* out = A @ B, with the kernel to use. A, B and out may have scales. Plans are remembered by
 * dtypes, shapes, strides, alignments and options, so that a product like an earlier one is only
 * launched. Any number of threads may call it at once. `options` may be NULL; `assume_supported` is
 * not used. */
ESTOC_API estoc_status estoc_matmul(const estoc_gemm* gemm, const estoc_run_options* options);
/* The dtype of a product that names none: "i32" of integers, "bf16" of floats of eight bits, "f32"
 * of "tf32", else that of A. */
ESTOC_API estoc_status estoc_result_dtype(const char* a, const char* b, const char** dtype);
/* The shape of A @ B: `rank` extents, 2 or 3, are written to `shape`, the others become 0. */
ESTOC_API estoc_status estoc_result_shape(const estoc_tensor* a, const estoc_tensor* b,
                                          int64_t shape[3], int* rank);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_PLAN_H */

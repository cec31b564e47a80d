/* The C interface to expert layers: in one call, or planned once. */
#ifndef ESTOC_C_MOE_H
#define ESTOC_C_MOE_H

#include "estoc/c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* An expert layer of T tokens with H features, each of which goes to K of E experts, whose inner
 * width is I: out[t] = sum over j of weights[t, j] * (f(x[t] @ w_gate_up[e]) @ w_down[e]), where
 * e = expert_ids[t, j]. An id that is not in 0..E-1 adds nothing. */
typedef struct estoc_moe {
  size_t struct_size;
  const estoc_tensor* x;          /* (T, H), contiguous along H; f32, f16 or bf16 */
  const estoc_tensor* expert_ids; /* (T, K), i32 */
  const estoc_tensor* weights;    /* (T, K), f32 */
  const estoc_tensor* w_gate_up;  /* (E, H, 2 I), or (E, H, I) without a gate; the dtype of x */
  const estoc_tensor* w_down;     /* (E, I, H); the dtype of x */
  const estoc_tensor* out;        /* (T, H), contiguous along H; the dtype of x */
  const char* activation; /* f: "swiglu", "geglu" or, without a gate, "relu", "gelu", "silu"; NULL:
                             "swiglu" */
  int interleaved;        /* not 0: columns 2 i and 2 i + 1 of w_gate_up are gate and up of feature
                             i; 0: columns i and I + i */
  int reserved;           /* 0 */
  const estoc_controls* controls; /* of the products; NULL: all 0 */
} estoc_moe;

/* The layer, with the kernels to use. Plans are remembered by dtypes, shapes, strides, alignments
 * and options. Any number of threads may call it at once. `options` may be NULL;
 * `assume_supported`, `programmatic` and `tuner` are not used. */
ESTOC_API estoc_status estoc_moe_run(const estoc_moe* layer, const estoc_run_options* options);

/* An expert layer whose kernels are found and compiled; used by one thread at a time. */
typedef struct estoc_moe_plan estoc_moe_plan;
/* The tensors may be descriptions. `threads` are host threads of the products on the CPU; 0: one
 * for each core. */
ESTOC_API estoc_status estoc_moe_plan_create(const estoc_moe* layer, int threads,
                                             estoc_moe_plan** plan);
/* Bytes of workspace that a run needs. */
ESTOC_API estoc_status estoc_moe_plan_workspace_size(const estoc_moe_plan* plan, size_t* bytes);
/* Computes the layer on `stream`, of tensors that are like the planned ones but for their
 * addresses; its other fields are not used. `workspace` may be NULL: then the library's own is
 * used. */
ESTOC_API estoc_status estoc_moe_plan_run(estoc_moe_plan* plan, const estoc_moe* layer,
                                          void* stream, void* workspace, size_t workspace_bytes);
ESTOC_API void estoc_moe_plan_destroy(estoc_moe_plan* plan);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_MOE_H */

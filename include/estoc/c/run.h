/* The C interface to running kernels: once, or bound and launched often. */
#ifndef ESTOC_C_RUN_H
#define ESTOC_C_RUN_H

#include "estoc/c/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* Tunes on a thread of its own (c/tune.h). */
typedef struct estoc_tuner estoc_tuner;

typedef struct estoc_run_options {
  size_t struct_size;
  void* stream;    /* a CUstream; NULL is the null stream */
  void* workspace; /* on the operands' device, aligned to 256 bytes; a cpu kernel can do without */
  size_t workspace_bytes;
  int threads;          /* host threads of a cpu kernel; 0: one for each core */
  int assume_supported; /* not 0: the caller knows that the kernel supports the arguments */
  int programmatic;   /* less than 0: no programmatic dependent launch; 0 or more: from sm_90 on */
  int reserved;       /* 0 */
  estoc_tuner* tuner; /* of estoc_matmul: tunes the problem of a call that finds a kernel */
} estoc_run_options;

/* Compiles where that has not been done, and launches once. On the host the output is complete
 * when it returns. `options` may be NULL. */
ESTOC_API estoc_status estoc_kernel_run(const estoc_kernel* kernel,
                                        const estoc_arguments* arguments,
                                        const estoc_run_options* options);
/* Launches compiled code once. */
ESTOC_API estoc_status estoc_artifact_run(const estoc_artifact* artifact,
                                          const estoc_arguments* arguments,
                                          const estoc_run_options* options);

/* A kernel with everything bound that a launch needs; used by one thread at a time. */
typedef struct estoc_launch estoc_launch;
/* Does once what every run repeats. The operands' memory and the workspace must outlive it. Where
 * the kernel takes workspace, it launches on `options->stream` alone. */
ESTOC_API estoc_status estoc_artifact_bind(const estoc_artifact* artifact,
                                           const estoc_arguments* arguments,
                                           const estoc_run_options* options, estoc_launch** launch);
ESTOC_API estoc_status estoc_launch_start(estoc_launch* launch, void* stream);
/* Has later launches of a product read A and B and write out at other addresses, each as aligned as
 * the one it was bound to. ESTOC_ERROR_UNSUPPORTED, with nothing changed, where that takes a new
 * estoc_artifact_bind. */
ESTOC_API estoc_status estoc_launch_move(estoc_launch* launch, void* a, void* b, void* out);
ESTOC_API void estoc_launch_destroy(estoc_launch* launch);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_RUN_H */

/* The C interface to compiled kernels: compiling, files of compiled kernels, and their use. */
#ifndef ESTOC_C_ARTIFACT_H
#define ESTOC_C_ARTIFACT_H

#include "estoc/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* Called with how many of `total` are done. Returns 0 to go on, anything else to cancel. */
typedef int (*estoc_progress)(void* context, size_t done, size_t total);

typedef struct estoc_compile_options {
  size_t struct_size;
  int lineinfo;            /* not 0: relate instructions to lines of the source, for profilers */
  int no_caches;           /* not 0: compile anew, whatever memory and disk hold */
  int threads;             /* of estoc_compile_all; 0: one for each core */
  estoc_progress progress; /* of estoc_compile_all, after each kernel; one thread at a time */
  void* context;           /* what `progress` is given */
} estoc_compile_options;

/* A compiled kernel; immutable. */
typedef struct estoc_artifact estoc_artifact;
/* Compiles for a target, such as "sm_90a" or "cpu"; needs no device. `options` may be NULL. */
ESTOC_API estoc_status estoc_kernel_compile(const estoc_kernel* kernel, const char* target,
                                            const estoc_compile_options* options,
                                            estoc_artifact** artifact);
ESTOC_API const char* estoc_artifact_kernel_name(const estoc_artifact* artifact);
ESTOC_API estoc_status estoc_artifact_kernel(const estoc_artifact* artifact, estoc_kernel** kernel);
/* "sm_90a" */
ESTOC_API const char* estoc_artifact_target(const estoc_artifact* artifact);
ESTOC_API void estoc_artifact_destroy(estoc_artifact* artifact);

/* Compiled code, and what it takes of the machine. */
typedef struct estoc_code {
  size_t struct_size;
  const char* format;   /* "cubin", "fatbin", "ptx"; NULL: the class compiles nothing */
  const char* compiler; /* "nvrtc-13.0" */
  const void* bytes;
  size_t byte_count;
  const char* log; /* what the compiler said */
  int registers;   /* of a thread */
  int shared_bytes;
  int stack_bytes;
  int spill_store_bytes;
  int spill_load_bytes;
  int barriers;
} estoc_code;
ESTOC_API estoc_status estoc_artifact_code(const estoc_artifact* artifact, estoc_code* code);

typedef enum estoc_emission { ESTOC_EMIT_SOURCE = 0, ESTOC_EMIT_PTX = 1 } estoc_emission;
/* The text that a kernel is compiled from, or its PTX; to be destroyed. `what` is an
 * estoc_emission. `options` may be NULL. */
ESTOC_API estoc_status estoc_kernel_emit(const estoc_kernel* kernel, int what, const char* target,
                                         const estoc_compile_options* options, char** text);

/* What became of the kernels that were compiled together, in their order. */
typedef struct estoc_outcomes estoc_outcomes;
/* Compiles kernels for one target on several threads. A kernel that fails does not keep the others
 * from being compiled. ESTOC_ERROR_CANCELLED where `progress` said so. */
ESTOC_API estoc_status estoc_compile_all(const estoc_kernel* const* kernels, size_t count,
                                         const char* target, const estoc_compile_options* options,
                                         estoc_outcomes** outcomes);
ESTOC_API size_t estoc_outcomes_count(const estoc_outcomes* outcomes);
/* The artifact of kernel `index`, or the error that it failed with. */
ESTOC_API estoc_status estoc_outcomes_get(const estoc_outcomes* outcomes, size_t index,
                                          estoc_artifact** artifact);
ESTOC_API void estoc_outcomes_destroy(estoc_outcomes* outcomes);

/* Says for which problems an artifact of a file is meant: those like `problem` whose M is in the
 * range. */
typedef struct estoc_dispatch_rule {
  size_t struct_size;
  const char* problem; /* a problem text; its m is not looked at */
  int64_t m_low;       /* from 0 */
  int64_t m_high;      /* the last one; 0: without an end */
  size_t artifact;     /* its number in the file */
} estoc_dispatch_rule;

/* A file of compiled kernels, read and checked. */
typedef struct estoc_bundle estoc_bundle;
/* Writes artifacts, and rules on their use, into one file. It appears whole or not at all. */
ESTOC_API estoc_status estoc_bundle_save(const char* path, const estoc_artifact* const* artifacts,
                                         size_t count, const estoc_dispatch_rule* rules,
                                         size_t rule_count);
ESTOC_API estoc_status estoc_bundle_open(const char* path, estoc_bundle** bundle);
ESTOC_API size_t estoc_bundle_artifact_count(const estoc_bundle* bundle);
ESTOC_API estoc_status estoc_bundle_artifact(const estoc_bundle* bundle, size_t index,
                                             estoc_artifact** artifact);
ESTOC_API size_t estoc_bundle_rule_count(const estoc_bundle* bundle);
ESTOC_API estoc_status estoc_bundle_rule(const estoc_bundle* bundle, size_t index,
                                         estoc_dispatch_rule* rule);
/* The artifact of the file to use for the arguments: by the first rule that covers them, else the
 * first that supports them. `target` may be NULL: the device of the operands. */
ESTOC_API estoc_status estoc_bundle_find(const estoc_bundle* bundle,
                                         const estoc_arguments* arguments, const char* target,
                                         estoc_artifact** artifact);
ESTOC_API void estoc_bundle_destroy(estoc_bundle* bundle);

/* The artifacts for problems that differ in M alone. */
typedef struct estoc_dispatch estoc_dispatch;
ESTOC_API estoc_status estoc_bundle_dispatch(const estoc_bundle* bundle,
                                             const estoc_arguments* arguments, const char* target,
                                             estoc_dispatch** dispatch);
/* The artifact for `m`, which lives as long as `dispatch`; NULL when no rule covers it. Takes no
 * lock and allocates nothing. */
ESTOC_API const estoc_artifact* estoc_dispatch_select(const estoc_dispatch* dispatch, int64_t m);
ESTOC_API void estoc_dispatch_destroy(estoc_dispatch* dispatch);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_ARTIFACT_H */

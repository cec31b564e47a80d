/* The C interface to discovery: finding kernels, and what is known of them before they are
 * compiled.
 */
#ifndef ESTOC_C_KERNEL_H
#define ESTOC_C_KERNEL_H

#include "estoc/c/arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* What to look for. */
typedef struct estoc_query {
  size_t struct_size;
  const char* filter; /* terms such as "class=simt_gemm stages=3,4"; docs/kernels_and_filters.md */
  const char* target; /* "sm_90a"; NULL: the device of the operands, without arguments any */
  int portable;       /* not 0: leave out kernels that cannot be saved */
  const char* const* providers; /* names, `provider_count` of them; none: all */
  size_t provider_count;
} estoc_query;

/* A kernel that is compiled or can be; immutable. */
typedef struct estoc_kernel estoc_kernel;
/* The kernel to use for the arguments. ESTOC_ERROR_UNSUPPORTED, with the reasons, when there is
 * none. `query` may be NULL. */
ESTOC_API estoc_status estoc_kernel_find(const estoc_arguments* arguments, const estoc_query* query,
                                         estoc_kernel** kernel);
/* ESTOC_ERROR_NOT_FOUND, with the nearest name, when there is none. The kernel has no epilogue. */
ESTOC_API estoc_status estoc_kernel_by_name(const char* name, estoc_kernel** kernel);
ESTOC_API const char* estoc_kernel_name(const estoc_kernel* kernel);
/* ESTOC_OK when the kernel carries out the arguments, ESTOC_ERROR_UNSUPPORTED when not. `target`
 * may be NULL: the one that the kernel was found for, else the device of the operands. `reason` may
 * be NULL; else it is written in both cases. */
ESTOC_API estoc_status estoc_kernel_supports(const estoc_kernel* kernel,
                                             const estoc_arguments* arguments, const char* target,
                                             estoc_reason* reason);
ESTOC_API void estoc_kernel_destroy(estoc_kernel* kernel);

/* Several kernels: those that carry out some arguments, the fastest first, or all that there are.
 */
typedef struct estoc_kernels estoc_kernels;
/* No kernel is no error; estoc_kernels_why_empty then has the reasons. */
ESTOC_API estoc_status estoc_kernels_find(const estoc_arguments* arguments,
                                          const estoc_query* query, estoc_kernels** kernels);
/* Every kernel that passes the query, for every target unless it names one. They are made as they
 * are read. With a filter the first count or get goes through all of them once. */
ESTOC_API estoc_status estoc_kernels_enumerate(const estoc_query* query, estoc_kernels** kernels);
ESTOC_API estoc_status estoc_kernels_count(const estoc_kernels* kernels, uint64_t* count);
ESTOC_API estoc_status estoc_kernels_get(const estoc_kernels* kernels, uint64_t index,
                                         estoc_kernel** kernel);
/* For each class why it has no kernel for the arguments; to be destroyed. Empty when there are
 * kernels. */
ESTOC_API estoc_status estoc_kernels_why_empty(const estoc_kernels* kernels, char** text);
/* What classes failed with during the search, as "provider class: message". */
ESTOC_API estoc_status estoc_kernels_failures(const estoc_kernels* kernels,
                                              estoc_strings** failures);
ESTOC_API void estoc_kernels_destroy(estoc_kernels* kernels);

/* What is known of a kernel without compiling it. */
typedef struct estoc_kernel_info {
  size_t struct_size;
  const char* name;
  const char* kernel_class;
  const char* provider;
  const char* operation;    /* "gemm", "elementwise" */
  const char* op;           /* of an elementwise kernel: "add"; else NULL */
  const char* accumulator;  /* of a gemm: a dtype; else NULL */
  const char* epilogue;     /* canonical text; empty: out is the accumulator */
  const char* schedule;     /* "pingpong"; empty: none named */
  int min_cc;               /* ten times the least compute capability; 0: the host */
  int tile[3];              /* M, N, K of a CTA; 0 where the class has none */
  int cluster[3];           /* CTAs of a cluster */
  int instruction[3];       /* of the tensor-core instruction; 0 where there is none */
  int stages;               /* of the pipeline in shared memory */
  int split;                /* parts that K is divided into */
  double predicted_seconds; /* for the arguments that it was found for; 0: not known */
  double tuned_seconds;     /* that tuning measured for them, which put it first; 0: it did not */
} estoc_kernel_info;
ESTOC_API estoc_status estoc_kernel_get_info(const estoc_kernel* kernel, estoc_kernel_info* info);

/* What a kernel expects of an operand. */
typedef struct estoc_kernel_operand {
  size_t struct_size;
  const char* name; /* "A", "B", "out" */
  const char* dtype;
  const char* layout; /* "t": the last mode is contiguous, "n": the next to last, "x": any */
  int alignment;      /* bytes that its address and strides are multiples of */
} estoc_kernel_operand;
/* The kernel's operands have the numbers from 0 on; ESTOC_ERROR_VALUE past the last. */
ESTOC_API estoc_status estoc_kernel_get_operand(const estoc_kernel* kernel, size_t index,
                                                estoc_kernel_operand* operand);
/* What the kernel can be compiled for. */
ESTOC_API estoc_status estoc_kernel_targets(const estoc_kernel* kernel, estoc_strings** targets);

/* Run-time parameters that the ranking chose; they do not change what is compiled. */
typedef struct estoc_knobs {
  size_t struct_size;
  int raster_along_n; /* 0: rasterisation along M */
  int swizzle;        /* tiles of the other direction that are taken together, from 1 */
  int split;          /* parts that K is divided into, from 1 */
  int zigzag;         /* every second tile of a CTA takes K backwards */
  int split_tiles;    /* tiles, the last ones, whose parts pass through the workspace; 0: K of every
                         tile is divided among the CTAs of a cluster */
} estoc_knobs;
ESTOC_API estoc_status estoc_kernel_get_knobs(const estoc_kernel* kernel, estoc_knobs* knobs);
/* The same kernel with other knobs. */
ESTOC_API estoc_status estoc_kernel_with_knobs(const estoc_kernel* kernel, const estoc_knobs* knobs,
                                               estoc_kernel** other);
/* The same kernel with the epilogue of that canonical text, or with none for NULL. */
ESTOC_API estoc_status estoc_kernel_with_epilogue(const estoc_kernel* kernel, const char* canonical,
                                                  estoc_kernel** other);
/* 1 for the same kernel with the same epilogue and knobs, else 0. */
ESTOC_API int estoc_kernel_equal(const estoc_kernel* one, const estoc_kernel* other);

/* Bytes of scratch memory that a run needs. ESTOC_ERROR_UNSUPPORTED for arguments that the kernel
 * does not carry out. */
ESTOC_API estoc_status estoc_kernel_workspace_size(const estoc_kernel* kernel,
                                                   const estoc_arguments* arguments, size_t* bytes);
/* Bytes that are enough for every problem of the same dtypes and layouts whose extents are at most
 * those of `largest`. */
ESTOC_API estoc_status estoc_kernel_workspace_bound(const estoc_kernel* kernel,
                                                    const estoc_arguments* largest, size_t* bytes);

typedef enum estoc_unit {
  ESTOC_UNIT_SECONDS = 0,
  ESTOC_UNIT_COUNT = 1,
  ESTOC_UNIT_FACTOR = 2
} estoc_unit;

/* One part of a predicted time: "tensor cores" 1.2e-6 s, "live CTAs" 66. */
typedef struct estoc_prediction_part {
  size_t struct_size;
  const char* name;
  double value;
  estoc_unit unit;
} estoc_prediction_part;

/* What the predicted time of a kernel on some arguments is made of. */
typedef struct estoc_prediction estoc_prediction;
/* `target` as for estoc_kernel_supports. No part where the class does not say. */
ESTOC_API estoc_status estoc_kernel_predict(const estoc_kernel* kernel,
                                            const estoc_arguments* arguments, const char* target,
                                            estoc_prediction** prediction);
ESTOC_API size_t estoc_prediction_count(const estoc_prediction* prediction);
ESTOC_API estoc_status estoc_prediction_get(const estoc_prediction* prediction, size_t index,
                                            estoc_prediction_part* part);
ESTOC_API void estoc_prediction_destroy(estoc_prediction* prediction);

/* Why one kernel class does or does not carry out some arguments. */
typedef struct estoc_explanation {
  size_t struct_size;
  const char* provider;
  const char* kernel_class;
  uint64_t described;  /* kernels that the class describes */
  uint64_t supported;  /* of those, how many carry out the arguments */
  estoc_reason reason; /* ESTOC_REASON_NONE when some do */
  const char* message; /* empty when some do */
  const char* first;   /* name of the first of them; empty when none does */
} estoc_explanation;

/* One explanation for each class of the query's providers. */
typedef struct estoc_explanations estoc_explanations;
ESTOC_API estoc_status estoc_explain(const estoc_arguments* arguments, const estoc_query* query,
                                     estoc_explanations** explanations);
ESTOC_API size_t estoc_explanations_count(const estoc_explanations* explanations);
ESTOC_API estoc_status estoc_explanations_get(const estoc_explanations* explanations, size_t index,
                                              estoc_explanation* explanation);
ESTOC_API void estoc_explanations_destroy(estoc_explanations* explanations);

/* Forgets the answers to searches that the library remembers. */
ESTOC_API estoc_status estoc_clear_discovery_cache(void);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_KERNEL_H */

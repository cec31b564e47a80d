/* The C interface: find, compile or open, bind and launch kernels from engines in any language.
 *
 * Every function that can fail returns an estoc_status; estoc_last_error() then has one sentence
 * that names the operand, what was expected and what came, for the calling thread. Objects are
 * opaque, may be used by several threads at once (an estoc_launch by one at a time), and are freed
 * by their own function, which takes NULL too. Strings that are returned live as long as the object
 * they came from.
 *
 * Structs that begin with their size may grow at the end; a program sets `size` to the size that it
 * was compiled with, and all that it does not use to 0. Other structs stay as they are. */
#ifndef ESTOC_ESTOC_H
#define ESTOC_ESTOC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ESTOC_API __attribute__((visibility("default")))
#else
#define ESTOC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */
typedef enum estoc_status {
  ESTOC_OK = 0,
  ESTOC_ERROR_VALUE = 1,       /* an argument has the wrong value */
  ESTOC_ERROR_TYPE = 2,        /* an argument has the wrong type */
  ESTOC_ERROR_NOT_FOUND = 3,   /* a kernel, file or library does not exist */
  ESTOC_ERROR_EXISTS = 4,      /* a name is already taken */
  ESTOC_ERROR_UNSUPPORTED = 5, /* the kernel does not support the arguments */
  ESTOC_ERROR_IO = 6,          /* reading or writing a file failed */
  ESTOC_ERROR_MEMORY = 7,      /* out of host or device memory */
  ESTOC_ERROR_COMPILE = 8,     /* a kernel did not compile */
  ESTOC_ERROR_DRIVER = 9,      /* the CUDA driver reported an error */
  ESTOC_ERROR_CANCELLED = 10,  /* the work was cancelled */
  ESTOC_ERROR_OTHER = 11
} estoc_status;

typedef struct estoc_arguments estoc_arguments;
typedef struct estoc_kernel estoc_kernel;
typedef struct estoc_artifact estoc_artifact;
typedef struct estoc_bundle estoc_bundle;
typedef struct estoc_launch estoc_launch;

/* "0.1.0" */
ESTOC_API const char* estoc_version(void);

/* What went wrong in this thread's last call that failed; empty before any did. The text stays
 * until this thread's next call that fails. */
ESTOC_API const char* estoc_last_error(void);

/* A tensor of up to 6 modes. Data may be NULL where it is only described: then nothing runs. */
typedef struct estoc_tensor {
  void* data;
  const char* dtype; /* "f32", "bf16", "e4m3", ... */
  int rank;
  const int64_t* shape;   /* `rank` extents, outermost first */
  const int64_t* strides; /* in elements; NULL: row-major */
  int device;             /* -1: the host; else the CUDA device's number */
} estoc_tensor;

/* out = A @ B: A (m, k), B (k, n), out (m, n), each with a batch mode in front where there is one.
 * `accumulator` is "f32", "f64", "i32" or "f16". */
ESTOC_API estoc_status estoc_gemm(const estoc_tensor* a, const estoc_tensor* b,
                                  const estoc_tensor* out, const char* accumulator,
                                  estoc_arguments** arguments);

/* What a name of an epilogue stands for. */
typedef struct estoc_operand {
  const char* name;
  const estoc_tensor* tensor; /* NULL: the number */
  double number;
  const char* dtype; /* of the number; NULL: that in which the epilogue computes */
} estoc_operand;

/* What estoc_gemm_with takes beyond A, B and out. Fields of 0 and NULL ask for nothing. */
typedef struct estoc_gemm_options {
  size_t size;          /* sizeof(estoc_gemm_options) */
  const char* epilogue; /* "D = relu(alpha * accum + bias)"; NULL: out is the accumulator */
  const estoc_operand* operands; /* of the epilogue, inputs and outputs, `operand_count` of them */
  size_t operand_count;
  const char* controls; /* as in a problem text: "deterministic=1 workspace=64MiB" */
} estoc_gemm_options;

/* As estoc_gemm, with an epilogue and wishes. `options` may be NULL. */
ESTOC_API estoc_status estoc_gemm_with(const estoc_tensor* a, const estoc_tensor* b,
                                       const estoc_tensor* out, const char* accumulator,
                                       const estoc_gemm_options* options,
                                       estoc_arguments** arguments);

/* The arguments, without data, that a problem text describes, such as
 * "gemm m=64 n=4096 k=4096 a=bf16:t b=bf16:n". */
ESTOC_API estoc_status estoc_problem(const char* text, int device, estoc_arguments** arguments);
ESTOC_API void estoc_arguments_free(estoc_arguments* arguments);

/* The kernels that carry out the arguments, the one to use first: at most `capacity` of them are
 * written to `kernels`, their number to `written`. `filter` may be NULL, or terms such as
 * "class=simt_gemm"; `target` may be NULL (the operands' device), or such as "sm_90a". */
ESTOC_API estoc_status estoc_find(const estoc_arguments* arguments, const char* filter,
                                  const char* target, size_t capacity, estoc_kernel** kernels,
                                  size_t* written);
/* The kernel to use. ESTOC_ERROR_UNSUPPORTED, with the reasons, when there is none. */
ESTOC_API estoc_status estoc_find_first(const estoc_arguments* arguments, const char* filter,
                                        const char* target, estoc_kernel** kernel);
ESTOC_API estoc_status estoc_kernel_by_name(const char* name, estoc_kernel** kernel);
ESTOC_API const char* estoc_kernel_name(const estoc_kernel* kernel);
ESTOC_API void estoc_kernel_free(estoc_kernel* kernel);

/* ESTOC_OK when the kernel carries out the arguments, ESTOC_ERROR_UNSUPPORTED when not. */
ESTOC_API estoc_status estoc_kernel_supports(const estoc_kernel* kernel,
                                             const estoc_arguments* arguments, const char* target);

/* Compiles for a target, such as "sm_90a" or "cpu"; needs no device. */
ESTOC_API estoc_status estoc_compile(const estoc_kernel* kernel, const char* target,
                                     estoc_artifact** artifact);
ESTOC_API const char* estoc_artifact_kernel_name(const estoc_artifact* artifact);
ESTOC_API void estoc_artifact_free(estoc_artifact* artifact);

/* Writes artifacts into one file; `estoc compile` writes such files with rules of what is for what.
 */
ESTOC_API estoc_status estoc_save(const char* path, const estoc_artifact* const* artifacts,
                                  size_t count);
ESTOC_API estoc_status estoc_bundle_open(const char* path, estoc_bundle** bundle);
/* The artifact of the file to use for the arguments. `target` may be NULL. */
ESTOC_API estoc_status estoc_bundle_find(const estoc_bundle* bundle,
                                         const estoc_arguments* arguments, const char* target,
                                         estoc_artifact** artifact);
ESTOC_API void estoc_bundle_free(estoc_bundle* bundle);

/* Bytes of scratch memory that a launch needs. ESTOC_ERROR_UNSUPPORTED for arguments that the
 * kernel does not carry out. */
ESTOC_API estoc_status estoc_workspace_size(const estoc_artifact* artifact,
                                            const estoc_arguments* arguments, size_t* bytes);

/* Launches once on `stream` (a CUstream; NULL is the null stream). `workspace` may be NULL where
 * the library is to provide; else it is on the operands' device, aligned to 256 bytes. */
ESTOC_API estoc_status estoc_run(const estoc_artifact* artifact, const estoc_arguments* arguments,
                                 void* stream, void* workspace, size_t workspace_bytes);

/* Does once what every run repeats. The operands' memory and the workspace must outlive it. Where
 * estoc_workspace_size() is not 0, it launches on `stream` alone. */
ESTOC_API estoc_status estoc_bind(const estoc_artifact* artifact, const estoc_arguments* arguments,
                                  void* stream, void* workspace, size_t workspace_bytes,
                                  estoc_launch** launch);

/* How estoc_run_with and estoc_bind_with run a kernel. Fields of 0 and NULL are the defaults. */
typedef struct estoc_run_options {
  size_t size;  /* sizeof(estoc_run_options) */
  void* stream; /* a CUstream; NULL is the null stream */
  void* workspace;
  size_t workspace_bytes;
  int threads;          /* host threads of a cpu kernel; 0: one for each core */
  int assume_supported; /* not 0: the caller knows that the kernel supports the arguments */
  int programmatic;     /* not 0: programmatic dependent launch; of use between short kernels */
} estoc_run_options;

/* As estoc_run and estoc_bind. `options` may be NULL. */
ESTOC_API estoc_status estoc_run_with(const estoc_artifact* artifact,
                                      const estoc_arguments* arguments,
                                      const estoc_run_options* options);
ESTOC_API estoc_status estoc_bind_with(const estoc_artifact* artifact,
                                       const estoc_arguments* arguments,
                                       const estoc_run_options* options, estoc_launch** launch);
ESTOC_API estoc_status estoc_launch_on(estoc_launch* launch, void* stream);
ESTOC_API void estoc_launch_free(estoc_launch* launch);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_ESTOC_H */

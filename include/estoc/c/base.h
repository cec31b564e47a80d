/* What every part of the C interface uses: statuses, errors, texts.
 *
 * Every function that can fail returns an estoc_status. A call that fails leaves what it was to
 * fill as it was, and estoc_last_error() then has one sentence that names the operand, what was
 * expected and what came.
 *
 * Objects are opaque. Each kind is destroyed by its own function, which takes NULL too. Several
 * threads may use one object at once, except where its kind says otherwise. An object does not need
 * the objects that it was made from; an estoc_launch and an estoc_plan need the operands' memory. A
 * `const char*` that is returned lives as long as the object it came from, or as the process where
 * there is none.
 *
 * Every struct begins with its size, so that it can grow at its end: a program sets `struct_size`
 * to sizeof the struct, and what it does not use to 0 or NULL, which mean "not given". A program
 * that was compiled with a smaller struct goes on to work. A larger one is accepted where all that
 * the library does not know is 0. In an array all
 * elements have the same size. A value of an enumeration is handed to the library as an int, so
 * that a wrong one can be refused. */
#ifndef ESTOC_C_BASE_H
#define ESTOC_C_BASE_H

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

/* What the refusal of some arguments is about. */
typedef enum estoc_reason {
  ESTOC_REASON_NONE = 0,
  ESTOC_REASON_OPERATION = 1,
  ESTOC_REASON_TARGET = 2,
  ESTOC_REASON_DEVICE = 3,
  ESTOC_REASON_DTYPE = 4,
  ESTOC_REASON_SHAPE = 5,
  ESTOC_REASON_LAYOUT = 6,
  ESTOC_REASON_ALIGNMENT = 7,
  ESTOC_REASON_EPILOGUE = 8,
  ESTOC_REASON_CONTROLS = 9,
  ESTOC_REASON_RESOURCE = 10,
  ESTOC_REASON_OTHER = 11
} estoc_reason;

/* "0.1.0" */
ESTOC_API const char* estoc_version(void);

/* What went wrong in this thread's last call that failed; empty before any did. The text stays
 * until this thread's next call that fails. */
ESTOC_API const char* estoc_last_error(void);
/* Where that was ESTOC_ERROR_COMPILE: what the compiler said, and the text it was given. Else
 * empty. */
ESTOC_API const char* estoc_last_compile_log(void);
ESTOC_API const char* estoc_last_compile_source(void);

/* Destroys a text that a function handed out as `char**`. */
ESTOC_API void estoc_string_destroy(char* text);

/* An immutable list of texts. */
typedef struct estoc_strings estoc_strings;
/* 0 for NULL. */
ESTOC_API size_t estoc_strings_count(const estoc_strings* strings);
/* NULL past the end. */
ESTOC_API const char* estoc_strings_get(const estoc_strings* strings, size_t index);
ESTOC_API void estoc_strings_destroy(estoc_strings* strings);

/* Names of the dtypes, such as "bf16", of the targets, such as "sm_90a", and of the providers, such
 * as "cuda". */
ESTOC_API estoc_status estoc_dtypes(estoc_strings** names);
ESTOC_API estoc_status estoc_targets(estoc_strings** names);
ESTOC_API estoc_status estoc_providers(estoc_strings** names);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_BASE_H */

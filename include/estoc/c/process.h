/* The C interface to what a process shares: environment, cache of compiled kernels, messages. */
#ifndef ESTOC_C_PROCESS_H
#define ESTOC_C_PROCESS_H

#include "estoc/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* An environment variable that the library reads. */
typedef struct estoc_variable {
  size_t struct_size;
  const char* name;
  const char* meaning;
  const char* value; /* NULL: not set, or empty */
} estoc_variable;

/* All of them, as they are now. Not to be listed while another thread changes the environment. */
typedef struct estoc_environment estoc_environment;
ESTOC_API estoc_status estoc_environment_list(estoc_environment** environment);
ESTOC_API size_t estoc_environment_count(const estoc_environment* environment);
ESTOC_API estoc_status estoc_environment_get(const estoc_environment* environment, size_t index,
                                             estoc_variable* variable);
ESTOC_API void estoc_environment_destroy(estoc_environment* environment);

/* The cache's folder; to be destroyed. Empty where nothing is kept. */
ESTOC_API estoc_status estoc_cache_path(char** path);
/* Why the cache does not work as the environment says; to be destroyed. Empty when all is well. */
ESTOC_API estoc_status estoc_cache_problem(char** problem);
/* Bytes that the cache may take. */
ESTOC_API estoc_status estoc_cache_limit(int64_t* bytes);
/* The bytes of a size such as "512M", "8G" or "4096". */
ESTOC_API estoc_status estoc_cache_parse_size(const char* text, int64_t* bytes);
/* Removes what is damaged or was left behind by a process that died. `removed`, here and below, may
 * be NULL; else it becomes the number of files, or of kernels. */
ESTOC_API estoc_status estoc_cache_verify(int* removed);
/* Removes the kernels used longest ago until at most `bytes` are left. */
ESTOC_API estoc_status estoc_cache_prune(int64_t bytes, int* removed);
/* Removes every kernel. */
ESTOC_API estoc_status estoc_cache_clear(int* removed);

/* A kernel in the cache. */
typedef struct estoc_cached_kernel {
  size_t struct_size;
  const char* key;
  const char* kernel;
  const char* target;
  const char* compiler;
  int64_t bytes;
  int64_t last_used; /* seconds since 1970 */
  int damaged;       /* not 0: it will be compiled anew */
} estoc_cached_kernel;

/* Every kernel in it, the one used last first. */
typedef struct estoc_cache estoc_cache;
ESTOC_API estoc_status estoc_cache_list(estoc_cache** cache);
ESTOC_API size_t estoc_cache_count(const estoc_cache* cache);
ESTOC_API estoc_status estoc_cache_get(const estoc_cache* cache, size_t index,
                                       estoc_cached_kernel* kernel);
ESTOC_API void estoc_cache_destroy(estoc_cache* cache);

/* How much a message matters, most important first. */
typedef enum estoc_log_level {
  ESTOC_LOG_ERROR = 0,
  ESTOC_LOG_WARNING = 1,
  ESTOC_LOG_INFO = 2,
  ESTOC_LOG_DEBUG = 3
} estoc_log_level;
/* Gets one line without a line end, valid during the call. Several threads may call it at once, and
 * it may call the library. */
typedef void (*estoc_log_callback)(void* context, estoc_log_level level, const char* message);
/* Sends every later message of the library to `callback`; NULL ends that. A call of the one before
 * may still be running in another thread. Without a callback the library is silent. */
ESTOC_API estoc_status estoc_set_log_callback(estoc_log_callback callback, void* context);

/* Whether from now on queries, compilations and launches are NVTX ranges, which profilers show;
 * estoc/profiling.hpp says which, and where NVTX's library is looked for. ESTOC_ERROR_NOT_FOUND
 * where it is not found. */
ESTOC_API estoc_status estoc_set_nvtx_ranges(int on);

/* Names folders of Python packages, such as .../site-packages, in which NVRTC and cuBLASLt are
 * looked for before anywhere else. To be called before anything else. */
ESTOC_API estoc_status estoc_set_package_folders(const char* const* folders, size_t count);

/* Writes a text file, which appears whole or not at all. */
ESTOC_API estoc_status estoc_save_text(const char* path, const char* text);
/* Removes the temporaries of every file that the library is writing: for the handler of a signal
 * that then ends the process. Async-signal-safe. */
ESTOC_API void estoc_discard_partial_files(void);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_PROCESS_H */

/* The C interface to tuning: finding the fastest kernel by measuring, and the records of it.
 * docs/tuning.md says what a record holds for, and where it is kept.
 */
#ifndef ESTOC_C_TUNE_H
#define ESTOC_C_TUNE_H

#include "estoc/c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* Called with what a search is doing, "compiling", "timing" or "checking", and the part of that
 * which is done, 0 to 1. Returns 0 to go on, anything else to cancel. */
typedef int (*estoc_tune_progress)(void* context, const char* stage, double part);

typedef struct estoc_tune_options {
  size_t struct_size;
  const estoc_query* query; /* the kernels to choose from; its target is not looked at */
  double budget_seconds;    /* compiling included; 0: 60 */
  size_t top;               /* kernels that are compiled; 0: 32 */
  int rounds;               /* time slices that the last kernels get; 0: 40 */
  int threads;              /* that compile, and of a CPU kernel; 0: one for each core */
  uint64_t seed;            /* of the random operands */
  int force;                /* not 0: search although there is a record */
  int dry;                  /* not 0: store nothing */
  estoc_tune_progress progress;
  void* context; /* what `progress` is given */
} estoc_tune_options;

/* One record; the texts live as long as the list that it is of. */
typedef struct estoc_tuned_kernel {
  size_t struct_size;
  const char* device; /* model of the device */
  int cc;             /* ten times the compute capability; 0 for a CPU */
  const char* driver; /* CUDA version of the driver; empty for a CPU */
  const char* library;
  const char* signature;    /* what tells the problem from others */
  const char* problem;      /* its text */
  const char* kernel;       /* its name */
  double seconds;           /* measured, of one launch */
  double predicted_seconds; /* 0: not known */
  const char* runner_up;    /* the fastest other kernel; empty: none */
  double runner_up_seconds;
  double noise; /* what two timings of one kernel differed by, as a part of the first */
  int candidates;
  int rounds;
  int64_t time; /* seconds since 1970 */
} estoc_tuned_kernel;

/* An immutable list of records. */
typedef struct estoc_tuned estoc_tuned;
/* Searches for the fastest kernel for the problem of the arguments, on the device of their
 * operands, which are not touched, and stores it. `options` may be NULL. The list has one record.
 * ESTOC_ERROR_UNSUPPORTED when no kernel fits, ESTOC_ERROR_IO when it cannot be stored. */
ESTOC_API estoc_status estoc_tune(const estoc_arguments* arguments,
                                  const estoc_tune_options* options, estoc_tuned** record);
typedef struct estoc_tuner_options {
  size_t struct_size;
  double budget_seconds; /* for one problem; 0: 10 */
  size_t top;            /* kernels that are compiled; 0: 16 */
  int threads;           /* that compile; 0: 1 */
  size_t limit;          /* problems that are taken; 0: 1024 */
} estoc_tuner_options;

/* What has become of the problems of a tuner. */
typedef struct estoc_tuner_progress {
  size_t struct_size;
  size_t waiting; /* the one at hand included */
  size_t tuned;   /* those that had a record included */
  size_t failed;
} estoc_tuner_progress;

/* Tunes problem after problem on a thread of its own, of the lowest priority on the host, and
 * stores what it finds. `options` may be NULL. ESTOC_ERROR_IO where records cannot be stored. */
ESTOC_API estoc_status estoc_tuner_create(const estoc_tuner_options* options, estoc_tuner** tuner);
/* Has the problem of the arguments tuned on the device of their operands, which are not touched;
 * nothing happens for a problem that it has met before. */
ESTOC_API estoc_status estoc_tuner_add(estoc_tuner* tuner, const estoc_arguments* arguments);
/* Waits until no problem waits. */
ESTOC_API estoc_status estoc_tuner_wait(estoc_tuner* tuner);
ESTOC_API estoc_status estoc_tuner_get_progress(const estoc_tuner* tuner,
                                                estoc_tuner_progress* progress);
/* The problem that failed last, and why; empty: none. To be destroyed. */
ESTOC_API estoc_status estoc_tuner_last_failure(const estoc_tuner* tuner, char** failure);
/* Gives up the search at hand, and waits until it has ended. */
ESTOC_API void estoc_tuner_destroy(estoc_tuner* tuner);

/* The record that searches for kernels go by for the arguments: a list of one, or of none. */
ESTOC_API estoc_status estoc_tuned_find(const estoc_arguments* arguments, estoc_tuned** record);
/* Every record. */
ESTOC_API estoc_status estoc_tuned_list(estoc_tuned** records);
/* 0 for NULL. */
ESTOC_API size_t estoc_tuned_count(const estoc_tuned* records);
ESTOC_API estoc_status estoc_tuned_get(const estoc_tuned* records, size_t index,
                                       estoc_tuned_kernel* record);
/* The knobs of the record's kernel. */
ESTOC_API estoc_status estoc_tuned_get_knobs(const estoc_tuned* records, size_t index,
                                             estoc_knobs* knobs);
ESTOC_API void estoc_tuned_destroy(estoc_tuned* records);

/* The file of the records; empty: there is none. To be destroyed. */
ESTOC_API estoc_status estoc_tuned_path(char** path);
/* Removes the records for the problem on the device of the operands; all for NULL. `removed` may be
 * NULL. */
ESTOC_API estoc_status estoc_tuned_forget(const estoc_arguments* arguments, size_t* removed);

/* What merging records came to. */
typedef struct estoc_tuned_merge {
  size_t struct_size;
  size_t added;    /* of problems that had no record */
  size_t replaced; /* took the place of another */
  size_t kept;     /* gave way to the one there is, or equal it */
} estoc_tuned_merge;
/* Writes every record to a JSON file; merges those of one. Of two for one problem the one of more
 * rounds stays, of equal ones the newer. `merge` may be NULL. */
ESTOC_API estoc_status estoc_tuned_export(const char* path);
ESTOC_API estoc_status estoc_tuned_import(const char* path, estoc_tuned_merge* merge);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_TUNE_H */

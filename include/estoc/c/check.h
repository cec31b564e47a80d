/* The C interface to judging kernels: outputs against a float64 reference, times on a device. */
#ifndef ESTOC_C_CHECK_H
#define ESTOC_C_CHECK_H

#include "estoc/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* Called now and then with the part that is done, 0 to 1. Returns 0 to go on, anything else to
 * cancel. */
typedef int (*estoc_part_done)(void* context, double part);

typedef struct estoc_check_options {
  size_t struct_size;
  int64_t
      max_products; /* above it random rows are checked instead of all; 0: 2^30, on a device 2^36 */
  uint64_t seed;
  int threads; /* 0: one for each core */
  estoc_part_done progress;
  void* context; /* what `progress` is given */
} estoc_check_options;

typedef struct estoc_check_result {
  size_t struct_size;
  int passed;   /* not 0: every checked element is one that rounding explains */
  double error; /* ||out - reference|| / ||reference||; of an exact integer result the number of
                   elements that differ */
  double bound; /* the largest error that rounding explains (docs/checking.md) */
  int64_t rows_checked;
  int64_t rows_total;
} estoc_check_result;

/* Compares the output of arguments in host memory with a float64 evaluation of the operation.
 * `options` and `worst` may be NULL. `worst` becomes a text, to be destroyed, such as
 * "out[0, 3, 17]: expected 1.25, got 1.5", empty when the output passed. */
ESTOC_API estoc_status estoc_check_output(const estoc_arguments* arguments,
                                          const estoc_check_options* options,
                                          estoc_check_result* result, char** worst);

/* Judges the output of arguments on a CUDA device as often as it is computed; used by one thread at
 * a time. */
typedef struct estoc_device_check estoc_device_check;
/* Computes the reference. The inputs must not change later; what `options` names must outlive it.
 */
ESTOC_API estoc_status estoc_device_check_create(const estoc_arguments* arguments,
                                                 const estoc_check_options* options,
                                                 estoc_device_check** check);
/* The verdict on the output as it is in device memory, once the device's work is done. */
ESTOC_API estoc_status estoc_device_check_run(estoc_device_check* check, estoc_check_result* result,
                                              char** worst);
/* Why the host computes the reference; empty when the device does. */
ESTOC_API const char* estoc_device_check_host_reason(const estoc_device_check* check);
ESTOC_API void estoc_device_check_destroy(estoc_device_check* check);

typedef enum estoc_measure_mode {
  ESTOC_MEASURE_BURST = 0,     /* short slices with rests between them */
  ESTOC_MEASURE_SUSTAINED = 1, /* as in a program that computes without a pause */
  ESTOC_MEASURE_SURVEY = 2     /* three short slices a kernel, for many problems */
} estoc_measure_mode;

/* How kernels are timed; docs/performance.md has the method. 0 is what the mode has. */
typedef struct estoc_measure_options {
  size_t struct_size;
  int mode;                /* an estoc_measure_mode */
  int rounds;              /* times every kernel is visited */
  double slice_seconds;    /* length of a visit */
  uint64_t seed;           /* of the operands */
  double patience_seconds; /* a kernel whose launch takes longer is timed once */
  int noise_floor;         /* not 0: times the fastest kernel twice */
  estoc_part_done progress;
  void* context; /* what `progress` is given */
} estoc_measure_options;

/* Time of one launch of a kernel, in seconds. */
typedef struct estoc_timing {
  size_t struct_size;
  const char* kernel;
  const char* provider;
  const char* problem; /* why it could not be timed; empty when it was */
  double median;
  double low; /* quartiles */
  double high;
  const double* slices; /* one figure a round, `slice_count` of them */
  size_t slice_count;
} estoc_timing;

/* Times of kernels on one problem, in the order in which the kernels were given. */
typedef struct estoc_measurement estoc_measurement;
ESTOC_API size_t estoc_measurement_count(const estoc_measurement* measurement);
ESTOC_API estoc_status estoc_measurement_get(const estoc_measurement* measurement, size_t index,
                                             estoc_timing* timing);
/* What holds for all of them. */
typedef struct estoc_measurement_info {
  size_t struct_size;
  double sm_clock_mhz; /* medians over the rounds; 0 where NVML does not tell */
  double watts;
  double celsius;
  double noise; /* with `noise_floor`: how far two timings of one kernel were apart, as a part of
                   the first; else 0 */
  int operand_sets; /* copies of the operands that launches rotate through */
} estoc_measurement_info;
ESTOC_API estoc_status estoc_measurement_get_info(const estoc_measurement* measurement,
                                                  estoc_measurement_info* info);
ESTOC_API void estoc_measurement_destroy(estoc_measurement* measurement);

/* Times kernels on problem after problem of one device, and keeps the operands' memory; used by one
 * thread at a time. */
typedef struct estoc_measure_session estoc_measure_session;
ESTOC_API estoc_status estoc_measure_session_create(int device, estoc_measure_session** session);
/* Times kernels against each other on the problem of a text, with random operands. Outputs are not
 * checked. `options` may be NULL. */
ESTOC_API estoc_status estoc_measure(estoc_measure_session* session, const char* problem,
                                     const estoc_kernel* const* kernels, size_t count,
                                     const estoc_measure_options* options,
                                     estoc_measurement** measurement);
ESTOC_API void estoc_measure_session_destroy(estoc_measure_session* session);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_CHECK_H */

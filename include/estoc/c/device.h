/* The C interface to CUDA devices: what there is, and device memory, streams and events for
 * programs that bring none. */
#ifndef ESTOC_C_DEVICE_H
#define ESTOC_C_DEVICE_H

#include "estoc/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* A CUDA device as the driver describes it. */
typedef struct estoc_device_info {
  size_t struct_size;
  int index;
  int cc;           /* ten times the compute capability */
  const char* name; /* the driver's error where it cannot describe the device */
  const char* uuid;
  const char* target; /* "sm_90a", or "compute_121" of a device that is newer than the library */
  int64_t memory_bytes;
  int64_t l2_bytes;
  int64_t shared_bytes_per_block; /* with opt-in */
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
} estoc_device_info;
/* Number of devices; 0 without a driver. */
ESTOC_API size_t estoc_device_count(void);
ESTOC_API estoc_status estoc_device_get(size_t index, estoc_device_info* info);

/* A library that is opened at run time. */
typedef struct estoc_library_info {
  size_t struct_size;
  const char* name;    /* "CUDA driver", "NVRTC", "cuBLASLt", "NVML" */
  const char* path;    /* empty when it was not found */
  const char* version; /* "13.0" */
  const char* problem; /* one sentence, with the command that brings it; empty when usable */
} estoc_library_info;

/* What was found of NVIDIA's libraries. */
typedef struct estoc_libraries estoc_libraries;
ESTOC_API estoc_status estoc_libraries_find(estoc_libraries** libraries);
ESTOC_API size_t estoc_libraries_count(const estoc_libraries* libraries);
ESTOC_API estoc_status estoc_libraries_get(const estoc_libraries* libraries, size_t index,
                                           estoc_library_info* info);
ESTOC_API void estoc_libraries_destroy(estoc_libraries* libraries);

/* Here and below a device is the number of a CUDA device. Waits for all its work;
 * ESTOC_ERROR_DRIVER also for work that failed. */
ESTOC_API estoc_status estoc_device_synchronize(int device);
/* Has later work on `stream` wait, on the device, for what `other` has been given so far. */
ESTOC_API estoc_status estoc_await_stream(void* stream, void* other, int device);

/* Memory of a device. */
typedef struct estoc_memory estoc_memory;
ESTOC_API estoc_status estoc_memory_allocate(size_t bytes, int device, estoc_memory** memory);
/* Its address on the device; NULL for NULL. */
ESTOC_API void* estoc_memory_data(const estoc_memory* memory);
ESTOC_API size_t estoc_memory_bytes(const estoc_memory* memory);
/* Copy between host and device, and wait. */
ESTOC_API estoc_status estoc_memory_upload(estoc_memory* memory, const void* host, size_t bytes,
                                           size_t offset);
ESTOC_API estoc_status estoc_memory_download(const estoc_memory* memory, void* host, size_t bytes,
                                             size_t offset);
/* Sets every byte, in the order of `stream`. */
ESTOC_API estoc_status estoc_memory_fill(estoc_memory* memory, uint8_t value, void* stream);
ESTOC_API void estoc_memory_destroy(estoc_memory* memory);

/* A stream of a device. */
typedef struct estoc_stream estoc_stream;
ESTOC_API estoc_status estoc_stream_create(int device, estoc_stream** stream);
/* The CUstream, as runs and launches take it; NULL for NULL. */
ESTOC_API void* estoc_stream_handle(const estoc_stream* stream);
ESTOC_API estoc_status estoc_stream_synchronize(const estoc_stream* stream);
ESTOC_API void estoc_stream_destroy(estoc_stream* stream);

/* A point in time on a stream; used by one thread at a time. */
typedef struct estoc_event estoc_event;
ESTOC_API estoc_status estoc_event_create(int device, estoc_event** event);
ESTOC_API estoc_status estoc_event_record(estoc_event* event, void* stream);
/* Has later work on `stream` wait, on the device, for what was recorded. */
ESTOC_API estoc_status estoc_event_delay(const estoc_event* event, void* stream);
ESTOC_API estoc_status estoc_event_synchronize(const estoc_event* event);
/* Seconds from `start` to `event`; both must have been reached. */
ESTOC_API estoc_status estoc_event_seconds(const estoc_event* start, const estoc_event* event,
                                           double* seconds);
ESTOC_API void estoc_event_destroy(estoc_event* event);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_DEVICE_H */

/* The C interface to operands: tensors in the caller's memory, scale factors, tensors in files. */
#ifndef ESTOC_C_TENSOR_H
#define ESTOC_C_TENSOR_H

#include "estoc/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* A tensor of up to 6 modes. Data may be NULL where it is only described: kernels can then be found
 * and compiled, but nothing runs. */
typedef struct estoc_tensor {
  size_t struct_size;
  void* data;
  const char* dtype;      /* "f32", "bf16", "e4m3", ... */
  const int64_t* shape;   /* `rank` extents, outermost first */
  const int64_t* strides; /* in elements; NULL: row-major */
  int rank;
  int device;                      /* -1: the host; else the number of the CUDA device */
  int64_t alignment;               /* of a tensor without data, in bytes, up to 256; 0: 256 */
  const struct estoc_scale* scale; /* of a quantised A, B or out of a gemm; NULL: not quantised */
} estoc_tensor;

/* The scale factors of quantised data: value = data * scale, or data * scale * tensor_scale. */
typedef struct estoc_scale {
  size_t struct_size;
  const estoc_tensor* tensor; /* the factors */
  /* Which elements share a factor: "tensorwise", "rowwise", "blockwise_1x16", "blockwise_1x32",
   * "blockwise_1x128", "blockwise_128x128". Those of blockwise_1x16, of e4m3, have no sign: a
   * negative one is not refused; kernels whose tensor cores multiply by scales ignore its sign. */
  const char* mode;
  const char* swizzle;              /* NULL or "none": by strides; "swizzle_32x4x4" */
  const estoc_tensor* tensor_scale; /* one f32 for the whole tensor beside blocks; NULL: none */
  int32_t powers_of_two; /* 1: f32 factors of out, which are written, are rounded up to such */
} estoc_scale;

/* Bits that an element of the dtype takes in memory; ESTOC_ERROR_TYPE for a name of none. */
ESTOC_API estoc_status estoc_dtype_bits(const char* dtype, int* bits);
/* Reads or writes element `index` of the array at `data` in host memory. A value is rounded to the
 * nearest that the dtype has. Types of 4 bits are stored two to a byte. */
ESTOC_API estoc_status estoc_load_element(const char* dtype, const void* data, int64_t index,
                                          double* value);
ESTOC_API estoc_status estoc_store_element(const char* dtype, void* data, int64_t index,
                                           double value);
/* Fills a tensor in host memory with random data that suits its dtype, the same for equal seeds. */
ESTOC_API estoc_status estoc_fill_random(const estoc_tensor* tensor, uint64_t seed);

/* A tensor in a mapped file. */
typedef struct estoc_tensor_file estoc_tensor_file;
/* Opens FILE.npy or FILE.safetensors:TENSOR; the tensor's name may be left out where the file holds
 * one. */
ESTOC_API estoc_status estoc_tensor_file_open(const char* path, estoc_tensor_file** file);
/* Its tensor, whose memory lives as long as `file`. */
ESTOC_API estoc_status estoc_tensor_file_get(const estoc_tensor_file* file, estoc_tensor* tensor);
ESTOC_API void estoc_tensor_file_destroy(estoc_tensor_file* file);
/* Names of the tensors in a .safetensors file, in file order. */
ESTOC_API estoc_status estoc_tensor_file_names(const char* path, estoc_strings** names);
/* Writes a tensor in host memory to FILE.npy or FILE.safetensors:NAME, row-major. The file appears
 * whole or not at all. */
ESTOC_API estoc_status estoc_tensor_save(const char* path, const estoc_tensor* tensor);
/* Fails as estoc_tensor_save would for the path and the dtype, before any work is done. */
ESTOC_API estoc_status estoc_tensor_check_save(const char* path, const char* dtype);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_TENSOR_H */

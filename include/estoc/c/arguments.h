/* The C interface to operations: what to compute on which operands, and how. */
#ifndef ESTOC_C_ARGUMENTS_H
#define ESTOC_C_ARGUMENTS_H

#include "estoc/c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN: the rules for C++ do not hold for C */

/* How an operation is carried out. All 0: exact semantics. The ints are 0 or not. */
typedef struct estoc_controls {
  size_t struct_size;
  int allow_tf32;          /* f32 operands may be rounded to tf32 */
  int fast_accumulation;   /* products of 8-bit floats may be summed with about 14 bits */
  int deterministic;       /* the same input gives the same bits on the same device */
  int batch_invariant;     /* bits of a row of out do not depend on the other rows */
  int limit_workspace;     /* kernels that need more workspace than the limit are left out */
  int64_t workspace_limit; /* bytes */
  int allow_bf16x6;        /* f32 operands may be split into three bf16 parts */
} estoc_controls;

/* What a name of an epilogue stands for: a tensor, which is read or written, or a number. */
typedef struct estoc_operand {
  size_t struct_size;
  const char* name;
  const estoc_tensor* tensor; /* NULL: the number */
  double number;
  const char* dtype; /* of the number; NULL: that in which the epilogue computes */
  int is_integer;    /* not 0: `integer` is the number, of i32 unless `dtype` says otherwise */
  int64_t integer;
} estoc_operand;

/* out = A @ B: A (m, k), B (k, n), out (m, n), each with a batch mode in front where there is one.
 * An epilogue is a program such as "D = relu(alpha * accum + bias); amax = absmax(D)", in which D
 * is out (docs/epilogues.md). */
typedef struct estoc_gemm {
  size_t struct_size;
  const estoc_tensor* a;
  const estoc_tensor* b;
  const estoc_tensor* out;
  const char* accumulator; /* "f32", "f64", "i32", "f16"; NULL: f64 for f64, i32 for integers, else
                              f32 */
  const char* epilogue;    /* NULL: out is the accumulator */
  const estoc_operand* operands; /* of the epilogue: its inputs, and its outputs other than D */
  size_t operand_count;
  const estoc_controls* controls; /* NULL: all 0 */
} estoc_gemm;

/* Products of groups of rows, columns or summands. The numbers of modes of A and B say which:
 * A (m, k), B (g, k, n), out (m, n): groups of rows; A (g, m, k), B (k, n), out (m, n): of columns;
 * A (m, k), B (k, n), out (g, m, n): of K; three modes each: a batched product, without offsets.
 * Offsets are of i32 and shape (g), on the operands' device: where each group ends. A group begins
 * where the one before it ends, the first one at 0; whatever offsets hold, it ends neither before
 * it begins nor beyond the mode. */
typedef struct estoc_grouped_gemm {
  size_t struct_size;
  const estoc_tensor* a;
  const estoc_tensor* b;
  const estoc_tensor* out;
  const estoc_tensor* offsets; /* NULL for a batched product */
  int zero_rest; /* not 0: rows or columns of no group are a product of zeros, not left as they are
                  */
  const char* accumulator;       /* as of estoc_gemm */
  const char* epilogue;          /* NULL: out is the accumulator */
  const estoc_operand* operands; /* of the epilogue: its inputs, and its outputs other than D */
  size_t operand_count;
  const estoc_controls* controls; /* NULL: all 0 */
  const char* layout; /* of the offsets: NULL or "ends", "prefix", "masked", "ranges", "pointers" */
  const estoc_tensor* rows; /* NULL, or i32 of shape (m): A is (r, k), and row i of the product's A
                               is A's row rows[i], or zeros where A has no such row; for groups of
                               rows, without scales */
} estoc_grouped_gemm;

/* A group of the layout "pointers": out (m, n) = A (m, k) @ B (k, n), anywhere. Offsets are a table
 * of these on the device, given as i32 of shape (g, 12), entries aligned to 16 bytes. A (g, m, k),
 * B (g, k, n) and out (g, m, n) of the arguments are tensors without data: dtypes, by their strides
 * whether rows or columns are contiguous (rows where both strides are 1), the largest extents of a
 * group, and by `alignment` what addresses and leading dimensions are multiples of, in bytes. What
 * lies beyond the largest extents is cut off. Where A, B or out has data, matrices lie in it, and
 * entries have distances in bytes from it. No scales, no epilogue. */
typedef struct estoc_group_entry {
  uint64_t a, b, out;                     /* addresses */
  int32_t m, n, k;                        /* less than 0: 0 */
  int32_t a_stride, b_stride, out_stride; /* leading dimensions, in elements */
} estoc_group_entry;

/* out = op(A), op(A, B), or D of an epilogue whose accumulator is A, element by element. A, B and
 * the epilogue's tensors broadcast to out's shape. */
typedef struct estoc_elementwise {
  size_t struct_size;
  const char* op; /* "add", "relu", "identity", ...; NULL beside an epilogue */
  const estoc_tensor* a;
  const estoc_tensor* b; /* NULL for an operation of one operand */
  const estoc_tensor* out;
  const estoc_controls* controls; /* NULL: all 0 */
  const char* epilogue;           /* NULL for a named operation */
  const estoc_operand* operands;  /* of the epilogue: its inputs */
  size_t operand_count;
} estoc_elementwise;

/* An operation on its operands; immutable. It holds addresses and no data. */
typedef struct estoc_arguments estoc_arguments;
ESTOC_API estoc_status estoc_arguments_gemm(const estoc_gemm* gemm, estoc_arguments** arguments);
ESTOC_API estoc_status estoc_arguments_grouped_gemm(const estoc_grouped_gemm* grouped,
                                                    estoc_arguments** arguments);
ESTOC_API estoc_status estoc_arguments_elementwise(const estoc_elementwise* elementwise,
                                                   estoc_arguments** arguments);
/* The arguments, without data, that a problem text describes, such as
 * "gemm m=64 n=4096 k=4096 a=bf16:t b=bf16:n" (docs/problem_text.md). `device` as in a tensor. */
ESTOC_API estoc_status estoc_arguments_parse(const char* text, int device,
                                             estoc_arguments** arguments);
/* The problem text of arguments; to be destroyed. */
ESTOC_API estoc_status estoc_arguments_text(const estoc_arguments* arguments, char** text);
/* The canonical text of the epilogue, as estoc_kernel_with_epilogue takes it; to be destroyed.
 * Empty when out is the accumulator. */
ESTOC_API estoc_status estoc_arguments_epilogue(const estoc_arguments* arguments, char** canonical);
/* The work that an operation takes at least. */
typedef struct estoc_work {
  size_t struct_size;
  double
      flops; /* multiplications and additions of a product; 0 where memory bounds the operation */
  double bytes; /* of all elements of the operands */
} estoc_work;
ESTOC_API estoc_status estoc_arguments_work(const estoc_arguments* arguments, estoc_work* work);
/* The same product of A, B and out that lie elsewhere and are otherwise alike; scale factors and
 * the epilogue's operands stay where they are. ESTOC_ERROR_TYPE for another operation. */
ESTOC_API estoc_status estoc_arguments_move(const estoc_arguments* arguments, void* a, void* b,
                                            void* out, estoc_arguments** moved);
ESTOC_API void estoc_arguments_destroy(estoc_arguments* arguments);

/* The names that an epilogue uses and those that it assigns, in the order in which they occur; D is
 * among the latter. Either list may be NULL. ESTOC_ERROR_VALUE, with the column, for text that is
 * no epilogue. */
ESTOC_API estoc_status estoc_epilogue_names(const char* epilogue, estoc_strings** inputs,
                                            estoc_strings** outputs);
/* NOLINTEND */

#ifdef __cplusplus
}
#endif

#endif /* ESTOC_C_ARGUMENTS_H */

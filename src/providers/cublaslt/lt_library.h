// cuBLASLt, opened at run time: the functions and constants of its ABI that Estoc uses, and owners
// of its descriptors. Values: cuBLAS reference, cublasLt API, versions 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "estoc/dtype.hpp"
#include "jit/cuda_types.h"

namespace estoc::cublaslt {

struct LtContext;
struct MatmulDescHandle;
struct LayoutHandle;
struct PreferenceHandle;

/// cudaDataType_t
enum class DataType : int {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  i8 = 3,
  i32 = 10,
  bf16 = 14,
  e4m3 = 28,
  e5m2 = 29,
  e2m1 = 33,
};

/// cublasComputeType_t
enum class ComputeType : int { f32 = 68, f64 = 70, i32 = 72, f32_fast_tf32 = 77 };

/// cublasOperation_t
enum class Transpose : int { no = 0, yes = 1 };

/// cublasLtOrder_t
enum class Order : int { column = 0, row = 1 };

/// cublasLtMatmulDescAttributes_t
enum class DescAttribute : int {
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias_pointer = 8,
  bias_batch_stride = 10,
  a_scale_pointer = 17,
  b_scale_pointer = 18,
  fast_accumulation = 25,
  bias_data_type = 26,
  a_scale_mode = 31,  // of 12.8 and later, as the next
  b_scale_mode = 32,
};

/// cublasLtMatrixLayoutAttribute_t
enum class LayoutAttribute : int { order = 1, batch_count = 5, batch_stride = 6 };

/// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int {
  max_workspace = 1,
  reduction_schemes = 3,
  alignment_a = 5,
  alignment_b = 6,
  alignment_c = 7,
  alignment_d = 8,
};

/// cublasLtMatmulAlgoConfigAttributes_t; inner_shape and cluster_shape are numbers of 16 bits, the
/// others of 32.
enum class ConfigAttribute : int {
  id = 0,
  tile = 1,
  split_k = 2,
  reduction_scheme = 3,
  swizzle = 4,
  stages = 6,
  inner_shape = 7,
  cluster_shape = 8,
};

/// cublasLtMatmulAlgo_t
struct Algorithm {
  std::uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

/// Functions of cuBLASLt 12.0 and later.
struct LtTable {
  using Status = int;
  Status (*create)(LtContext**);
  Status (*destroy)(LtContext*);
  std::size_t (*get_version)();
  const char* (*get_status_name)(Status);
  Status (*desc_create)(MatmulDescHandle**, ComputeType, DataType scale);
  Status (*desc_destroy)(MatmulDescHandle*);
  Status (*desc_set)(MatmulDescHandle*, DescAttribute, const void*, std::size_t);
  Status (*layout_create)(LayoutHandle**, DataType, std::uint64_t rows, std::uint64_t columns,
                          std::int64_t leading_dimension);
  Status (*layout_destroy)(LayoutHandle*);
  Status (*layout_set)(LayoutHandle*, LayoutAttribute, const void*, std::size_t);
  Status (*preference_create)(PreferenceHandle**);
  Status (*preference_destroy)(PreferenceHandle*);
  Status (*preference_set)(PreferenceHandle*, PreferenceAttribute, const void*, std::size_t);
  Status (*get_heuristic)(LtContext*, MatmulDescHandle*, LayoutHandle* a, LayoutHandle* b,
                          LayoutHandle* c, LayoutHandle* d, PreferenceHandle*, int requested,
                          HeuristicResult*, int* count);
  Status (*matmul)(LtContext*, MatmulDescHandle*, const void* alpha, const void* a,
                   LayoutHandle* a_layout, const void* b, LayoutHandle* b_layout, const void* beta,
                   const void* c, LayoutHandle* c_layout, void* d, LayoutHandle* d_layout,
                   const Algorithm*, void* workspace, std::size_t workspace_bytes, jit::CUstream);
  /// Null in a library that does not have it.
  Status (*algo_get)(const Algorithm*, ConfigAttribute, void*, std::size_t bytes,
                     std::size_t* written);

  std::string path;

  /// Throws Error{driver}: "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
  void check(Status status, std::string_view call) const;
};

inline constexpr LtTable::Status kLtSuccess = 0;

/// The library, or nullptr with one sentence in `problem`. Opened at the first call.
const LtTable* lt_table(std::string* problem = nullptr);

/// "130100" for 13.1.0; empty without the library.
std::string lt_version();

/// cuBLASLt's own state for the current CUDA context; made at the first call, kept as long as the
/// process.
LtContext* lt_context();

/// Frees what a create function of the table gave.
template <typename Handle, LtTable::Status (*LtTable::*destroy)(Handle*)>
struct LtDeleter {
  void operator()(Handle* handle) const { (lt_table()->*destroy)(handle); }
};
using MatmulDesc =
    std::unique_ptr<MatmulDescHandle, LtDeleter<MatmulDescHandle, &LtTable::desc_destroy>>;
using MatrixLayout =
    std::unique_ptr<LayoutHandle, LtDeleter<LayoutHandle, &LtTable::layout_destroy>>;
using Preference =
    std::unique_ptr<PreferenceHandle, LtDeleter<PreferenceHandle, &LtTable::preference_destroy>>;

}  // namespace estoc::cublaslt

// Stands for cuBLASLt: notes what it is called with and computes nothing. f32 factors alone.
#include "cublaslt.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Desc {
  const void* bias = nullptr;
  const void* a_scale = nullptr;
  const void* b_scale = nullptr;
};

constexpr int kBiasPointer = 8;
constexpr int kAScalePointer = 17;
constexpr int kBScalePointer = 18;

template <class Handle>
int make(Handle** handle) {
  *handle = new Handle;
  return 0;
}

}  // namespace

// NOLINTBEGIN: names and parameters are those of cuBLASLt
extern "C" {

estoc::cublaslt::NotedCall estoc_noted_call;

int cublasLtCreate(int** context) {
  return make(context);
}
int cublasLtDestroy(int* context) {
  delete context;
  return 0;
}
std::size_t cublasLtGetVersion() {
  return 130100;
}
const char* cublasLtGetStatusName(int) {
  return "a status";
}
int cublasLtMatmulDescCreate(Desc** desc, int, int) {
  return make(desc);
}
int cublasLtMatmulDescDestroy(Desc* desc) {
  delete desc;
  return 0;
}
int cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value, std::size_t size) {
  const void** const pointer = attribute == kBiasPointer     ? &desc->bias
                               : attribute == kAScalePointer ? &desc->a_scale
                               : attribute == kBScalePointer ? &desc->b_scale
                                                             : nullptr;
  if (pointer != nullptr) std::memcpy(pointer, value, size);
  return 0;
}
int cublasLtMatrixLayoutCreate(int** layout, int, std::uint64_t, std::uint64_t, std::int64_t) {
  return make(layout);
}
int cublasLtMatrixLayoutDestroy(int* layout) {
  delete layout;
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(int*, int, const void*, std::size_t) {
  return 0;
}
int cublasLtMatmulPreferenceCreate(int** preference) {
  return make(preference);
}
int cublasLtMatmulPreferenceDestroy(int* preference) {
  delete preference;
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(int*, int, const void*, std::size_t) {
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(int*, Desc*, int*, int*, int*, int*, int*, int, void*,
                                   int* count) {
  *count = 0;
  return 0;
}
int cublasLtMatmul(int*, Desc* desc, const float* alpha, const void* a, int*, const void* b, int*,
                   const float* beta, const void* c, int*, void* d, int*, const void*, void*,
                   std::size_t, void*) {
  estoc_noted_call = {a, b, c, d, desc->bias, desc->a_scale, desc->b_scale, *alpha, *beta};
  return 0;
}
}
// NOLINTEND

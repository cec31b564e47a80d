// What the stand-in for cuBLASLt notes of a call of cublasLtMatmul.
#pragma once

namespace estoc::cublaslt {

struct NotedCall {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  const void* a_scale;
  const void* b_scale;
  float alpha;
  float beta;
};

/// The name of the variable that holds the latest call.
inline constexpr const char* kNotedCall = "estoc_noted_call";

}  // namespace estoc::cublaslt

// Cluster launch control: a running cluster takes over the work of one that has not begun (PTX ISA
// 9.7.13.17-18, clusterlaunchcontrol).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// clusterlaunchcontrol.try_cancel: asks that a cluster of the grid that has not begun never does.
/// The answer, 16 bytes, goes to `response`, a multiple of 16, by the async proxy; `barrier`
/// receives its bytes. One thread of the cluster calls it, and no more once an answer was no.
__device__ __forceinline__ void clusterlaunchcontrol_try_cancel(u32 response, u32 barrier,
                                                                int = __builtin_LINE()) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], "
      "[%1];" ::"r"(response),
      "r"(barrier)
      : "memory");
}

/// The same; answer and bytes go to these places in every CTA of the cluster.
__device__ __forceinline__ void clusterlaunchcontrol_try_cancel_multicast(u32 response, u32 barrier,
                                                                          int = __builtin_LINE()) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
      ".multicast::cluster::all.b128 [%0], [%1];" ::"r"(response),
      "r"(barrier)
      : "memory");
}

/// clusterlaunchcontrol.query_cancel.is_canceled: whether a cluster was cancelled, by the answer.
__device__ __forceinline__ bool clusterlaunchcontrol_is_canceled(const Words<4>& response,
                                                                 int = __builtin_LINE()) {
  u32 canceled;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 low, high;\n"
      ".reg .b128 r;\n"
      "mov.b64 low, {%1, %2};\n"
      "mov.b64 high, {%3, %4};\n"
      "mov.b128 r, {low, high};\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(canceled)
      : "r"(response.word[0]), "r"(response.word[1]), "r"(response.word[2]), "r"(response.word[3]));
  return canceled != 0;
}

/// clusterlaunchcontrol.query_cancel.get_first_ctaid::x, of a cluster that was cancelled.
__device__ __forceinline__ u32 clusterlaunchcontrol_first_ctaid_x(const Words<4>& response,
                                                                  int = __builtin_LINE()) {
  u32 index;
  asm volatile(
      "{\n"
      ".reg .b64 low, high;\n"
      ".reg .b128 r;\n"
      "mov.b64 low, {%1, %2};\n"
      "mov.b64 high, {%3, %4};\n"
      "mov.b128 r, {low, high};\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, r;\n"
      "}"
      : "=r"(index)
      : "r"(response.word[0]), "r"(response.word[1]), "r"(response.word[2]), "r"(response.word[3]));
  return index;
}

}  // namespace estoc::ptx

// Uses every wrapper of cluster launch control, so that compiling it shows that each is what ptxas
// takes.
#include <estoc/ptx/launch_control.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>

extern "C" __global__ void __launch_bounds__(128, 1) estoc_kernel(estoc::u64 out) {
  namespace ptx = estoc::ptx;
  const estoc::u32 shared = ptx::smem_base();
  ptx::clusterlaunchcontrol_try_cancel(shared, shared + 64);
  ptx::clusterlaunchcontrol_try_cancel_multicast(shared + 16, shared + 72);
  const estoc::Words<4> answer = ptx::ld_shared<4>(shared);
  if (!ptx::clusterlaunchcontrol_is_canceled(answer)) return;
  ptx::st_global<1>(out, {ptx::clusterlaunchcontrol_first_ctaid_x(answer)});
}

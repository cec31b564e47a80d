// Ranges of time for profilers that understand NVTX, such as Nsight Systems.
#pragma once

namespace estoc {

/// Whether from now on queries, compilations and launches are NVTX ranges on the thread that does
/// them: "estoc get_kernels", "estoc compile NAME", and "NAME" of the kernel that Kernel::run or a
/// Plan launches. They are off until then, unless ESTOC_NVTX is `on` in the environment, or names
/// the file of a library, when the library's first query is made.
///
/// NVTX's library is libnvtx3interop.so.1 or libnvToolsExt.so.1, which come with the pip packages
/// nvidia-nvtx and nvidia-nvtx-cu12; it is looked for as NVRTC is. Throws Error{not_found} where it
/// is not found, and Error{io} where the one that ESTOC_NVTX names does not open.
void set_nvtx_ranges(bool on);

}  // namespace estoc

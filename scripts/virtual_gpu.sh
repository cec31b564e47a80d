#!/usr/bin/env bash
# Runs a command as if this machine had GPUs, which are the emulator's; docs/virtual_gpu.md.
# Usage: virtual_gpu.sh COMMAND [ARGUMENT...]
# ESTOC_VIRTUAL_GPU=sm_90a,sm_80 names other devices, ESTOC_BUILD another folder than build/release.
set -euo pipefail
script=$(readlink -f "${BASH_SOURCE[0]}")
folder=${ESTOC_BUILD:-$(dirname "$script")/../build/release}/virtual_gpu
if [[ ! -e $folder/libcuda.so.1 ]]; then
  echo "virtual_gpu.sh: $folder is not built; scripts/build.sh release builds it" >&2
  exit 1
fi
export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export ESTOC_NVRTC=$folder/libnvrtc.so ESTOC_CUBLASLT=off
# It runs no code of NVIDIA's compiler.
export ESTOC_KERNEL_PACK=${ESTOC_KERNEL_PACK:-off}
exec "$@"

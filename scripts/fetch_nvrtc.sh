#!/usr/bin/env bash
# Installs NVIDIA's compiler library NVRTC, and the disassembler, from PyPI into build/nvrtc, for the
# tests that compile kernels; does nothing where they are already. Prints the library's path.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build/nvrtc

library() {
  find "$folder" -name 'libnvrtc.so.1[23]' -print -quit 2>/dev/null || true
}

if [[ -z $(library) ]]; then
  "$root/scripts/install_packages.sh" nvrtc >&2
  mkdir -p "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-nvdisasm>=13.2,<14'
fi
path=$(library)
if [[ -z $path ]]; then
  echo "fetch_nvrtc: there is no libnvrtc.so in $folder" >&2
  exit 1
fi
echo "$path"

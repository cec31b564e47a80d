#!/usr/bin/env bash
# Makes packs: the kernels that are ranked first for common problems, compiled for an architecture,
# each as a file that the library finds by itself and as a wheel. Needs no GPU; NVRTC is that of
# ESTOC_NVRTC, else one from PyPI. The same sources and NVRTC give the same bytes. docs/packs.md says
# where packs are found.
# Usage: kernel_pack.sh [--problems FILE] [--out FOLDER] [TARGET...]
#   --problems   a file of problem texts in place of bench/problems/pack.txt and the others there
#   --out        build/packs by default; the files go to FOLDER/estoc_kernels, the wheels to FOLDER
#   TARGET       sm_90a and sm_80 by default
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
problems=
out=$root/build/packs
while [[ ${1:-} == --* ]]; do
  case $1 in
    --problems) problems=$2 ;;
    --out) out=$2 ;;
    *) echo "kernel_pack: expected --problems or --out, got $1" >&2; exit 2 ;;
  esac
  shift 2
done
targets=("$@")
((${#targets[@]} > 0)) || targets=(sm_90a sm_80)
most_bytes=$((30 * 1000 * 1000))
estoc=${ESTOC:-$root/build/release/estoc}
if [[ ! -x $estoc ]]; then
  echo "kernel_pack: $estoc is not built; scripts/build.sh release estoc_cli builds it" >&2
  exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [[ -z $problems ]]; then
  problems=$scratch/problems.txt
  cat "$root"/bench/problems/*.txt >"$problems"
fi

# Neither what was tuned on this machine nor a pack that is there may decide what is in a pack.
export ESTOC_TUNED=off ESTOC_KERNEL_PACK=off ESTOC_CUBLASLT=off
ESTOC_NVRTC=${ESTOC_NVRTC:-$("$root/scripts/fetch_nvrtc.sh" | tail -1)}
export ESTOC_NVRTC
mkdir -p "$out/estoc_kernels"
for target in "${targets[@]}"; do
  file=$out/estoc_kernels/$target.estoc
  "$estoc" compile "@$problems" --skip --target "$target" -o "$file" --json >"$scratch/made.json"
  bytes=$(stat --format %s "$file")
  if ((bytes > most_bytes)); then
    echo "kernel_pack: $file has $bytes bytes, more than $most_bytes" >&2
    exit 1
  fi
  wheel=$(python3 -B "$root/scripts/kernel_pack_wheel.py" "$file" --out "$out")
  kernels=$(grep -c '"code_bytes"' "$scratch/made.json")
  echo "$file: $kernels kernels, $bytes bytes; $wheel"
done

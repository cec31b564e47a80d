#!/usr/bin/env bash
# Builds Estoc and runs its main job on the digits in examples/data. Usage: quickstart.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/build.sh" release cli/all examples/all

build=$root/build/release
estoc=$build/estoc
data=$root/examples/data
out=$root/build/quickstart
mkdir -p "$out"

# Prints a command the way one would type it, then runs it.
show() {
  echo
  printf '$'
  printf ' %s' "${@@Q}" | sed "s|$root/||g; s/'\([A-Za-z0-9_./:=-]*\)'/\1/g"
  echo
  "$@"
}

cd "$root"
echo
echo "1. The kernels for the classifier's first layer, the one to use first:"
show "$estoc" find 'gemm m=360 n=128 k=64 a=f16:t b=bf16:n' --top 5

echo
echo "2. The best of them on 360 images, checked against float64:"
show "$estoc" run 'gemm b=bf16:n' --a "$data/digits_images.npy" \
  --b "$data/digits_classifier.safetensors:fc1.weight" --out "$out/hidden.npy" --check

echo
echo "3. Both layers, from C++ (examples/digits.cpp):"
show "$build/examples/digits" "$data" "$out/digits_predictions.npy"

echo
echo "Done. The first layer's output is in $out/hidden.npy,"
echo "the predicted digits in $out/digits_predictions.npy."
echo "The command is $estoc; this makes it 'estoc':"
echo "  export PATH=$build:\$PATH"

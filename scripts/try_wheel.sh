#!/usr/bin/env bash
# Installs a wheel in an environment that has nothing else (no compiler, no other package, no variable of
# ours), runs it, and says how long it took to the first result.
# Usage: try_wheel.sh WHEEL PYTHON
set -euo pipefail
wheel=$(realpath "$1")
python=$2
most_seconds=20
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/program.py" <<'SCRIPT'
import array
import copy
import sys

import estoc

a, out = array.array("d", [1, 2, 3, 4]), array.array("d", bytes(32))
square, result = estoc.Tensor(a, shape=(2, 2)), estoc.Tensor(out, shape=(2, 2))
args = estoc.GemmArguments(square, square, result)
kernel = copy.copy(estoc.get_kernels(args)[0])
kernel.run(args, copy.copy(kernel.compile(args)))
assert list(out) == [7, 10, 15, 22], out
assert estoc.matmul(square, square, result) is result
estoc.plan(square, square, result, epilogue=lambda accum: relu(accum - 9))()
assert list(out) == [0, 1, 6, 13], out
assert estoc.get_kernels(target="sm_90a")[0].metadata.targets
folder = estoc.__file__.rpartition("/")[0]
assert open(folder + "/py.typed") and "class GemmArguments" in open(folder + "/_estoc.pyi").read()
assert not {"numpy", "torch", "jax", "cupy"} & set(sys.modules)
SCRIPT
cd "$scratch"
"$python" -m venv clean
start=$(date +%s%N)
clean/bin/python -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
env -i clean/bin/python program.py
milliseconds=$((($(date +%s%N) - start) / 1000000))
env -i clean/bin/estoc find 'gemm m=64 n=64 k=64 a=f32' >/dev/null
env -i clean/bin/python -m estoc list --count >/dev/null
echo "from pip install to the first result: $milliseconds ms"
if ((milliseconds > 1000 * most_seconds)); then
  echo "try_wheel: expected at most $most_seconds s" >&2
  exit 1
fi

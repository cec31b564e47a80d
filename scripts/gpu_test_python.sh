#!/usr/bin/env bash
# Tests the Python package on a machine with a GPU, with the frameworks that its python3 has: builds
# the extension module beside archives of the library that are there, runs the tests, those on a GPU
# too, and measures host time.
# Usage: gpu_test_python.sh SOURCES ARCHIVES [OUT]
#   SOURCES    the repository, or as much of it as a pack of gpu_test.sh has
#   ARCHIVES   the folder of libestoc.a and its like, such as build/release
#   OUT        folder of python_host_time.json (default: gpu_test_results)
# Needs python3 with nanobind and pytest, cmake and a C++20 compiler; fetches nothing.
set -euo pipefail
sources=$(cd "${1:?where are the sources?}" && pwd)
archives=$(cd "${2:?where are the archives?}" && pwd)
out=${3:-gpu_test_results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "gpu_test_python: $*" >&2
  exit 1
}

for module in nanobind pytest numpy ml_dtypes; do
  python3 -c "import $module" 2>/dev/null || fail "python3 has no $module here"
done
command -v cmake >/dev/null || fail "there is no cmake here"
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
version=$(sed -n 's/^project(estoc VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")
echo "building the extension module for $(python3 --version)"
{
  cmake -S "$sources/cmake/python_alone" -B "$scratch/build" "${generator[@]}" \
    -DESTOC_ARCHIVES="$archives" -DESTOC_VERSION="$version" \
    -DPython_EXECUTABLE="$(command -v python3)"
  cmake --build "$scratch/build" --parallel "$(nproc)" --target estoc_python
} >"$scratch/build.log" 2>&1 || {
  tail -n 40 "$scratch/build.log"
  fail "the extension module cannot be built"
}

export PYTHONPATH=$scratch/build/python PYTHONDONTWRITEBYTECODE=1
export ESTOC_CACHE_DIR=${ESTOC_CACHE_DIR:-$scratch/cache}
python3 -c 'import estoc, sys; sys.exit(not estoc.cuda_devices())' || fail "there is no GPU here"
status=0
(cd "$sources/tests/python" && python3 -m pytest -q -p no:cacheprovider --rootdir "$sources" --ignore virtual_gpu .) ||
  status=$?
python3 "$sources/bench/python_host_time.py" --out "$out/python_host_time.json" || status=$?
[[ $status == 0 ]] || fail "failed"
echo "passed; the figures are in $out/python_host_time.json"

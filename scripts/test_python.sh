#!/usr/bin/env bash
# Builds the Python package into a build folder and tests it: with NumPy and ml_dtypes, on the virtual
# GPU, and with torch, JAX, Triton and CuTe DSL where there is an environment that has them.
# Usage: test_python.sh [--build FOLDER] [--frameworks] [PYTEST OPTION...]
#   --build FOLDER   build/release by default
#   --frameworks     makes that environment, of about 6 GB, in $ESTOC_FRAMEWORKS, by default
#                    ~/.cache/estoc/frameworks; it is used by every later run
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
frameworks=${ESTOC_FRAMEWORKS:-${XDG_CACHE_HOME:-$HOME/.cache}/estoc/frameworks}
make_frameworks=false
while [[ $# != 0 ]]; do
  case $1 in
    --build)
      build=$(realpath -m "$2")
      shift
      ;;
    --frameworks) make_frameworks=true ;;
    *) break ;;
  esac
  shift
done
python=$root/build/python/bin/python

"$root/scripts/install_packages.sh" build
"$root/scripts/python_environment.sh"
cd "$root"
if $make_frameworks && [[ ! -x $frameworks/bin/python ]]; then
  echo "Making $frameworks"
  python3 -m venv "$frameworks"
  "$frameworks/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r scripts/python_packages.txt torch jax nvidia-cutlass-dsl nvidia-cutlass-operators apache-tvm-ffi
fi
if [[ ! -f $build/CMakeCache.txt ]]; then
  "$root/scripts/build.sh" --configure "$(basename "$build")"
fi
cmake -S . -B "$build" -DESTOC_BUILD_PYTHON=ON -DPython_EXECUTABLE="$python" >/dev/null
echo "Building ${build#"$root"/}/python"
cmake --build "$build" --target estoc_python estoc_stub estoc_cli estoc_virtual_driver estoc_virtual_nvrtc
cd tests/python
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python ESTOC_PROGRAMS=$build ESTOC_BUILD=$build
pytest=(-m pytest -q -p no:cacheprovider --rootdir "$root")
tested=$python
if [[ -x $frameworks/bin/python ]]; then
  "$frameworks/bin/python" -c 'import estoc' || {
    echo "test_python: $frameworks is of another Python than build/python; remove it" >&2
    exit 1
  }
  tested=$frameworks/bin/python
  "$tested" -c 'import xdist' 2>/dev/null ||
    "$tested" -m pip install --quiet --disable-pip-version-check -r "$root/scripts/python_packages.txt"
else
  echo "NOT TESTED: torch, JAX, Triton and CuTe DSL; scripts/test_python.sh --frameworks installs them (6 GB)"
fi
"$tested" "${pytest[@]}" --numprocesses auto --ignore virtual_gpu "$@" .
if [[ $# == 0 ]]; then
  "$root/scripts/virtual_gpu.sh" "$python" "${pytest[@]}" virtual_gpu
fi

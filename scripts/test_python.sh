#!/usr/bin/env bash
# Builds the Python package into a build folder and tests it, with NumPy and ml_dtypes alone.
# Usage: test_python.sh [--build FOLDER] [PYTEST OPTION...]    (build/release by default)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
if [[ ${1:-} == --build ]]; then
  build=$(realpath -m "$2")
  shift 2
fi
python=$root/build/python/bin/python

"$root/scripts/install_packages.sh" build python
cd "$root"
if ! "$python" -c 'import auditwheel, hypothesis, ml_dtypes, mypy, nanobind, numpy, pytest, scikit_build_core, tqdm' 2>/dev/null; then
  echo "Making build/python"
  python3 -m venv build/python
  "$python" -m pip install --quiet --disable-pip-version-check -r scripts/python_packages.txt
fi
if [[ ! -f $build/CMakeCache.txt ]]; then
  "$root/scripts/build.sh" --configure "$(basename "$build")"
fi
cmake -S . -B "$build" -DESTOC_BUILD_PYTHON=ON -DPython_EXECUTABLE="$python" >/dev/null
echo "Building ${build#"$root"/}/python"
cmake --build "$build" --target estoc_python estoc_stub estoc_virtual_driver estoc_virtual_nvrtc
cd tests/python
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python ESTOC_PROGRAMS=$build ESTOC_BUILD=$build
pytest=("$python" -m pytest -q -p no:cacheprovider --rootdir "$root")
"${pytest[@]}" --ignore virtual_gpu "$@" .
if [[ $# == 0 ]]; then
  "$root/scripts/virtual_gpu.sh" "${pytest[@]}" virtual_gpu
fi

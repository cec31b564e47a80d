#!/usr/bin/env bash
# Makes build/python, the environment that builds and tests the Python package, where it is not complete.
# Usage: python_environment.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/build/python/bin/python
needed='auditwheel, hypothesis, ml_dtypes, mypy, nanobind, numpy, pytest, scikit_build_core, tqdm, xdist'

"$root/scripts/install_packages.sh" python
if ! "$python" -c "import $needed" 2>/dev/null; then
  echo "Making build/python"
  python3 -m venv "$root/build/python"
  "$python" -m pip install --quiet --disable-pip-version-check -r "$root/scripts/python_packages.txt"
fi

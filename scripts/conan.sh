#!/usr/bin/env bash
# Makes the Conan package from this folder, and builds and runs a program against it, without a remote.
# Usage: conan.sh    (Conan's own folder and cache are build/conan)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/build/conan/tools/bin
"$root/scripts/install_packages.sh" build python
if [[ ! -x $tools/conan ]]; then
  python3 -m venv "$root/build/conan/tools"
  "$tools/python" -m pip install --quiet --disable-pip-version-check conan
fi
export CONAN_HOME=$root/build/conan/home
trap 'rm -rf "$root/tests/install/conan/build"' EXIT
"$tools/conan" profile detect --force >/dev/null
"$tools/conan" create "$root" --no-remote --settings compiler.cppstd=20 --test-folder tests/install/conan

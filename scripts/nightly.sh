#!/usr/bin/env bash
# Runs whole what .ci/run does in part: every planted fault and cover, clang-tidy on every file, the
# tests with torch, JAX and Triton, source distribution and Conan package from scratch, the site in a
# browser, and the fuzz targets for an hour.
# Usage: nightly.sh [SECONDS]    (3600; how long each fuzz target runs)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
failed=()

# Runs a command; what fails is named in the end.
part() {
  printf '\n== %s\n' "$*"
  "$@" || failed+=("$*")
}

export ESTOC_TEST_EVERYTHING=1
part scripts/test_python.sh --frameworks
part .ci/run
part scripts/wheel.sh
part scripts/conan.sh
part scripts/kernel_pack.sh
part scripts/lint.sh --all
part scripts/site.sh
part scripts/install_packages.sh site
part build/site_env/bin/python scripts/site_check.py
part scripts/fuzz.sh "${1:-3600}"
if ((${#failed[@]} > 0)); then
  printf 'nightly: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi

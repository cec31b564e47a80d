#!/usr/bin/env bash
# Builds Estoc and runs every test that needs no GPU.
# Usage: test.sh [CTEST OPTION...]    such as: test.sh -R discovery
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/build.sh" release
exec ctest --test-dir "$root/build/release" --output-on-failure --parallel "$(nproc)" "$@"

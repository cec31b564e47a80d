#!/usr/bin/env bash
# Installs what is missing, configures a preset and builds it into build/PRESET.
# Usage: build.sh [--configure] PRESET [TARGET...]    (all targets; --configure: none)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=true
if [[ ${1:-} == --configure ]]; then
  build=false
  shift
fi
preset=${1:?which preset of CMakePresets.json?}
shift

tags=(build)
case $preset in
  asan | tsan | fuzz) tags+=(sanitize) ;;
esac
"$root/scripts/install_packages.sh" "${tags[@]}"
cd "$root"
launcher=
if command -v ccache >/dev/null; then  # it takes precompiled headers only when told to
  launcher="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
fi
cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >/dev/null
if $build; then
  echo "Building build/$preset"
  cmake --build --preset "$preset" ${1:+--target "$@"}
fi

#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs them all at the same time.
# Usage: fuzz.sh [SECONDS]    (60; how long each runs)
# New inputs are kept in build/fuzz/corpus; an input that fails in build/fuzz/failures. The
# tests fuzz.* of the preset asan try them all again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-60}
build=$root/build/fuzz
mapfile -t targets < <(sed -n 's/^estoc_fuzz_target(\([a-z_]*\) .*/\1/p' "$root/tests/fuzz/CMakeLists.txt")

"$root/scripts/build.sh" fuzz fuzz_targets

# Runs one target; a corpus folder given first takes the new inputs.
fuzz() {
  local name=$1 corpus=$build/corpus/$1 failures=$build/failures/$1
  mkdir -p "$corpus" "$failures"
  "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
    -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$failures/" \
    "$corpus" "$root/tests/fuzz/corpus/$name" >"$build/$name.log" 2>&1
}

echo "Fuzzing ${targets[*]} for $seconds s"
declare -A jobs
for name in "${targets[@]}"; do
  fuzz "$name" &
  jobs[$name]=$!
done
status=0
for name in "${targets[@]}"; do
  if wait "${jobs[$name]}"; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
    echo "$name: $runs inputs, no failure"
  else
    status=1
    echo "$name: failed, see $build/$name.log" >&2
    tail -n 40 "$build/$name.log" >&2
  fi
done
exit "$status"

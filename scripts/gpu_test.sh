#!/usr/bin/env bash
# Runs the tests that need a GPU: every kernel against float64, what launches promise, the Python
# package with the frameworks that are there, and compute-sanitizer over every kernel class. Ends with
# 1 when anything fails, cannot be run, or finds something.
# Usage: gpu_test.sh [OPTION]...              builds here and runs here
#        gpu_test.sh --pack FILE              builds, and packs all that a run needs into FILE
#        gpu_test.sh --run FILE [OPTION]...   runs a pack, on a machine that can fetch nothing
#   --out DIR       folder of the summary and the logs (default: gpu_test_results)
#   --only A[,B..]  these steps alone: unit gpu_test epilogues operations conformance agreement
#                   command python memcheck racecheck initcheck synccheck
#   --quick         few problems in each step
#   --seconds N     begin nothing new in a step after that time (default: 1800)
#   --seed N        of problems and data (default: 1)
#   --nvrtc         with --pack: pack NVRTC too, where the GPU's machine has none; that one needs xz
# A pack can also be unpacked by hand: tar xf FILE && estoc_gpu_test/gpu_test.sh [OPTION]...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
all_steps=(unit gpu_test epilogues operations conformance agreement command python
  memcheck racecheck initcheck synccheck)
most_pack_bytes=$((50 * 1024 * 1024))

out=gpu_test_results
pack=
run=
only=
quick=false
seconds=1800
seed=1
with_nvrtc=false

fail() {
  echo "gpu_test: $*" >&2
  exit 1
}

usage() {
  echo "gpu_test: $*" >&2
  sed -n '/^# Usage/,/^[^#]/{/^#/p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}

arguments=("$@")
while [[ $# != 0 ]]; do
  case $1 in
    --quick) quick=true ;;
    --nvrtc) with_nvrtc=true ;;
    --out | --pack | --run | --only | --seconds | --seed)
      [[ $# -ge 2 ]] || usage "$1 needs a value"
      case $1 in
        --out) out=$2 ;;
        --pack) pack=$2 ;;
        --run) run=$2 ;;
        --only) only=$2 ;;
        --seconds) seconds=$2 ;;
        --seed) seed=$2 ;;
      esac
      shift
      ;;
    *) usage "unknown option $1" ;;
  esac
  shift
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage "--seconds: expected a number, got '$seconds'"
[[ $seed =~ ^[1-9][0-9]*$ ]] || usage "--seed: expected a number from 1 on, got '$seed'"
[[ -z $pack || -z $run ]] || usage "--pack and --run exclude each other"
for step in ${only//,/ }; do
  [[ " ${all_steps[*]} " == *" $step "* ]] || usage "--only: there is no step '$step'"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints the first of the folder's files whose names match; nothing where there is none.
library_in() {
  find -L "$1" -maxdepth 1 -name "$2" -print -quit 2>/dev/null || true
}

# Copies what gpu_test_python.sh needs from the repository ROOT and its BUILD to FOLDER.
pack_python() {
  local root=$1 build=$2 folder=$3 library
  mkdir -p "$folder/archives" "$folder/sources"
  for library in estoc estoc_command estoc_emulator estoc_emulator_host; do
    strip --strip-debug -o "$folder/archives/lib$library.a" "$build/lib$library.a"
  done
  tar --create --directory "$root" --exclude __pycache__ CMakeLists.txt README.md include python \
    cmake/python_alone docs tests/python tests/docs examples/data examples/notebooks examples/python bench/python_host_time.py |
    tar --extract --directory "$folder/sources"
  cp "$here/gpu_test_python.sh" "$folder/"
}

make_pack() {
  local root build folder bytes file nvrtc compression
  root=$(cd "$here/.." && pwd)
  build=$root/build/release
  "$here/build.sh" release estoc_cli estoc_gpu_test estoc_conformance_test estoc_agreement_test
  folder=$scratch/estoc_gpu_test
  mkdir "$folder"
  strip -o "$folder/estoc" "$build/estoc"
  strip -o "$folder/estoc_gpu_test" "$build/tests/gpu/estoc_gpu_test"
  strip -o "$folder/estoc_conformance_test" \
    "$build/tests/conformance/estoc_conformance_test"
  strip -o "$folder/estoc_agreement_test" "$build/tests/agreement/estoc_agreement_test"
  # The emulator's half needs a C++ compiler, which the GPU's machine may lack.
  "$folder/estoc_agreement_test" --record "$folder/agreement.json" --seed "$seed"
  cp "$here/gpu_test.sh" "$folder/"
  pack_python "$root" "$build" "$folder"
  if $with_nvrtc; then
    nvrtc=$("$here/fetch_nvrtc.sh")
    mkdir "$folder/nvrtc"
    cp "$nvrtc" "$folder/nvrtc/"
    file=$(library_in "$(dirname "$nvrtc")" 'libnvrtc-builtins.so.1[23].*')
    [[ -n $file ]] || fail "there is no libnvrtc-builtins beside $nvrtc"
    cp "$file" "$folder/nvrtc/"
  fi
  compression=--gzip
  if $with_nvrtc; then compression=--xz; fi
  tar --create $compression --directory "$scratch" --file "$scratch/pack" estoc_gpu_test
  bytes=$(stat --format %s "$scratch/pack")
  ((bytes <= most_pack_bytes)) || fail "the pack has $bytes bytes, more than $most_pack_bytes"
  mv "$scratch/pack" "$pack"
  echo "$pack: $bytes bytes"
}

if [[ -n $pack ]]; then
  make_pack
  exit
fi

if [[ -n $run ]]; then
  [[ -f $run ]] || fail "$run: there is no such file"
  tar --extract --file "$run" --directory "$scratch"
  [[ -x $scratch/estoc_gpu_test/gpu_test.sh ]] || fail "$run: this is no pack of gpu_test.sh"
  kept=()
  for ((i = 0; i < ${#arguments[@]}; i++)); do
    if [[ ${arguments[i]} == --run ]]; then ((++i)); else kept+=("${arguments[i]}"); fi
  done
  status=0
  "$scratch/estoc_gpu_test/gpu_test.sh" "${kept[@]}" || status=$?
  exit "$status"
fi

# ---- running

mkdir -p "$out"
out=$(cd "$out" && pwd)
log=$out/gpu_test.log
: >"$log"
export ESTOC_CACHE_DIR=$scratch/cache
names=()
results=()
times=()

wanted() { [[ -z $only || ,$only, == *",$1,"* ]]; }

# Runs a command as the step NAME, with its output in the log, and notes what came of it.
step() {
  local name=$1 start=$SECONDS status=0 most
  shift
  wanted "$name" || return 0
  # What was begun in time may end after it, and some steps have nothing that they could leave out.
  most=$((seconds + seconds / 4 + 2 + (seconds < 40 ? 3 * seconds : 120)))
  printf '%-12s' "$name"
  {
    printf '\n== %s:' "$name"
    printf ' %q' "$@"
    printf '\n'
  } >>"$log"
  timeout --kill-after 10 "$most" "$@" >"$scratch/step.log" 2>&1 || status=$?
  cat "$scratch/step.log" >>"$log"
  names+=("$name")
  times+=($((SECONDS - start)))
  if [[ $status == 0 ]]; then
    results+=(passed)
    echo "passed, $((SECONDS - start)) s; $(tail -n 1 "$scratch/step.log" | cut -c 1-120)"
  else
    [[ $status != 124 ]] || echo "gpu_test: no end after $most s" | tee -a "$log"
    results+=(failed)
    echo "FAILED with status $status, $((SECONDS - start)) s; the end of its output:"
    tail -n 25 "$scratch/step.log"
  fi
}

# Notes a step that cannot be run as failed.
cannot() {
  local name=$1
  shift
  wanted "$name" || return 0
  names+=("$name")
  results+=(failed)
  times+=(0)
  printf '%-12sFAILED: %s\n' "$name" "$*" | tee -a "$log"
}

find_sanitizer() {
  local file
  command -v compute-sanitizer && return
  for file in "${CUDA_HOME:-/nowhere}"/bin/compute-sanitizer \
    /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer \
    /opt/cuda*/bin/compute-sanitizer; do
    if [[ -x $file ]]; then
      echo "$file"
      return
    fi
  done
}

sanitize() {
  local tool=$1 limit=160
  ! $quick || limit=24
  if [[ -z $sanitizer ]]; then
    cannot "$tool" "there is no compute-sanitizer here; it comes with the CUDA toolkit"
    return
  fi
  step "$tool" "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 20 \
    "$programs/estoc_gpu_test" --no-features --provider cuda --kernels-per-class 1 \
    --threads 1 --largest 160 --limit "$limit" --seed "$seed" --seconds "$seconds"
}

# Prints the summary of all steps as JSON.
summary() {
  local i passed=true comma=
  [[ " ${results[*]} " != *" failed "* ]] || passed=false
  printf '{\n "passed": %s,\n "version": "%s",\n "quick": %s,\n "seed": %s,\n "steps": [' \
    "$passed" "$("$programs/estoc" --version)" "$quick" "$seed"
  for i in "${!names[@]}"; do
    printf '%s\n  {"name": "%s", "result": "%s", "seconds": %s}' \
      "$comma" "${names[i]}" "${results[i]}" "${times[i]}"
    comma=,
  done
  printf '\n ],\n "machine": %s\n}\n' "$("$programs/estoc" devices --json)"
}

if [[ -x $here/estoc_gpu_test ]]; then
  programs=$here
  sources=$here/sources
  archives=$here/archives
  nvrtc=$(library_in "$here/nvrtc" 'libnvrtc.so.1[23]')
  if [[ -n $nvrtc ]]; then export ESTOC_NVRTC=$nvrtc; fi
else
  root=$(cd "$here/.." && pwd)
  "$here/build.sh" release
  sources=$root
  archives=$root/build/release
  programs=$scratch/programs
  mkdir "$programs"
  ln -s "$root/build/release/estoc" "$root/build/release/tests/gpu/estoc_gpu_test" \
    "$root/build/release/tests/conformance/estoc_conformance_test" \
    "$root/build/release/tests/agreement/estoc_agreement_test" "$programs/"
fi

status=0
"$programs/estoc_gpu_test" --no-features --limit 1 >"$scratch/first.log" 2>&1 || status=$?
if [[ $status == 3 ]]; then
  cat "$scratch/first.log" >&2
  fail "this machine has no GPU that kernels can run on"
fi
sanitizer=$(find_sanitizer)

limits=(--rounds 9 --kernels-per-class 1 --most-kernels 300 --seconds "$seconds")
! $quick || limits=(--limit 200 --kernels-per-class 1 --most-kernels 40 --seconds "$seconds")
if [[ -n ${root:-} ]]; then
  step unit ctest --test-dir "$root/build/release" --output-on-failure --parallel "$(nproc)"
fi
step gpu_test "$programs/estoc_gpu_test" --report "$out" --seed "$seed" "${limits[@]}"
step epilogues "$programs/estoc_gpu_test" --epilogues --no-features --seed "$seed" "${limits[@]}"
step operations "$programs/estoc_gpu_test" --operations --no-features --seed "$seed" "${limits[@]}"
step conformance "$programs/estoc_conformance_test" --report "$out/conformance.json"
cat >"$scratch/agreement.sh" <<'SCRIPT'
set -eu
recorded=$1/agreement.json
if [[ ! -f $recorded ]]; then
  "$1/estoc_agreement_test" --record "$recorded"
fi
"$1/estoc_agreement_test" --compare "$recorded" --report "$2/agreement.json"
SCRIPT
step agreement bash "$scratch/agreement.sh" "$programs" "$out"
cat >"$scratch/command.sh" <<'SCRIPT'
set -eu
"$1/estoc" run 'gemm m=1000 n=777 k=555 a=bf16:t b=bf16:n' --check
"$1/estoc" bench 'gemm m={64,1024} n=1024 k=1024 a=bf16:t b=bf16:n' --rounds 5 \
  --against cublaslt --out "$2/bench.json"
SCRIPT
step command bash "$scratch/command.sh" "$programs" "$out"
step python "$here/gpu_test_python.sh" "$sources" "$archives" "$out"
for tool in memcheck racecheck initcheck synccheck; do
  sanitize "$tool"
done

summary >"$out/summary.json"
[[ ${#names[@]} != 0 ]] || fail "no step was run"
if [[ " ${results[*]} " == *" failed "* ]]; then
  fail "failed; $out/summary.json and $log say what"
fi
echo "all passed; the summary is $out/summary.json"

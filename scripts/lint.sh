#!/usr/bin/env bash
# Checks the style: subjects of commits, shellcheck, clang-format and clang-tidy on the changed files.
# Usage: lint.sh [--all | --since COMMIT] [--seconds N]
#   --all            on every file
#   --since COMMIT   on what changed since COMMIT; by default since this branch left origin/main,
#                    or in the last 20 commits
#   --seconds N      starts no further clang-tidy after N seconds and names the files left
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

since=
seconds=100000
while [[ $# != 0 ]]; do
  case $1 in
    --all) since=all ;;
    --since) since=${2:?--since needs a commit} && shift ;;
    --seconds) seconds=${2:?--seconds needs a number} && shift ;;
    *) echo "lint: unknown option $1" >&2 && exit 2 ;;
  esac
  shift
done

# Prints the files of the repository with one of the suffixes, new ones included.
files() {
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [[ ! -f $file ]] || echo "$file"
  done
}

# Prints the changed C++ files. All with the suffixes where it is not known what changed, or the file of
# settings did.
changed() {
  local settings=$1 names
  shift
  if [[ $since == all ]] || ! names=$(scripts/changed.sh ${since:+"$since"}) ||
    grep -qxF "$settings" <<<"$names"; then
    files "$@"
  else
    sed -nE '/\.(cpp|h|hpp|cuh)$/p' <<<"$names" | while read -r file; do
      [[ ! -f $file ]] || echo "$file"
    done
  fi
}

# Prints the sources read that a preset's build compiles.
compiled() {
  grep -xFf <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json") || true
}

tidy() {
  local report
  if (($(date +%s) > DEADLINE)); then
    echo "lint: no time left for ${1#"$PWD/"}"
  elif ! report=$(clang-tidy --quiet -p "$BUILD" \
    --extra-arg=-Wno-unknown-warning-option "$1" 2>&1); then
    grep -v '^[0-9]* warnings\? generated\.$' <<<"$report"
    return 1
  fi
}

# Fails when a commit's subject has more than 72 characters; commits up to $subjects_since may have.
subjects_since=53c3049e
subjects() {
  local long
  git rev-parse --quiet --verify "$subjects_since^{commit}" >/dev/null || return 0
  long=$(git log --no-merges --format='%h %s' "$subjects_since..HEAD" | grep -E '^[^ ]+ .{73}' || true)
  if [[ -n $long ]]; then
    printf 'lint: a subject has more than 72 characters: %s\n' "$long" >&2
    return 1
  fi
}

echo "subjects of commits"
subjects

echo "shellcheck"
files '*.sh' .ci/run | xargs -r shellcheck

echo "clang-format"
changed .clang-format '*.cpp' '*.h' '*.hpp' '*.cuh' | xargs -r -P "$(nproc)" -n 32 clang-format --dry-run --Werror

build=$root/build/lint
scripts/build.sh --configure lint
if [[ -x build/python/bin/python ]]; then  # test_python.sh makes it
  cmake -S . -B "$build" -DESTOC_BUILD_PYTHON=ON \
    -DPython_EXECUTABLE="$root/build/python/bin/python" >/dev/null
fi
mapfile -t sources < <(changed .clang-tidy '*.cpp' | scripts/translation_units.sh "$build" | compiled)
echo "clang-tidy on ${#sources[@]} files"
export BUILD=$build DEADLINE=$(($(date +%s) + seconds))
export -f tidy
# shellcheck disable=SC2016  # $1 is for the inner shell
printf '%s\n' "${sources[@]}" | xargs -r -P "$(nproc)" -I {} bash -c 'tidy "$1"' tidy {}

#!/usr/bin/env bash
# Checks the style: subjects of commits, shellcheck, clang-format on every C++ file, clang-tidy on the
# changed ones.
# Usage: lint.sh [--all | --since COMMIT] [--seconds N]
#   --all            clang-tidy on every file
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

# Prints the changed C++ files: all of them when it is not known what changed, or how to judge them did.
changed() {
  local names
  if [[ $since == all ]] || ! names=$(scripts/changed.sh ${since:+"$since"}) ||
    grep -qxF .clang-tidy <<<"$names"; then
    files '*.cpp'
  else
    grep -E '\.(cpp|h|hpp)$' <<<"$names" | while read -r file; do
      [[ ! -f $file ]] || echo "$file"
    done
  fi
}

# Prints for each file read the source that shows it to clang-tidy: a .cpp itself, a public header
# by the file that tests/headers makes of it, a private one by a source that includes it.
translation_units() {
  local file
  while read -r file; do
    case $file in
      *.cpp) echo "$root/$file" ;;
      include/estoc/*) echo "$build/tests/headers/estoc_$(basename "${file//./_}").cpp" ;;
      *)
        if [[ -f ${file%.h}.cpp ]]; then
          echo "$root/${file%.h}.cpp"
        else
          grep -rlF --include='*.cpp' "\"${file#src/}\"" src cli tests | head -n 1 | sed "s|^|$root/|"
        fi
        ;;
    esac
  done | sort -u
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
files '*.cpp' '*.h' '*.hpp' '*.cuh' | xargs -r clang-format --dry-run --Werror

build=$root/build/lint
scripts/build.sh --configure lint
if [[ -x build/python/bin/python ]]; then  # test_python.sh makes it
  cmake -S . -B "$build" -DESTOC_BUILD_PYTHON=ON \
    -DPython_EXECUTABLE="$root/build/python/bin/python" >/dev/null
fi
mapfile -t sources < <(changed | translation_units | compiled)
echo "clang-tidy on ${#sources[@]} files"
export BUILD=$build DEADLINE=$(($(date +%s) + seconds))
export -f tidy
# shellcheck disable=SC2016  # $1 is for the inner shell
printf '%s\n' "${sources[@]}" | xargs -r -P "$(nproc)" -I {} bash -c 'tidy "$1"' tidy {}

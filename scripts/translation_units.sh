#!/usr/bin/env bash
# Prints for each file read the source that shows it to clang-tidy: a .cpp itself, a public header by
# the file that tests/headers makes of it, a private one by a source that includes it.
# Usage: translation_units.sh BUILD_FOLDER <FILES
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
build=${1:?which build folder?}

# Prints the files that include a header by the end of its path, as much of it as any does: those
# beside it, or all.
including() {
  local name=$1 folder
  while [[ $name == */* ]]; do
    name=${name#*/}
    for folder in "$(dirname "$1")" .; do
      git grep --no-index --exclude-standard -lF "#include \"$name\"" -- "$folder/*.cpp" "$folder/*.h" && return
    done
  done
  true
}

# Prints a source that includes a private header, or that includes a header that does.
source_of() {
  local files
  files=$(including "$1")
  if ! grep -m 1 '\.cpp$' <<<"$files"; then
    including "${files%%$'\n'*}" | grep -m 1 '\.cpp$' || true
  fi
}

while read -r file; do
  case $file in
    *.cuh) ;;
    *.cpp) echo "$root/$file" ;;
    include/estoc/*) echo "$build/tests/headers/estoc_$(basename "${file//./_}").cpp" ;;
    *)
      if [[ -f ${file%.h}.cpp ]]; then
        echo "$root/${file%.h}.cpp"
      else
        source_of "$file" | sed "s|^|$root/|"
      fi
      ;;
  esac
done | sort -u

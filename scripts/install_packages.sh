#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing.
# Usage: install_packages.sh [TAG...]    (build, bench, lint, sanitize, nvrtc, python, site; build alone by default)
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tags=("${@:-build}")

# Prints the packages that carry one of the tags.
wanted() {
  awk -v tags="${tags[*]}" '
    BEGIN { count = split(tags, list, " "); for (i = 1; i <= count; i++) chosen[list[i]] = 1 }
    /^#/ { next }
    { for (i = 2; i <= NF; i++) if ($i in chosen) { print $1; next } }
  ' "$scripts/packages.txt"
}

installed() {
  [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Runs a command up to three times: mirrors fail now and then.
retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return 0
    [[ $attempt == 3 ]] || { echo "install_packages: trying again" >&2; sleep $((5 * attempt)); }
  done
  return 1
}

if ! command -v dpkg-query >/dev/null; then
  echo "install_packages: this is no Debian system; install the equivalents of these yourself:" >&2
  wanted >&2
  exit 1
fi

for tag in "${tags[@]}"; do
  if ! grep -Eq "^[^#]+[[:space:]]$tag([[:space:]]|\$)" "$scripts/packages.txt"; then
    echo "install_packages: no package of packages.txt is needed for '$tag'" >&2
    exit 1
  fi
done

missing=()
while read -r package; do
  installed "$package" || missing+=("$package")
done < <(wanted)
if [[ ${#missing[@]} == 0 ]]; then
  exit 0
fi

as_root=()
if [[ $(id -u) != 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install_packages: needs root to install: ${missing[*]}" >&2
    echo "Run as root, once: apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
retry "${as_root[@]}" apt-get update -qq
retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null

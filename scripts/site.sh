#!/usr/bin/env bash
# Makes the site of documents, references and measurements, build/site; warnings are errors.
# Usage: site.sh [--build FOLDER]
#   --build FOLDER   has the command and the Python package (scripts/test_python.sh); build/release by default
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
if [[ ${1:-} == --build ]]; then
  build=$(realpath -m "$2")
fi
environment=$root/build/site_env

if [[ ! -x $build/estoc ]] || ! compgen -G "$build/python/estoc/_estoc.*" >/dev/null; then
  echo "site: expected the command and the Python package in $build: run scripts/test_python.sh" >&2
  exit 1
fi
"$root/scripts/install_packages.sh" python
if ! "$environment/bin/python" -c 'import furo, myst_parser, selenium, sphinx' 2>/dev/null; then
  echo "Making build/site_env"
  # Of the Python that the package was built with, which is imported.
  "$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")" -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$root/site/packages.txt"
fi
rm -rf "$root/build/site"
export PYTHONDONTWRITEBYTECODE=1 ESTOC_PACKAGE=$build/python
"$environment/bin/python" "$root/site/prepare.py" "$root" "$root/build/site_pages" "$root/build/site" "$build/estoc"
"$environment/bin/python" -m sphinx -q --fail-on-warning --keep-going --builder html \
  --conf-dir "$root/site" --doctree-dir "$root/build/site_trees" "$root/build/site_pages" "$root/build/site"
rm -rf "$root/build/site/_sources"
echo "build/site: $(find "$root/build/site" -name '*.html' | wc -l) pages"

#!/usr/bin/env bash
# Prints the files that changed, were deleted or are new, one a line; fails where that is not known.
# Usage: changed.sh [COMMIT]    since COMMIT; by default since this branch left origin/main, or in the
#                               last 20 commits where it has not
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
since=${1:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
if [[ -z $since || $since == "$(git rev-parse HEAD)" ]]; then
  since=HEAD~20
fi
git rev-parse --quiet --verify "$since^{commit}" >/dev/null
{
  git diff --name-only --no-renames "$since"
  git ls-files --others --exclude-standard
} | sort -u

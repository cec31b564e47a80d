#!/usr/bin/env python3
"""Checks that relative links in the repository's documents lead to something.

Usage: check_links.py ROOT; prints the links that do not, one a line, and exits 1 if there are any.
"""

import pathlib
import re
import sys


def broken(document):
    """Yields (line, target) for each relative link that leads nowhere."""
    fenced = False
    for number, line in enumerate(document.read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        if fenced:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            path = target.split("#")[0]
            if path and "://" not in path and not (document.parent / path).exists():
                yield number, target


def main():
    root = pathlib.Path(sys.argv[1])
    documents = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md"),
                 *root.glob("bench/**/*.md"), *root.glob("tests/**/*.md")]
    found = [f"{document.relative_to(root)}:{number}: {target} does not exist"
             for document in sorted(documents) for number, target in broken(document)]
    print("\n".join(found + [f"{len(documents)} documents, {len(found)} broken links"]))
    return 1 if found or not documents else 0


if __name__ == "__main__":
    sys.exit(main())

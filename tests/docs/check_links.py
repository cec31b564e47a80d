#!/usr/bin/env python3
"""Checks that relative links in the repository's documents lead to something, a heading included.

Usage: check_links.py ROOT; prints the links that do not, one a line, and exits 1 if there are any.
"""

import functools
import pathlib
import re
import sys


@functools.cache
def headings(document):
    """The anchors that GitHub makes of a document's headings."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = []
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return found


def leads_somewhere(document, target):
    path, _, anchor = target.partition("#")
    there = document.parent / path if path else document
    if not there.exists():
        return False
    return not anchor or there.suffix != ".md" or anchor in headings(there)


def broken(document):
    """Yields (line, target) for each relative link that leads nowhere."""
    fenced = False
    for number, line in enumerate(document.read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        if fenced:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if "://" not in target and not leads_somewhere(document, target):
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

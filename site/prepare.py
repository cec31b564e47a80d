"""Writes the pages that Sphinx makes the site of: the documents, references and measurements.

Usage: prepare.py ROOT PAGES OUTPUT ESTOC

Documents keep their places in the repository, so that their links hold. Links to files that are no
pages lead to copies of these below OUTPUT/files, as highlighted text.
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from reference import reference_page, write_reference

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCED = re.compile(r"(^[ ]*```.*?^[ ]*```$)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
PICTURES = (".svg", ".png")
# Folders of bench/results that `estoc bench --report` reads, and what was measured.
RESULTS = {"": "Products by tensor cores", "models": "Products of models"}
# What the site shows besides docs/index.md, under the same captions.
MORE = {
    "Guide": ["examples/README"],
    "Reference": ["reference/cpp", "reference/c", "reference/python"],
    "Internals": ["CONTRIBUTING", "CHANGELOG", "measurements", "bench/results/README",
                  "bench/results/2026-11-22_emulator_faults", "tests/gpu/README",
                  "examples/data/README"],
}  # fmt: skip
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{title}</title>
<link rel="icon" href="data:,"/>
<style>body{{font:15px sans-serif;margin:1em auto;max-width:75em;padding:0 1em}}
h1{{font-size:1.4em;overflow-wrap:anywhere}}
.highlight{{overflow-x:auto}}{style}</style>
</head>
<body>
<p><a href="{home}">Estoc</a></p>
<h1>{title}</h1>
{body}
</body>
</html>
"""


class Site:
    """Copies documents and notes which other files they link to."""

    def __init__(self, root, pages, output):
        self.root = root
        self.pages = pages
        self.output = output
        self.linked = set()

    def add_document(self, path):
        text = path.read_text()
        place = self.place(path)
        destination = self.pages / place
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(self.with_links(text, path, place))

    def place(self, path):
        name = path.relative_to(self.root).as_posix()
        return "index.md" if name == "README.md" else name

    def with_links(self, text, path, place):
        """The text with links as Sphinx takes them; what is fenced stays as it is."""
        parts = FENCED.split(text)
        parts[::2] = [LINK.sub(lambda m: self.link(m, path, place), part) for part in parts[::2]]
        return "".join(parts)

    def link(self, match, path, place):
        target, _, anchor = match.group(2).partition("#")
        if "://" in target or not target:
            return match.group()
        there = pathlib.Path(os.path.normpath(path.parent / target))
        name = there.relative_to(self.root).as_posix()
        if there.suffix == ".md":
            page = self.place(there)
        elif there.suffix in PICTURES:
            page = name
            (self.pages / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there, self.pages / page)
        elif name.startswith("include/estoc/") and there.suffix in (".h", ".hpp"):
            page = reference_page(name.removeprefix("include/"))
        elif name == "include/estoc":
            page = "reference/cpp.md"
        elif name == "docs/notes":
            page = "docs/notes/index.md"
        else:
            self.linked.add(there)
            return f"{match.group(1)}files:{name}{match.group(3)}"
        new = os.path.relpath(page, pathlib.PurePosixPath(place).parent)
        return match.group(1) + new + (f"#{anchor}" if anchor else "") + match.group(3)

    def write_files(self):
        """A page for each file that is linked to, and for each folder with all that lies in it."""
        style = HtmlFormatter().get_style_defs(".highlight")
        waiting = set(self.linked)
        done = set()
        while waiting:
            path = waiting.pop()
            done.add(path)
            if path.is_dir():
                inner = sorted(each for each in path.iterdir() if each.name[0] not in "._")
                waiting |= set(inner) - done
                body = self.listing(path, inner)
            else:
                body = self.contents(path)
            name = path.relative_to(self.root).as_posix()
            page = self.output / "files" / f"{name}.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            home = os.path.relpath(self.output / "index.html", page.parent)
            page.write_text(PAGE.format(title=html.escape(name), style=style, home=home, body=body))

    def listing(self, path, inner):
        rows = "".join(
            f'<li><a href="{html.escape(path.name)}/{html.escape(each.name)}.html">'
            f"{html.escape(each.name)}</a></li>\n"
            for each in inner
        )
        return f"<ul>\n{rows}</ul>"

    def contents(self, path):
        """The text, highlighted; a link to a copy where it is none, or long."""
        data = path.read_bytes()
        text = data.decode("utf-8", "replace")
        if b"\0" in data or "\ufffd" in text or len(data) > 300_000:
            copy = self.output / "files" / path.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            return f'<p><a href="{html.escape(path.name)}" download>Download, {len(data):,} bytes</a></p>'
        try:
            lexer = get_lexer_for_filename(path.name.removesuffix("h") + "hpp"
                                           if path.suffix in (".cuh", ".h") else path.name)
        except ClassNotFound:
            lexer = TextLexer()
        return highlight(text, lexer, HtmlFormatter())


def write_index(site):
    """Lists all pages in the order of docs/index.md, below the README."""
    parts = SECTION.split((site.root / "docs/index.md").read_text())
    trees = []
    for heading, text in zip(parts[1::2], parts[2::2]):
        caption = heading.split(":")[0]
        names = [
            f"docs/{name.removesuffix('.md')}"
            for name in dict.fromkeys(target.split("#")[0] for _, target, _ in LINK.findall(text))
            if name.endswith(".md") and not name.startswith("../")
        ]
        if caption == "Internals":
            names.append("docs/notes/index")
        names = [*names, *MORE[caption]]
        trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n")
    trees.append("```{toctree}\n:hidden:\n\ndocs/index\n```\n")
    with (site.pages / "index.md").open("a") as file:
        file.write("\n" + "\n".join(trees))
    notes = sorted((site.pages / "docs/notes").glob("2*.md"))
    lines = [f"* [{note.read_text().splitlines()[0].removeprefix('# ')}]({note.name})" for note in notes]
    (site.pages / "docs/notes/index.md").write_text(
        "# Notes\n\nExperiments: predicted, changed, measured.\n\n" + "\n".join(lines)
        + "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(note.stem for note in notes) + "\n```\n"
    )  # fmt: skip


def write_measurements(site, estoc):
    """The charts of `estoc bench --report` of what lies in bench/results."""
    text = ["# Measurements", "", "On an NVIDIA H200, by `estoc bench`: the speed of the kernel that is",
            "ranked first over that of the best offer of cuBLASLt, and the operations a second over",
            "the operations a byte. [The files](bench/results/README.md) say when and how.", ""]  # fmt: skip
    folder = site.pages / "measured"
    folder.mkdir()
    for name, title in RESULTS.items():
        stem = name or "all"
        subprocess.run(
            [estoc, "bench", "--report", site.root / "bench/results" / name, "--against", "cublaslt",
             "--plot", folder / f"{stem}_speed.svg", "--roofline", folder / f"{stem}_roofline.svg",
             "--html", site.output / "measured" / f"{stem}.html"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        text += [f"## {title}", "", f"![{title}, over cuBLASLt](measured/{stem}_speed.svg)", "",
                 f"![{title}, operations a second](measured/{stem}_roofline.svg)", "",
                 f"[Every kernel](measured:{stem}.html)", ""]  # fmt: skip
    (site.pages / "measurements.md").write_text("\n".join(text))


def main():
    root, pages, output, estoc = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(pages, ignore_errors=True)
    (output / "measured").mkdir(parents=True, exist_ok=True)
    site = Site(root, pages, output)
    documents = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md"]
    for folder in ("docs", "examples", "bench", "tests/gpu"):
        documents += sorted((root / folder).rglob("*.md"))
    for document in documents:
        site.add_document(document)
    write_reference(root, pages)
    write_index(site)
    write_measurements(site, estoc)
    site.write_files()


if __name__ == "__main__":
    main()

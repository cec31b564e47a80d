"""Configures Sphinx for the site: see scripts/site.sh."""

import ast
import os
import pathlib
import posixpath
import re
import sys

from docutils import nodes
from sphinx.ext.napoleon import Config, NumpyDocstring

root = pathlib.Path(__file__).parents[1]
package = pathlib.Path(os.environ["ESTOC_PACKAGE"])
sys.path.insert(0, str(package))

project = "Estoc"
author = "the authors of Estoc"
version = re.search(r"project\(estoc VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)
release = version

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = f"Estoc {version}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["style"]
html_favicon = "style/icon.svg"
html_css_files = ["wide.css"]
pygments_style = "default"
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 90

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 6
# Links to what is no page: prepare.py writes them.
myst_url_schemes = {"http": None, "https": None, "files": None, "measured": None, "chrome": None}

autodoc_mock_imports = ["torch", "jax", "jaxlib", "triton", "cutlass", "cuda"]
autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
default_role = "code"

DOCSTRINGS = Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_use_ivar=True)
# A property's or method's line with nothing but its types, which the extension module writes.
BARE = re.compile(r"^(?:\w*\(self.*\) -> .*|)$")


def stub_signatures():
    """Signatures of the constructors in the extension module's stub, by class."""
    found = {}
    for one in ast.parse((package / "estoc/_estoc.pyi").read_text()).body:
        if not isinstance(one, ast.ClassDef):
            continue
        for member in one.body:
            if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                member.args.args = member.args.args[1:]
                found.setdefault(one.name, f"({ast.unparse(member.args)})")
    return found


CONSTRUCTORS = stub_signatures()


def shape_docstring(app, what, name, obj, options, lines):
    """NumPy's sections; blocks that are indented behind a blank line are code."""
    if len(lines) <= 2 and all(BARE.match(line) for line in lines):
        lines[:] = []
        return
    if what == "module" and obj.__doc__:
        lines[:] = obj.__doc__.strip().splitlines()  # with the indentation of examples
    shaped = []
    constructor = CONSTRUCTORS.get(name.rpartition(".")[2]) if what == "class" else None
    if constructor:
        shaped += [f"``{name}{constructor}``", ""]
    for number, line in enumerate(lines):
        before = next((each for each in reversed(lines[:number]) if each.strip()), "")
        begins = line.startswith("    ") and not before.startswith(" ") and number > 0
        if begins and not lines[number - 1].strip() and set(before.strip()) != {"-"}:
            shaped += ["::", ""]
        shaped.append(line)
    lines[:] = NumpyDocstring("\n".join(shaped), DOCSTRINGS, app).lines()


def resolve_files(app, doctree, docname):
    """Lets links to what is no page lead to where prepare.py has put it."""
    folder = posixpath.dirname(docname) or "."
    for node in doctree.findall(nodes.reference):
        scheme, colon, path = node.get("refuri", "").partition(":")
        if colon and scheme in ("files", "measured"):
            there = f"{scheme}/{path}.html" if scheme == "files" else f"{scheme}/{path}"
            node["refuri"] = posixpath.relpath(there, folder)


def setup(app):
    app.connect("autodoc-process-docstring", shape_docstring)
    app.connect("doctree-resolved", resolve_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

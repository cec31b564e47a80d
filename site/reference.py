"""Writes the pages of the C++, C and Python references, as Markdown for Sphinx."""

import pathlib
import re

import headers

# Modules of the Python package that users import, with what each needs besides.
MODULES = {
    "estoc": "",
    "estoc.torch": "torch",
    "estoc.jax": "jax",
    "estoc.compat": "",
    "estoc.triton": "triton",
    "estoc.providers.cutedsl": "nvidia-cutlass-dsl",
}
DIRECTIVES = {
    "cpp": {
        "class": "cpp:class", "struct": "cpp:struct", "union": "cpp:union", "enum": "cpp:enum",
        "enum class": "cpp:enum-class", "enumerator": "cpp:enumerator", "function": "cpp:function",
        "variable": "cpp:member", "type": "cpp:type", "concept": "cpp:concept",
    },
    "c": {
        "struct": "c:struct", "union": "c:union", "enum": "c:enum", "enumerator": "c:enumerator",
        "function": "c:function", "variable": "c:member", "type": "c:type",
    },
}  # fmt: skip
OUTERMOST = 9  # colons of a directive's fence; one less for each level


def write_reference(root, pages):
    """Writes the references into `pages`, from the headers and the package below `root`."""
    include = root / "include"
    groups = {
        "cpp": sorted(include.glob("estoc/*.hpp")),
        "c": [include / "estoc/estoc.h", *sorted(include.glob("estoc/c/*.h"))],
    }
    titles = {"cpp": "C++", "c": "C"}
    for language, paths in groups.items():
        rows = []
        for path in paths:
            name = path.relative_to(include).as_posix()
            header = headers.read_header(path, include)
            page = pages / "reference" / language / f"{_stem(name)}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(_header_page(language, name, header))
            summary = re.split(r"(?<=\.)\s", header.opening.replace("\n", " "))[0]
            rows.append(f"| [{name}]({language}/{_stem(name)}.md) | {_escaped(summary)} |")
        hidden = "\n".join(f"{language}/{_stem(path.relative_to(include).as_posix())}" for path in paths)
        (pages / "reference" / f"{language}.md").write_text(
            f"# {titles[language]} reference\n\nEvery public header.\n\n"
            "| header | what it is for |\n|---|---|\n" + "\n".join(rows) + "\n\n"
            f"```{{toctree}}\n:hidden:\n\n{hidden}\n```\n"
        )
    _write_python(pages / "reference")


def reference_page(name):
    """The page of a public header, by its path below include/."""
    language = "cpp" if name.endswith(".hpp") else "c"
    return f"reference/{language}/{_stem(name)}.md"


def _stem(name):
    return pathlib.PurePosixPath(name).name


def _header_page(language, name, header):
    text = [f"# {name}", "", _documentation(header.opening), "", f"```c\n#include <{name}>\n```", ""]
    if language == "cpp":
        text += ["```{cpp:namespace} estoc\n```", ""]
    for declaration in header.declarations:
        text += _directive(language, declaration, OUTERMOST)
    return "\n".join(text)


def _directive(language, declaration, colons):
    fence = ":" * colons
    text = [f"{fence}{{{DIRECTIVES[language][declaration.kind]}}} {declaration.text}", ""]
    if declaration.doc:
        text += [_documentation(declaration.doc), ""]
    for member in declaration.members:
        text += _directive(language, member, colons - 1)
    return [*text, fence, ""]


def _documentation(text):
    """A comment as Markdown: what stands in backticks is code, all else plain words."""
    return "".join(
        part if number % 2 else _escaped(part)
        for number, part in enumerate(re.split(r"(`[^`]*`)", text))
    )


def _escaped(text):
    return re.sub(r"([\\<*_\[\]{}|#])", r"\\\1", text)


def _write_python(folder):
    rows = []
    (folder / "python").mkdir(parents=True, exist_ok=True)
    for module, needs in MODULES.items():
        imported = "\n   :imported-members:" if module == "estoc" else ""
        (folder / "python" / f"{module}.md").write_text(
            f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:{imported}\n```\n"
        )
        rows.append(f"| [{module}](python/{module}.md) | {needs} |")
    hidden = "\n".join(f"python/{module}" for module in MODULES)
    (folder / "python.md").write_text(
        "# Python reference\n\nThe modules that programs import, and what each needs besides Estoc.\n\n"
        "| module | needs |\n|---|---|\n" + "\n".join(rows) + "\n\n"
        f"```{{toctree}}\n:hidden:\n\n{hidden}\n```\n"
    )

"""Reads the declarations of the public headers, with the comments that document them.

The headers are laid out by clang-format, which this relies on: a brace behind a blank opens a body,
one behind anything else an initialiser.
"""

import dataclasses
import re

SCOPE = re.compile(
    r"(?:template\s*<.*?>\s*)?(?P<typedef>typedef\s+)?"
    r"(?P<keyword>namespace|class|struct|union|enum class|enum|extern)\b(?!.*\()(?P<rest>.*)",
    re.DOTALL,
)
ACCESS = re.compile(r"(public|protected|private):")
# What a declaration says to compilers alone.
NOISE = re.compile(r"\b(?:inline|ESTOC_API)\s+|\[\[nodiscard(?:\([^)]*\))?\]\]\s*")
ALIGNMENT = re.compile(r"(?<=\bstruct )alignas\(\w+\) ")
LONG_INITIALISER = 60


@dataclasses.dataclass
class Declaration:
    """One declaration: what it declares, its text, its documentation, and what lies in it."""

    kind: str  # "class", "struct", "union", "enum", "enum class", "enumerator", "function",
    #            "variable", "type", "concept"
    text: str
    doc: str = ""
    members: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Header:
    """A header: the sentences that it opens with, and its declarations."""

    opening: str
    declarations: list


def read_header(path, include):
    """The contents of a header of C++ (///, ///<) or C (/* */); `include` is the folder of all."""
    return read_text(path.read_text(), lambda name: (include / name).read_text())


def read_text(text, table_of=None):
    """The contents of a header's text; `table_of` gives the text of a file of rows, "estoc/dtypes.def"."""
    return _Reader(ALIGNMENT.sub("", text), table_of).header()


class _Reader:
    def __init__(self, text, table_of):
        self.text = text
        self.table_of = table_of
        self.at = 0
        self.doc = ""
        self.last = None  # the declaration that a comment behind it documents
        self.macros = {}  # name: parameters and text, of those that declare functions

    def header(self):
        opening = _plain(self._comment())
        declarations = []
        while self.at < len(self.text):
            before = self.at
            self._scope(declarations, "public", None)
            if self.at == before:
                raise ValueError(f"cannot read {self.text[self.at:self.at + 80]!r}")
        return Header(opening, declarations)

    # ---- what lies between declarations

    def _comment(self):
        """The comment here with its marks: one of /* */, or lines of // on end."""
        if self.text.startswith("/*", self.at):
            end = self.text.index("*/", self.at) + 2
        else:
            match = re.compile(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*").match(self.text, self.at)
            end = match.end()
        comment = self.text[self.at : end]
        self.at = end
        return comment

    def _take_comment(self):
        behind = self.text.rfind("\n", 0, self.at)
        same_line = self.text[behind + 1 : self.at].strip() != ""
        comment = self._trailing() if same_line else self._comment()
        if "NOLINT" in comment or (comment.startswith("//") and not comment.startswith("///")):
            return
        if same_line:
            if self.last is not None:
                self.last.doc = (self.last.doc + " " + _plain(comment)).strip()
        else:
            self.doc = _plain(comment)

    def _trailing(self):
        """A comment behind code; lines of ///< on end continue it."""
        if self.text.startswith("/*", self.at):
            return self._comment()
        pattern = r"//[^\n]*(?:\n[ \t]*///<[^\n]*|\n[ \t]+//(?!/)[^\n]*)*"
        match = re.compile(pattern).match(self.text, self.at)
        self.at = match.end()
        return match.group()

    def _skip(self):
        """Passes blanks, preprocessor lines and comments; a blank line forgets what was said."""
        while self.at < len(self.text):
            here = self.text[self.at]
            if here.isspace():
                blank = re.compile(r"\s+").match(self.text, self.at)
                if blank.group().count("\n") > 1:
                    self.doc = ""
                self.at = blank.end()
            elif here == "#":
                self._directive()
            elif self.text.startswith(("//", "/*"), self.at):
                self._take_comment()
            else:
                return

    def _directive(self):
        """Passes a line of the preprocessor: notes a macro with parameters, reads a table's rows."""
        line = re.compile(r"(?:[^\n\\]|\\.)*", re.DOTALL).match(self.text, self.at)
        self.at = line.end()
        macro = re.match(r"#define (\w+)\(([^)]*)\)(.*)", line.group().replace("\\\n", "\n"), re.DOTALL)
        if macro:
            self.macros[macro.group(1)] = (macro.group(2).split(", "), macro.group(3))
        table = re.match(r'#include "(.*\.def)"', line.group())
        if table:
            rows = [row for row in self.table_of(table.group(1)).splitlines()
                    if row.split("(")[0] in self.macros]  # fmt: skip
            self.text = self.text[: self.at] + "\n" + "\n".join(rows) + self.text[self.at :]

    def _expand(self):
        """Puts what a macro stands for in its place, if one is here."""
        use = re.compile(r"(\w+)\(([^)]*)\)").match(self.text, self.at)
        if not use or use.group(1) not in self.macros:
            return False
        parameters, text = self.macros[use.group(1)]
        given = dict(zip(parameters, use.group(2).split(", ")))
        names = re.compile(r"\b(?:" + "|".join(parameters) + r")\b")
        text = names.sub(lambda name: given[name.group()], text).replace("##", "")
        self.text = self.text[: self.at] + text + self.text[use.end() :]
        return True

    # ---- declarations

    def _scope(self, found, access, kind):
        """Reads declarations into `found` until the scope ends."""
        while True:
            self._skip()
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "}":
                self.at += 1
                return
            changed = ACCESS.match(self.text, self.at)
            if changed:
                access = changed.group(1)
                self.at = changed.end()
                self.doc = ""
            elif self.text[self.at] == ";":
                self.at += 1
            elif self._expand():
                pass
            else:
                self._declaration(found if access != "private" else [], kind)

    def _declaration(self, found, kind):
        doc, self.doc = self.doc, ""
        if kind in ("enum", "enum class"):
            self._enumerator(found, doc)
            return
        text, ended_by = self._declared()
        scope = SCOPE.fullmatch(text.strip())
        if ended_by == "{" and scope:
            self._inner_scope(found, text, scope, doc)
            return
        if ended_by == "{":
            self._balanced()
        for one in _declarations(text, doc):
            found.append(one)
            self.last = one

    def _inner_scope(self, found, text, scope, doc):
        self.at += 1
        keyword = scope.group("keyword")
        if keyword in ("namespace", "extern"):
            hidden = keyword == "namespace" and scope.group("rest").strip() in ("detail", "")
            self._scope([] if hidden else found, "public", None)
            return
        name = _signature(text).removeprefix("typedef ")
        name = re.sub(rf"\b{keyword}\s+", "", name, count=1)
        one = Declaration(keyword, name, doc)
        self._scope(one.members, "private" if keyword == "class" else "public", keyword)
        found.append(one)
        ended = self.text.index(";", self.at)
        self.at = ended + 1
        self.last = None

    def _enumerator(self, found, doc):
        end = self.at
        depth = 0
        while depth > 0 or self.text[end] not in ",}/":
            depth += {"(": 1, ")": -1}.get(self.text[end], 0)
            end += 1
        one = Declaration("enumerator", self.text[self.at : end].strip(), doc)
        self.at = end + (self.text[end] == ",")
        found.append(one)
        self.last = one

    def _declared(self):
        """The text up to the body or the semicolon, without comments, and which of both ended it."""
        parts = []
        depth = 0
        while True:
            here = self.text[self.at]
            if self.text.startswith(("//", "/*"), self.at):
                start = self.at
                end = self.text.find("\n", start) if here + self.text[start + 1] == "//" else (
                    self.text.index("*/", start) + 2)
                self.at = end
                continue
            if here == '"':
                match = re.compile(r'"(?:[^"\\]|\\.)*"').match(self.text, self.at)
                parts.append(match.group())
                self.at = match.end()
                continue
            if here == ";" and depth == 0:
                self.at += 1
                return "".join(parts), ";"
            if here == "{" and depth == 0:
                before = "".join(parts)
                body = before[-1:].isspace() and not before.rstrip().endswith(("=", ","))
                if body:
                    return before, "{"
                start = self.at
                self._balanced()
                parts.append(self.text[start : self.at])
                continue
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(here, 0)
            parts.append(here)
            self.at += 1

    def _balanced(self):
        """Passes a pair of braces with what lies between them."""
        depth = 0
        pattern = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\n]*|/\*.*?\*/|[{}]', re.DOTALL)
        for match in pattern.finditer(self.text, self.at):
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if depth == 0:
                self.at = match.end()
                return
        raise ValueError("a brace is not closed")


def _plain(comment):
    """The words of a comment."""
    if comment.startswith("/*"):
        lines = [re.sub(r"^\s*(?:\* ?)?", "", line) for line in comment[2:-2].split("\n")]
    else:
        lines = [re.sub(r"^\s*//+<? ?", "", line) for line in comment.split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def _signature(text):
    """A declaration on one line, without what it says to compilers alone."""
    return NOISE.sub("", re.sub(r"\s+", " ", text)).strip()


def _without_initialisers(text):
    """Cuts the list of a constructor's initialisers."""
    return re.sub(r"(\)(?: noexcept)?) : \w.*$", r"\1", text)


def _depths(text):
    """Pairs of place and character outside all brackets; < and > count where they stand for such."""
    depth = 0
    for place, here in enumerate(text):
        if here in ")]}" or (here == ">" and text[place - 1] not in "-=" and depth > 0):
            depth -= 1
        if depth == 0:
            yield place, here
        if here in "([{" or (here == "<" and text[place - 1 : place] not in (" ", "<")):
            depth += 1


def _declarations(text, doc):
    """What a text without a scope declares, that users can use."""
    text = _signature(text)
    if text.startswith(("friend ", "static_assert", "using namespace")) or "= delete" in text:
        return
    if re.fullmatch(r"(?:template <[^>]*> )?(?:class|struct|enum|enum class)[\w: ]*", text):
        return  # said again where it is defined
    if text.startswith("typedef "):
        opaque = re.fullmatch(r"typedef struct (\w+) \1", text)
        yield Declaration("struct", opaque.group(1), doc) if opaque else Declaration(
            "type", text.removeprefix("typedef "), doc)
        return
    if text.startswith("using ") or " using " in text.split("=")[0]:
        if "=" in text:
            yield Declaration("type", text.replace("using ", "", 1), doc)
        return
    if re.match(r"(?:template <.*> )?concept ", text):
        yield Declaration("concept", text.split(" = ")[0].replace("concept ", ""), doc)
        return
    text = _without_initialisers(text)
    outside = "".join(here for _, here in _depths(text))
    if re.search(r"\(\*\w+\)\(", text):
        yield Declaration("variable", text, doc)  # a pointer to a function
        return
    if "(" in outside.split("=")[0] or "operator" in text.split("(")[0]:
        bare = re.sub(r" = default$| = 0$| override\b| final$", "", text)
        if re.search(r"~\w+\(\)", bare) or re.search(r"\b\w+::~?\w+\(", bare.split("(")[0] + "("):
            return  # a destructor, or a member that is declared in its class
        yield Declaration("function", bare, doc)
        return
    yield from _variables(text, doc)


def _variables(text, doc):
    """A declaration for each name of `int m = 1, n = 1`."""
    commas = [place for place, here in _depths(text) if here == ","]
    parts = [text[start:end].strip() for start, end in zip([0, *[c + 1 for c in commas]], [*commas, None])]
    first = next((place for place, here in _depths(parts[0]) if here in "={"), None)
    words = re.match(r"(.*[\s*&>])\w+(?:\[\w*\])?\s*$", parts[0][:first])
    kind = words.group(1) if words else ""
    for number, part in enumerate(parts):
        whole = part if number == 0 else kind + part
        place = next((p for p, here in _depths(whole) if here in "={"), None)
        if place is not None and len(whole) - place > LONG_INITIALISER:
            whole = whole[:place].strip()
        yield Declaration("variable", whole.removesuffix("{}"), doc)

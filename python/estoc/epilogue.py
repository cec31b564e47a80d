"""Epilogues, and how a Python function becomes one: read, never called."""

import ast
import functools
import inspect
import textwrap
from types import CodeType, FunctionType
from typing import NamedTuple

from ._estoc import EpilogueArguments, InvalidTypeError, InvalidValueError

__all__ = ["EpilogueArguments"]

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_RENAMED = {"max": "maximum", "min": "minimum"}


class _Reading(NamedTuple):
    """What a function says, for operands of given names."""

    text: str
    place: str
    defaults: dict[str, float]  # of its parameters
    outer: tuple[str, ...]  # names of numbers that it finds around it


_KEPT = 256
_readings: dict[tuple[CodeType, str, frozenset[str]], _Reading] = {}


def _translate(source: object, operands: dict) -> tuple[str, str]:
    """The program of a function or its source, and where it stands.

    Numbers that the function finds around it, and defaults of its parameters, are added to
    `operands`.
    """
    if isinstance(source, FunctionType) and not hasattr(source, "__wrapped__"):
        key = source.__code__, source.__code__.co_filename, frozenset(operands)
        reading = _readings.get(key)
        numbers = None if reading is None else _numbers_around(source, reading)
        if reading is None or numbers is None:
            reading, numbers = _read(source, operands)
            if len(_readings) >= _KEPT:
                _readings.clear()
            _readings[key] = reading
        operands |= reading.defaults | numbers
        return reading.text, reading.place
    reading, numbers = _read(source, operands)
    operands |= reading.defaults | numbers
    return reading.text, reading.place


def _text_alone(source: object) -> str | None:
    """The program of a function that needs no operands and was read before, for matmul."""
    if not isinstance(source, FunctionType):
        return None
    key = source.__code__, source.__code__.co_filename, frozenset[str]()
    reading = _readings.get(key)
    alone = reading is not None and not reading.defaults and not reading.outer
    return reading.text if reading is not None and alone else None


def _read(source: object, operands: dict) -> tuple[_Reading, dict[str, float]]:
    """What the source says, and the numbers that it finds around it."""
    outer: dict[str, object] = {}
    if isinstance(source, str):
        file, first = "epilogue", 1
        definition = _definition(textwrap.dedent(source), file, first, source)
    elif inspect.isfunction(source):
        code = inspect.unwrap(source).__code__
        definition, file, first = _definition_of(code, code.co_filename)
        outer = _surroundings(source)
    else:
        raise InvalidTypeError(
            f"epilogue: expected text or a function, got {type(source).__name__}"
        )
    reader = _Reader(file, first, outer, dict(operands))
    text = reader.program(definition)
    reading = _Reading(text, f"{file}:{first}", reader.defaults, tuple(reader.found))
    return reading, reader.found


def _numbers_around(function: FunctionType, reading: _Reading) -> dict[str, float] | None:
    """The numbers of now by the names that a reading has; None where one is none any more."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    numbers = {}
    for name in reading.outer:
        try:
            value = cells[name].cell_contents if name in cells else function.__globals__[name]
        except (KeyError, ValueError):
            return None
        if not _is_number(value):
            return None
        numbers[name] = value
    return numbers


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@functools.lru_cache(maxsize=256)
def _definition_of(code, name: str):
    """The syntax tree of a function, its file and its line; equal code of two files has two names."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        raise InvalidValueError(
            f"epilogue: the source of {code.co_name} is not known; give it as text"
        ) from None
    file = inspect.getsourcefile(code) or name
    return _definition(textwrap.dedent("".join(lines)), file, first, code), file, first


def _surroundings(function) -> dict:
    closure = inspect.getclosurevars(function)
    return {**closure.globals, **closure.nonlocals}


def _definition(text: str, file: str, first: int, source: object):
    """The one function or lambda of the text."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        if "lambda" in text and not isinstance(source, str):
            raise InvalidValueError(
                f"{file}:{first}: a lambda in the middle of a statement of several lines cannot be "
                "read; give it a line of its own, or a function"
            ) from None
        line = first + (error.lineno or 1) - 1
        raise InvalidValueError(f"{file}:{line}: expected Python, got {error.msg}") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) == 1:
        return functions[0]
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(lambdas) == 1:
        return lambdas[0]
    raise InvalidValueError(
        f"{file}:{first}: expected one function or lambda, got {len(functions) or len(lambdas)}"
    )


class _Reader:
    """Turns the syntax tree of a function into the text of a program."""

    def __init__(self, file: str, first: int, outer: dict, operands: dict) -> None:
        self.file = file
        self.first = first
        self.outer = outer
        self.operands = operands
        self.defaults: dict[str, float] = {}
        self.found: dict[str, float] = {}  # numbers from outside
        self.known: set[str] = set()
        self.statements: list[str] = []

    def fail(self, node: ast.AST, message: str) -> None:
        line = self.first + getattr(node, "lineno", 1) - 1
        raise InvalidValueError(f"{self.file}:{line}: {message}")

    def program(self, function) -> str:
        self.parameters(function)
        if isinstance(function, ast.Lambda):
            self.statements.append(f"D = {self.expression(function.body)}")
            return "; ".join(self.statements)
        body = function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # the docstring
        if not body or not isinstance(body[-1], ast.Return):
            self.fail(function, "expected a function that ends with return D")
        for statement in body[:-1]:
            self.assign(statement)
        self.returns(body[-1])
        return "; ".join(self.statements)

    def parameters(self, function) -> None:
        given = function.args
        names = [one.arg for one in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
        if not names or names[0] != "accum":
            self.fail(function, "expected accum as the first parameter")
        if given.vararg or given.kwarg:
            self.fail(function, "expected parameters with names, got * or **")
        positional = names[: len(names) - len(given.kwonlyargs)]
        defaults = dict(zip(reversed(positional), reversed(given.defaults)))
        defaults |= {one.arg: value for one, value in zip(given.kwonlyargs, given.kw_defaults)}
        for name, value in defaults.items():
            if value is not None and name not in self.operands:
                self.operands[name] = self.defaults[name] = self.number(value)
        self.known = set(names)
        for name in names[1:]:
            if name not in self.operands:
                self.fail(function, f"expected an operand for the parameter {name}, got none")

    def number(self, node: ast.AST) -> float:
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = None
        if not isinstance(value, (int, float)):
            self.fail(node, "expected a number as default")
        return value

    def assign(self, statement: ast.AST) -> None:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            kind = type(statement).__name__
            self.fail(statement, f"expected an assignment of one name, got {kind}")
        if len(targets) != 1 or not isinstance(targets[0], ast.Name):
            self.fail(statement, "expected an assignment of one name")
        name = targets[0].id
        if name in self.known:
            self.fail(statement, f"{name} is assigned twice; a name is assigned once")
        self.statements.append(f"{name} = {self.expression(statement.value)}")
        self.known.add(name)

    def returns(self, statement: ast.Return) -> None:
        value = statement.value
        outputs = value.elts if isinstance(value, ast.Tuple) else [value]
        names = [one.id if isinstance(one, ast.Name) else None for one in outputs]
        if len(outputs) == 1 and value is not None and names != ["D"]:
            if "D" in self.known:
                self.fail(statement, "expected D among what is returned")
            self.statements.append(f"D = {self.expression(value)}")
            return
        if "D" not in names or "D" not in self.known:
            self.fail(statement, "expected D among what is returned")
        for one, name in zip(outputs, names):
            if name is None or name not in self.known:
                self.fail(one, "expected the names of outputs")
            if name != "D" and name not in self.operands:
                self.fail(one, f"expected a tensor for the output {name}, got none")

    def expression(self, node: ast.AST) -> str:
        method = getattr(self, f"read_{type(node).__name__}", None)
        if method is None:
            self.fail(node, f"expected arithmetic, got {type(node).__name__}")
        return method(node)

    def read_Name(self, node: ast.Name) -> str:
        name = node.id
        if name in self.known or name in self.operands:
            return name
        if name not in self.outer:
            self.fail(node, f"{name} is not known")
        value = self.outer[name]
        if not _is_number(value):
            kind = type(value).__name__
            self.fail(node, f"expected {name} to be a number or a parameter, got {kind}")
        self.operands[name] = self.found[name] = value
        return name

    def read_Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            self.fail(node, f"expected a number, got {node.value!r}")
        return repr(node.value)

    def read_BinOp(self, node: ast.BinOp) -> str:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.Pow):
            return f"pow({left}, {right})"
        sign = _BINARY.get(type(node.op))
        if sign is None:
            self.fail(node, f"expected + - * / or **, got {type(node.op).__name__}")
        return f"({left} {sign} {right})"

    def read_UnaryOp(self, node: ast.UnaryOp) -> str:
        inner = self.expression(node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        if isinstance(node.op, ast.USub):
            return f"(-{inner})"
        if isinstance(node.op, ast.Not):
            return f"(!{inner})"
        return self.fail(node, "expected - or not")

    def read_Compare(self, node: ast.Compare) -> str:
        sides = [self.expression(one) for one in [node.left, *node.comparators]]
        parts = []
        for left, sign, right in zip(sides, node.ops, sides[1:]):
            if type(sign) not in _COMPARE:
                self.fail(node, f"expected a comparison, got {type(sign).__name__}")
            parts.append(f"({left} {_COMPARE[type(sign)]} {right})")
        return f"({' && '.join(parts)})" if len(parts) > 1 else parts[0]

    def read_BoolOp(self, node: ast.BoolOp) -> str:
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return f"({sign.join(self.expression(one) for one in node.values)})"

    def read_IfExp(self, node: ast.IfExp) -> str:
        parts = (self.expression(one) for one in (node.test, node.body, node.orelse))
        return f"select({', '.join(parts)})"

    def read_Call(self, node: ast.Call) -> str:
        if node.keywords:
            self.fail(node, "expected arguments without names")
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else None
        name = function.id if isinstance(function, ast.Name) else name
        if name is None:
            self.fail(node, "expected the name of an operation")
        if len(node.args) == 2:
            name = _RENAMED.get(name, name)
        return f"{name}({', '.join(self.expression(one) for one in node.args)})"

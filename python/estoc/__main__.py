"""The command line: python -m estoc [--plugin MODULE]... COMMAND."""

import sys

from ._estoc import _run_command
from .plugins import PluginError, kernel_classes_of_python_alone, load_entry_points, load_plugin


def main(words: "list[str] | None" = None) -> int:
    """Runs the command line with the words of the process; its exit status.

    `--plugin MODULE`, anywhere among them, imports a module, or a file that ends in .py, which
    registers kernel classes; packages with an entry point of the group estoc.kernels need none.
    """
    rest, plugins = _split(sys.argv[1:] if words is None else words)
    try:
        load_entry_points()
        for plugin in plugins:
            load_plugin(plugin)
    except PluginError as error:
        print(f"estoc: {error}", file=sys.stderr)
        return 2
    left_out = kernel_classes_of_python_alone()
    if left_out and _KERNEL_COMMANDS.intersection(rest):
        print(f"estoc: {_note(left_out)}", file=sys.stderr)
    return _run_command(["estoc", *rest])


_KERNEL_COMMANDS = frozenset(("list", "find", "explain", "run", "check", "compile", "bench"))


def _note(names: "list[str]") -> str:
    return (
        f"note: kernels of {', '.join(names)} are left out: the command line has those that the "
        "library launches itself, such as estoc.CudaKernelClass's; estoc.get_kernels finds all"
    )


def _split(words: "list[str]") -> "tuple[list[str], list[str]]":
    """What is not about plugins, and the plugins."""
    rest, plugins = [], []
    left = iter(words)
    for word in left:
        if word == "--":
            return [*rest, word, *left], plugins
        if word == "--plugin":
            plugins.append(next(left, ""))
        elif word.startswith("--plugin="):
            plugins.append(word.partition("=")[2])
        else:
            rest.append(word)
    return rest, plugins


if __name__ == "__main__":
    sys.exit(main())

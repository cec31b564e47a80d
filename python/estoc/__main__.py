"""The command line: python -m estoc [--plugin MODULE]... COMMAND."""

import sys

from ._estoc import _run_command
from .plugins import PluginError, load_entry_points, load_plugin


def main(words: "list[str] | None" = None) -> int:
    """Runs the command line with the words of the process; its exit status.

    `--plugin MODULE`, anywhere among them, imports a module, or a file that ends in .py, which
    registers kernel classes; packages with an entry point of the group estoc.kernels need none.
    `doctor` says what is there on this machine, and what to do about what is missing.
    """
    rest, plugins = _split(sys.argv[1:] if words is None else words)
    if rest[:1] == ["doctor"]:
        from .doctor import main as examine

        return examine(rest[1:])
    try:
        load_entry_points()
        for plugin in plugins:
            load_plugin(plugin)
    except PluginError as error:
        print(f"estoc: {error}", file=sys.stderr)
        return 2
    return _run_command(["estoc", *rest])


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

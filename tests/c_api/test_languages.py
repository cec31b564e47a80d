"""Runs the program of docs/c_api.md from another language: test_languages.py ctypes|rust LIBRARY SOURCE.

Exits 77 where the compiler is missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def command_of(language, library, source, folder):
    if language == "ctypes":
        return [sys.executable, "-B", source, library]
    compiler = shutil.which("rustc")
    if compiler is None:
        print("rustc is missing")
        sys.exit(77)
    program = os.path.join(folder, "product")
    subprocess.run([compiler, "--edition", "2021", "-D", "warnings", "-L",
                    pathlib.Path(library).parent, "-o", program, source], check=True)
    return [program]


def main():
    language, library, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"LD_LIBRARY_PATH": str(pathlib.Path(library).parent)}
        done = subprocess.run(command_of(language, library, source, folder), env=environment,
                              text=True, capture_output=True, check=False)
    print(done.stdout, done.stderr, sep="")
    passed = (done.returncode == 0 and done.stdout == "58 64 139 154\n"
              and "nothing" in done.stderr)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs tests of the command: cli_test.py EXECUTABLE TOPIC..., topics as in test_TOPIC.py."""

import pathlib
import sys
import unittest

import harness


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.EXECUTABLE = str(pathlib.Path(sys.argv[1]).resolve())
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [f"test_{topic}" for topic in sys.argv[2:]]
    )
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


if __name__ == "__main__":
    main()

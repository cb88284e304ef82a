"""Tests scripts/install.sh, scripts/init and scripts/deploy in throwaway systems. Needs root.

    python3 tests/install PROGRAM [NAME…]    PROGRAM: a static peacrab for this machine; NAME: of stories
"""

import pathlib
import sys
import unittest

import stories


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    stories.PROGRAM = program
    options = [option for name in names for option in ("-k", name)]
    tested = unittest.main(module=stories, argv=["install", "-v", *options], exit=False)
    result = tested.result
    if not result.testsRun:
        sys.exit("no story has such a name")
    sys.exit(not result.wasSuccessful())


main()

"""Tests scripts/install.sh, scripts/init and scripts/deploy in throwaway systems. Needs root.

    python3 tests/install PROGRAM [NAME…]    PROGRAM: a static peacrab for this machine; NAME: of stories
"""

import pathlib
import sys
import unittest

import deploys
import services
import stories


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    stories.PROGRAM = pathlib.Path(sys.argv[1]).resolve()
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in sys.argv[2:]] or None
    tests = unittest.TestSuite(loader.loadTestsFromModule(module) for module in [stories, services, deploys])
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    if not result.testsRun:
        sys.exit("no story has such a name")
    sys.exit(not result.wasSuccessful())


main()

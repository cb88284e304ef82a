"""Tests scripts/install.sh, scripts/init and scripts/deploy in throwaway systems. Needs root.

    python3 tests/install PROGRAM [NAME…]    PROGRAM: a static peacrab for this machine; NAME: parts of stories' names
"""

import concurrent.futures
import pathlib
import sys
import time
import unittest

import deploys
import services
import stories

# Most of a story is waiting.
AT_ONCE = 6


def run(story):
    """Runs a story; returns what is wrong with it, or nothing."""
    began = time.monotonic()
    result = unittest.TestResult()
    story.run(result)
    wrong = "\n".join(text for _, text in result.failures + result.errors)
    seconds = time.monotonic() - began
    print(f"{'FAILED' if wrong else 'ok':7}{seconds:5.1f} s  {type(story).__name__}: {story._testMethodName}", flush=True)
    return wrong


def find(names):
    """The stories with one of these in their names, or all."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in names] or None
    found = []
    for module in [stories, services, deploys]:
        for suite in loader.loadTestsFromModule(module):
            found.extend(suite)
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    stories.PROGRAM = pathlib.Path(sys.argv[1]).resolve()
    found = find(sys.argv[2:])
    if not found:
        sys.exit("no story has such a name")
    stories.make_releases()
    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = [text for text in pool.map(run, found) if text]
    finally:
        stories.RELEASES.cleanup()
    print("\n".join(wrong))
    print(f"{len(found)} stories, {len(wrong)} failed")
    sys.exit(bool(wrong))


main()

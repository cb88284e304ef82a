#!/usr/bin/env python3
"""Runs the tests of the sandbox on the boards' kernels, in emulated machines.

    python3 scripts/boards [--only tests|turns] [BOARD…]

README.md describes them and their requirements. Downloads and results are in .boards, or in the folder that
PEACRAB_BOARDS names.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import tests
import turns
from board import BOARDS
from machine import Job
from system import System, say

TOP = Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(prog="scripts/boards", description=__doc__.split("\n")[0])
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=f"default: all ({', '.join(BOARDS)})")
    parser.add_argument("--only", choices=("tests", "turns"), help="run only one half")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.boards if name not in BOARDS]
    if unknown:
        parser.error(f"unknown board {unknown[0]}; choose from {', '.join(BOARDS)}")
    # On Debian mke2fs is only on root's PATH.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    cache = Path(os.environ.get("PEACRAB_BOARDS", TOP / ".boards")).absolute()
    results = Results()
    for name in arguments.boards or BOARDS:
        run(BOARDS[name], cache, arguments.only, results)
    results.show()
    return 1 if results.failed else 0


def run(board, cache, only, results):
    system = System(board, cache)
    system.make()
    path = system.folder / "log"
    with path.open("w") as log:
        if only != "turns":
            say(f"{board.name}: building the tests")
            files = build("--tests", board.target)
            say(f"{board.name}: running the tests; the machine's output is in {path}")
            tests.run(system, files, results, log)
        if only != "tests":
            say(f"{board.name}: building the program")
            binary = build(board.target)
            say(f"{board.name}: running turns; the machine's output is in {path}")
            turns.run(system, binary, results, log)


def build(*arguments):
    """Builds with cross/build, and returns the path that it prints."""
    done = subprocess.run([TOP / "cross/build", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"cross/build {' '.join(arguments)} failed")
    return Path(done.stdout.strip())


class Results:
    """Which jobs passed and which failed."""

    def __init__(self):
        self.rows = []
        self.failed = False

    def add(self, board, jobs, ended):
        """Adds the exit status of each job by its name. A job without one did not end."""
        for job in jobs:
            if not isinstance(job, Job):
                continue
            status = ended.get(job.name)
            text = "ok" if status == 0 else "did not end" if status is None else f"FAILED ({status})"
            self.failed |= status != 0
            self.rows.append((board.name, job.name, text))

    def show(self):
        for board, name, text in self.rows:
            print(f"{board:<8}  {name:<34}  {text}")


if __name__ == "__main__":
    sys.exit(main())

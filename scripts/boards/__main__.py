#!/usr/bin/env python3
"""Tests the program on the boards' kernels, in emulated machines.

    python3 scripts/boards [--today | --date DATE] [--only KIND]… [--modes MODE]… [--jobs N] [--prepare] [BOARD…]

README.md describes the checks and their requirements. Downloads and results are in .boards, or in the folder that
PEACRAB_BOARDS names.
"""

import argparse
import datetime
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import clock
import cpu
import costs
import disks
import doctor
import gateway
import power
import tests
import turns
from bench import Results, Round
from board import BOARDS, MODES
from emulator import Emulator
from figures import FIGURES
from machine import switch_off
from system import System, say

TOP = Path(__file__).resolve().parent.parent.parent
# Each kind is a module with MODES, the names of the modes that it runs in, with FEWER_MODES for some boards (unless the
# command line names modes), with BOARDS if it does not apply to all, and with run(round). Those with TESTS get the folder of
# the tests, the others the program.
KINDS = {
    "tests": tests,
    "doctor": doctor,
    "turns": turns,
    "gateway": gateway,
    "costs": costs,
    "cpu": cpu,
    "clock": clock,
    "disks": disks,
    "power": power,
}


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # On Debian mke2fs is only on root's PATH.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    cache = Path(os.environ.get("PEACRAB_BOARDS", TOP / ".boards")).absolute()
    results = Results()
    began = time.monotonic()
    is_complete = False
    try:
        run(arguments, plan(arguments), cache, results)
        is_complete = True
    except KeyboardInterrupt:
        say("interrupted")
    if arguments.prepare and is_complete:
        say(f"prepared in {(time.monotonic() - began) / 60:.0f} minutes")
        return 1 if results.failed() else 0
    results.show()
    FIGURES.show()
    say(f"{len(results.rounds)} rounds in {(time.monotonic() - began) / 60:.0f} minutes")
    return 0 if is_complete and results.rounds and not results.failed() else 1


def date(text):
    return datetime.date.fromisoformat(text)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/boards", description=__doc__.split("\n")[0])
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=f"default: all ({', '.join(BOARDS)})")
    today = datetime.date.today()
    parser.add_argument("--today", dest="date", action="store_const", const=today, help="one board, chosen by the date")
    parser.add_argument("--date", type=date, help="the board of this date (YYYY-MM-DD)")
    parser.add_argument("--only", action="append", choices=KINDS, help="run only this kind of check")
    parser.add_argument("--modes", action="append", choices=MODES, help="run only in this mode")
    # A gateway's machine is idle for more than half of its time.
    jobs = (os.cpu_count() or 1) + 1
    parser.add_argument("--jobs", type=int, default=jobs, help="machines at once (default: one more than there are cores)")
    parser.add_argument("--prepare", action="store_true", help="fetch and build what the checks need, and run none")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.boards if name not in BOARDS]
    if unknown:
        parser.error(f"unknown board {unknown[0]}; choose from {', '.join(BOARDS)}")
    if arguments.date:
        arguments.boards = [list(BOARDS)[arguments.date.toordinal() % len(BOARDS)]]
        say(f"the board of {arguments.date} is {arguments.boards[0]}")
    return arguments


def plan(arguments):
    """The rounds, by board and by what has to be built for them."""
    for name in arguments.boards or BOARDS:
        rounds = [
            Round(kind, BOARDS[name], mode, module.run)
            for kind, module in KINDS.items()
            for mode in MODES.values()
            if mode.name in module.MODES
            and name in getattr(module, "BOARDS", BOARDS)
            and kind in (arguments.only or KINDS)
            and mode.name in (arguments.modes or getattr(module, "FEWER_MODES", {}).get(name, MODES))
        ]
        for tests_wanted in (False, True):
            chosen = [round for round in rounds if hasattr(KINDS[round.kind], "TESTS") == tests_wanted]
            if chosen:
                yield BOARDS[name], tests_wanted, chosen


def run(arguments, steps, cache, results):
    """Builds one after the other; meanwhile machines run what is built."""
    steps = list(steps)
    count = sum(len(rounds) for _, _, rounds in steps)
    numbers = iter(range(1, count + 1))
    logs = cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    emulator = Emulator(cache)
    emulator.make()
    pool = ThreadPoolExecutor(arguments.jobs)
    try:
        pending = []
        for board, tests_wanted, rounds in steps:
            system = System(board, cache, emulator)
            system.make()
            built = build(board, tests_wanted)
            if built and arguments.prepare:
                continue
            for round in rounds:
                position = f"({next(numbers)} of {count})"
                if built:
                    pending.append(pool.submit(perform, round, system, built, logs, position, results))
                else:
                    round.note("the build", "it failed")
                    results.add(round)
        for future in pending:
            future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        switch_off()


def perform(round, system, built, logs, position, results):
    round.perform(system, built, logs, position)
    results.add(round)


def build(board, tests_wanted):
    """Builds the program and returns its path, or the tests and returns their folder. None if that fails."""
    command = ["cross/build", "--tests", board.target] if tests_wanted else ["cross/boards", board.program]
    say(" ".join(command))
    # A group of its own, so that no compiler stays behind when this ends. Not a session, in which niceness would not count.
    building = subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        output, _ = building.communicate()
    except BaseException:
        os.killpg(building.pid, signal.SIGTERM)
        raise
    if building.returncode != 0:
        say(f"{' '.join(command)} failed\n{output}")
        return None
    return Path(output.strip()) if tests_wanted else TOP / "dist/boards" / board.program / "peacrab"


if __name__ == "__main__":
    sys.exit(main())

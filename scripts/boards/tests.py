"""Runs the tests of `cross/build --tests` on a board, as root and as a user."""

import datetime

from board import MODES as ALL_MODES
from machine import MARK, Job

MODES = tuple(ALL_MODES)
# What depends on the mode is the sandbox. Each board has all that works every day, and another mode by the date: together
# the boards have them all. armv6 and arm64-16k have the kernel of armhf and of arm64, with other instructions and with
# other pages; the kernel of a Raspberry Pi 5 has no Landlock.
OTHER_MODES = MODES[1:]
TODAY = datetime.date.today().toordinal()


def modes_of_today(number):
    return ("all", OTHER_MODES[(TODAY + number) % len(OTHER_MODES)])


FEWER_MODES = {
    "armv6": ("all",),
    "armhf": modes_of_today(0),
    "arm64": modes_of_today(1),
    "arm64-16k": ("all", "no-landlock"),
    "riscv64": modes_of_today(2),
}
TESTS = True
USERS = ("root", "board")
# The modules that depend on what the kernel offers the sandbox; and in the mode `all` those that depend on something else
# of the kernel, on the size of an integer or a page, or on the clock.
ROOMS = "sys:: confine::"
MORE_ROOMS = (
    "files:: append_log:: session:: clock:: inbox:: outbox:: state::file:: board:: watch:: gateway::watch:: gateway::shell:: "
    "gateway::term:: mcp::stdio:: mcp::servers:: net::"
)
# Cases of each property test: a board is slow.
CASES = 32
# How many times slower a board is than a computer.
SLOWNESS = 4
SECONDS = 3600
# An emulated board needs a second for each row of the tables of tests/confine: 9 hours for all boards. Each
# combination of mode and user with a sandbox gets a share, and another one the next time.
SHARES = len(MODES) * len(USERS) - 1

# Lets users reach the programs where they were built, which can be below root's home.
OPEN = 'at={}; while [ "$at" != / ]; do at=$(dirname "$at"); chmod a+x "$at"; done\n'

# Reads from the disk what commands of the tests are made of. A machine that waits for its disk is idle, and with
# `skipping` its clock goes on to the next alarm: a program that is read for the first time ran out of its time.
READ = (
    "for program in bash getent script; do $program --version; done > /dev/null\n"
    "python3 -c 'import multiprocessing.managers, socket, threading, urllib.request'\n"
    "perl -MIO::Socket::INET -MIO::Socket::UNIX -MSocket -e 1\n"
)

# The tests that a user of a machine without a sandbox can pass: no command is run.
REFUSED = "refused::"


def run(round):
    programs = [round.built / name for name in ("peacrab", "unit", "confine")]
    rooms = f"{ROOMS} {MORE_ROOMS}" if round.mode.name == "all" else ROOMS
    chosen = {}
    for program in ("confine", "unit"):
        for user in USERS:
            refused = REFUSED if "a sandbox" in round.mode.missing(user) else ""
            modules = rooms if program == "unit" else refused
            chosen[tests(round, program, modules, user)] = modules
    jobs = [OPEN.format(round.built), READ, *chosen]
    round.machine(round.built, programs, jobs, SECONDS, skipping=True)
    output = round.path.read_text()
    unknown = [f"{job.name}: {name}" for job in chosen for name in not_run(output, job, chosen[job])]
    round.note("each module has tests", "; ".join(unknown))


def not_run(output, job, chosen):
    """The modules of which a job ran no test, because they have other names now."""
    own = output.partition(f"{MARK}begin {job.name}\n")[2].partition(f"{MARK}end {job.name} ")[0]
    return [name or "all" for name in chosen.split() or [""] if f"\ntest {name}" not in own]


def tests(round, program, chosen, user):
    settings = {
        # Neither a compiler nor all of the programs that do plain work are on a board.
        "PEACRAB_TEST_WITHOUT": ",".join(["cc", "work", *round.mode.missing(user)]),
        "PEACRAB_TEST_SLOWNESS": SLOWNESS,
        # What the program chooses on such a kernel. The other choices are other modes of the matrix.
        "PEACRAB_TEST_MODES": "all that works",
        "PEACRAB_TEST_SHARE": share(round.mode.name, user),
        # As root, `confine` would run everything as an ordinary user too.
        "PEACRAB_TEST_INNER": "1",
        "PROPTEST_CASES": CASES,
    }
    return Job(f"{program} as {user}", f"{round.built}/{program} {chosen}", user, SECONDS, **settings)


def share(mode, user):
    number = MODES.index(mode) * len(USERS) + USERS.index(user)
    return f"{(number + TODAY) % SHARES}/{SHARES}"

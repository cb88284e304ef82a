"""Runs the tests of `cross/build --tests` on a board, as root and as a user."""

from board import MODES as ALL_MODES
from machine import Job

MODES = tuple(ALL_MODES)
TESTS = True
# The modules that depend on the kernel, on the size of an integer or a page, or on the clock.
ROOMS = "sys:: confine:: files:: append_log:: session:: clock:: inbox:: outbox:: state::"
# How many times slower a board is than a computer.
SLOWNESS = 2
SECONDS = 3600


def run(round):
    programs = [round.built / name for name in ("peacrab", "unit", "confine")]
    jobs = [tests(round, *job) for job in (("unit", ROOMS), ("confine", "")) for job in ((*job, "root"), (*job, "board"))]
    round.machine(round.built, programs, jobs, SECONDS)


def tests(round, program, chosen, user):
    settings = {
        "PEACRAB_TEST_WITHOUT": ",".join(round.mode.missing(user)),
        "PEACRAB_TEST_SLOWNESS": SLOWNESS,
        # As root, `confine` would run everything as an ordinary user too.
        "PEACRAB_TEST_INNER": "1",
    }
    return Job(f"{program} as {user}", f"{round.built}/{program} {chosen}", user, SECONDS, **settings)

"""Runs the tests of `cross/build --tests` on a board, as root and as a user."""

from board import MODES as ALL_MODES
from machine import MARK, Job

MODES = tuple(ALL_MODES)
TESTS = True
# The modules that depend on the kernel, on the size of an integer or a page, or on the clock.
ROOMS = "sys:: confine:: files:: append_log:: session:: clock:: inbox:: outbox:: state::"
# How many times slower a board is than a computer.
SLOWNESS = 2
SECONDS = 3600


# The tests that a user of a machine without a sandbox can pass: no command is run.
REFUSED = "refused::"


def run(round):
    programs = [round.built / name for name in ("peacrab", "unit", "confine")]
    chosen = {}
    for program in ("unit", "confine"):
        for user in ("root", "board"):
            refused = REFUSED if "a sandbox" in round.mode.missing(user) else ""
            modules = ROOMS if program == "unit" else refused
            chosen[tests(round, program, modules, user)] = modules
    round.machine(round.built, programs, list(chosen), SECONDS, skipping=True)
    output = round.path.read_text()
    unknown = [f"{job.name}: {name}" for job in chosen for name in not_run(output, job, chosen[job])]
    round.note("each module has tests", "; ".join(unknown))


def not_run(output, job, chosen):
    """The modules of which a job ran no test, because they have other names now."""
    own = output.partition(f"{MARK}begin {job.name}\n")[2].partition(f"{MARK}end {job.name} ")[0]
    return [name or "all" for name in chosen.split() or [""] if f"\ntest {name}" not in own]


def tests(round, program, chosen, user):
    settings = {
        "PEACRAB_TEST_WITHOUT": ",".join(round.mode.missing(user)),
        "PEACRAB_TEST_SLOWNESS": SLOWNESS,
        # What the program chooses on such a kernel. The other choices are other modes of the matrix.
        "PEACRAB_TEST_MODES": "all that works",
        # As root, `confine` would run everything as an ordinary user too.
        "PEACRAB_TEST_INNER": "1",
    }
    return Job(f"{program} as {user}", f"{round.built}/{program} {chosen}", user, SECONDS, **settings)

"""Runs the tests of `cross/build --tests` on a board, with each kind of isolation and without."""

from machine import NO_LANDLOCK, NO_USER_NAMESPACES, Job, Machine

# The modules that depend on the kernel, or on the size of an integer.
ROOMS = "sys:: confine:: files:: append_log:: session::"
# How many times slower a board is than a computer, by its own clock.
SLOWNESS = 2
SECONDS = 3600


def run(system, files, results, log):
    """Runs the tests in a machine with Landlock and in one without."""
    at = files

    def tests(name, program, user="root", without=()):
        settings = {"PEACRAB_TEST_WITHOUT": ",".join(without), "PEACRAB_TEST_SLOWNESS": SLOWNESS}
        return Job(name, f"{at}/{program}", user, SECONDS, **settings)

    # As root, `confine` runs everything as an ordinary user too.
    with_landlock = [
        tests("unit", f"unit {ROOMS}"),
        tests("unit as a user", f"unit {ROOMS}", "board"),
        tests("confine", "confine"),
        NO_USER_NAMESPACES,
        tests("confine, no user namespaces", "confine --skip all_holds"),
        tests("confine as a user, no namespaces", "confine", "board", ["namespaces"]),
    ]
    without_landlock = [
        tests("unit, no Landlock", f"unit {ROOMS}", without=["landlock"]),
        tests("confine, no Landlock", "confine", without=["landlock"]),
    ]
    programs = [files / name for name in ("peacrab", "unit", "confine")]
    for command_line, jobs in (("", with_landlock), (NO_LANDLOCK, without_landlock)):
        results.add(system.board, jobs, Machine(system, log).run(at, programs, jobs, command_line, SECONDS))

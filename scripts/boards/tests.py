"""Runs the tests of `cross/build --tests` on a board, as root and as a user."""

import datetime

from board import MODES as ALL_MODES
from machine import Job

MODES = tuple(ALL_MODES)
# What depends on the mode is the sandbox. Each board has all that works every day, and another mode by the date: together
# the boards have them all. armv6 and arm64-16k are much like armhf and arm64, with other instructions and with other
# pages; the kernel of a Raspberry Pi 5 has no Landlock.
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
ROOMS = "sys:: sandbox::confine::"
MORE_ROOMS = (
    "sandbox::files:: store::append_log:: store::session:: base::clock:: store::inbox:: store::outbox:: "
    "store::state::file:: board::history:: board::look:: board::tests::this_machine board::watch:: gateway::watch:: "
    "gateway::shell:: gateway::term:: tools::mcp::client::stdio:: tools::mcp::client::servers:: net::tests:: net::guard::"
)
# Cases of each property test: a board is slow, and only the size of its integers is another one.
CASES = 8
# How many times slower a board is than a computer.
SLOWNESS = 4
SECONDS = 3600
# An emulated board needs a second for each row of the tables of tests/confine, and as long for each test: 9 hours for all
# boards. Each combination of mode and user with a sandbox tries a share of the rows, and another one the next day.
SHARES = len(MODES) * len(USERS) - 1
# The same for whole tests: in the mode `all` one half as root and the other as a user, otherwise, and on the boards that are
# much like another one, a quarter each. Those with a table are among all of them.
PARTS, PARTS_OF_TWINS = {"all": 2, "no-landlock": 4, "no-namespaces": 4, "neither": 4}, 4
TWINS = ("armv6", "arm64-16k")
TABLES = (
    "no_attack_gets_out",
    "nothing_reaches_the_network_when_it_is_off",
    "plain_work_goes_through",
    "programs_do_their_work",
    "shells::no_attack_gets_out_of_a_shell_that_goes_on",
    "terminal::a_terminal_is_what_programs_expect_of_one",
    "terminal::no_attack_by_means_of_a_terminal_gets_out",
)
# Arguments: a program with tests, which of them (as sed says it), and the modules (by default all).
PART = f"""
program=$1 part=$2
shift 2
names=$($program --list --format terse | sed -n "s/: test$//p" | grep -E "^($(echo "$*" | tr " " "|"))")
tables=$(echo "$names" | grep -xF {" ".join(f"-e {name}" for name in TABLES)})
chosen="$(echo "$names" | sed -n "${{part}}p") $tables"
[ "$chosen" != " " ] || {{ echo "no test is chosen"; exit 1; }}
exec $program --color never --exact $chosen
"""

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
    jobs = [OPEN.format(round.built), READ, f"cat > /tmp/part << 'END'\n{PART}END\n"]
    for user in USERS:
        jobs.append(tests(round, "confine", REFUSED if is_refused(round, user) else "", user))
    for user in USERS:
        jobs.append(tests(round, "unit", rooms, user))
    round.machine(round.built, programs, jobs, SECONDS, skipping=True)
    # Names that are not there: the tests have other ones now. In a quarter, a module can have no test.
    is_whole = round.mode.name == "all" and round.board.name not in TWINS
    expected = [f"{name} " for name in TABLES] + (rooms.split() if is_whole else [])
    output = round.path.read_text()
    round.note("each module and table has tests", ", ".join(name for name in expected if f"\ntest {name}" not in output))


def is_refused(round, user):
    return "a sandbox" in round.mode.missing(user)


def tests(round, program, modules, user):
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
    part = "1~1" if modules == REFUSED else part_of(round, user)
    return Job(f"{program} as {user}", f"sh /tmp/part {round.built}/{program} {part} {modules}", user, SECONDS, **settings)


def part_of(round, user):
    """Every so many tests from a first one on, as sed says it."""
    count = PARTS_OF_TWINS if round.board.name in TWINS else PARTS[round.mode.name]
    return f"{(USERS.index(user) + TODAY) % count + 1}~{count}"


def share(mode, user):
    number = MODES.index(mode) * len(USERS) + USERS.index(user)
    return f"{(number + TODAY) % SHARES}/{SHARES}"

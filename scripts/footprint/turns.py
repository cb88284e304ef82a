"""What a command line needs: one-shot turns, and the start of the program."""

import os
from pathlib import Path

from model import COMMAND_QUESTION, TURN_SAYS
from program import LONG_SESSION_ENTRIES
from table import MB, count, megabytes, milliseconds

# Instructions when the table was last recorded. More than TOLERANCE above is a failure. After a change
# that is worth its cost, write the new figure here. They are for the compiler of cross/build and a CPU
# with AVX2, by which ring chooses its code.
RECORDED_INSTRUCTIONS = {
    "version": 1_517_000,
    "turn": 12_224_000,
    "long turn": 23_404_000,
}
TOLERANCE = 1.03

VERSION_MS = 2.0
# Most of it are pages of the program's file. Without its order (cross/README.md) it would be twice as much, and it is 3.5 to 3.9
# as well as the order fits the program.
PEAK_BYTES = 3.88 * MB
ANONYMOUS_BYTES = 0.57 * MB
TURN_CPU_MS = 20.0
LONG_SESSION_EXTRA_BYTES = 0.5 * MB
LONG_SESSION_OPEN_MS = 30.0
CONFINED_START_MS = 10.0
REQUEST_BYTES = 12_000
# Of a home with some conversations, a long one among them. A tenth are looks for the programs that skills need, as many as
# PATH has folders.
HI_CALLS = 730
SYNCS_PER_TURN = 8
# Bytes that a turn may write: a multiple of its text, and a constant.
WRITTEN_TIMES, WRITTEN_BESIDE = 3, 4096
# How much the length of the session may change the bytes of a turn: the digits of an offset.
WRITTEN_BY_LENGTH = 64


def allowed_instructions(name):
    recorded = RECORDED_INSTRUCTIONS[name]
    return recorded and recorded * TOLERANCE


def size_limit(architecture):
    """The largest size that cross/targets allows."""
    targets = Path(__file__).parents[2] / "cross/targets"
    lines = (line.split() for line in targets.read_text().splitlines())
    return next(int(line[2]) for line in lines if line and line[0] == architecture)


def measure(program, model, table):
    table.gate("binary", os.path.getsize(program.binary), size_limit("x86_64"), count)
    version = ["--version"]
    least, median = program.wall_ms(version)
    times = f"{least:.1f} ms, median {median:.1f}"
    table.note("--version, time", times, milliseconds(VERSION_MS))
    measured = program.instructions(lambda: version)
    table.gate("--version, instructions", measured, allowed_instructions("version"), count)
    measure_turns(program, table)
    measure_command(program, table)
    measure_writes(program, table)

    program.run(program.turn("hello", "hi"))
    table.gate('request for "hi", bytes', model.last_size.value, REQUEST_BYTES, count)
    table.gate("  system calls", program.calls(program.turn("hello", "hi")), HI_CALLS, count)


def measure_turns(program, table):
    """A turn with one tool call, in a short session and in a long one."""
    peak, anonymous = program.memory(program.short_turn)
    table.resident("turn with a tool over TLS, peak resident", peak, PEAK_BYTES)
    table.gate("  anonymous memory at its end", anonymous, ANONYMOUS_BYTES, megabytes)
    cpu = program.cpu_ms(program.short_turn)
    table.note("  processor time", milliseconds(cpu), milliseconds(TURN_CPU_MS))
    turn = program.instructions(program.short_turn)
    table.gate("  instructions", turn, allowed_instructions("turn"), count)

    more, _ = program.memory(program.long_turn)
    figure = f"the same in a session of {LONG_SESSION_ENTRIES:,} entries, more"
    table.gate(figure, max(more - peak, 0), LONG_SESSION_EXTRA_BYTES, megabytes)
    opening = milliseconds(max(program.cpu_ms(program.long_turn) - cpu, 0))
    table.note("  processor time, more", opening, milliseconds(LONG_SESSION_OPEN_MS))
    long_turn = program.instructions(program.long_turn)
    table.gate("  instructions", long_turn, allowed_instructions("long turn"), count)


def measure_command(program, table):
    """What a confined command needs more than a tool that only reads a file. That includes the shell
    and the check of the sandbox, which each one-shot turn repeats."""
    plain, _ = program.wall_ms(program.short_turn())
    confined, _ = program.wall_ms(program.turn("commands", COMMAND_QUESTION))
    cost = milliseconds(max(confined - plain, 0))
    table.note("a confined command, more than reading a file", cost, milliseconds(CONFINED_START_MS))


def measure_writes(program, table):
    arguments = program.short_turn()
    first = program.writes(arguments)
    short = program.writes(arguments)
    long = program.writes(program.long_turn())
    limit = WRITTEN_TIMES * TURN_SAYS + WRITTEN_BESIDE
    written = max(written for written, _ in (first, short, long))
    syncs = max(syncs for _, syncs in (first, short, long))
    table.gate("bytes written in the turn", written, limit, count)
    difference = abs(long[0] - short[0])
    table.gate("  difference by the session's length", difference, WRITTEN_BY_LENGTH, count)
    table.gate("  syncs", syncs, SYNCS_PER_TURN, count)

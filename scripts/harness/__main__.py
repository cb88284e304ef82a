#!/usr/bin/env python3
"""Runs recorded tasks with a scripted model, and fails when a task or a limit does.

    python3 scripts/harness [--markdown] [--peers] [--only WORDS] BINARY

The model plays the steps of each task (tasks/*.json) and checks what the program sent before each of them; whether the
task was done is judged by its files and the answer. What the program sends is measured: bytes of the requests, and how
many of them are the same from the start of one request to the next, which is what a prompt cache can use. With --peers
the tasks are also run with other programs: nanobot, which pip installs into a cache, and PicoClaw and nullclaw if they
are in PATH. Python needs no packages. What reviews of answers and critics of plans catch and cost is measured behind it
(review.py, critic.py), unless --only or --markdown is given.
"""

import argparse
import base64
import json
import re
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

sys.dont_write_bytecode = True

import claw_check
import critic
import review
from play import Play, Playing
from programs import Peacrab, peers

HERE = Path(__file__).resolve().parent
# What the request for "hi" may have, with all tools and the index of the skills.
HI_BYTES = 12_000
# Bytes of all requests of all tasks, and the stable share of those after a task's first, when they were last recorded.
# After a change that is worth its cost, write the new figures here.
RECORDED_BYTES = 1_316_300
RECORDED_STABLE = 0.939
TOLERANCE = 1.03


class Row:
    """The figures of one task, or of all."""

    def __init__(self, name):
        self.name = name
        self.first = self.bytes = self.after = self.stable = self.requests = self.steps = self.recovered = 0
        self.done = self.tasks = 0
        self.reason = ""

    def add(self, other):
        for figure in ("first", "bytes", "after", "stable", "requests", "steps", "recovered", "done", "tasks"):
            setattr(self, figure, getattr(self, figure) + getattr(other, figure))

    def share(self):
        return self.stable / self.after if self.after else 0.0

    def cells(self):
        stable = f"{self.share():.1%}" if self.after else "-"
        figures = (self.first, self.bytes)
        done = f"{self.done}/{self.tasks}" if self.tasks > 1 else ("yes" if self.done else "NO")
        counts = (self.requests, self.steps, self.recovered)
        return [self.name, *(f"{figure:,}" for figure in figures), stable, *map(str, counts), done]


def main():
    parser = argparse.ArgumentParser(prog="scripts/harness", description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table of sums for the README")
    parser.add_argument("--peers", action="store_true", help="also run the tasks with other programs")
    parser.add_argument("--only", default="", metavar="WORDS", help="only tasks with these words in their name")
    arguments = parser.parse_args()
    tasks = [task for file in sorted(HERE.glob("tasks/*.json")) for task in json.loads(file.read_text())]
    tasks = [task for task in tasks if arguments.only in task["name"]]
    if not tasks:
        sys.exit(f"no task has {arguments.only!r} in its name")
    programs = [(Peacrab, arguments.binary.resolve()), *(peers() if arguments.peers else ())]
    sums = [run_all(program, binary, tasks, arguments.markdown) for program, binary in programs]
    if arguments.markdown or len(sums) > 1:
        print()
        show(sums, arguments.markdown)
    binary = arguments.binary.resolve()
    # The adapter for Claw-SWE-Bench is checked with the same means.
    is_fine = arguments.only or within_limits(sums[0]) & claw_check.check(binary)
    if not arguments.only and not arguments.markdown:
        is_fine &= review.measure(binary, tasks, (write, undone)) & critic.measure(binary)
    return 0 if is_fine and sums[0].done == sums[0].tasks else 1


def run_all(program, binary, tasks, is_quiet):
    """Runs all tasks with one program; returns the sum."""
    total, rows = Row(program.name), []
    for task in tasks:
        row = run(program, binary, task)
        total.add(row)
        rows.append(row)
        if not row.done:
            print(f"{program.name}: {row.name}: {row.reason}", file=sys.stderr)
    total.hi = next((row.first for row in rows if row.name == "hi"), 0)
    if not is_quiet:
        show([*rows, total])
    return total


def run(program, binary, task):
    """Runs one task; returns its figures."""
    row = Row(task["name"])
    row.tasks = 1
    today = datetime.now(timezone.utc).date().isoformat()
    steps = [step for turn in task["turns"] for step in turn["steps"]]
    steps = json.loads(json.dumps(steps).replace("TODAY", today))
    play = Play(steps, program.translate)
    with tempfile.TemporaryDirectory(prefix="harness-") as folder, Playing(play) as url:
        running = program(binary, Path(folder), url)
        for name, content in task.get("files", {}).items():
            write(running.workspace / name, content)
        for turn in task["turns"]:
            answer = running.ask(turn.get("session", "task"), turn["ask"])
        reason = play.complaint or undone(task["done"], answer.replace(today, "TODAY"), running)
        if play.steps and not reason:
            reason = f"{len(play.steps)} steps of the script were not asked for; it answered {answer!r}"
    row.done, row.reason = int(not reason), reason
    row.first = play.requests[0].bytes if play.requests else 0
    row.bytes = sum(request.bytes for request in play.requests)
    row.after, row.stable = play.stable()
    row.requests, row.steps = len(play.requests), play.taken
    row.recovered = play.faults if row.done else 0
    return row


def write(path, content):
    """A file of a task: text, lines that are repeated, or bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content)
    elif "base64" in content:
        path.write_bytes(base64.b64decode(content["base64"]))
    else:
        path.write_text("".join(content["line"].format(number) for number in range(1, content["times"] + 1)))


def undone(done, answer, running):
    """What is not as the task wants it in the end; `None` when all is."""
    for pattern in done.get("says", ()):
        if not re.search(pattern, answer):
            return f"the answer lacks {pattern!r}: {answer[:200]!r}"
    for name, content in done.get("files", {}).items():
        path = running.workspace / name
        if not path.is_file():
            return f"there is no file {name}"
        text = path.read_text()
        if text != content if isinstance(content, str) else not re.search(content["has"], text):
            return f"{name} is {text[:200]!r}"
    for name in done.get("gone", ()):
        if (running.workspace / name).exists():
            return f"{name} is still there"
    if "job" in done and done["job"] not in running.jobs():
        return "no such job is planned"
    return None


def within_limits(total):
    """Prints the limits; returns whether all are kept."""
    most_bytes, least_stable = RECORDED_BYTES * TOLERANCE, RECORDED_STABLE / TOLERANCE
    limits = (
        ('request for "hi"', f"{total.hi:,} bytes", f"at most {HI_BYTES:,}", total.hi <= HI_BYTES),
        ("all requests", f"{total.bytes:,} bytes", f"at most {most_bytes:,.0f}", total.bytes <= most_bytes),
        ("stable", f"{total.share():.1%}", f"at least {least_stable:.1%}", total.share() >= least_stable),
    )
    print()
    for name, measured, limit, is_kept in limits:
        print(f"{name:18} {measured:16} {limit:20} {'ok' if is_kept else 'OVER'}")
    return all(is_kept for *_, is_kept in limits)


def show(rows, is_markdown=False):
    head = ("", "first request", "all bytes", "stable", "requests", "steps", "recovered", "done")
    table = [list(head), *(row.cells() for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    if is_markdown:
        table.insert(1, ["---"] * len(head))
    for cells in table:
        padded = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
        print(f"| {' | '.join(cells)} |" if is_markdown else "  ".join(padded).rstrip())


if __name__ == "__main__":
    sys.exit(main())

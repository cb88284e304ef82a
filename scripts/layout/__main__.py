#!/usr/bin/env python3
"""Writes the names of the functions that a board needs, in order of their first use, for cross/layout/arrange.py.

    python3 scripts/layout BINARY ORDER

BINARY is the program for x86_64 with its map beside it (cross/build writes both). It runs natively: each function stops
once, at a breakpoint (trace.c). What runs first stands first, so that what an idle gateway needs is on as few pages as
possible; then come a turn, a conversation, commands, what else a chat can ask for, and a second start.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "footprint"), str(ROOT / "cross" / "layout")]

import arrange
import certificates
import gateway as measured
import layout
import remote
from daemon import FIRST_PERSON, Crowd, Gateway
from model import COMMAND_QUESTION, Model
from program import Program
from telegram import Telegram

# Seconds in which everything happens that an idle gateway does: a long poll and the looks of watches.
IDLE_TIME = 65
# Seconds until a job or a watch that is due has run.
DUE_TIME = 70
PEOPLE, MESSAGES = 8, 60
# What a person may send besides questions, each with a part of its answer.
COMMANDS = (
    ("/help", "/status"),
    ("/status", ""),
    ("/usage", ""),
    ("/watch", "Built in"),
    ("/watch load > 90", ""),
    ("/remind me in 1 minute to look", ""),
    ("/jobs", ""),
    ("/sh echo $((40 + 2))", "42"),
    ("/sh ls -l", "note.txt"),
    ("/stop", ""),
)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, order = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    names = layout.functions(binary.with_name(binary.name + ".map"))
    with tempfile.TemporaryDirectory() as name:
        tracer = Tracer(Path(name), binary, names)
        certificates.make(tracer.folder)
        with Model(tracer.folder) as model:
            scenarios(tracer, model)
        order.write_text(tracer.order())


class Tracer:
    """Runs the program so that each function that runs is noted."""

    def __init__(self, folder, binary, names):
        self.folder, self.binary, self.names = folder, binary, names
        self.program = folder / "trace"
        self.addresses, self.result = folder / "addresses", folder / "result"
        self.addresses.write_text("".join(f"{address:x}\n" for address in names))
        self.result.touch()
        self.titles = []
        source = Path(__file__).with_name("trace.c")
        subprocess.run(["cc", "-O2", "-o", self.program, source], check=True)

    @property
    def wrapper(self):
        return [str(self.program), str(self.addresses), str(self.result)]

    def begin(self, title):
        """What runs from now on belongs to this scenario."""
        print(title, flush=True)
        self.titles.append((len(self.result.read_text().splitlines()), title))

    def order(self):
        """The names, without hashes and without parts that several functions share."""
        titles, seen, lines = dict(self.titles), set(), []
        for number, address in enumerate(self.result.read_text().splitlines()):
            if number in titles:
                lines.append(f"# {titles[number]}")
            for name in self.names[int(address, 16)]:
                name = arrange.name_without_hashes(name)
                if name not in seen and not name.startswith(arrange.SHARED):
                    seen.add(name)
                    lines.append(name)
        return "".join(f"{line}\n" for line in lines)


def scenarios(tracer, model):
    def program(name):
        (tracer.folder / name).mkdir()
        return Program(tracer.binary, tracer.folder / name, model, tracer.folder / "authority.pem")

    here = program("gateway")
    telegram = Telegram(tracer.folder)

    def gateway():
        return Gateway(here, telegram, tracer.wrapper)

    tracer.begin("an idle gateway")
    with gateway():
        wait(telegram, IDLE_TIME)
    tracer.begin("its second start")
    with gateway():
        wait(telegram, 5)
    once = program("turn")
    tracer.begin("a turn with a tool")
    once.run(once.short_turn(), tracer.wrapper)
    with gateway():
        wait(telegram, 5)
        tracer.begin("a conversation")
        crowd = Crowd(telegram, PEOPLE)
        crowd.ask(MESSAGES)
        tracer.begin("a confined command")
        # A chat of its own: the model sees this question in all later ones.
        crowd.say(telegram.chat(FIRST_PERSON + PEOPLE), COMMAND_QUESTION, lambda shown: True)
        tracer.begin("commands of a chat")
        for text, part in COMMANDS:
            crowd.say(crowd.chats[1], text, lambda shown, part=part: part in shown)
        crowd.check()
        tracer.begin("a reminder")
        time.sleep(DUE_TIME)
    tracer.begin("a start with jobs and watches")
    measured.write_jobs(here.home, 6)
    remote.write_watches(here.home, 6)
    with gateway():
        wait(telegram, DUE_TIME)
        crowd.ask(MESSAGES)


def wait(telegram, seconds):
    """Waits until the gateway is idle, and these seconds more."""
    telegram.wait_for_poll(telegram.polls + 1, 120)
    telegram.has_menu.wait(30)
    time.sleep(seconds)


if __name__ == "__main__":
    main()

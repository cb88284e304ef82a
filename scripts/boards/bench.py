"""A round: one kind of check, on one board, in one mode. It starts machines, and notes what passed."""

import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from machine import Job, Machine
from system import say

# Lines of the log that are shown for a failure.
SHOWN_LINES = 40


@dataclass
class Round:
    """What a kind's `run` gets. Its results are the pairs of a name and a problem, "" if it passed."""

    kind: str
    board: object
    mode: object
    run: callable
    results: list = field(default_factory=list)
    minutes: float = 0
    cpu_minutes: float = 0
    position: str = ""
    path: Path = None

    def name(self):
        return f"{self.board.name} {self.mode.name} {self.kind}"

    def perform(self, system, built, folder, position):
        """Runs it; what goes wrong in it is a result."""
        self.system, self.built, self.position = system, built, position
        self.path = folder / f"{self.name().replace(' ', '-')}.log"
        began = time.monotonic()
        with self.path.open("w") as self.log:
            try:
                self.run(self)
                if not self.results:
                    self.note("checks", "there was none")
            except Exception:
                self.log.write(traceback.format_exc())
                self.note("the round itself", "it ended with an exception")
        self.minutes = (time.monotonic() - began) / 60

    def machine(self, at, files, jobs, seconds, **options):
        """Runs jobs in a machine. Each has to end with 0; one that does not end has failed."""
        on_end = lambda name, status: self.note(name, "" if status == 0 else f"exit status {status}")
        ended = self.start(at, files, jobs, seconds, on_end=on_end, **options)
        for job in jobs:
            if isinstance(job, Job) and job.name not in ended:
                self.note(job.name, "did not end")
        return ended

    def start(self, at, files, jobs, seconds, **options):
        """The same for a machine that may be switched off: nothing is noted."""
        machine = Machine(self.system, self.log, **options)
        ended = machine.run(at, files, jobs, self.mode.command_line(), seconds)
        self.cpu_minutes += machine.cpu_seconds / 60
        return ended

    def note(self, name, problem=""):
        """Notes a result and shows it."""
        self.results.append((name, problem))
        self.show(f"{name}: {problem or 'ok'}")

    def show(self, text):
        say(f"{time.strftime('%H:%M:%S')} {self.position} {self.name()}: {text}")

    def failures(self):
        return [(name, problem) for name, problem in self.results if problem]


class Results:
    """The rounds that have ended, from several threads."""

    def __init__(self):
        self.lock, self.rounds, self.first_failure = threading.Lock(), [], None

    def add(self, round):
        with self.lock:
            self.rounds.append(round)
            if round.failures() and not self.first_failure:
                self.first_failure = round

    def failed(self):
        return any(round.failures() for round in self.rounds)

    def show(self):
        print(f"{'board':<10} {'mode':<14} {'kind':<8} {'passed':>8} {'minutes':>8} {'CPU':>6}")
        for round in self.rounds:
            passed = f"{len(round.results) - len(round.failures())}/{len(round.results)}"
            row = f"{round.board.name:<10} {round.mode.name:<14} {round.kind:<8} {passed:>8} {round.minutes:>8.1f}"
            row += f" {round.cpu_minutes:>6.1f}"
            print(row + "".join(f"\n    FAILED {name}: {problem}" for name, problem in round.failures()))
        if self.first_failure and self.first_failure.path:
            lines = self.first_failure.path.read_text().splitlines()[-SHOWN_LINES:]
            print(f"\nThe first failure; its log is {self.first_failure.path}\n")
            print("\n".join(f"    {line}" for line in lines))

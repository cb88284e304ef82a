"""What one-shot turns cost in the machine: their memory and page faults, and the processor time of a confined command
beside that of one without the sandbox."""

import json
import statistics
import tempfile
import threading
from pathlib import Path

import host
from figures import MB, gate, megabytes, milliseconds, note, times
from host import AT, AUTHORITY
from machine import Job
from model import ANSWER, NOTE, Connection, calling, text_of
from process import LOG, Process
from remote import Remote

MODES = ("all",)
SECONDS = 3600
# For one turn, on a busy host.
TURN_SECONDS = 900
# The commands of a turn, which do nothing. They differ, because the program counts calls that repeat.
COMMANDS = 20
RUNS = 3
READING = [("read_file", {"path": "note.txt"})]
RUNNING = [("exec", {"command": f"true {number}"}) for number in range(COMMANDS)]
QUESTIONS = {"read the note": READING, "run the commands": RUNNING}
# How many times the processor time of a command without the sandbox a confined one may take.
CONFINED_TIMES = 3
# 3 % above what was measured on arm64; the others in proportion to it since they were measured last.
PEAK_BYTES = {
    "armv6": 6.92 * MB,
    "armhf": 5.29 * MB,
    "arm64": 6.59 * MB,
    "arm64-16k": 6.69 * MB,
    "riscv64": 6.38 * MB,
}
USER = "setpriv --reuid=board --regid=board --init-groups env HOME=/home/board PEACRAB_HOME=/home/board/"


def run(round):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host.certify(folder)
        model = type("CostsModel", (Model,), {"reached": threading.Event(), "goes_on": threading.Event()})
        url = host.serve(folder, model)
        for sandbox in ("on", "off"):
            tools = {} if sandbox == "on" else {"tools": {"exec": {"sandbox": "off", "approval": "never"}}}
            (folder / f"{sandbox}.json").write_text(json.dumps(host.configuration(url, **tools)))
        (folder / "note.txt").write_text(NOTE)
        remote = Remote(folder, lambda remote: play(round, remote, model))
        files = [round.built, *(folder / name for name in ("on.json", "off.json", "note.txt", "remote", AUTHORITY))]
        round.machine(AT, files, [Job("costs", remote.line, seconds=SECONDS)], SECONDS, counted=True)


def play(round, remote, model):
    for sandbox in ("on", "off"):
        remote.run(
            f"{USER}{sandbox} {AT}/peacrab onboard --non-interactive > /dev/null && "
            f"cp {AT}/note.txt /home/board/{sandbox}/workspace && "
            f"install -m 600 -o board {AT}/{sandbox}.json /home/board/{sandbox}/config.json || exit"
        )
    turns = [measure_turn(remote, model, "on", "read the note") for _ in range(RUNS)]
    peak, faults, reading_ms = (statistics.median(column) for column in zip(*turns))
    gate(round, "one-shot turn, peak", peak, PEAK_BYTES[round.board.name], megabytes)
    note(round, "one-shot turn, page faults", f"{faults:,.0f}")
    confined, plain = (
        (measure_turn(remote, model, sandbox, "run the commands")[2] - reading_ms) / COMMANDS for sandbox in ("on", "off")
    )
    note(round, "a command without the sandbox", milliseconds(plain))
    note(round, "a confined command", milliseconds(confined))
    gate(round, "  times as much", confined / plain, CONFINED_TIMES, times)


def measure_turn(remote, model, home, question):
    """Peak, page faults and processor time, with that of its commands, of a one-shot turn when the model has the results
    of its calls."""
    model.reached.clear()
    model.goes_on.clear()
    process = Process(remote, f"{USER}{home} {AT}/peacrab agent -s $RANDOM -m '{question}' > {LOG} 2>&1 & process=$!")
    if not model.reached.wait(TURN_SECONDS):
        raise TimeoutError(f"the model was not asked: {process.last_words()}")
    figures = process.peak(), process.page_faults(), process.cpu_with_children_ms()
    model.goes_on.set()
    output = remote.run(f"wait $process; echo $?; cat {LOG}")
    if not output.startswith("0\n") or ANSWER not in output:
        raise RuntimeError(f"the turn failed: {output}")
    return figures


class Model(Connection):
    """Calls what the question needs, and waits with its answer until the program has been measured."""

    reached = goes_on = None

    def answer(self, messages):
        results = [str(message["content"]) for message in messages if message["role"] == "tool"]
        if not results:
            return calling(*QUESTIONS[text_of(messages[-1]).splitlines()[-1]])
        self.reached.set()
        wrong = [result for result in results if not (result.startswith("exit status 0") or NOTE[:40] in result)]
        if wrong:
            return {"role": "assistant", "content": f"not what was expected: {wrong[0]}"}, "stop"
        self.goes_on.wait(TURN_SECONDS)
        return {"role": "assistant", "content": ANSWER}, "stop"

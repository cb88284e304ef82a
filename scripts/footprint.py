#!/usr/bin/env python3
"""Measures the static binary, and fails when it costs a board more than it may.

    scripts/footprint.py [--markdown] BINARY

Each figure of a turn is taken from the real program, which talks over TLS to a model server in
here. What depends on the machine (times) is printed; what does not is gated: bytes, memory,
instructions under valgrind, writes and syncs under strace. Only Python's own library, openssl,
valgrind and strace are needed; `scripts/setup footprint` installs them.
"""

import argparse
import ctypes
import http.server
import json
import multiprocessing
import os
import re
import shutil
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Instructions as they were when the table was last recorded. More than TOLERANCE above is a
# failure; after a change that is worth its price, write the new figure here. They hold for the
# compiler of cross/build and a CPU with AVX2, by which ring chooses its code.
RECORDED_INSTRUCTIONS = {
    "version": 724_600,
    "turn": 6_359_000,
    "long turn": 9_950_000,
}
TOLERANCE = 1.03

MB = 1_000_000
BINARY_BYTES = 2_700_000
VERSION_MS = 2.0
PEAK_BYTES = 3.2 * MB
ANONYMOUS_BYTES = 0.6 * MB
TURN_CPU_MS = 20.0
LONG_SESSION_EXTRA_BYTES = 0.5 * MB
LONG_SESSION_OPEN_MS = 30.0
CONFINED_START_MS = 10.0
REQUEST_BYTES = 12_000
SYNCS_PER_TURN = 8
# Bytes that a turn may write: so many times what it says, and so much beside.
WRITTEN_TIMES, WRITTEN_BESIDE = 3, 4096
# By how much the length of the session may change what a turn writes: the digits of an offset.
WRITTEN_BY_LENGTH = 64

LONG_SESSION_ENTRIES = 10_000
NOTE = "The crab lives in the shell of a mussel. " * 20
QUESTION = "what does the note say?"
ANSWER = "It says where the crab lives."
CALL = {"path": "note.txt"}
COMMAND_QUESTION = "run a command that does nothing"
# What the turn says: the question, the call, its result and the answer.
TURN_SAYS = len(QUESTION) + len(json.dumps(CALL)) + len(NOTE) + len(ANSWER)


# --- the model server ------------------------------------------------------------------------


class ModelHandler(http.server.BaseHTTPRequestHandler):
    """Speaks OpenAI chat completions: calls read_file once, then answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen = None  # a queue of request sizes

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.put(len(body))
        request = json.loads(body)
        delta, finish = answer_to(request["messages"])
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if request.get("stream"):
            chunks = [
                {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {"choices": [], "usage": usage},
            ]
            text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            self.reply("text/event-stream", text)
        else:
            choice = {"index": 0, "message": delta, "finish_reason": finish}
            self.reply("application/json", json.dumps({"choices": [choice], "usage": usage}))

    def reply(self, content_type, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer_to(messages):
    last = messages[-1]
    if any(COMMAND_QUESTION in str(message["content"]) for message in messages):
        return answer_to_command(last)
    if last["role"] == "tool" and NOTE[:40] not in str(last["content"]):
        sys.exit(f"the tool did not read the note: {last}")
    if last["role"] == "tool" or QUESTION not in str(last["content"]):
        return {"role": "assistant", "content": ANSWER}, "stop"
    return calling("read_file", CALL)


def answer_to_command(last):
    if last["role"] != "tool":
        return calling("exec", {"command": "true"})
    if not str(last["content"]).startswith("exit status 0"):
        sys.exit(f"the command did not run: {last}")
    return {"role": "assistant", "content": ANSWER}, "stop"


def calling(tool, arguments):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}, "tool_calls"


def serve(folder, seen, port):
    """Runs in a process of its own, so that nothing of it is measured."""
    ModelHandler.seen = seen
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ModelHandler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    port.put(server.server_port)
    server.serve_forever()


def make_certificates(folder):
    """A certificate authority and a certificate for 127.0.0.1, in files of the folder."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("authority", "server"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(
        *"req -x509 -new -key authority.key -subj /CN=authority -days 2 -out authority.pem".split()
    )
    openssl(*"req -new -key server.key -subj /CN=server -out server.csr".split())
    openssl(
        *"x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial".split(),
        *"-days 2 -extfile names -out server.pem".split(),
    )


# --- the program -----------------------------------------------------------------------------


class Program:
    """The binary with a home of its own and the server as its model."""

    def __init__(self, binary, folder, port):
        self.binary = str(binary)
        self.home = folder / "home"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PEACRAB_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        # As a newcomer has it: with the files that go into every request.
        self.run(["onboard", "--non-interactive"])
        config = {
            "agents": {"defaults": {"provider": "fake", "model": "fake-model"}},
            "providers": {
                "fake": {"apiBase": f"https://127.0.0.1:{port}/v1", "apiKey": "sk-footprint"}
            },
            "tls": {"caFile": str(folder / "authority.pem")},
        }
        (self.home / "config.json").write_text(json.dumps(config))
        os.chmod(self.home / "config.json", 0o600)
        (self.home / "workspace" / "note.txt").write_text(NOTE)
        self.sessions = 0

    def turn(self, session, text=QUESTION):
        return ["agent", "-s", session, "-m", text]

    def short_turn(self):
        """A turn in a session that does not exist yet."""
        self.sessions += 1
        return self.turn(f"short-{self.sessions:03}")

    def long_turn(self):
        """A turn in a session of LONG_SESSION_ENTRIES entries."""
        self.sessions += 1
        name = f"aging-{self.sessions:03}"
        self.make_long_session(name)
        return self.turn(name)

    def run(self, arguments, wrapper=()):
        """Runs it; returns what it, or the wrapper, said on stderr. A failure ends everything."""
        command = [*wrapper, self.binary, *arguments]
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        self.check(arguments, done.returncode, done.stdout, done.stderr)
        return done.stderr

    def check(self, arguments, code, stdout, stderr):
        if code != 0 or ("agent" in arguments and ANSWER not in stdout):
            sys.exit(f"peacrab {' '.join(arguments)} ended with {code}\n{stdout}\n{stderr}")

    def instructions(self, arguments_for_a_run, runs=3):
        """The least number of instructions that valgrind counts."""
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        counts = []
        for _ in range(runs):
            said = self.run(arguments_for_a_run(), valgrind)
            counts.append(int(re.search(r"Collected : (\d+)", said)[1]))
        return min(counts)

    def cpu_ms(self, arguments_for_a_run, runs=10):
        """The least processor time that the program itself took."""
        times = []
        for _ in range(runs):
            arguments = arguments_for_a_run()
            pid = self.spawn(arguments)
            _, status, usage = os.wait4(pid, 0)
            self.check(arguments, os.waitstatus_to_exitcode(status), ANSWER, "")
            times.append((usage.ru_utime + usage.ru_stime) * 1000)
        return min(times)

    def wall_ms(self, arguments, runs=20):
        """How long it takes from start to end: the least, and the median."""
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            pid = self.spawn(arguments)
            os.waitpid(pid, 0)
            times.append((time.perf_counter() - start) * 1000)
        return min(times), statistics.median(times)

    def spawn(self, arguments):
        null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
        return os.posix_spawn(
            self.binary, [self.binary, *arguments], self.environment, file_actions=null
        )

    def memory(self, arguments_for_a_run, runs=5):
        """Peak resident bytes, and anonymous bytes at the end: medians."""
        figures = [self.memory_once(arguments_for_a_run()) for _ in range(runs)]
        return tuple(statistics.median(column) for column in zip(*figures))

    def memory_once(self, arguments):
        """Stops the program in its exit, where its memory can still be looked at: ptrace(2)."""
        pid = os.fork()
        if pid == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            ptrace(PTRACE_TRACEME, 0, 0)
            os.execve(self.binary, [self.binary, *arguments], self.environment)
        os.waitpid(pid, 0)  # the stop at exec
        ptrace(PTRACE_SETOPTIONS, pid, PTRACE_O_TRACEEXIT)
        figures, signum = None, 0
        while True:
            ptrace(PTRACE_CONT, pid, signum)
            _, status = os.waitpid(pid, 0)
            if not os.WIFSTOPPED(status):
                break
            signum = os.WSTOPSIG(status)
            if status >> 8 == signal.SIGTRAP | PTRACE_EVENT_EXIT << 8:
                figures, signum = memory_of(pid), 0
        self.check(arguments, os.waitstatus_to_exitcode(status), ANSWER, "")
        return figures

    def writes(self, arguments):
        """Bytes written to files of the home, and how often one was synced: from strace."""
        calls = "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range"
        with tempfile.NamedTemporaryFile("r") as log:
            strace = ["strace", "-f", "-y", "-s", "0", "-o", log.name, "-e", f"trace={calls}"]
            self.run(arguments, strace)
            written = syncs = 0
            for line in log:
                call = re.search(r"(\w+)\(\d+<([^>]*)>.* = (\d+)", line)
                if not call or not call[2].startswith(str(self.home)):
                    continue
                if "sync" in call[1]:
                    syncs += 1
                else:
                    written += int(call[3])
        if not written:
            sys.exit("strace saw no write to the home: the measurement is broken")
        return written, syncs

    def make_long_session(self, name):
        """A session of LONG_SESSION_ENTRIES entries, in the form of the journal."""
        stamp = "2026-01-01T12:00:00+00:00"
        head = {"_type": "metadata", "key": f"cli:{name}", "created_at": stamp, "timestamp": stamp}
        lines = [head]
        for number in range(LONG_SESSION_ENTRIES // 2):
            for role in ("user", "assistant"):
                content = f"Entry {number}: " + "some words about the tide. " * 7
                lines.append({"role": role, "content": content, "timestamp": stamp})
        journal = self.home / "sessions" / f"cli_{name}.jsonl"
        journal.parent.mkdir(mode=0o700, exist_ok=True)
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines))


PTRACE_TRACEME, PTRACE_CONT, PTRACE_SETOPTIONS = 0, 7, 0x4200
PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT = 0x40, 6
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data):
    if LIBC.ptrace(request, pid, None, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace({request}): {os.strerror(number)}")


def memory_of(pid):
    """Peak resident and present anonymous bytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    # Counted page by page; RssAnon in `status` is a guess of some dozen pages.
    exact = Path(f"/proc/{pid}/smaps_rollup").read_text()
    anonymous = int(re.search(r"Anonymous:\s+(\d+) kB", exact)[1])
    return peak * 1024, anonymous * 1024


# --- the table -------------------------------------------------------------------------------


class Table:
    """The figures, each with its limit."""

    def __init__(self):
        self.rows = []
        self.is_over = False

    def gate(self, figure, measured, limit, form):
        """A figure that fails the run when it is over its limit."""
        fine = limit is not None and measured <= limit
        self.is_over |= not fine
        shown = "none recorded" if limit is None else form(limit)
        self.rows.append((figure, form(measured), shown, "ok" if fine else "OVER"))

    def note(self, figure, measured, limit=""):
        """A figure that depends on the machine: it is only printed."""
        self.rows.append((figure, measured, limit, "printed"))

    def show(self, markdown):
        head = ("figure", "measured", "limit", "")
        widths = [max(len(row[column]) for row in [head, *self.rows]) for column in range(4)]
        rule = tuple("-" * width for width in widths)
        for row in (head, rule, *self.rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())


def megabytes(value):
    return f"{value / MB:.2f} MB"


def count(value):
    return f"{value:,.0f}"


def milliseconds(value):
    return f"{value:.1f} ms"


def allowed_instructions(name):
    recorded = RECORDED_INSTRUCTIONS[name]
    return recorded and recorded * TOLERANCE


def measure(program, seen, table):
    table.gate("binary", os.path.getsize(program.binary), BINARY_BYTES, count)
    version = ["--version"]
    least, median = program.wall_ms(version)
    times = f"{least:.1f} ms, median {median:.1f}"
    table.note("--version, time", times, milliseconds(VERSION_MS))
    measured = program.instructions(lambda: version)
    table.gate("--version, instructions", measured, allowed_instructions("version"), count)
    measure_turns(program, table)
    measure_command(program, table)
    measure_writes(program, table)

    while not seen.empty():
        seen.get()
    program.run(program.turn("hello", "hi"))
    table.gate('request for "hi", bytes', seen.get(), REQUEST_BYTES, count)


def measure_turns(program, table):
    """A turn with one tool call, in a short session and in a long one."""
    peak, anonymous = program.memory(program.short_turn)
    table.gate("turn with a tool over TLS, peak resident", peak, PEAK_BYTES, megabytes)
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
    """What a confined command costs beside a tool that only reads, the shell and the trial of the
    walls included: a one-shot turn tries them anew."""
    plain, _ = program.wall_ms(program.short_turn())
    confined, _ = program.wall_ms(program.turn("commands", COMMAND_QUESTION))
    cost = milliseconds(max(confined - plain, 0))
    table.note("a confined command, more than a read file", cost, milliseconds(CONFINED_START_MS))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table for the README")
    arguments = parser.parse_args()
    for tool in ("openssl", "valgrind", "strace"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing: run scripts/setup footprint")

    table = Table()
    processes = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_certificates(folder)
        seen, port = processes.SimpleQueue(), processes.SimpleQueue()
        server = processes.Process(target=serve, args=(folder, seen, port), daemon=True)
        server.start()
        try:
            program = Program(arguments.binary.resolve(), folder, port.get())
            measure(program, seen, table)
        finally:
            server.terminate()
    table.show(arguments.markdown)
    return 1 if table.is_over else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the program's command lines, and measures what they need."""

import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model import ANSWER, COMMAND_QUESTION, NOTE, QUESTION

LONG_SESSION_ENTRIES = 10_000


class Program:
    """The binary with its own home, and the fake server as its model."""

    def __init__(self, binary, folder, model, authority):
        self.binary = str(binary)
        self.home = folder / "home"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PEACRAB_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        # As for a new user: with the files that go into every request.
        self.run(["onboard", "--non-interactive"])
        self.config = {
            # A server of one's own, as this one's address says, would be asked for the window.
            "agents": {"defaults": {"provider": "fake", "model": "fake-model", "contextWindowTokens": 128_000}},
            "providers": {"fake": {"apiBase": model.url, "apiKey": "sk-footprint"}},
            "tls": {"caFile": str(authority)},
        }
        self.configure()
        (self.home / "workspace" / "note.txt").write_text(NOTE)
        self.sessions = 0

    def configure(self, **sections):
        """Writes the configuration, with further sections."""
        (self.home / "config.json").write_text(json.dumps(self.config | sections))
        os.chmod(self.home / "config.json", 0o600)

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
        """Runs it; returns its stderr, or the wrapper's. A failure ends the measurement."""
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
        """The minimum number of instructions, counted by valgrind."""
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        counts = []
        for _ in range(runs):
            stderr = self.run(arguments_for_a_run(), valgrind)
            counts.append(int(re.search(r"Collected : (\d+)", stderr)[1]))
        return min(counts)

    def cpu_ms(self, arguments_for_a_run, runs=10):
        """The minimum processor time of the program itself."""
        times = []
        for _ in range(runs):
            arguments = arguments_for_a_run()
            pid = self.spawn(arguments)
            _, status, usage = os.wait4(pid, 0)
            self.check(arguments, os.waitstatus_to_exitcode(status), ANSWER, "")
            times.append((usage.ru_utime + usage.ru_stime) * 1000)
        return min(times)

    def wall_ms(self, arguments, runs=20):
        """The time from start to end: minimum and median."""
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
        """Stops the program in its exit, when its memory can still be measured: ptrace(2)."""
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
        """Bytes written to files of the home, and the number of syncs: from strace."""
        with tempfile.TemporaryDirectory() as logs:
            self.run(arguments, strace(Path(logs)))
            return written_and_synced(Path(logs), self.home)

    def calls(self, arguments):
        """The number of system calls of all threads, as strace(1) sees them. Skills look for programs in PATH, so that is
        the same everywhere."""
        self.environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        with tempfile.TemporaryDirectory() as logs:
            self.run(arguments, ["strace", "-ff", "-s", "0", "-o", str(Path(logs) / "thread")])
            lines = [line for log in Path(logs).iterdir() for line in log.read_text().splitlines()]
        return sum(bool(re.match(r"\w+\(", line)) for line in lines)

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
    # Counted page by page; RssAnon in `status` is off by some dozen pages.
    exact = Path(f"/proc/{pid}/smaps_rollup").read_text()
    anonymous = int(re.search(r"Anonymous:\s+(\d+) kB", exact)[1])
    return peak * 1024, anonymous * 1024


# --- writes, as strace(1) sees them -----------------------------------------------------------

WRITING_CALLS = "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range"


def strace(logs, *options):
    """The beginning of a command line. Each thread has its own file in the folder, so that their lines
    do not mix."""
    log = str(logs / "thread")
    return ["strace", *options, "-ff", "-y", "-s", "0", "-o", log, "-e", f"trace={WRITING_CALLS}"]


def written_and_synced(logs, home):
    """Bytes written to files of the home, and the number of syncs, of all threads so far."""
    written = syncs = 0
    for log in logs.iterdir():
        for line in log.read_text().splitlines():
            call = re.search(r"(\w+)\(\d+<([^>]*)>.* = (\d+)", line)
            if not call or not call[2].startswith(str(home)):
                continue
            if "sync" in call[1]:
                syncs += 1
            else:
                written += int(call[3])
    if not written:
        sys.exit("strace saw no write to the home: the measurement is broken")
    return written, syncs

"""The running gateway, and a crowd that talks with it."""

import itertools
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from model import ANSWER, QUESTION, numbered
from telegram import TOKEN

# Seconds after which an answer counts as lost. A cut network and too many requests take some.
ANSWER_TIME = 120
# Seconds in which the last threads of what was done end.
SETTLE_TIME = 2
# Seconds after which the connections that wait for the next message have been closed.
LINGER_TIME = 55


class Gateway:
    """`peacrab gateway` with a home. What it logs is in a file beside the home."""

    def __init__(self, program, telegram, wrapper=()):
        program.configure(
            channels={
                "telegram": {
                    "enabled": True,
                    "token": TOKEN,
                    "apiBase": telegram.url,
                    "allowFrom": ["*"],
                    # Answers of half a second are shown while they come.
                    "streamEditIntervalMs": 300,
                }
            }
        )
        self.log = program.home.parent / "gateway.log"
        self.started = time.perf_counter()
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*wrapper, program.binary, "gateway"],
                env=program.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        if self.process.wait(30) != 0:
            sys.exit(f"the gateway ended badly:\n{self.log.read_text()[-2000:]}")

    def memory(self):
        """Bytes that are resident, that are its alone, and anonymous: counted page by page."""
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        sizes = {name: int(size) * 1024 for name, size in re.findall(r"(\w+):\s+(\d+) kB", text)}
        private = sizes["Private_Clean"] + sizes["Private_Dirty"]
        return Memory(sizes["Rss"], sizes["Pss"], private, sizes["Anonymous"])

    def peak(self):
        """The most bytes that were ever resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def cpu(self):
        """Seconds of processor time of all its threads, living and ended, and of no child: the
        process's own clock (clock_getcpuclockid(3)), in nanoseconds."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def files(self):
        """Open files."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


class Memory:
    """What a process has in memory, in bytes."""

    def __init__(self, resident, proportional, private, anonymous):
        self.resident, self.proportional = resident, proportional
        self.private, self.anonymous = private, anonymous


class Crowd:
    """People, each in a chat alone with the bot. Each waits for an answer before saying more."""

    def __init__(self, telegram, people):
        self.telegram = telegram
        self.chats = [telegram.chat(1001 + number) for number in range(people)]
        self.numbers = itertools.count(1)
        self.answered, self.lost = 0, []
        self.lock = threading.Lock()

    def ask(self, messages):
        """Has so many questions answered, and waits until all is quiet."""
        left = itertools.count(messages, -1)
        self.each(self.question, lambda: next(left) > 0)
        time.sleep(SETTLE_TIME)
        if self.lost:
            sys.exit(f"these were never answered: {self.lost}")

    def each(self, does, goes_on):
        """Everybody does something again and again as long as it goes on, all at the same time."""

        def talk(chat):
            while not self.lost and goes_on():
                does(chat)

        threads = [threading.Thread(target=talk, args=(chat,)) for chat in self.chats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def question(self, chat):
        """A question that takes a tool, and its answer."""
        number = next(self.numbers)
        answer = numbered(ANSWER, number)
        self.say(chat, numbered(QUESTION, number), lambda shown: shown == answer)

    def command(self, chat):
        """A typed command, and its output."""
        words = f"number {next(self.numbers)}"
        self.say(chat, f"/sh echo {words}", lambda shown: shown.strip().endswith(words))

    def say(self, chat, text, is_answer):
        """Says something, and waits until an answer is shown."""
        self.telegram.say(chat, text)
        try:
            end = time.monotonic() + ANSWER_TIME
            while not is_answer(chat.news.get(timeout=max(end - time.monotonic(), 0.001))):
                pass
        except queue.Empty:
            self.lost.append(text)
            return
        with self.lock:
            self.answered += 1

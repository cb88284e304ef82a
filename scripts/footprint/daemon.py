"""The running gateway, and a crowd that talks to it."""

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

# The people who may talk with the bot.
FIRST_PERSON, PEOPLE_MAX = 1001, 64
# Seconds after which an answer counts as lost. Network cuts and rate limits delay answers.
ANSWER_TIME = 120
# Seconds after which a person sends again what was refused, and how often at most.
REFUSED_PAUSE, REFUSED_TIMES = 1, 60
# Seconds in which the threads of finished turns end.
SETTLE_TIME = 2
# Seconds after which idle connections have been closed.
LINGER_TIME = 55


class Gateway:
    """`peacrab gateway` with a home. Its log is a file beside the home."""

    def __init__(self, program, telegram, wrapper=()):
        program.configure(
            channels={
                "telegram": {
                    "enabled": True,
                    "token": TOKEN,
                    "apiBase": telegram.url,
                    # By their numbers, so that they are owners: "*" lets users in, who have no commands.
                    "allowFrom": [str(FIRST_PERSON + number) for number in range(PEOPLE_MAX)],
                    # So short that answers of half a second appear in several edits.
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
            sys.exit(f"the gateway failed:\n{self.log.read_text()[-2000:]}")

    def memory(self):
        """Resident, private and anonymous bytes, counted page by page."""
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        sizes = {name: int(size) * 1024 for name, size in re.findall(r"(\w+):\s+(\d+) kB", text)}
        private = sizes["Private_Clean"] + sizes["Private_Dirty"]
        return Memory(sizes["Rss"], sizes["Pss"], private, sizes["Anonymous"])

    def peak(self):
        """The maximum of resident bytes so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def cpu(self):
        """Seconds of processor time of all its threads, running and ended, without children: the
        process's own clock (clock_getcpuclockid(3))."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def wakeups(self):
        """How often each of its threads has been woken: voluntary switches, by the thread's number."""
        switches = {}
        for status in Path(f"/proc/{self.pid}/task").glob("*/status"):
            try:
                text = status.read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
            switches[status.parent.name] = int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", text)[1])
        return switches

    def files(self):
        """The number of open files."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


class Memory:
    """The memory of a process, in bytes."""

    def __init__(self, resident, proportional, private, anonymous):
        self.resident, self.proportional = resident, proportional
        self.private, self.anonymous = private, anonymous


class Crowd:
    """People in private chats with the bot. Each waits for an answer before writing again."""

    def __init__(self, telegram, people):
        self.telegram = telegram
        self.chats = [telegram.chat(FIRST_PERSON + number) for number in range(people)]
        self.numbers = itertools.count(1)
        self.answered, self.refused, self.lost = 0, 0, []
        self.lock = threading.Lock()

    def ask(self, messages):
        """Asks this many questions, and waits for the answers and until the gateway is idle."""
        left = itertools.count(messages, -1)
        self.each(self.question, lambda: next(left) > 0)
        time.sleep(SETTLE_TIME)
        self.check()

    def check(self):
        """Ends the measurement when an answer did not come."""
        if self.lost:
            sys.exit(f"no answer to: {self.lost}")

    def each(self, does, goes_on):
        """All people call `does` at the same time, again and again while `goes_on` is true."""

        def talk(chat):
            while not self.lost and goes_on():
                does(chat)

        threads = [threading.Thread(target=talk, args=(chat,)) for chat in self.chats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def question(self, chat):
        """Asks a question that needs a tool, and waits for its answer."""
        number = next(self.numbers)
        answer = numbered(ANSWER, number)
        self.say(chat, numbered(QUESTION, number), lambda shown: shown == answer)

    def command(self, chat):
        """Sends a slash command, and waits for its output. When too many run it is refused, and sent again."""
        words = f"number {next(self.numbers)}"
        is_refused = lambda shown: shown.startswith("Not accepted")
        # A note may come after it: only a few shells are kept, and it says when the chat has a new one.
        is_answer = lambda shown: words in shown.splitlines() or is_refused(shown)
        for _ in range(REFUSED_TIMES):
            shown = self.say(chat, f"/sh echo {words}", is_answer)
            if not shown or not is_refused(shown):
                return
            with self.lock:
                self.answered, self.refused = self.answered - 1, self.refused + 1
            time.sleep(REFUSED_PAUSE)
        self.lost.append(words)

    def say(self, chat, text, is_answer):
        """Sends a message, waits for its answer and returns it; None if none comes."""
        self.telegram.say(chat, text)
        try:
            end = time.monotonic() + ANSWER_TIME
            while not is_answer(shown := chat.news.get(timeout=max(end - time.monotonic(), 0.001))):
                pass
        except queue.Empty:
            self.lost.append(text)
            return None
        with self.lock:
            self.answered += 1
        return shown

"""What stays open for a chat: its shell, a terminal, watches and servers of tools. Each is used, and what it adds to the
memory of the gateway is measured."""

import queue
import time

import lamp
from figures import KB, gate, kilobytes
from model import ANSWER, QUESTION, calling, numbered, text_of

SHELLS, WATCHES, SERVERS = 4, 30, 3
# 30 watches took 29 to 82 kB: between two starts the idle gateway differs by some dozen kB, and one of the watches has run a
# command by then.
SHELL_BYTES, TERMINAL_BYTES, WATCHES_BYTES, SERVERS_BYTES = 100 * KB, 150 * KB, 85 * KB, 200 * KB
# Seconds after which the threads of what was done have ended.
SETTLE_TIME = 5
# Seconds for an answer, on a busy host. A command of a watch is run twice a minute.
ANSWER_TIME = 600
# Not the chats of the crowd, and not those of the kills.
NUMBERS = range(3001, 3002 + SHELLS)
NAMES = [f"lamp{number}" for number in range(SERVERS)]
RESTING = "cmd 'test -e shelf/done' succeeds every 30s"
# What the model calls for these questions, and what the results of all must contain.
CALLS = {
    "write to me": [("message", {"content": "This is besides the answer."}, "on its way")],
    "switch the lamps": [(lamp.switch(name), {"word": f"on {name}"}, f"the lamp is on {name}") for name in NAMES],
}


def answer(messages):
    """What the model says to one of these questions; None for another one."""
    question = max(number for number, message in enumerate(messages) if message["role"] == "user")
    asked = text_of(messages[question]).strip().splitlines()[-1]
    if asked not in CALLS:
        return None
    results = [str(message["content"]) for message in messages[question:] if message["role"] == "tool"]
    if not results:
        return calling(*((tool, arguments) for tool, arguments, _ in CALLS[asked]))
    wrong = [result for (_, _, expected), result in zip(CALLS[asked], results, strict=True) if expected not in result]
    return {"role": "assistant", "content": f"Wrong: {wrong[0]!r}" if wrong else done(asked)}, "stop"


def done(asked):
    return f"I did it: {asked}."


def run(round, telegram, process, home, configure, idle):
    """With new processes for the watches, for the servers and for the rest, so that what was used before does not hide
    their memory. `configure` puts a configuration into the home, with servers or without, and `idle` starts a process and
    returns its anonymous memory when it is idle. The last process is stopped."""
    process.start()
    ana, *others = (Person(telegram, number) for number in NUMBERS)
    ana.asks(numbered(QUESTION, 0), numbered(ANSWER, 0))
    asked = settled(process)
    ana.asks("write to me", "This is besides the answer.", done("write to me"))
    measure_shells(round, process, ana, others)
    measure_terminal(round, process, ana)
    add_watches(ana)
    process.remote.run(f"touch {home}/workspace/shelf/done")
    ana.reads("succeeds.")
    process.stop()

    with_watches = idle()
    process.stop()
    process.remote.run(f"rm {home}/watches.json {home}/workspace/shelf/done")
    growth = with_watches - idle()
    gate(round, f"{WATCHES} watches, more", max(growth, 0), WATCHES_BYTES, kilobytes)
    process.stop()

    configure("servers.json")
    process.start()
    ana.asks(numbered(QUESTION, 0), numbered(ANSWER, 0))
    lists = " ".join(f"{home}/state/mcp/{name}.json" for name in NAMES)
    process.remote.run(f"for list in {lists}; do until [ -e $list ]; do sleep 0.2; done; done")
    # With that, all are running again should one have ended since.
    ana.asks("switch the lamps", done("switch the lamps"))
    growth = settled(process) - asked
    gate(round, f"{SERVERS} idle MCP servers, more", max(growth, 0), SERVERS_BYTES, kilobytes)
    process.stop()
    configure("gateway.json")


def measure_shells(round, process, ana, others):
    ana.asks("/sh echo warm", "\nwarm")
    before = settled(process)
    for other in others:
        other.asks("/sh mkdir -p shelf && cd shelf && kept=yes", "Done, no output.")
        other.asks("/sh pwd; echo $kept", "workspace/shelf\nyes")
    growth = (settled(process) - before) / SHELLS
    gate(round, "an idle shell of a chat, more", max(growth, 0), SHELL_BYTES, kilobytes)


def measure_terminal(round, process, ana):
    before = settled(process)
    ana.asks("/term sh", "█")
    ana.asks("echo $((40 + 2)).", "\n42.")
    growth = settled(process) - before
    gate(round, "an open terminal, more", max(growth, 0), TERMINAL_BYTES, kilobytes)
    # The one of busybox needs no description of the terminal, which Debian has in a package of its own.
    ana.asks("busybox top", "Load average")
    ana.asks("/key q", "█")
    ana.asks("exit 3", "Terminal closed: exit status 3")


def add_watches(ana):
    ana.asks(f"/watch {RESTING}", "(number 1)")
    for number in range(2, WATCHES + 1):
        rule = (f"load > {number}", f"disk / > {60 + number}%", f"file /tmp/log-{number} matches x")[number % 3]
        ana.asks(f"/watch {rule}", f"(number {number})")


def settled(process):
    """The anonymous memory of the process when it is idle."""
    process.remote.run(f"sleep {SETTLE_TIME}")
    return process.memory().anonymous


class Person:
    """A person in a private chat with the bot."""

    def __init__(self, telegram, number):
        self.telegram, self.chat = telegram, telegram.chat(number)

    def asks(self, text, *answers):
        """Writes, and waits for these answers in their order. A terminal's screen is one too."""
        while not self.chat.news.empty():
            self.chat.news.get()
        self.telegram.say(self.chat, text)
        for one in answers:
            self.reads(one, text)

    def reads(self, expected, asked=""):
        shown, end = "", time.monotonic() + ANSWER_TIME
        while expected not in shown:
            try:
                shown = self.chat.news.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise TimeoutError(f"{asked}: {expected!r} was never shown; the last was {shown!r}") from None

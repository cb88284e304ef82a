"""What the remote terminal and the watches add to the idle gateway, how soon a key shows, and plots."""

import json
import math
import os
import queue
import random
import re
import statistics
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

from daemon import ANSWER_TIME, FIRST_PERSON, SETTLE_TIME, Crowd, Gateway
from table import KB, kilobytes, milliseconds, percent

TERMINAL_BYTES = 250 * KB
# From a message's delivery to the edit that shows it, when the last edit is so long ago that Telegram's pace does not
# count.
KEY_MS = 300
KEYS = 11
PACE_TIME = 1.5

WATCHES = 30
WATCHES_BYTES = 105 * KB
WATCHES_CPU_PERCENT = 0.1
# Seconds in which the looks of watches fall, which come twice a minute.
WATCH_TIME = 60

# Measured: 6.0 kB for a noisy week, which is the largest that a curve can be.
PLOT_BYTES = 8 * KB
PLOT_CPU_MS = 20.0

# The history's file: two headers, then a row for each five minutes of a week.
HEADER_BYTES, SAMPLES, INTERVAL = 1024, 7 * 24 * 12, 300
BUILT_IN, OTHERS, NAME_BYTES = 5, 16, 48


def measure(program, telegram, table):
    measure_terminal(program, telegram, table)
    measure_watches(program, telegram, table)
    measure_plot(program, table)


def measure_terminal(program, telegram, table):
    with Gateway(program, telegram) as gateway:
        crowd = Crowd(telegram, 1)
        chat = crowd.chats[0]
        # The first command has everything loaded that all commands need.
        crowd.command(chat)
        time.sleep(SETTLE_TIME)
        closed = gateway.memory()
        crowd.say(chat, "/term sh", lambda shown: "█" in shown)
        # A screen full of text, also in what scrolls by.
        crowd.say(chat, "seq 1 2000; echo full", lambda shown: "\nfull" in shown)
        time.sleep(SETTLE_TIME)
        opened = gateway.memory()
        growth = opened.anonymous - closed.anonymous
        table.gate("an open /term with a full screen, more anonymous memory", max(growth, 0), TERMINAL_BYTES, kilobytes)
        table.note("  more resident", kilobytes(max(opened.resident - closed.resident, 0)))
        before = gateway.cpu()
        time.sleep(10)
        table.note("  processor time while it is idle", percent(100 * (gateway.cpu() - before) / 10))
        times = [time_of_key(telegram, chat, number) for number in range(KEYS)]
        table.gate("  from a typed line to its output, median", statistics.median(times), KEY_MS, milliseconds)
        table.note("  the slowest", milliseconds(max(times)))
        crowd.say(chat, "exit", lambda shown: "Terminal closed" in shown)
        crowd.check()


def time_of_key(telegram, chat, number):
    """Milliseconds until a typed line's output is in the chat."""
    time.sleep(PACE_TIME)
    while not chat.news.empty():
        chat.news.get()
    started = time.perf_counter()
    telegram.say(chat, f"echo $((1000 + {number}))!")
    try:
        while f"\n{1000 + number}!" not in chat.news.get(timeout=ANSWER_TIME):
            pass
    except queue.Empty:
        sys.exit("the terminal does not show what was typed")
    return (time.perf_counter() - started) * 1000


def measure_watches(program, telegram, table):
    idle = []
    for number in (0, WATCHES):
        write_watches(program.home, number)
        with Gateway(program, telegram) as gateway:
            crowd = Crowd(telegram, 1)
            if number:
                crowd.say(crowd.chats[0], "/watch", lambda shown: f"{number}. " in shown)
            else:
                crowd.say(crowd.chats[0], "/watch", lambda shown: "Built in" in shown)
            crowd.check()
            time.sleep(SETTLE_TIME)
            before = gateway.cpu()
            time.sleep(WATCH_TIME)
            idle.append((gateway.memory(), 100 * (gateway.cpu() - before) / WATCH_TIME))
    write_watches(program.home, 0)
    (without, few), (memory, used) = idle
    growth = memory.anonymous - without.anonymous
    table.gate(f"{WATCHES} watches, more anonymous memory", max(growth, 0), WATCHES_BYTES, kilobytes)
    table.note("  processor time without them", percent(few))
    table.gate("  processor time", used, WATCHES_CPU_PERCENT, percent)


def write_watches(home, number):
    """Rules of the kinds that look at values, files and processes. They raise no alarm."""
    rules = [
        "temperature > 150 for 5m",
        "load > {id}00",
        "memory > 100% for 5m",
        "disk / > 100%",
        f"file {home}/log-{{id}} matches 'ERROR|panic'",
        "pid {pid}",
    ]
    # A process is the one with this number only if it has this name and start, the 22nd field (proc_pid_stat(5)).
    name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)\n", Path("/proc/self/stat").read_text()).groups()
    process = {"process": name, "processStart": int(fields.split()[22 - 3])}
    watches = []
    for index in range(number):
        rule = rules[index % len(rules)].format(id=index + 1, pid=os.getpid())
        (home / f"log-{index + 1}").write_text("fine\n")
        watch = {"id": index + 1, "rule": rule, "chat": f"telegram:{FIRST_PERSON}", "paused": False}
        watches.append(watch | (process if rule.startswith("pid ") else {}))
    (home / "watches.json").write_text(json.dumps({"watches": watches}))


def measure_plot(program, table):
    """A picture of a week in which the value changes all the time."""
    write_history(program.home)
    with tempfile.TemporaryDirectory() as name:
        picture = Path(name) / "plot.png"
        arguments = ["plot", "temperature", "7d", "-o", str(picture)]
        times = []
        for _ in range(10):
            _, status, usage = os.wait4(program.spawn(arguments), 0)
            if status != 0:
                sys.exit("peacrab plot failed")
            times.append((usage.ru_utime + usage.ru_stime) * 1000)
        size = picture.stat().st_size
    table.gate("a plot of a week, bytes", size, PLOT_BYTES, kilobytes)
    table.note("  processor time, with the start of the program", milliseconds(min(times)), milliseconds(PLOT_CPU_MS))


def write_history(home):
    """A week as the gateway writes it."""
    header = b"crabhist" + struct.pack("<II", 1, 1) + bytes(OTHERS * (NAME_BYTES + 4))
    header = checked(header.ljust(HEADER_BYTES - 4, b"\0"))
    now = int(time.time()) // INTERVAL
    rows = [b""] * SAMPLES
    chance = random.Random(15)
    for slot in range(now - SAMPLES + 1, now + 1):
        degrees = 55 + 12 * math.sin(slot / 40) + chance.uniform(-3, 3)
        values = [degrees, 0.5, 40, 60, 12] + [math.nan] * OTHERS
        rows[slot % SAMPLES] = checked(struct.pack(f"<I{BUILT_IN + OTHERS}f", slot, *values))
    path = home / "state" / "history.bin"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(header + header + b"".join(rows))


def checked(content):
    return content + struct.pack("<I", zlib.crc32(content))

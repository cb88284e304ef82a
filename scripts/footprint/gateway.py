"""What the gateway needs: idle, and under load."""

import json
import statistics
import tempfile
import time
from pathlib import Path

from daemon import SETTLE_TIME, Crowd, Gateway
from model import TURN_SAYS
from program import strace, written_and_synced
from table import KB, MB, count, kilobytes, megabytes, milliseconds, percent
from turns import SYNCS_PER_TURN, WRITTEN_BESIDE, WRITTEN_TIMES

# 0.86 to 0.90 were measured, in eight starts of one program: by the order in which its threads begin, a start has up to 40 kB
# more than another one.
IDLE_ANONYMOUS_BYTES = 0.93 * MB
# On a card that is cold: pages of the program's file are the rest. It is more at the next starts, which read what the first one
# wrote.
IDLE_RESIDENT_BYTES = 3.93 * MB
IDLE_CPU_PERCENT = 0.05
# 1.2 MB are anonymous afterwards: 0.2 relocated constants, stacks of turns, connections, conversations, and what the
# allocator keeps. The rest are pages of the program's file.
BUSY_PEAK_BYTES = 6.75 * MB
# 60 to 140 kB were measured, in eight runs, and up to 389 kB beside builds. The windows of 40 people grow from 31 turns to 56
# meanwhile; they end at 100.
GROWTH_BYTES = 401 * KB
MESSAGE_CPU_MS = 3.0
FIRST_POLL_MS = 15.0

JOBS = 1_000
JOBS_BYTES = 300 * KB
# The kernel's timer and inotify wake the gateway for jobs, and nothing wakes it in between. What is left are the
# looks of the built-in watches, every 30 s.
JOBS_WAKEUPS = 15

HTTP_BYTES = 100 * KB
# The server, the page's channel, and what delivers for each of both.
HTTP_THREADS = 4

# Seconds without a message. A long poll takes 50, so one ends in between.
IDLE_TIME = 60
# Seconds of one long poll: when it ends, the receiver is woken some times, which has nothing to do with jobs.
QUIET_TIME = 40
# So few that each conversation has filled the model's window when memory is measured.
PEOPLE = 40
# The numbers of messages after which memory is measured. `make soak` goes on to ten thousand.
WARM_MESSAGES, MESSAGES = 1_000, 2_500
# Processor time is that of the cheapest sample of this size: other processes share the caches.
SAMPLE_MESSAGES = 250
# Memory is the median of this many samples: at one moment up to 150 kB more or less are connections and stacks of
# threads that wait for further work.
MEMORY_SAMPLES = 3


def measure(program, telegram, table):
    measure_start(program, telegram, table)
    with Gateway(program, telegram) as gateway:
        measure_idle(gateway, telegram, table)
        measure_work(gateway, telegram, table)
    measure_jobs(program, telegram, table)
    measure_http(program, telegram, table)
    measure_writes(program, telegram, table)


def measure_start(program, telegram, table, runs=10):
    """From the start of the process until Telegram gets the request, with the TLS handshake."""
    times = []
    for _ in range(runs):
        polls = telegram.polls
        with Gateway(program, telegram) as gateway:
            times.append((telegram.wait_for_poll(polls + 1) - gateway.started) * 1000)
    table.note("gateway, start to first poll", milliseconds(min(times)), milliseconds(FIRST_POLL_MS))


def measure_idle(gateway, telegram, table):
    telegram.wait_for_poll(telegram.polls + 1)
    telegram.has_menu.wait(30)
    time.sleep(SETTLE_TIME)
    before = gateway.cpu()
    time.sleep(IDLE_TIME)
    used = 100 * (gateway.cpu() - before) / IDLE_TIME
    memory = gateway.memory()
    name = f"gateway polling over TLS for {IDLE_TIME} s, anonymous memory"
    table.gate(name, memory.anonymous, IDLE_ANONYMOUS_BYTES, megabytes)
    table.resident("  resident", memory.resident, IDLE_RESIDENT_BYTES)
    table.note("  private (not shared with other processes)", megabytes(memory.private))
    table.gate("  processor time", used, IDLE_CPU_PERCENT, percent)


def measure_http(program, telegram, table):
    """What the HTTP server adds to the idle gateway. While it is off it is nothing but code that nothing reads."""
    off, on = [], []
    for _ in range(MEMORY_SAMPLES):
        for is_on, found in ((False, off), (True, on)):
            program.config["http"] = {"enabled": is_on, "listen": "127.0.0.1:0"}
            with Gateway(program, telegram) as gateway:
                telegram.wait_for_poll(telegram.polls + 1)
                time.sleep(SETTLE_TIME)
                found.append((gateway.memory().anonymous, gateway.threads()))
    del program.config["http"]
    bytes_off, bytes_on = (statistics.median(anonymous for anonymous, _ in found) for found in (off, on))
    table.gate("  the HTTP server without clients, more anonymous memory", bytes_on - bytes_off, HTTP_BYTES, kilobytes)
    threads_off, threads_on = (min(threads for _, threads in found) for found in (off, on))
    table.gate("    more threads", threads_on - threads_off, HTTP_THREADS, count)


def measure_jobs(program, telegram, table):
    """What a thousand planned jobs add to the idle gateway."""
    idle = []
    for number in (0, JOBS):
        write_jobs(program.home, number)
        with Gateway(program, telegram) as gateway:
            telegram.wait_for_poll(telegram.polls + 1)
            time.sleep(SETTLE_TIME)
            before, earlier = gateway.cpu(), gateway.wakeups()
            time.sleep(QUIET_TIME)
            used = 100 * (gateway.cpu() - before) / QUIET_TIME
            # Threads that have ended meanwhile are left out.
            woken = sum(count - earlier.get(thread, 0) for thread, count in gateway.wakeups().items())
            idle.append((gateway.memory(), used, woken * 60 / QUIET_TIME))
    write_jobs(program.home, 0)
    (without, _, few), (memory, used, many) = idle
    growth = memory.anonymous - without.anonymous
    table.gate(f"{count(JOBS)} planned jobs, more anonymous memory", max(growth, 0), JOBS_BYTES, kilobytes)
    growth = memory.resident - without.resident
    table.note("  more resident", kilobytes(max(growth, 0)))
    table.gate("  processor time", used, IDLE_CPU_PERCENT, percent)
    table.note("  wakeups in a minute without jobs", f"{few:.0f}")
    table.gate("  wakeups in a minute", many, JOBS_WAKEUPS, lambda number: f"{number:.0f}")


def write_jobs(home, number):
    """Jobs of every kind that are due next year."""
    schedules = [
        {"kind": "cron", "expr": "0 7 1 1 *", "tz": "Europe/Zurich"},
        {"kind": "every", "everyMs": 365 * 86_400_000},
        {"kind": "at", "atMs": int((time.time() + 365 * 86_400) * 1000)},
    ]
    kinds = ["agent_turn", "command", "reminder"]
    jobs = [
        {
            "id": f"j{index}",
            "name": f"Job {index}",
            "schedule": schedules[index % 3],
            "payload": {"kind": kinds[index // 3 % 3], "message": "Look at the disk and the weather."},
            "createdAtMs": int(time.time() * 1000),
        }
        for index in range(number)
    ]
    folder = Path(home) / "cron"
    folder.mkdir(exist_ok=True)
    (folder / "jobs.json").write_text(json.dumps({"version": 1, "jobs": jobs}))


def measure_work(gateway, telegram, table):
    """Messages from many people. Each needs a tool, and some answers appear while they are written."""
    crowd = Crowd(telegram, PEOPLE)
    crowd.ask(WARM_MESSAGES)
    name = f"{count(WARM_MESSAGES)} messages with a tool and streaming, peak resident"
    table.resident(name, gateway.peak(), BUSY_PEAK_BYTES)
    warm = gateway.memory()
    table.note("  anonymous memory afterwards", megabytes(warm.anonymous))
    table.note("  resident afterwards", megabytes(warm.resident))
    costs, sizes = [], [warm.anonymous]
    for _ in range((MESSAGES - WARM_MESSAGES) // SAMPLE_MESSAGES):
        before = gateway.cpu()
        crowd.ask(SAMPLE_MESSAGES)
        costs.append((gateway.cpu() - before) * 1000 / SAMPLE_MESSAGES)
        sizes.append(gateway.memory().anonymous)
    cost = milliseconds(min(costs))
    table.note("  processor time of a message", cost, milliseconds(MESSAGE_CPU_MS))
    growth = statistics.median(sizes[-MEMORY_SAMPLES:]) - statistics.median(sizes[:MEMORY_SAMPLES])
    # The median of three samples stands for the one in the middle.
    name = f"  anonymous growth from {count(WARM_MESSAGES + SAMPLE_MESSAGES)} to {count(MESSAGES - SAMPLE_MESSAGES)}"
    table.gate(name, max(growth, 0), GROWTH_BYTES, kilobytes)


def measure_writes(program, telegram, table):
    """A turn with one tool call in a session that exists."""
    with tempfile.TemporaryDirectory() as name:
        logs = Path(name)
        # -D: strace becomes a child of the gateway, so that stopping the process stops the gateway.
        with Gateway(program, telegram, strace(logs, "-D")):
            crowd = Crowd(telegram, 1)
            crowd.ask(1)
            written, syncs = written_and_synced(logs, program.home)
            crowd.ask(1)
            more_written, more_syncs = written_and_synced(logs, program.home)
    limit = WRITTEN_TIMES * TURN_SAYS + WRITTEN_BESIDE
    table.gate("bytes written for a message", more_written - written, limit, count)
    table.gate("  syncs", more_syncs - syncs, SYNCS_PER_TURN, count)

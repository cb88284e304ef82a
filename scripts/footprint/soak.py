"""A long run of everything at once: questions, slash commands, network cuts, and servers that limit
requests."""

import random
import threading
import time

from daemon import LINGER_TIME, Crowd, Gateway
from gateway import MESSAGE_CPU_MS, PEOPLE, WARM_MESSAGES
from table import KB, MB, count, kilobytes, milliseconds

# Two turns, slash commands with their output and new connections after a cut can coincide, so this is more than for
# questions alone: by 1 MB, as measured in 30 minutes.
PEAK_BYTES = 6.60 * MB
# Measured in 15 minutes: 487 kB, in 30: 582. The windows of 40 people grow from 25 turns to 100, and end there.
GROWTH_BYTES = 700 * KB
# Connections that other people's answers have left open, or not.
FILES = 4
# One message in this many is a slash command.
COMMANDS = 10
# Seconds between two disturbances, and how long the network is cut.
DISTURBANCE_EVERY, CUT_TIME = 45, 5
# How many requests in a row are refused with 429.
REFUSALS = 3


def run(program, model, telegram, minutes, table):
    crowd = Crowd(telegram, PEOPLE)
    with Gateway(program, telegram) as gateway:
        telegram.wait_for_poll(1)
        telegram.has_menu.wait(30)
        end, cpu = time.monotonic() + 60 * minutes, gateway.cpu()
        # With commands: the shells of a few chats stay open.
        crowd.each(lambda chat: something(crowd, chat), lambda: crowd.answered < WARM_MESSAGES)
        time.sleep(LINGER_TIME)
        warm, files, threads = gateway.memory(), gateway.files(), gateway.threads()
        say(gateway, crowd, "warm")
        stopped = threading.Event()
        helpers = [
            threading.Thread(target=disturb, args=(telegram, model, stopped)),
            threading.Thread(target=watch, args=(gateway, crowd, stopped)),
        ]
        for helper in helpers:
            helper.start()
        crowd.each(lambda chat: something(crowd, chat), lambda: time.monotonic() < end)
        stopped.set()
        for helper in helpers:
            helper.join()
        time.sleep(LINGER_TIME)
        say(gateway, crowd, "end")
        cpu = (gateway.cpu() - cpu) * 1000 / max(crowd.answered, 1)
        growth = gateway.memory().anonymous - warm.anonymous
        table.gate("messages without an answer", len(crowd.lost), 0, count)
        table.note("messages answered", count(crowd.answered))
        table.note("commands refused because too many ran, and sent again", count(crowd.refused))
        table.resident("peak resident", gateway.peak(), PEAK_BYTES)
        name = f"anonymous growth from message {count(WARM_MESSAGES)} to the last"
        table.gate(name, max(growth, 0), GROWTH_BYTES, kilobytes)
        table.note("processor time of a message", milliseconds(cpu), milliseconds(MESSAGE_CPU_MS))
        table.gate(f"more open files than after message {count(WARM_MESSAGES)}", max(gateway.files() - files, 0), FILES, count)
        table.gate("  more threads", max(gateway.threads() - threads, 0), 0, count)


def something(crowd, chat):
    if random.randrange(COMMANDS) == 0:
        crowd.command(chat)
    else:
        crowd.question(chat)


def disturb(telegram, model, stopped):
    while not stopped.wait(DISTURBANCE_EVERY):
        match random.randrange(3):
            case 0:
                telegram.cut()
                stopped.wait(CUT_TIME)
                telegram.restore()
            case 1:
                telegram.refusals = REFUSALS
            case _:
                model.refusals.value = REFUSALS


def watch(gateway, crowd, stopped):
    while not stopped.wait(60):
        say(gateway, crowd, "")


def say(gateway, crowd, what):
    memory = gateway.memory()
    print(
        f"{time.strftime('%H:%M:%S')} {crowd.answered:7,} messages"
        f"  {kilobytes(memory.resident)} resident, {kilobytes(memory.anonymous)} anonymous"
        f"  {gateway.cpu():7.2f} s  {gateway.files()} files  {gateway.threads()} threads  {what}",
        flush=True,
    )

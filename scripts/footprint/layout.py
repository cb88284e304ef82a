"""Whether the program's file has what an idle board needs in one place: cross/layout/arrange.py."""

import re
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cross" / "layout"))

import arrange
from daemon import SETTLE_TIME, Gateway
from table import KB, kilobytes

# The share of the names in cross/layout/order that the linker has found. Fewer: `make layout`.
NAMES_PERCENT = 95
# Beyond the ordered functions: those of C that share a section, and what surrounds them. The kernel maps 64 kB around a page
COLD_TEXT_BYTES = 450 * KB
PAGE = 4096
PRESENT = 1 << 63  # proc_pid_pagemap(5)


def functions(map_file):
    """Names of functions by their address in the file, from the linker's map: address, load address, size, alignment,
    name. A symbol is written further to the right than its section."""
    names, in_text = {}, False
    for line in map_file.read_text().splitlines():
        row = re.match(r" *([0-9a-f]+) +[0-9a-f]+ +[0-9a-f]+ +\d+ ( *)(\S+)$", line)
        if not row:
            continue
        if not row[2]:
            in_text = row[3] == ".text"
        elif in_text and len(row[2]) == 16:
            names.setdefault(int(row[1], 16), []).append(row[3])
    if not names:
        sys.exit(f"no functions in {map_file}")
    return names


def measure(map_file, program, telegram, table):
    found, known = map(int, re.search(r"(\d+) of (\d+)", Path(f"{map_file}.found").read_text()).groups())
    share = 100 * found / known
    # A gate is a maximum.
    table.gate("names of the order not found", 100 - share, 100 - NAMES_PERCENT, lambda value: f"{value:.1f} %")
    names = functions(map_file)
    ordered = set(Path(f"{map_file}.symbols").read_text().splitlines())
    # Functions of C that share a section cannot be moved.
    is_ordered = lambda name: name in ordered and name.startswith(("_R", arrange.SHARED))
    hot = [address for address, all_ in names.items() if any(map(is_ordered, all_))]
    with Gateway(program, telegram) as gateway:
        telegram.wait_for_poll(telegram.polls + 1)
        telegram.has_menu.wait(30)
        time.sleep(SETTLE_TIME)
        cold = text_beyond(gateway.pid, program.binary, max(hot))
    table.gate("text resident beyond the ordered functions, idle", cold, COLD_TEXT_BYTES, kilobytes)


def text_beyond(pid, binary, address):
    """Bytes of the program's text that are mapped and stand after an address of its file's."""
    text = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ +(.*)")
    maps = [text.match(line) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    maps = [row for row in maps if row and row[5] == str(binary)]
    base = int(maps[0][1], 16)
    present = 0
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        for row in maps:
            if "x" not in row[3]:
                continue
            start, end = max(int(row[1], 16), base + address + PAGE), int(row[2], 16)
            pagemap.seek(start // PAGE * 8)
            pages = pagemap.read(max(end - start, 0) // PAGE * 8)
            present += sum(PAGE for (entry,) in struct.iter_unpack("<Q", pages) if entry & PRESENT)
    return present

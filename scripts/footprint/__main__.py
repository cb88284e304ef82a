#!/usr/bin/env python3
"""Measures the static binary, and fails when a limit is exceeded.

    python3 scripts/footprint [--markdown] [--soak MINUTES] BINARY

It runs the real program, which talks over TLS to a fake model server and a fake Bot API. Times depend on
the machine and are only printed. Everything else has a limit: bytes, memory, instructions under
valgrind, writes and syncs under strace, and the processor time of the idle gateway. Resident memory is measured on an
emulated card (card.py); where this account cannot mount one, it is only printed. With --soak only the
gateway is measured, under load for this time. `scripts/setup footprint` installs openssl, valgrind and
strace; Python needs no packages.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import certificates
import gateway
import layout
import remote
import search
import servers
import soak
import turns
from card import card_with
from model import Model
from program import Program
from table import Table
from telegram import Telegram


def main():
    parser = argparse.ArgumentParser(prog="scripts/footprint", description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/figures.md")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="only put the gateway under load, for this time")
    parser.add_argument("--only", choices=("turns", "gateway"), help="measure only one half of the table")
    arguments = parser.parse_args()
    for tool in ("openssl", "valgrind", "strace"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing: run scripts/setup footprint")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates.make(folder)
        card = card_with(folder, arguments.binary)
        table = Table(has_card=card is not None)
        try:
            with Model(folder) as model:
                measure(arguments, card.binary if card else arguments.binary.resolve(), (folder, model), table)
        finally:
            if card:
                card.remove()
    table.show(arguments.markdown)
    return 1 if table.is_over else 0


def measure(arguments, binary, surroundings, table):
    folder, model = surroundings

    def program(name):
        (folder / name).mkdir()
        return Program(binary, folder / name, model, folder / "authority.pem")

    if arguments.soak:
        return soak.run(program("soak"), model, Telegram(folder), arguments.soak, table)
    if arguments.only != "gateway":
        turns.measure(program("turns"), model, table)
        search.measure(program("search"), table)
    if arguments.only != "turns":
        layout.measure(arguments.binary.with_name("peacrab.map"), program("layout"), Telegram(folder), table)
        gateway.measure(program("gateway"), Telegram(folder), table)
        servers.measure(program("servers"), Telegram(folder), table)
        remote.measure(program("remote"), Telegram(folder), table)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tells the linker in which order functions and constants have to follow each other.

    cross/layout/arrange.py ORDER RESULT OBJECT...

ORDER has the names of functions in order of their first use (`make layout` writes it). RESULT.symbols becomes a list
of symbols for `--symbol-ordering-file`, RESULT.ld a linker script that collects the constants of these functions. What
else belongs to them (parts of functions that the compiler has taken out, constants) is found by the relocations of the
objects, so ORDER fits each architecture and each build: a name that is missing costs memory, never the build. The number
of names found is printed.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import elf

# A build has hashes of its own in the names of crates, and numbers that depend on the hashes' length.
HASH = re.compile(r"Cs[0-9A-Za-z]{8,13}_|B[0-9A-Za-z]{1,2}_")
# Parts that several functions share. Each build numbers them in its own way.
SHARED = "OUTLINED_FUNCTION_"
# Constants of code that is not Rust. It has few, and no relocations tell which of them are used.
OTHERS = """\
  *libring*:*(.rodata .rodata.*)
  *libc.a:*(.rodata .rodata.*)
  *libzigc.a:*(.rodata .rodata.*)
  *libcompiler*:*(.rodata .rodata.*)
"""
# Constants that the linker merges by their content (strings, numbers).
MERGED = "  *(.rodata.str* .rodata.cst*)\n"


def name_without_hashes(name):
    return HASH.sub(lambda match: match[0][0], name)


class Arrangement:
    """What is hot, in order. Filled by `take`."""

    def __init__(self):
        self.symbols, self.constants = {}, {}
        self.found = set()

    def take(self, object_, order):
        """Adds the functions of an object that are in the order, and what they need."""
        functions, name_of = defaultdict(list), {}
        symbols = object_.symbols()
        for symbol in symbols:
            if symbol.is_function and symbol.section and symbol.name:
                functions[name_without_hashes(symbol.name)].append(symbol)
                if symbol.value == 0:
                    name_of.setdefault(symbol.section, symbol.name)
        needs = defaultdict(list)
        for section, symbol in object_.references():
            if symbols[symbol].section:
                needs[section].append(symbols[symbol].section)
        same = sections_by_content(object_, needs)
        seen = set()
        for name in order:
            for symbol in functions.get(name, ()):
                self.found.add(name)
                self.symbols[symbol.name] = True
                if symbol.section not in seen:
                    seen.add(symbol.section)
                    self.follow(object_, symbol.section, (needs, name_of, same, seen))

    def follow(self, object_, section, known):
        """Adds what a section refers to, and what that refers to."""
        needs, name_of, same, seen = known
        waiting = [iter(needs[section])]
        while waiting:
            needed = next(waiting[-1], None)
            if needed is None:
                waiting.pop()
                continue
            if needed in seen:
                continue
            row = object_.sections[needed]
            is_shared = name_of.get(needed, "").startswith(SHARED)
            if is_shared:
                self.symbols[name_of[needed]] = True
            elif row.name.startswith(".rodata") and not row.flags & elf.SHF_MERGE:
                for name in same.get(object_.content(row), [row.name]):
                    self.constants[name] = True
            elif not row.name.startswith((".data.rel.ro", ".data.")):
                continue
            seen.add(needed)
            waiting.append(iter(needs[needed]))


def sections_by_content(object_, needs):
    """Names of the constants by their bytes: the linker makes one of those that are the same, and any of them can
    be the one that stays."""
    same = defaultdict(list)
    for number, section in enumerate(object_.sections):
        if section.kind == elf.SHT_PROGBITS and section.name.startswith(".rodata") and not needs.get(number):
            same[object_.content(section)].append(section.name)
    return same


def main():
    order_file, result, *objects = sys.argv[1:]
    lines = Path(order_file).read_text().splitlines()
    order = [line for line in lines if line and line[0] != "#"]
    arrangement = Arrangement()
    for path in objects:
        arrangement.take(elf.Object(Path(path).read_bytes()), order)
    # Functions of C and assembly code have no section of their own in these objects, but in their archives.
    others = [name for name in order if name not in arrangement.found and not name.startswith("_R")]
    symbols = [*arrangement.symbols, *others]
    Path(f"{result}.symbols").write_text("".join(f"{name}\n" for name in symbols))
    constants = "".join(f"  *({name})\n" for name in arrangement.constants)
    script = f"SECTIONS {{ .rodata_hot : {{\n{OTHERS}{MERGED}{constants}}} }} INSERT AFTER .rodata;\n"
    Path(f"{result}.ld").write_text(script)
    rust = [name for name in order if name.startswith("_R")]
    found = sum(name in arrangement.found for name in rust)
    print(f"names of cross/layout/order found: {found} of {len(rust)}")


if __name__ == "__main__":
    main()

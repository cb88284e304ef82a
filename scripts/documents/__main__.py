#!/usr/bin/env python3
"""Writes the map of the rooms into ARCHITECTURE.md, and that of their folders and files into docs/rooms.md, from the
first words of each module's documentation. Checks that links between documents lead somewhere, that the sources which
ARCHITECTURE.md names exist, and that the two pages that are read first stay short.

    python3 scripts/documents            writes the maps
    python3 scripts/documents --check    fails where they say something else
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src"
MAP = re.compile(r"(<!-- map -->\n).*?(<!-- /map -->)", re.DOTALL)
FLOOR = re.compile(r"Floor (\d+):\s*(.*)")
# Rooms of several large parts, whose parts are listed too.
NESTED = ("base", "net", "sandbox", "store", "text")
WIDTH = 116
WORDS_MIN = 6
README_LINES_MAX = 250
ARCHITECTURE_BYTES_MAX = 10_000
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")


def main():
    rooms = sorted(map(room, children(SOURCE)), key=lambda one: (-one[0], one[1]))
    pages = {ROOT / "ARCHITECTURE.md": overview(rooms), ROOT / "docs" / "rooms.md": details(rooms)}
    differing = []
    for path, content in pages.items():
        text = path.read_text()
        if not MAP.search(text):
            sys.exit(f"{path.name} has no place for the map")
        wanted = MAP.sub(lambda found, content=content: found[1] + content + found[2], text)
        if wanted != text:
            differing.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(wanted)
    faults = [*broken_links(), *missing_sources(), *too_long()]
    if differing and "--check" in sys.argv:
        faults.append(f"{' and '.join(differing)} differ from the modules' documentation: make documents")
    if faults:
        sys.exit("\n".join(faults))


def children(folder):
    """The modules directly in a folder that are compiled into the program, by name: their file and their folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.stem in ("lib", "main", "mod", "tests"):
            continue
        if path.is_dir() and not (path / "mod.rs").exists() and not path.with_suffix(".rs").exists():
            continue
        file = path / "mod.rs" if (path / "mod.rs").exists() else path.with_suffix(".rs")
        if path.is_dir() or path.suffix == ".rs":
            found[path.stem] = (file, path.with_suffix(""))
    return [(name, *places) for name, places in found.items()]


def sentence(file):
    """The first sentence of a module's documentation, and more where it is short; of a room also its floor."""
    lines = []
    for line in file.read_text().splitlines():
        if not line.startswith("//!") or line == "//!" and lines:
            break
        lines.append(line[3:].strip())
    text = " ".join(lines)
    floor = FLOOR.match(text)
    text = floor[2] if floor else text
    said = ""
    for one in re.split(r"(?<=\.)\s+", text):
        said = f"{said} {one}".strip()
        if len(said.split()) >= WORDS_MIN:
            break
    return int(floor[1]) if floor else None, said.removesuffix(":")


def room(child):
    name, file, folder = child
    floor, text = sentence(file)
    if floor is None:
        sys.exit(f"{file.relative_to(ROOT)} does not begin with its floor")
    return floor, name, text, folder


def overview(rooms):
    """A line for each room, the highest floor first."""
    lines, last = [], None
    for floor, name, text, folder in rooms:
        head = f"{floor if floor != last else '':>2}  {name + ('/' if folder.is_dir() else ''):<13}"
        lines += textwrap.wrap(head + capital(text), WIDTH, subsequent_indent=" " * 17)
        last = floor
    return "```\n" + "\n".join(lines) + "\n```\n"


def details(rooms):
    """A section for each room that is a folder, with a line for each module directly in it."""
    parts = []
    for floor, name, text, folder in rooms:
        if not folder.is_dir():
            continue
        lines = [f"## {name}/", "", f"Floor {floor}. {capital(text)}", ""]
        for part, file, inner in children(folder):
            label = f"{part}/" if inner.is_dir() else part
            lines.append(f"- `{label}`: {sentence(file)[1]}")
            for part, file, inner in children(inner) if name in NESTED and inner.is_dir() else []:
                label = f"{part}/" if inner.is_dir() else part
                lines.append(f"  - `{label}`: {sentence(file)[1]}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def broken_links():
    """Links from one document to a file or a heading that is not there."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "scripts").rglob("*.md"), *(ROOT / "cross").glob("*.md")]
    for document in documents:
        for link in LINK.finditer(document.read_text()):
            target, _, heading = (link[1] or link[2]).partition("#")
            if "://" in target:
                continue
            path = (document.parent / target).resolve() if target else document
            if not path.exists() or heading and heading not in headings(path):
                yield f"{document.relative_to(ROOT)}: {link[1] or link[2]} leads nowhere"


def headings(path):
    """The names of a document's headings in links (as GitHub makes them)."""
    lines = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def missing_sources():
    """Sources that the reading order names and that are not there."""
    files = [str(path.relative_to(ROOT)) for path in SOURCE.rglob("*.rs")]
    reading = (ROOT / "ARCHITECTURE.md").read_text().partition("## A reading order")[2]
    for name in re.findall(r"`([\w/]+\.rs)`", reading):
        if not any(file.endswith(f"/{name}") for file in files):
            yield f"ARCHITECTURE.md: there is no {name}"


def too_long():
    if (lines := len((ROOT / "README.md").read_text().splitlines())) > README_LINES_MAX:
        yield f"README.md has {lines} lines, over {README_LINES_MAX}"
    if (size := (ROOT / "ARCHITECTURE.md").stat().st_size) > ARCHITECTURE_BYTES_MAX:
        yield f"ARCHITECTURE.md has {size} bytes, over {ARCHITECTURE_BYTES_MAX}"


def capital(text):
    return text[:1].upper() + text[1:]


main()

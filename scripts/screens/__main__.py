#!/usr/bin/env python3
"""Takes what the program really shows into the README and docs: screens between their markers, and two pictures.

    python3 scripts/screens target/debug/peacrab            writes them
    python3 scripts/screens --check target/debug/peacrab    fails where a page says something else

It runs the program in a pseudo-terminal, with the fakes of scripts/footprint as its model and as
Telegram. What differs between runs and machines (folders, codes, times) is made the same.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "footprint"))

from picture import draw  # noqa: E402
from story import Story  # noqa: E402

PICTURES = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(PICTURES.rglob("*.md"))]
SCREEN = re.compile(r"(<!-- screen: ([a-z-]+) -->\n).*?(<!-- /screen -->)", re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=Path, help="the program to run")
    parser.add_argument("--check", action="store_true", help="change nothing; fail on a difference")
    parser.add_argument("--print", action="store_true", help="print the screens and change nothing")
    arguments = parser.parse_args()
    with Story(arguments.binary) as story:
        story.run_all()
        screens = {name: story.same_everywhere(text) for name, text in story.screens.items()}
        pictures = {
            PICTURES / f"{name}.svg": draw("crabby", *shown) for name, shown in story.pictures().items()
        }
    if arguments.print:
        for name, text in screens.items():
            print(f"--- {name}\n{text}\n")
        return
    wanted = {page: filled(page, screens) for page in PAGES} | pictures
    if arguments.check:
        differing = [path for path, text in wanted.items() if not is_same(path, text)]
        if differing:
            sys.exit("a page shows something else than the program: make screens")
        return
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def filled(page, screens):
    """A page with each screen between its markers."""
    text = page.read_text()
    unknown = {name for _, name, _ in SCREEN.findall(text)} - screens.keys()
    if unknown:
        sys.exit(f"{page.name} has markers of unknown screens: {', '.join(sorted(unknown))}")
    return SCREEN.sub(lambda found: f"{found[1]}```\n{screens[found[2]]}\n```\n{found[3]}", text)


def is_same(path, text):
    """Prints where a file differs."""
    found = path.read_text() if path.exists() else ""
    name = str(path.relative_to(ROOT))
    lines = difflib.unified_diff(
        found.splitlines(), text.splitlines(), name, "what the program shows", lineterm="", n=1
    )
    for line in lines:
        print(line[:200])
    return found == text


main()

"""The files of a release besides the program: each is made or read here, and used by several packages."""

import json
import re
import tempfile
import textwrap
from functools import cached_property
from pathlib import Path

from release import TOP, output

SHELLS = {"bash": "peacrab", "zsh": "_peacrab", "fish": "peacrab.fish"}
# What the licence files of a crate are called.
LICENCE = re.compile(r"(licen[sc]e|copying|notice)", re.I)
LINE = "\n" + "-" * 78 + "\n\n"


class Contents:
    """The texts of a release. Making them takes a moment, so they are made once."""

    def __init__(self, release):
        self.release = release

    @cached_property
    def pages(self):
        """The manual pages by name, made from the command line's definition."""
        with tempfile.TemporaryDirectory() as folder:
            output("cargo", "run", "--locked", "--quiet", "--example", "man", "--", folder, self.release.date)
            return {page.name: page.read_text() for page in sorted(Path(folder).iterdir())}

    @cached_property
    def completions(self):
        """The completion scripts by the name that each shell looks for."""
        folder = TOP / "src/cli/completions"
        return {name: (folder / f"peacrab.{shell}").read_text() for shell, name in SHELLS.items()}

    @cached_property
    def installer(self):
        """install.sh with the key that the release is signed with."""
        text = (TOP / "scripts/install.sh").read_text()
        filled = text.replace("\nRELEASE_KEY=''\n", f"\nRELEASE_KEY='{self.public_key.strip()}'\n")
        if filled == text:
            raise SystemExit("packages: scripts/install.sh has no place for the release's key")
        return filled

    @cached_property
    def public_key(self):
        return output("scripts/release/key", "pem")

    @cached_property
    def third_party(self):
        """The licences of the crates in the program. Each text appears once, below the crates that it is of."""
        named, texts = [], {}
        for package in linked_crates():
            crate = f"{package['name']} {package['version']}"
            named.append(f"{crate}: {package['license']}\n")
            for file in sorted(Path(package["manifest_path"]).parent.iterdir()):
                if LICENCE.match(file.name) and file.is_file():
                    text = file.read_text().strip()
                    texts.setdefault(" ".join(text.split()), (text, []))[1].append(crate)
        parts = [textwrap.fill(", ".join(crates), 78) + f"\n\n{text}\n" for text, crates in texts.values()]
        introduction = (TOP / "scripts/packages/third-party.txt").read_text()
        return LINE.join([introduction, "".join(named), *parts])


def linked_crates():
    """The crates that are part of the program on a board, as `cargo metadata` describes them."""
    metadata = json.loads(
        output("cargo", "metadata", "--locked", "--format-version=1", "--filter-platform=aarch64-unknown-linux-musl")
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, waiting = set(), [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            package = dependency["pkg"]
            if is_linked and package not in found and not is_macro(packages[package]) and package != root:
                found.add(package)
                waiting.append(package)
    return sorted((packages[package] for package in found), key=lambda package: package["name"])


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])

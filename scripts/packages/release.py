"""What a release is: its version and date, its architectures, and what it takes from the clone."""

import os
import re
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent

# `debian`: Debian's name. `deb`: the name in the file's name, because armv6 and armv7 are both Debian's armhf.
# `oci`, `variant`: the platform of a container image. `machine`: e_machine in the header of an ELF file.
Architecture = namedtuple("Architecture", "name debian deb oci variant machine")
ARCHITECTURES = [
    Architecture("armv6", "armhf", "armv6", "arm", "v6", 40),
    Architecture("armv7", "armhf", "armhf", "arm", "v7", 40),
    Architecture("arm64", "arm64", "arm64", "arm64", "v8", 183),
    Architecture("riscv64", "riscv64", "riscv64", "riscv64", None, 243),
    Architecture("x86_64", "amd64", "amd64", "amd64", None, 62),
]


class Release:
    """A version, the second that all its files are from, and the binaries."""

    def __init__(self):
        self.version = cargo_version()
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time())
        # For the programs that make files for us.
        os.environ["SOURCE_DATE_EPOCH"] = str(self.epoch)
        self.folder = TOP / "dist" / self.version

    @property
    def date(self):
        return time.strftime("%Y-%m-%d", time.gmtime(self.epoch))

    def binary(self, architecture):
        return TOP / "dist/boards" / architecture.name / "peacrab"

    def check_binaries(self):
        """Stops unless each architecture has a binary for that machine."""
        for architecture in ARCHITECTURES:
            path = self.binary(architecture)
            if not path.exists():
                sys.exit(f"packages: {path} is missing: run `make boards`")
            if elf_machine(path.read_bytes()) != architecture.machine:
                sys.exit(f"packages: {path} is not a program for {architecture.name}")


def cargo_version():
    return re.search(r'^version = "(.+)"$', (TOP / "Cargo.toml").read_text(), re.M)[1]


def commit_time():
    return output("git", "log", "-1", "--format=%ct").strip()


def elf_machine(content):
    """The machine of an ELF file; None for other content."""
    return int.from_bytes(content[18:20], "little") if content[:4] == b"\x7fELF" else None


def output(*command):
    done = subprocess.run([str(word) for word in command], cwd=TOP, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"packages: failed: {' '.join(map(str, command))}")
    return done.stdout

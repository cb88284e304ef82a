#!/usr/bin/env python3
"""Checks scripts/release/make in a small repository whose programs and packages are made up."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS_MAX = 120
# Instead of the builds: nothing, and a program and an archive. The program names the key and a version.
BOARDS = "#!/bin/sh\n"
PACKAGES = r"""
import os, subprocess
from pathlib import Path
folder = Path("dist/1.2.3")
folder.mkdir(parents=True)
machine = os.uname().machine.replace("aarch64", "arm64")
program = folder / f"peacrab-1.2.3-{machine}"
program.write_text(f"#!/bin/sh\n# 1.2.3 {os.environ['PEACRAB_UPDATE_KEY']}\necho peacrab VERSION\n")
program.chmod(0o755)
(folder / f"{program.name}.tar.gz").write_text("an archive")
(folder / "release-key.pem").write_bytes(subprocess.check_output(["scripts/release/key", "pem"]))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        environment = os.environ | {"PEACRAB_RELEASE_KEY": f"{folder}/key.pem", "LC_ALL": "C"}
        make_repository(clone, environment)
        check_dirty(clone, environment)
        check_signed(clone, environment)
        check_version(clone, environment)
    print("release: from a clean tree only, checked, and the same twice")


def make_repository(clone, environment):
    files = {
        "Cargo.toml": '[package]\nversion = "1.2.3"\n',
        "cross/boards": BOARDS,
        "scripts/packages/__main__.py": PACKAGES.replace("VERSION", "1.2.3"),
        "scripts/release/key": (HERE / "key").read_text(),
        "scripts/release/make": (HERE / "make").read_text(),
        ".gitignore": "/dist\n",
    }
    for path, text in files.items():
        file = clone / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    subprocess.run(["git", "init", "--quiet", clone], check=True)
    commit(clone, environment)


def commit(clone, environment):
    names = {f"GIT_{role}_{what}": "check" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["add", "--all"], ["commit", "--quiet", "--message", "check"]):
        subprocess.run(["git", *words], cwd=clone, check=True, env=environment | names)


def check_dirty(clone, environment):
    stray = clone / "stray-file"
    stray.touch()
    fails(clone, environment, "stray-file")
    stray.unlink()


def check_signed(clone, environment):
    first = release(clone, environment)
    shutil.rmtree(clone / "dist")
    if release(clone, environment) != first:
        sys.exit("release: a second release of one commit differs")
    if len(first["SHA256SUMS.sig"]) != 64:
        sys.exit("release: the signature is not 64 bytes long")
    listed = {line.split()[1] for line in first["SHA256SUMS"].decode().splitlines()}
    if listed != first.keys() - {"SHA256SUMS", "SHA256SUMS.sig"}:
        sys.exit(f"release: SHA256SUMS lists {listed}")
    shutil.rmtree(clone / "dist")


def check_version(clone, environment):
    """A program of another version is found."""
    (clone / "scripts/packages/__main__.py").write_text(PACKAGES.replace("VERSION", "1.2.2"))
    commit(clone, environment)
    fails(clone, environment, "1.2.2")


def release(clone, environment):
    """Makes a release and returns its files."""
    done = run(clone, environment)
    if done.returncode != 0:
        sys.exit(f"release: failed:\n{done.stdout}")
    return {file.name: file.read_bytes() for file in (clone / "dist/1.2.3").iterdir()}


def fails(clone, environment, why):
    done = run(clone, environment)
    if done.returncode == 0 or why not in done.stdout:
        sys.exit(f"release: it should have failed because of {why}:\n{done.stdout}")


def run(clone, environment):
    command = [clone / "scripts/release/make"]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, timeout=SECONDS_MAX)


if __name__ == "__main__":
    main()

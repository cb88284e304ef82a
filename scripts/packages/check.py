#!/usr/bin/env python3
"""Checks the packages of a release, and installs, updates, removes and purges the one for this machine.

    python3 scripts/packages/check.py

It needs root for namespaces; nothing is installed on this machine. The life of the .deb is in `life`.
"""

import hashlib
import io
import json
import os
import platform
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import deb
import oci
import tarball
from contents import SHELLS, Contents
from release import ARCHITECTURES, TOP, Release, cargo_version, elf_machine

LIFE = Path(__file__).resolve().parent / "life"
SECONDS_MAX = 300
LIFE_SECONDS_MAX = 600
IN_DEB = """etc/init.d/peacrab usr/bin/peacrab usr/lib/systemd/system/peacrab.service
usr/lib/sysusers.d/peacrab.conf usr/share/bash-completion/completions/peacrab
usr/share/doc/peacrab/changelog.gz usr/share/doc/peacrab/copyright usr/share/doc/peacrab/LICENSES-THIRD-PARTY.gz
usr/share/fish/vendor_completions.d/peacrab.fish usr/share/man/man1/peacrab.1.gz
usr/share/man/man1/peacrab-agent.1.gz usr/share/zsh/vendor-completions/_peacrab""".split()
IN_ARCHIVE = """peacrab install.sh README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT LICENSE-THIRD-PARTY man/peacrab.1
completions/peacrab completions/_peacrab completions/peacrab.fish init/peacrab.service init/peacrab.sysusers
init/peacrab.apparmor init/peacrab.openrc init/peacrab.sysv init/peacrab.openwrt SECURITY.md docs/telegram.md
docs/channels/README.md""".split()
EXECUTABLE = {"peacrab", "install.sh", "init/peacrab.openrc", "init/peacrab.sysv", "init/peacrab.openwrt"}


def main():
    version = cargo_version()
    folder = TOP / "dist" / version
    if not folder.is_dir():
        sys.exit("packages: run `make packages` first")
    if (folder / "install.sh").stat().st_mtime < Release().epoch:
        sys.exit("packages: there is a newer commit; run `make packages` again")
    debs = []
    for architecture in ARCHITECTURES:
        debs.append(folder / f"peacrab_{version}_{architecture.deb}.deb")
        check_deb(debs[-1], architecture, version)
        check_archive(folder / f"peacrab-{version}-{architecture.name}.tar.gz", architecture)
    say("five .deb and five archives have their files, for their machines")
    run("lintian", "--fail-on=error,warning", "--tag-display-limit=0", "--allow-root", *debs)
    say("lintian finds nothing")
    check_same_again(folder)
    check_image(folder / f"peacrab-{version}-oci.tar", version)
    program = folder / f"peacrab-{version}-{own().name}"
    check_pages(Path(f"{program}.tar.gz"), program, version)
    for kind in ("systemd", "plain"):
        print(run(LIFE, kind, debs[ARCHITECTURES.index(own())], seconds=LIFE_SECONDS_MAX), end="", flush=True)


def own():
    """The architecture of this machine."""
    name = platform.machine().replace("aarch64", "arm64")
    return next(architecture for architecture in ARCHITECTURES if architecture.name == name)


# --- .deb and .tar.gz -------------------------------------------------------------------------------------


def check_deb(file, architecture, version):
    fields = run("dpkg-deb", "-f", file, "Package", "Version", "Architecture").splitlines()
    expected = ["Package: peacrab", f"Version: {version.replace('-', '~')}", f"Architecture: {architecture.debian}"]
    same(file.name, fields, expected)
    content = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = {member.name.removeprefix("./"): member for member in archive}
        missing = [path for path in IN_DEB if path not in members]
        same(f"{file.name}: missing files", missing, [])
        check_owners(file, members.values())
        check_program(file, archive.extractfile(members["usr/bin/peacrab"]), architecture)


def check_archive(file, architecture):
    with tarfile.open(file) as archive:
        prefix = file.name.removesuffix(".tar.gz") + "/"
        members = {member.name.removeprefix(prefix): member for member in archive}
        missing = [path for path in IN_ARCHIVE if path not in members]
        same(f"{file.name}: missing files", missing, [])
        check_owners(file, members.values())
        wrong = [path for path in IN_ARCHIVE if bool(members[path].mode & 0o111) != (path in EXECUTABLE)]
        same(f"{file.name}: files with a wrong mode", wrong, [])
        check_program(file, archive.extractfile(members["peacrab"]), architecture)


def check_same_again(folder):
    """Made again in another folder, with another umask, a package has the same bytes."""
    release = Release()
    contents = Contents(release)
    mask = os.umask(0o077)
    with tempfile.TemporaryDirectory() as work:
        again = [make.build(release, contents, own(), Path(work), Path(work)) for make in (deb, tarball)]
        different = [file.name for file in again if file.read_bytes() != (folder / file.name).read_bytes()]
    os.umask(mask)
    same("not reproducible", different, [])
    say("made again with another umask, they have the same bytes")


def check_owners(file, members):
    times = {member.mtime for member in members}
    same(f"{file.name}: different times", len(times), 1)
    foreign = [member.name for member in members if (member.uid, member.gid) != (0, 0) or member.mode & 0o022]
    same(f"{file.name}: files that others can change", foreign, [])


def check_program(file, program, architecture):
    same(f"{file.name}: the machine", elf_machine(program.read(64)), architecture.machine)


# --- the container image ----------------------------------------------------------------------------------


def check_image(file, version):
    """Each blob has its digest, another program can read every platform, and the image runs."""
    with tarfile.open(file) as archive:
        blobs = {member.name: archive.extractfile(member).read() for member in archive}
    for path, content in blobs.items():
        if path.startswith("blobs/"):
            same(path, hashlib.sha256(content).hexdigest(), path.rpartition("/")[2])
    for architecture in ARCHITECTURES:
        variant = [f"--override-variant={architecture.variant}"] if architecture.variant else []
        platform = ["--override-os=linux", f"--override-arch={architecture.oci}", *variant]
        config = json.loads(run("skopeo", *platform, "inspect", "--config", f"oci-archive:{file}"))
        same("the platform", (config["architecture"], config.get("variant")), (architecture.oci, architecture.variant))
        same("the label", config["config"]["Labels"]["org.opencontainers.image.version"], version)
    say("the image has its digests and five platforms that skopeo finds")
    check_running(blobs)


def check_running(blobs):
    read = lambda descriptor: blobs["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
    index = json.loads(read(json.loads(blobs["index.json"])["manifests"][0]))
    manifest = next(item for item in index["manifests"] if item["platform"]["architecture"] == own().oci)
    layer = read(json.loads(read(manifest))["layers"][0])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as root, tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        archive.extractall(root, numeric_owner=True)
        # What a container engine does. Not in /tmp, which may be mounted without devices.
        Path(root).chmod(0o755)
        os.mknod(f"{root}/dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.chmod(f"{root}/dev/null", 0o666)
        peacrab = lambda *words, status=0: run_in(root, *words, status=status)
        peacrab("onboard", "--non-interactive")
        found = peacrab("agent", "--message", "list files")
        same("the agent in a container lists AGENTS.md", "AGENTS.md" in found, True)
        found = peacrab("agent", "--message", "run uname -a")
        same("a command without a shell is explained", "cannot run /bin/sh" in found, True)
        found = peacrab("gateway", status=78)
        same("the gateway in a container says what is missing", "peacrab onboard" in found, True)
    say("the image runs: the agent answers, and a command says that there is no shell")


def run_in(root, *words, status):
    inside = ["--mount", "--pid", "--net", "--fork", "--kill-child", f"--root={root}", "--mount-proc=/proc"]
    user = [f"--setgid={oci.USER}", f"--setuid={oci.USER}", f"--wd=/{oci.HOME}"]
    environment = {"PEACRAB_HOME": f"/{oci.HOME}"}
    return run("unshare", *inside, *user, "/usr/bin/peacrab", *words, status=status, environment=environment)


# --- the manual -------------------------------------------------------------------------------------------


def check_pages(file, program, version):
    """Each command of the program has a page, and the program has the version of the release."""
    same("the version of the program", run(program, "--version").strip(), f"peacrab {version}")
    commands = re.search(r"^Commands:\n((?:  .*\n)+)", run(program, "--help"), re.M)[1]
    names = {name for name in re.findall(r"^  (\w+)", commands, re.M)} - {"help"}
    with tarfile.open(file) as archive:
        pages = {Path(name).stem for name in archive.getnames() if "/man/" in name}
        for shell, name in SHELLS.items():
            text = archive.extractfile(f"{program.name}/completions/{name}").read().decode()
            same(f"the completions for {shell}", text, run(program, "completions", shell))
    same("the pages", pages, {"peacrab"} | {f"peacrab-{name}" for name in names})
    say(f"{len(pages)} manual pages, one for each command")


# ----------------------------------------------------------------------------------------------------------


def run(*command, status=0, seconds=SECONDS_MAX, environment=None):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, timeout=seconds, env=environment)
    if done.returncode != status:
        sys.exit(f"packages: failed ({done.returncode}): {' '.join(words)}\n{done.stdout}")
    return done.stdout


def same(what, found, expected):
    if found != expected:
        sys.exit(f"packages: {what}: {found}, expected {expected}")


def say(text):
    print(f"packages: {text}", flush=True)


if __name__ == "__main__":
    main()

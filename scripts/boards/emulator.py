"""qemu, from the same Debian as the boards' disks and unpacked in a separate folder, whatever this system has: Debian 12's
takes three times as long for riscv64, and processor times can be compared only if the emulator is the same."""

import shutil
import subprocess

from system import HERE, RELEASE, Mirror, Recipe, fresh, run, say

PACKAGES = ["qemu-system-arm", "qemu-system-riscv"]


class Emulator:
    def __init__(self, cache):
        self.folder = cache / "qemu"
        self.root = self.folder / "root"

    def make(self):
        """Unpacks it, if it is missing or an older recipe made it."""
        recipe = Recipe(self.root, [HERE / "emulator.py", HERE / "system.py"])
        if recipe.is_done():
            return
        say("fetching Debian's emulator")
        shutil.rmtree(self.folder, ignore_errors=True)
        architecture = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
        mirror = Mirror(self.folder, RELEASE, architecture)
        root = fresh(self.root)
        for package in mirror.fetch(PACKAGES):
            run("dpkg-deb", "-x", package, root)
        # With this beside the program that runs, which is the loader, it finds its own files and modules rather than those of
        # this system's qemu.
        (self.loader().parent / "qemu-bundle").symlink_to("../../..")
        shutil.rmtree(mirror.folder)
        recipe.note()

    def command(self, program):
        """How to call one of its programs. Its libraries are newer than this system's, so their own loader loads them:
        ld.so(8)."""
        return [self.loader(), "--library-path", self.loader().parent, self.root / "usr/bin" / program]

    def loader(self):
        return next(self.root.glob("usr/lib/*/ld-linux*.so.*"))

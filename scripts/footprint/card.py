"""An emulated SD card: an ext4 file system on a loop device with the read-ahead of a card.

Linux maps a file in the pieces in which it was read. A disk that reads 8 MB ahead, and a file system with large folios,
map nearly all of a program at its first fault, whatever it uses; a card reads 128 kB ahead. So resident memory is
measured here, and elsewhere only printed.

    python3 scripts/footprint/card.py BINARY COMMAND...

runs a command with PEACRAB_TEST_MEASURED, the binary's copy on a card, and PEACRAB_TEST_CARD, its folder; without the
latter, and with the binary itself, where this account cannot mount one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 64 << 20
READ_AHEAD_KB = 128  # the kernel's default, which cards have


class Card:
    """The card, mounted in a folder. `binary` is the program's copy on it."""

    def __init__(self, folder, binary):
        self.image, self.place = folder / "card.img", folder / "card"
        self.binary = self.place / binary.name
        self.device = None
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(SIZE)
        self.call("mkfs.ext4", "-q", "-F", self.image)
        try:
            self.device = self.call("losetup", "--find", "--show", self.image).strip()
            ahead = Path("/sys/block", Path(self.device).name, "queue/read_ahead_kb")
            ahead.write_text(str(READ_AHEAD_KB))
            self.mount()
            shutil.copy(binary, self.binary)
            # What was just written is in the cache in pieces of its own. The next mount reads it.
            self.call("umount", self.place)
            self.mount()
        except (subprocess.CalledProcessError, OSError):
            self.remove()
            raise

    def mount(self):
        # Journalled data: without large folios, as in the kernels that boards have (before 6.16).
        self.call("mount", "-o", "data=journal", self.device, self.place)

    def remove(self):
        if os.path.ismount(self.place):
            subprocess.run(["umount", "--lazy", self.place], check=False)
        if self.device:
            subprocess.run(["losetup", "--detach", self.device], check=False)

    @staticmethod
    def call(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def card_with(folder, binary):
    """The card, or None (said on stderr) where this account cannot mount one."""
    try:
        return Card(folder, binary)
    except (subprocess.CalledProcessError, OSError) as error:
        detail = getattr(error, "stderr", None) or error
        print(f"no emulated card, so resident memory is only printed: {detail}".strip(), file=sys.stderr)
        return None


def main():
    binary, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        card = card_with(Path(name), Path(binary))
        on_card = {"PEACRAB_TEST_CARD": str(card.place)} if card else {}
        measured = card.binary if card else Path(binary).resolve()
        try:
            return subprocess.call(command, env=os.environ | on_card | {"PEACRAB_TEST_MEASURED": str(measured)})
        finally:
            if card:
                card.remove()


if __name__ == "__main__":
    sys.exit(main())

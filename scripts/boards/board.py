"""The boards: the target of their binaries, Debian's names for them, and an emulated machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Board:
    name: str
    # What cross/build builds for it.
    target: str
    # Debian's architecture, and the package whose dependency is the newest kernel.
    architecture: str
    kernel: str
    # The emulator, the machine in it, and what Linux calls its serial port.
    machine: tuple[str, ...]
    console: str


ARM = ("-M", "virt", "-cpu")

BOARDS = {
    board.name: board
    for board in (
        Board(
            "armhf",
            "armv7-unknown-linux-musleabihf",
            "armhf",
            "linux-image-armmp",
            ("qemu-system-arm", *ARM, "cortex-a15"),
            "ttyAMA0",
        ),
        Board(
            "arm64",
            "aarch64-unknown-linux-musl",
            "arm64",
            "linux-image-arm64",
            ("qemu-system-aarch64", *ARM, "cortex-a72"),
            "ttyAMA0",
        ),
        Board(
            "riscv64",
            "riscv64gc-unknown-linux-musl",
            "riscv64",
            "linux-image-riscv64",
            ("qemu-system-riscv64", "-M", "virt"),
            "ttyS0",
        ),
    )
}

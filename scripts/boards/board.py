"""The boards: the target of their binaries, Debian's names for them, and an emulated machine. And the modes:
what a kernel offers for the sandbox."""

from dataclasses import dataclass


# The version of Landlock that a release's kernel has.
LANDLOCK = {"bookworm": 2, "trixie": 6}


@dataclass(frozen=True)
class Board:
    name: str
    # The program for it, as cross/boards names it, and the target of its tests for cross/build.
    program: str
    target: str
    # Debian's architecture, the package whose dependency is the newest kernel, and that kernel's release.
    architecture: str
    kernel: str
    release: str
    # The emulator, the machine in it, and what Linux calls its serial port.
    machine: tuple[str, ...]
    console: str
    memory_mb: int = 256


ARM = ("qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15"), "ttyAMA0"
ARM64 = ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72"), "ttyAMA0"
PI5 = ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a76"), "ttyAMA0"
RISCV64 = ("qemu-system-riscv64", "-M", "virt"), "ttyS0"

BOARDS = {
    board.name: board
    for board in (
        # Debian has no kernel for ARMv6, and qemu no machine for one. The memory is a quarter of that of a
        # Raspberry Pi Zero.
        Board("armv6", "armv6", "arm-unknown-linux-musleabihf", "armhf", "linux-image-armmp", "trixie", *ARM, 128),
        # An older kernel, with the page tables of a Raspberry Pi 4.
        Board("armhf", "armv7", "armv7-unknown-linux-musleabihf", "armhf", "linux-image-armmp-lpae", "bookworm", *ARM),
        Board("arm64", "arm64", "aarch64-unknown-linux-musl", "arm64", "linux-image-arm64", "trixie", *ARM64),
        # Pages of 16 kB, as on a Raspberry Pi 5, with its processor: a Cortex-A72 does not have them.
        Board("arm64-16k", "arm64", "aarch64-unknown-linux-musl", "arm64", "linux-image-arm64-16k", "trixie", *PI5),
        Board("riscv64", "riscv64", "riscv64gc-unknown-linux-musl", "riscv64", "linux-image-riscv64", "trixie", *RISCV64),
    )
}


# Without protections from speculation: an emulated processor does not speculate, and those of arm64 (other page tables in the
# kernel, which KASLR asks for) make it forget its own page tables at each system call, a third of its time.
# And with page tables of three levels, as riscv64's boards have them (others do not know the setting): an emulator walks
# through five for each page that it has forgotten.
EVERY_KERNEL = ["mitigations=off", "nokaslr", "no4lvl"]


@dataclass(frozen=True)
class Mode:
    """What the kernel offers. Root makes namespaces in each mode; `namespaces` is about ordinary users."""

    name: str
    landlock: bool
    namespaces: bool

    def command_line(self):
        """For the kernel."""
        settings = list(EVERY_KERNEL)
        if not self.landlock:
            settings.append("lsm=lockdown,capability,yama,apparmor,bpf")
        if not self.namespaces:
            settings += ["sysctl.user.max_user_namespaces=0", "sysctl.kernel.unprivileged_userns_clone=0"]
        return " ".join(settings)

    def missing(self, user):
        """What a test run by a user cannot have, as PEACRAB_TEST_WITHOUT lists it."""
        names = [] if self.landlock else ["landlock"]
        if user != "root" and not self.namespaces:
            names.append("namespaces")
        return names + ["a sandbox"] * (len(names) == 2)


MODES = {
    mode.name: mode
    for mode in (
        Mode("all", True, True),
        Mode("no-landlock", False, True),
        Mode("no-namespaces", True, False),
        Mode("neither", False, False),
    )
}

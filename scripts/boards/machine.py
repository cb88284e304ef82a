"""Starts the emulated machine of a board, and reads its serial port."""

import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

MEMORY_MB = 256
# While it is busy, the machine's clock counts its instructions, 4 ns each as on a slow board. So no test
# runs out of time because the host is busy.
CLOCK = "shift=2"
# The size of the disk with the files for the jobs. Its empty space takes no space on the host.
DISK_BYTES = 512 * 1024 * 1024
# The address of the host in the machine: it leads to what listens on 127.0.0.1 here.
HOST = "10.0.2.2"
# Lines that begin like this are about a job; other lines are its output.
MARK = "boards-job "
# For the kernel's command line: its security modules without Landlock.
NO_LANDLOCK = "lsm=lockdown,capability,yama,apparmor,bpf"
# A line between jobs: from here on an ordinary user cannot make namespaces.
NO_USER_NAMESPACES = "sysctl -qw user.max_user_namespaces=0 kernel.unprivileged_userns_clone=0\n"


class Machine:
    def __init__(self, system, log):
        self.system = system
        self.log = log

    def run(self, at, files, jobs, command_line, seconds):
        """Starts a machine in which the files are at a path, runs the jobs, and waits for its end.
        Returns the exit statuses by name, of the jobs that have ended."""
        with tempfile.TemporaryDirectory(dir=self.system.folder) as name:
            work = Path(name)
            (work / "files").mkdir(mode=0o755)
            for file in files:
                shutil.copy(file, work / "files")
            (work / "files/jobs").write_text(script(jobs))
            disk = work / "files.img"
            with disk.open("wb") as image:
                image.truncate(DISK_BYTES)
            mke2fs = "mke2fs -q -t ext4 -L files -O ^has_journal -m 0 -d".split()
            subprocess.run([*mke2fs, work / "files", disk], check=True)
            return self.watch(self.emulate(disk, at, command_line), seconds)

    def emulate(self, disk, at, command_line):
        board, system = self.system.board, self.system
        append = f"console={board.console} quiet loglevel=1 panic=-1 boards.at={at} {command_line}"
        command = [
            *board.machine,
            *("-m", str(MEMORY_MB), "-no-reboot", "-nographic", "-monitor", "none", "-serial", "stdio"),
            *("-icount", CLOCK),
            *("-kernel", system.kernel, "-initrd", system.initramfs, "-append", append),
            *drive("root", system.disk),
            *drive("files", disk),
            *("-netdev", "user,id=net", "-device", "virtio-net-device,netdev=net"),
        ]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def watch(self, process, seconds):
        """Copies the output of the machine to the log until it ends."""
        end = time.monotonic() + seconds
        ended, rest = {}, b""
        try:
            while True:
                ready, _, _ = select.select([process.stdout], [], [], max(end - time.monotonic(), 0))
                if not ready:
                    self.write(f"boards: the machine was switched off after {seconds} s")
                    break
                piece = os.read(process.stdout.fileno(), 65536)
                if not piece:
                    break
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    text = line.decode(errors="replace").rstrip("\r")
                    self.write(text)
                    if text.startswith(MARK + "end "):
                        name, status = text.removeprefix(MARK + "end ").rsplit(" ", 1)
                        ended[name] = int(status)
        finally:
            process.kill()
            process.wait()
        return ended

    def write(self, text):
        self.log.write(text + "\n")
        self.log.flush()


def drive(name, image):
    """A disk. Changes to it are discarded."""
    image = f"file={image},format=raw,if=none,id={name},snapshot=on"
    return ("-drive", image, "-device", f"virtio-blk-device,drive={name}")


class Job:
    """A line of shell with a name, run in the machine by root or by an ordinary user."""

    def __init__(self, name, line, user="root", seconds=600, **environment):
        self.name, self.line, self.user, self.seconds = name, line, user, seconds
        self.environment = environment

    def script(self):
        become = "" if self.user == "root" else f"setpriv --reuid={self.user} --regid={self.user} --init-groups "
        settings = " ".join(f"{name}='{value}'" for name, value in self.environment.items())
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        return (
            f"echo; echo '{MARK}begin {self.name}'\n"
            f"cd /tmp; {become}env HOME={home} {settings} timeout -k 10 {self.seconds} sh -c '{self.line}' 2>&1\n"
            f"status=$?; echo; echo \"{MARK}end {self.name} $status\"\n"
        )


def script(jobs):
    return "".join(job if isinstance(job, str) else job.script() for job in jobs)

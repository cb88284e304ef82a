"""Starts the emulated machine of a board, and reads its serial port."""

import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

# The machine's clock counts its instructions while it is busy, 4 ns each as on a slow board: no test runs
# out of time because the host is busy. Without it, idle machines and busy ones follow the host's clock.
COUNTED = "shift=2"
# The same, and what an idle machine waits for comes at once: for rounds that wait for nothing outside it.
SKIPPING = "shift=2,sleep=off"
# The size of the disk with the files for the jobs. Its empty space takes no space on the host.
DISK_BYTES = 512 * 1024 * 1024
# The address of the host in the machine: it leads to what listens on 127.0.0.1 here.
HOST = "10.0.2.2"
# Lines that begin like this are about a job; other lines are its output.
MARK = "boards-job "
# The emulators' processes, and whether they have to end.
RUNNING, IS_OVER = set(), threading.Event()


def switch_off():
    """Ends all machines, and those that are started afterwards."""
    IS_OVER.set()
    for process in list(RUNNING):
        process.kill()


class Machine:
    """Options: `counted`, whether its clock counts instructions; `skipping`, whether it also skips the time in which
    the machine is idle; further disks by name, which keep what is written to them (a job mounts one by the label of
    its file system); `on_start`, called with the emulator's process; `on_end`, called with the name and the status
    of each job that has ended."""

    def __init__(self, system, log, counted=False, skipping=False, disks=(), on_start=None, on_end=None):
        self.system, self.log = system, log
        self.icount = SKIPPING if skipping else COUNTED if counted else None
        self.disks = dict(disks)
        self.on_start, self.on_end = on_start, on_end
        # Seconds of processor time that the emulator took: on a busy host they say more than the minutes.
        self.cpu_seconds = 0

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
            make_disk(disk, "files", DISK_BYTES, "-O", "^has_journal", "-d", work / "files")
            process = self.emulate(disk, at, command_line)
            if self.on_start:
                self.on_start(process)
            return self.watch(process, seconds)

    def emulate(self, disk, at, command_line):
        board, system = self.system.board, self.system
        emulator, *machine = board.machine
        append = f"console={board.console} quiet loglevel=1 panic=-1 boards.at={at} {command_line}"
        command = [
            *system.emulator.command(emulator),
            *machine,
            *("-m", str(board.memory_mb), "-no-reboot", "-nographic", "-monitor", "none", "-serial", "stdio"),
            *(("-icount", self.icount) if self.icount else ()),
            *("-kernel", system.kernel, "-initrd", system.initramfs, "-append", append),
            *drive("root", system.disk, "snapshot=on"),
            *drive("files", disk, "snapshot=on"),
            *("-netdev", "user,id=net", "-device", "virtio-net-device,netdev=net"),
        ]
        for name, image in self.disks.items():
            command += drive(name, image)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        RUNNING.add(process)
        if IS_OVER.is_set():
            process.kill()
        return process

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
                    self.take(line.decode(errors="replace").rstrip("\r"), ended)
        finally:
            self.cpu_seconds = cpu_seconds(process.pid)
            process.kill()
            process.wait()
            RUNNING.discard(process)
        return ended

    def take(self, line, ended):
        self.write(line)
        if line.startswith(MARK + "end "):
            name, status = line.removeprefix(MARK + "end ").rsplit(" ", 1)
            ended[name] = int(status)
            if self.on_end:
                self.on_end(name, int(status))

    def write(self, text):
        self.log.write(text + "\n")
        self.log.flush()


def cpu_seconds(pid):
    """The processor time of a process that has not been waited for: proc_pid_stat(5)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_disk(image, label, size, *options):
    """An ext4 file system in a file."""
    with image.open("wb") as file:
        file.truncate(size)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", label, "-m", "0", *options, image], check=True)


def drive(name, image, *options):
    image = ",".join([f"file={image},format=raw,if=none,id={name}", *options])
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

"""The program as a process in the machine."""

import re
from dataclasses import dataclass

KB = 1024
# Where the program's log is in the machine.
LOG = "/run/program.log"
# Of the fields in /proc/PID/stat after the name: stat is proc_pid_stat(5).
MINOR_FAULTS, USER_TIME, SYSTEM_TIME, CHILDREN_USER_TIME, CHILDREN_SYSTEM_TIME = 7, 11, 12, 13, 14
# One tick (sysconf(_SC_CLK_TCK)) of these times, in milliseconds.
TICK_MS = 10


@dataclass
class Memory:
    resident: int
    anonymous: int


class Process:
    """Started by a line of shell that sets `process` to its number."""

    def __init__(self, remote, start):
        self.remote, self.start_line = remote, start
        self.start()

    def start(self):
        self.remote.run(self.start_line)

    def kill(self):
        self.remote.run("kill -9 $process; wait $process")

    def stop(self):
        status = self.remote.run("kill $process; wait $process; echo status=$?")
        if "status=0" not in status:
            raise RuntimeError(f"the program ended badly: {status} {self.last_words()}")

    def last_words(self):
        return self.remote.run(f"tail -n 5 {LOG}")

    def read(self, name):
        text = self.remote.run(f"cat /proc/$process/{name}")
        if "No such file" in text:
            raise RuntimeError(f"the program has ended: {self.last_words()}")
        return text

    def memory(self):
        """Counted page by page."""
        sizes = dict(re.findall(r"(\w+):\s+(\d+) kB", self.read("smaps_rollup")))
        return Memory(int(sizes["Rss"]) * KB, int(sizes["Anonymous"]) * KB)

    def peak(self):
        return int(re.search(r"VmHWM:\s+(\d+) kB", self.read("status"))[1]) * KB

    def stat(self):
        return [int(field) if field.lstrip("-").isdigit() else 0 for field in self.read("stat").split(") ")[1].split()]

    def cpu_ms(self):
        """Of all its threads, running and ended, without children."""
        return self.ticks(USER_TIME, SYSTEM_TIME) * TICK_MS

    def cpu_with_children_ms(self):
        """The same, and of the children that have ended, and theirs."""
        children = self.ticks(CHILDREN_USER_TIME, CHILDREN_SYSTEM_TIME) * TICK_MS
        return self.cpu_ms() + children

    def ticks(self, *fields):
        return sum(self.stat()[field] for field in fields)

    def page_faults(self):
        """Those that were served from memory: the program's file is in the page cache."""
        return self.stat()[MINOR_FAULTS]

    def anonymous_by_mapping(self):
        """A line for each kind of mapping with anonymous memory, and a line with the sum."""
        sizes, counts, kind = {}, {}, ""
        for line in self.read("smaps").splitlines():
            fields = line.split()
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                name = fields[5] if len(fields) > 5 else "other anonymous"
                kind = f"{fields[1]} {name}"
            elif fields[0] == "Anonymous:" and fields[1] != "0":
                sizes[kind] = sizes.get(kind, 0) + int(fields[1])
                counts[kind] = counts.get(kind, 0) + 1
        lines = [f"{size:6} kB in {counts[kind]:2} of {kind}\n" for kind, size in sizes.items()]
        return "".join(lines) + f"{sum(sizes.values()):6} kB\n"

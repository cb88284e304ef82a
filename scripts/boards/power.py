"""Cuts of power: the machine is killed while the gateway writes, again and again, with one disk that stays.

After each cut e2fsck checks the disk. In the end every message has its answer, what the answers confirm is on the
disk, and no tool ran twice.
"""

import itertools
import json
import os
import random
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from machine import Job, make_disk
from outside import Outside

MODES = ("all",)
# For a machine from its start to its cut, and for the last one, on a busy host.
BOOT_SECONDS, SECONDS = 300, 900
CUTS = 10
PEOPLE = 3
# A cut comes at most this many seconds after the first answer of a machine.
CUT_TIME = 4
AT = "/run/power"
DISK_BYTES = 64 * 1024 * 1024
# Which cut is random: the same seed gives the same times, though not the same instructions.
SEED = "PEACRAB_SEED"
# e2fsck(8): 1 is "errors corrected", which includes what it does to a journal; more is damage.
CLEAN = (0, 1)


def run(round):
    seed = int(os.environ.get(SEED) or time.time())
    round.show(f"{SEED}={seed}")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crowd = Crowd()
        (folder / "config.json").write_text(json.dumps(crowd.outside.configuration()))
        (folder / "power").write_text(crowd.outside.step() + SCRIPT)
        files = [round.built, folder / "config.json", folder / "power"]
        disk = folder / "home.img"
        make_disk(disk, "home", DISK_BYTES, "-E", "root_owner=1000:1000")
        mount = "mkdir -p /mnt/home && mount LABEL=home /mnt/home || echo the disk cannot be mounted\n"
        for cut in range(1, CUTS + 1):
            killer = Killer(crowd, chance.uniform(0, CUT_TIME))
            jobs = [mount, Job("writing", f"sh {AT}/power write", "board", BOOT_SECONDS)]
            round.start(AT, files, jobs, BOOT_SECONDS, disks={"home": disk}, on_start=killer.start)
            round.note(f"cut {cut} after {killer.seconds:.2f} s", killer.problem or check(disk, round.log))
        crowd.finish()
        jobs = [mount, Job("after the cuts", f"sh {AT}/power finish", "board", SECONDS)]
        round.machine(AT, files, jobs, SECONDS, disks={"home": disk})
        round.note(f"{len(crowd.asked)} messages", judge(crowd, round.path.read_text()))


class Crowd:
    """People who ask, wait for the answer and ask again. Each message has a number."""

    def __init__(self):
        self.outside = Outside(all=self.wait)
        self.telegram = self.outside.telegram
        self.numbers = itertools.count(1)
        # All numbers, and by number what the bot has shown in answer to it.
        self.asked, self.answers = [], {}
        self.is_over = threading.Event()
        self.answered = threading.Condition()
        numbers = range(1001, 1001 + PEOPLE)
        self.people = [threading.Thread(target=self.talk, args=(number,), daemon=True) for number in numbers]
        for person in self.people:
            person.start()

    def talk(self, person):
        chat = self.telegram.chat(person)
        while not self.is_over.is_set():
            number = next(self.numbers)
            self.asked.append(number)
            self.telegram.say(chat, f"append line {number} to {number}.txt")
            shown = chat.news.get()
            # After a cut an answer may arrive twice; that to an interrupted call does not name the file.
            while f"to {number}.txt" not in shown and "interrupted" not in shown:
                shown = chat.news.get()
            with self.answered:
                self.answers[number] = shown
                self.answered.notify_all()

    def wait_for_answer(self, seconds):
        """Waits until one more message has its answer."""
        with self.answered:
            before = len(self.answers)
            return self.answered.wait_for(lambda: len(self.answers) > before, seconds)

    def finish(self):
        self.is_over.set()

    def wait(self):
        """Waits for the last answers."""
        for person in self.people:
            person.join(SECONDS / 2)
        if any(person.is_alive() for person in self.people):
            raise TimeoutError(f"no answer to {sorted(set(self.asked) - set(self.answers))}")


class Killer:
    """Kills a machine some time after its first answer."""

    def __init__(self, crowd, seconds):
        self.crowd, self.seconds, self.problem = crowd, seconds, "it never answered"

    def start(self, process):
        threading.Thread(target=self.kill, args=(process,), daemon=True).start()

    def kill(self, process):
        if self.crowd.wait_for_answer(BOOT_SECONDS):
            time.sleep(self.seconds)
            self.problem = "" if process.poll() is None else "the machine had ended before"
            process.kill()


def check(disk, log):
    """Repairs the disk as a start does; then it must be without any fault. Returns the problem."""
    for options in ("-pf", "-nf"):
        done = subprocess.run(["e2fsck", options, disk], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log.write(f"e2fsck {options}: {done.returncode}\n{done.stdout}")
        if done.returncode not in (CLEAN if options == "-pf" else (0,)):
            return f"e2fsck {options} ended with {done.returncode}"
    return ""


SCRIPT = f"""
peacrab={AT}/peacrab
export PEACRAB_HOME=/mnt/home/home
fail() {{ echo "power: $*"; exit 1; }}
[ -d $PEACRAB_HOME/workspace ] || $peacrab onboard --non-interactive > /dev/null || fail cannot make a home
cp {AT}/config.json $PEACRAB_HOME/config.json
chmod 600 $PEACRAB_HOME/config.json
sync
[ $1 = write ] && exec $peacrab gateway

$peacrab gateway > /tmp/log 2>&1 &
gateway=$!
step all || {{ cat /tmp/log; fail some messages have no answer; }}
kill $gateway
wait $gateway || {{ cat /tmp/log; fail "the gateway ended with $?"; }}
cat /tmp/log
$peacrab doctor > /tmp/doctor
grep "^failed" /tmp/doctor && fail the doctor finds something wrong
$peacrab sessions list
for file in $PEACRAB_HOME/sessions/telegram*.jsonl; do
    sed "s/^/journal /" $file
done
cd $PEACRAB_HOME/workspace || exit
grep -H line [0-9]*.txt | sed "s/^/file /"
"""


def judge(crowd, output):
    """Compares what people saw with what is on the disk. Returns the problem."""
    journal = [json.loads(line) for line in re.findall(r"^journal (.*)$", output, re.MULTILINE)]
    asked = [int(number) for entry in journal if entry.get("role") == "user"
             for number in re.findall(r"append line (\d+)", str(entry["content"]))]
    files = re.findall(r"^file (\d+)\.txt:line (\d+)$", output, re.MULTILINE)
    if not journal or not files:
        return "the machine printed no journal or no file"
    if sorted(asked) != sorted(crowd.asked):
        return f"asked {sorted(crowd.asked)}, in the journals {sorted(asked)}"
    if len(set(files)) != len(files):
        return f"a line was written twice: {sorted(files)}"
    on_disk = {int(number) for number, _ in files}
    confirmed = {number for number, answer in crowd.answers.items() if f"to {number}.txt" in answer}
    if confirmed - on_disk:
        return f"confirmed, but not on the disk: {sorted(confirmed - on_disk)}"
    return ""

"""A full disk and a read-only disk: what was accepted is kept, and answered when there is space again."""

import json
import tempfile
from pathlib import Path

from machine import Job, make_disk
from outside import Outside

MODES = ("all",)
SECONDS = 900
AT = "/run/disks"
# Large enough for the doctor.
DISK_BYTES = 32 * 1024 * 1024
# Longer than what is left in the last block of each file.
LONG = "full" * 950


def run(round):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outside = Outside()
        outside.steps = {
            "first": lambda: (outside.ask("append first to first.txt"), outside.expect("to first.txt")),
            "full": lambda: outside.ask(f"append {LONG} to full.txt"),
            "space": lambda: outside.expect("to full.txt"),
            "last": lambda: (outside.ask("append last to last.txt"), outside.expect("to last.txt")),
        }
        (folder / "config.json").write_text(json.dumps(outside.configuration()))
        (folder / "disks").write_text(outside.step() + SCRIPT)
        disk = folder / "home.img"
        make_disk(disk, "home", DISK_BYTES, "-E", "root_owner=1000:1000")
        jobs = [
            "mkdir -p /mnt/small && mount LABEL=home /mnt/small\n",
            Job("a full disk", f"sh {AT}/disks full", "board", SECONDS),
            "mount -o remount,ro /mnt/small\n",
            Job("a read-only disk", f"sh {AT}/disks read_only", "board", SECONDS),
            "mount -o remount,rw /mnt/small\n",
            Job("a writable disk again", f"sh {AT}/disks again", "board", SECONDS),
        ]
        files = [round.built, folder / "config.json", folder / "disks"]
        round.machine(AT, files, jobs, SECONDS, disks={"home": disk})


SCRIPT = f"""
peacrab={AT}/peacrab
export PEACRAB_HOME=/mnt/small/home
fail() {{ echo "disks: $*"; cat /tmp/gateway.log; exit 1; }}
doctor() {{ $peacrab doctor > /tmp/doctor; status=$?; cat /tmp/doctor; return $status; }}

full() {{
    $peacrab onboard --non-interactive > /dev/null || fail cannot make a home
    cp {AT}/config.json $PEACRAB_HOME/config.json
    chmod 600 $PEACRAB_HOME/config.json
    $peacrab gateway -v > /tmp/gateway.log 2>&1 &
    gateway=$!
    step first || fail no answer before the disk was full
    cat /dev/zero > /mnt/small/fill 2> /dev/null
    # What was reserved for it and then not needed is free again after a sync.
    sync
    dd if=/dev/zero of=/mnt/small/rest bs=1024 oflag=direct 2> /dev/null
    free=$(stat -f -c %a /mnt/small)
    [ $free -le 4 ] || fail "the disk has $free free blocks"
    step full
    until grep -i "no space left" /tmp/gateway.log; do sleep 0.2; done
    $peacrab agent -s other -m "append {LONG} to x.txt" 2> /tmp/other && fail a turn needs no space
    cat /tmp/other
    grep -qi "no space left" /tmp/other || fail the error does not name the reason
    doctor && fail the doctor finds nothing wrong with a full disk
    grep "^failed  *disk" /tmp/doctor || fail the doctor does not name the disk
    rm /mnt/small/fill /mnt/small/rest
    step space || fail no answer after there was space
    step last || fail no answer to the last message
    for name in first {LONG} last; do
        file=$PEACRAB_HOME/workspace/$(echo $name | cut -c 1-5 | sed s/fullf/full/).txt
        [ "$(cat $file)" = $name ] || fail "$file is damaged"
    done
    kill $gateway
    wait $gateway || fail "the gateway ended with $?"
    whole
}}

read_only() {{
    $peacrab agent -s other -m hello 2> /tmp/readonly && fail a turn needs no writing
    cat /tmp/readonly
    grep -qi "read-only file system" /tmp/readonly || fail the error does not name the reason
    timeout 60 $peacrab gateway > /tmp/gateway.log 2>&1
    status=$?
    cat /tmp/gateway.log
    [ $status = 1 ] || fail "the gateway ended with $status"
    grep -qi "read-only" /tmp/gateway.log || fail the gateway does not name the reason
    doctor && fail the doctor finds nothing wrong with a read-only disk
    grep "^failed  *disk.*read-only" /tmp/doctor || fail the doctor does not name the disk
    $peacrab sessions list | grep telegram || fail the sessions cannot be listed
}}

again() {{
    $peacrab agent -s other -m "append x to x.txt" || fail it does not work again
    whole
}}

# Each question has its answer, and no line is damaged.
parse="import json, sys; [json.loads(line) for line in open(sys.argv[1])]"
whole() {{
    doctor || fail the doctor finds something wrong
    for file in $PEACRAB_HOME/sessions/*.jsonl $PEACRAB_HOME/audit.jsonl; do
        [ ! -e $file ] || python3 -c "$parse" $file || fail "$file is damaged"
    done
    cat $PEACRAB_HOME/sessions/telegram*.jsonl
    [ "$(grep -c answered $PEACRAB_HOME/sessions/telegram*.jsonl)" = 3 ] || fail not every turn has ended
}}

$1
"""

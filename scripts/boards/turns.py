"""Runs one-shot turns of the static binary over TLS with a model on the host. Each turn uses every tool that
needs no chat, and the model checks every result."""

import json
import re
import tempfile
from pathlib import Path

import host
from host import AT, AUTHORITY
from machine import Job
from model import Connection, calling, text_of

MODES = ("all", "neither")
TURNS = 200
SECONDS = 3600
DONE = "every tool did its work"
# What the result contains if a command was refused.
REFUSED = "commands cannot be sandboxed here"
NOTE = "the tide is low"

# One reply of the model each: its calls, and what the result of each must contain. Calls that only read run side by
# side, others one after the other. {turn} is the number of the turn; {session} is that of the background command.
READING = (
    ("read_file", {"path": "note.txt"}, NOTE),
    ("list_dir", {"path": "."}, "note.txt"),
    ("find_files", {"glob": "note*"}, "note.txt"),
    ("grep", {"pattern": "t[aeiou]de", "path": "."}, NOTE),
    ("device", {"action": "status"}, "- Load: "),
    ("exec_session", {"action": "list"}, "Nothing is running"),
)
WRITING = (
    ("write_file", {"path": "turns/{turn}/log.txt", "content": "turn\n"}, "log.txt"),
    ("append_file", {"path": "turns/{turn}/log.txt", "content": "line\n"}, "log.txt"),
    ("edit_file", {"path": "turns/{turn}/log.txt", "old_text": "turn", "new_text": "turn {turn}"}, "log.txt"),
    ("exec", {"command": "cat turns/{turn}/log.txt; echo done > turns/{turn}/done.txt"}, "exit status 0\nturn {turn}\nline\n"),
    ("exec", {"command": "read -r word; echo $word | tee turns/{turn}/word.txt; sleep 600", "background": True}, "Started as"),
)
BACKGROUND = (
    ("exec_session", {"action": "list"}, "{session}: running"),
    ("exec_session", {"action": "write", "session_id": "{session}", "input": "crab {turn}\n"}, "Written."),
    ("exec", {"command": "until grep crab turns/{turn}/word.txt; do sleep 0.1; done"}, "exit status 0\ncrab {turn}\n"),
    ("exec_session", {"action": "read", "session_id": "{session}"}, "running\ncrab {turn}\n"),
    ("exec_session", {"action": "kill", "session_id": "{session}"}, "Killed.\n"),
    ("grep", {"pattern": "crab|done", "path": "turns/{turn}"}, "crab {turn}"),
)
STEPS = (READING, WRITING, BACKGROUND)
# Where commands cannot be confined.
WITHOUT_COMMANDS = ((("exec", {"command": "cat note.txt"}, REFUSED),),)

# Arguments: what to ask, and the number of turns.
SCRIPT = f"""
export PEACRAB_HOME=$HOME/turns
{AT}/peacrab onboard --non-interactive > /dev/null || exit
cp {AT}/config.json "$PEACRAB_HOME"
chmod 600 "$PEACRAB_HOME/config.json"
echo "{NOTE}" > "$PEACRAB_HOME/workspace/note.txt"
turn=0
while [ $turn -lt $2 ]; do
    turn=$((turn + 1))
    {AT}/peacrab agent -s turn-$turn -m "use $1 tools in turn $turn" > /tmp/output 2>&1
    status=$?
    [ $((turn % 50)) = 0 ] && echo "$turn turns in $(cut -d . -f 1 /proc/uptime) s"
    [ $status = 0 ] && grep -q "{DONE}" /tmp/output && continue
    echo "turn $turn ended with $status:"
    cat /tmp/output
    exit 1
done
"""


def run(round):
    """The turns; without namespaces and Landlock, one that must be refused."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host.certify(folder)
        url = host.serve(folder, Model)
        (folder / "config.json").write_text(json.dumps(host.configuration(url)))
        (folder / "turns").write_text(SCRIPT)
        files = [round.built, *(folder / name for name in ("config.json", "turns", AUTHORITY))]
        chosen = f"all {TURNS}" if round.mode.name == "all" else "refused 1"
        round.machine(AT, files, [Job("turns", f"sh {AT}/turns {chosen}", "board", SECONDS)], SECONDS)


class Model(Connection):
    """Calls the tools step by step, and ends the turn at the first wrong result."""

    def take(self, body):
        self.offered = {tool["function"]["name"] for tool in json.loads(body)["tools"]}

    def answer(self, messages):
        forgotten = self.offered - {tool for step in STEPS for tool, _, _ in step}
        if forgotten:
            return say(f"no turn uses {', '.join(forgotten)}")
        question = max(number for number, message in enumerate(messages) if message["role"] == "user")
        kind, turn = re.search(r"use (\w+) tools in turn (\d+)", text_of(messages[question])).groups()
        done = [str(message["content"]) for message in messages[question:] if message["role"] == "tool"]
        names = {"turn": turn, "session": session_in(done)}
        for step in WITHOUT_COMMANDS if kind == "refused" else STEPS:
            if not done:
                return calling(*((tool, fill(arguments, names)) for tool, arguments, _ in step))
            results, done = done[: len(step)], done[len(step) :]
            for (tool, arguments, expected), result in zip(step, results, strict=True):
                if fill(expected, names) not in result:
                    return say(f"{tool} {arguments}: {fill(expected, names)!r} is missing in {result!r}")
        return say(DONE)


def session_in(results):
    """The number of the background command, when one has been started."""
    started = re.search(r"Started as session (\d+)", "\n".join(results))
    return int(started[1]) if started else None


def fill(value, names):
    """Puts names into a string, or into the strings of a call's arguments."""
    if isinstance(value, dict):
        return {key: fill(one, names) for key, one in value.items()}
    if value == "{session}":
        return names["session"]
    return value.format(**names) if isinstance(value, str) else value


def say(text):
    return {"role": "assistant", "content": text}, "stop"

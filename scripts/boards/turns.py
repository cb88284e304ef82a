"""Runs one-shot turns of the static binary over TLS with a model on the host. Each turn uses every tool that it is
offered, and the model checks every result."""

import json
import re
import tempfile
from pathlib import Path

import host
import lamp
from host import AT, AUTHORITY
from machine import HOST, Job
from model import Connection, calling, text_of

MODES = ("all", "neither")
TURNS = 200
SECONDS = 3600
DONE = "every tool did its work"
# What the result contains if a command was refused.
REFUSED = "commands cannot be sandboxed here"
NOTE = "the tide is low"

# A page and a search engine on the host.
PAGE = "<html><title>Tides</title><body><h1>Today</h1><p>High at <b>noon</b>.</p></body></html>"
HITS = {"results": [{"title": "Tide tables", "url": "https://example.org/tides", "content": "when it is high"}]}
# One reply of the model each: its calls, and what the result of each must contain. Calls that only read run side by
# side, others one after the other. {turn} is the number of the turn, {url} the host's address; {session} and {watch}
# are the numbers of the background command and of the watch.
READING = (
    ("read_file", {"path": "note.txt"}, NOTE),
    ("list_dir", {"path": "."}, "note.txt"),
    ("find_files", {"glob": "note*"}, "note.txt"),
    ("grep", {"pattern": "t[aeiou]de is", "path": "."}, NOTE),
    ("device", {"action": "status"}, "- Load: "),
    ("exec_session", {"action": "list"}, "Nothing is running"),
    ("web_fetch", {"url": "{url}/tides"}, "# Today\n\nHigh at noon."),
    ("web_search", {"query": "tides in turn {turn}"}, "1. Tide tables\nhttps://example.org/tides\nwhen it is high"),
    ("cron", {"action": "list"}, "No jobs are planned."),
    ("watch", {"action": "list"}, "Nothing is watched"),
)
WRITING = (
    ("write_file", {"path": "turns/{turn}/log.txt", "content": "turn\n"}, "log.txt"),
    ("append_file", {"path": "turns/{turn}/log.txt", "content": "line\n"}, "log.txt"),
    ("edit_file", {"path": "turns/{turn}/log.txt", "old_text": "turn", "new_text": "turn {turn}"}, "log.txt"),
    ("exec", {"command": "cat turns/{turn}/log.txt; echo done > turns/{turn}/done.txt"}, "exit status 0\nturn {turn}\nline\n"),
    ("exec", {"command": "read -r word; echo $word | tee turns/{turn}/word.txt; sleep 600", "background": True}, "Started as"),
    ("memory", {"action": "append", "text": "the tide of turn {turn}"}, "Noted in memory/"),
    ("cron", {"action": "add", "message": "look at the tide", "when": "tomorrow 7:00", "name": "tide {turn}"}, "tide {turn}"),
    ("watch", {"action": "add", "rule": "disk / > 99%"}, "Watching, as number "),
    (lamp.switch("lamp"), {"word": "on {turn}"}, "the lamp is on {turn}"),
)
BACKGROUND = (
    ("exec_session", {"action": "list"}, "{session}: running"),
    ("exec_session", {"action": "write", "session_id": "{session}", "input": "crab {turn}\n"}, "Written."),
    ("memory", {"action": "search", "text": "\"tide of turn {turn}\""}, "tide of turn {turn}"),
    ("cron", {"action": "remove", "job": "tide {turn}"}, "tide {turn}"),
    ("watch", {"action": "remove", "id": "{watch}"}, "Removed: disk / > 99%"),
    ("spawn", {"task": "the task of turn {turn}", "wait": True}, "the subagent of turn {turn} has run its command"),
)
AFTERWARDS = (
    ("exec_session", {"action": "read", "session_id": "{session}"}, "running\ncrab {turn}\n"),
    ("exec_session", {"action": "kill", "session_id": "{session}"}, "Killed.\n"),
    ("grep", {"pattern": "crab|done", "path": "turns/{turn}"}, "crab {turn}"),
)
STEPS = (READING, WRITING, BACKGROUND, AFTERWARDS)
# What a subagent does: it waits until the command in the background has written what it was sent.
TASK = (("exec", {"command": "until grep -s crab turns/{turn}/word.txt; do sleep 0.1; done"}, "exit status 0\ncrab {turn}\n"),)
# Where commands cannot be confined. Servers of tools run in the same sandbox.
WITHOUT_COMMANDS = ((("exec", {"command": "cat note.txt"}, REFUSED),),)

# Arguments: what to ask, and the number of turns.
SCRIPT = f"""
export PEACRAB_HOME=$HOME/turns
{AT}/peacrab onboard --non-interactive > /dev/null || exit
cp {AT}/config.json "$PEACRAB_HOME"
chmod 600 "$PEACRAB_HOME/config.json"
echo "{NOTE}" > "$PEACRAB_HOME/workspace/note.txt"
# Once its list is known, the model sees the tool itself rather than about find_tools.
[ $1 = refused ] || {AT}/peacrab mcp test lamp || exit
turn=0
while [ $turn -lt $2 ]; do
    turn=$((turn + 1))
    {AT}/peacrab agent -s turn-$turn -m "use $1 tools in turn $turn" > /tmp/output 2>&1
    status=$?
    [ $((turn % 50)) = 0 ] && echo "$turn turns in $(cut -d . -f 1 /proc/uptime) s"
    if [ $status = 0 ] && grep -q "{DONE}" /tmp/output; then
        # Or each turn would have more to search than the one before.
        rm -rf "$PEACRAB_HOME/workspace/turns/$turn" "$PEACRAB_HOME/sessions/cli_turn-$((turn - 1)).jsonl"
        continue
    fi
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
        model = type("TurnsModel", (Model,), {"url": ""})
        model.url = host.serve(folder, model).removesuffix("/v1")
        (folder / "config.json").write_text(json.dumps(configuration(model.url)))
        (folder / "turns").write_text(SCRIPT)
        (folder / lamp.FILE).write_text(lamp.SCRIPT)
        files = [round.built, *(folder / name for name in ("config.json", "turns", lamp.FILE, AUTHORITY))]
        chosen = f"all {TURNS}" if round.mode.name == "all" else "refused 1"
        round.machine(AT, files, [Job("turns", f"sh {AT}/turns {chosen}", "board", SECONDS)], SECONDS)


def configuration(url):
    """With a search engine and a page on the host, and a server of tools in the machine."""
    web = {"enabled": True, "allowHosts": [HOST], "search": {"provider": "searxng", "baseUrl": url}}
    return host.configuration(f"{url}/v1", tools={"web": web} | lamp.servers("lamp"))


class Model(Connection):
    """Calls the tools step by step, and ends the turn at the first wrong result. It also is the page and the search
    engine."""

    url = ""

    def do_GET(self):
        if self.path.startswith("/tides"):
            return self.reply(200, "text/html", PAGE)
        if self.path.startswith("/search"):
            return self.reply(200, "application/json", json.dumps(HITS))
        super().do_GET()

    def take(self, body):
        self.offered = {tool["function"]["name"] for tool in json.loads(body)["tools"]}

    def answer(self, messages):
        question = max(number for number, message in enumerate(messages) if message["role"] == "user")
        asked = text_of(messages[question])
        done = [str(message["content"]) for message in messages[question:] if message["role"] == "tool"]
        if task := re.search(r"the task of turn (\d+)", asked):
            names = {"turn": task[1]}
            return self.go_on([TASK], done, names) or say(f"the subagent of turn {task[1]} has run its command")
        kind, turn = re.search(r"use (\w+) tools in turn (\d+)", asked).groups()
        names = {"turn": turn, "url": self.url} | numbers_in(done)
        steps = WITHOUT_COMMANDS if kind == "refused" else STEPS
        forgotten = self.offered - {tool for step in STEPS for tool, _, _ in step}
        if forgotten and kind != "refused":
            return say(f"no turn uses {', '.join(forgotten)}")
        return self.go_on(steps, done, names) or say(DONE)

    @staticmethod
    def go_on(steps, done, names):
        """The calls of the next step, or what is wrong with the results of one; None when all is done."""
        for step in steps:
            if not done:
                return calling(*((tool, fill(arguments, names)) for tool, arguments, _ in step))
            results, done = done[: len(step)], done[len(step) :]
            for (tool, arguments, expected), result in zip(step, results, strict=True):
                if fill(expected, names) not in result:
                    return say(f"{tool} {arguments}: {fill(expected, names)!r} is missing in {result!r}")
        return None


def numbers_in(results):
    """The numbers of the background command and of the watch, when there are such."""
    text = "\n".join(results)
    found = {"session": re.search(r"Started as session (\d+)", text), "watch": re.search(r"Watching, as number (\d+)", text)}
    return {name: int(match[1]) for name, match in found.items() if match}


def fill(value, names):
    """Puts names into a string, or into the strings of a call's arguments."""
    if isinstance(value, dict):
        return {key: fill(one, names) for key, one in value.items()}
    if value in ("{session}", "{watch}"):
        return names[value.strip("{}")]
    return value.format(**names) if isinstance(value, str) else value


def say(text):
    return {"role": "assistant", "content": text}, "stop"

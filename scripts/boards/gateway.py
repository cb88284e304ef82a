"""The gateway in the machine, with a Bot API and a model on the host: its memory and processor time, idle, while several
people write, and with what stays open for a chat; and what becomes of messages when it is killed."""

import json
import re
import tempfile
from pathlib import Path

import chats
import host
import lamp
from figures import MB, gate, megabytes, milliseconds, note
from host import AT, AUTHORITY
from kills import Flow
from machine import HOST, Job
from process import LOG, Process
from remote import Remote

import daemon
from model import ANSWER, NOTE, Connection, calling, numbered, text_of
from telegram import TOKEN, Telegram

MODES = ("all",)
SECONDS = 3600
# Seconds of polling before the memory of the idle gateway is measured: its start is over then.
IDLE_TIME = 20
PEOPLE, MESSAGES = 8, 200
# Seconds for an answer, on a busy host.
daemon.ANSWER_TIME = 600
# The shell is root's, because only root may read the memory map of the program.
HOME = "/home/board/gateway"
USER = f"setpriv --reuid=board --regid=board --init-groups env HOME=/home/board PEACRAB_HOME={HOME}"
SETUP = f"{USER} {AT}/peacrab onboard --non-interactive > /dev/null && cp {AT}/note.txt {HOME}/workspace"
START = f"{USER} {AT}/peacrab gateway < /dev/null >> {LOG} 2>&1 & process=$!"
# Limits by board, 3 % above what was measured, and what the program has grown by on x86_64 since (0.27 MB of it on riscv64
# are relocated constants, 0.07 the main stack, the rest other stacks and what the allocator keeps). The same program has 0.57
# on armmp of Debian 13, and 0.58 to 0.62 on armhf's kernel.
IDLE_ANONYMOUS = {
    "armv6": 0.71 * MB,
    "armhf": 0.72 * MB,
    "arm64": 0.97 * MB,
    "arm64-16k": 1.20 * MB,
    "riscv64": 0.96 * MB,
}
# All but 0.8 to 1.3 MB are pages of the program's file, nearly all of which are mapped.
PEAK = {
    "armv6": 7.73 * MB,
    "armhf": 6.05 * MB,
    "arm64": 7.49 * MB,
    "arm64-16k": 7.42 * MB,
    "riscv64": 6.98 * MB,
}
# A tenth above what was measured on arm64-16k; the others in proportion to it since they were measured last.
MESSAGE_MS = {"armv6": 82, "armhf": 72, "arm64": 63, "arm64-16k": 58, "riscv64": 129}
# What the questions of the crowd need, in turn.
CALLS = (
    ("read_file", {"path": "note.txt"}),
    ("grep", {"pattern": "lives in", "path": "."}),
    ("exec", {"command": "cat note.txt"}),
    ("find_files", {"glob": "*.txt"}),
    ("append_file", {"path": "log.txt", "content": "asked\n"}),
)


def run(round):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host.certify(folder)
        flow = Flow()
        telegram = flow.watch(Telegram(folder))
        model = type("CrowdModel", (Model,), {"flow": flow})
        (folder / "note.txt").write_text(NOTE)
        (folder / lamp.FILE).write_text(lamp.SCRIPT)
        url = host.serve(folder, model)
        (folder / "gateway.json").write_text(json.dumps(configuration(url, telegram)))
        servers = configuration(url, telegram, tools=lamp.servers(*chats.NAMES))
        (folder / "servers.json").write_text(json.dumps(servers))
        remote = Remote(folder, lambda remote: play(round, remote, telegram, flow))
        names = ("gateway.json", "servers.json", "note.txt", "remote", lamp.FILE, AUTHORITY)
        files = [round.built, *(folder / name for name in names)]
        round.machine(AT, files, [Job("gateway", remote.line, seconds=SECONDS)], SECONDS, counted=True)


def configuration(model_url, telegram, **sections):
    bot = {
        "enabled": True,
        "token": TOKEN,
        "apiBase": telegram.url.replace("127.0.0.1", HOST),
        "allowFrom": ["*"],
        # Only owners have a shell.
        "roles": {str(number): "owner" for number in chats.NUMBERS},
        # So short that slow answers appear in several edits.
        "streamEditIntervalMs": 300,
    }
    return host.configuration(model_url, channels={"telegram": bot}, **sections)


def play(round, remote, telegram, flow):
    def configure(name):
        remote.run(f"install -m 600 -o board {AT}/{name} {HOME}/config.json || exit")

    remote.run(f"{SETUP} || exit")
    configure("gateway.json")
    def idle():
        process.start()
        return idle_memory(telegram, process).anonymous

    process = Process(remote, START)
    first = idle_memory(telegram, process)
    round.log.write(f"anonymous memory of the idle gateway:\n{process.anonymous_by_mapping()}")
    gate(round, "idle, anonymous", first.anonymous, IDLE_ANONYMOUS[round.board.name], megabytes)
    note(round, "idle, resident", megabytes(first.resident))
    before = process.cpu_ms()
    daemon.Crowd(telegram, PEOPLE).ask(MESSAGES)
    gate(round, f"{MESSAGES} messages, peak", process.peak(), PEAK[round.board.name], megabytes)
    cost = (process.cpu_ms() - before) / MESSAGES
    gate(round, "processor time of a message", cost, MESSAGE_MS[round.board.name], milliseconds)
    note(round, "anonymous afterwards", megabytes(process.memory().anonymous))
    round.log.write(f"anonymous memory after the messages:\n{process.anonymous_by_mapping()}")
    flow.run(round, telegram, process, HOME)
    process.stop()
    chats.run(round, telegram, process, HOME, configure, idle)


def idle_memory(telegram, process):
    """The memory of a gateway that has just been started, when it is idle."""
    telegram.wait_for_poll(telegram.polls + 1, SECONDS)
    telegram.has_menu.wait(SECONDS)
    process.remote.run(f"sleep {IDLE_TIME}")
    return process.memory()


class Model(Connection):
    """Calls a tool for each question, then answers it."""

    flow = None

    def take(self, _):
        self.flow.happened()

    def answer(self, messages):
        if Flow.asks(messages):
            return self.flow.answer(messages)
        if said := chats.answer(messages):
            return said
        asked = [text_of(message) for message in messages if message["role"] == "user"]
        number = int(re.search(r"\((\d+)\)$", asked[-1].strip())[1])
        if messages[-1]["role"] != "tool":
            return calling(CALLS[number % len(CALLS)])
        return {"role": "assistant", "content": numbered(ANSWER, number)}, "stop"

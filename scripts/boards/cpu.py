"""Runs the program of ARMv6 on the processor of a Raspberry Pi Zero, emulated without a machine: it knows no newer
instructions, which the processors of the emulated machines do."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from outside import refuse

import certificates

BOARDS = ("armv6",)
MODES = ("all",)
CPU = "arm1176"
SECONDS = 300


def run(round):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates.make(folder)
        home = folder / "home"
        peacrab = Program(round, home)
        peacrab.runs("--version", says="peacrab")
        peacrab.runs("onboard", "--non-interactive", says="Created")
        peacrab.runs("agent", "-m", "append low to tide.txt", says="Added")
        # The server refuses a request with 501, after a handshake and with encryption.
        config = {
            "agents": {"defaults": {"provider": "fake", "model": "fake-model"}},
            "providers": {"fake": {"apiBase": f"https://127.0.0.1:{refuse(folder)}/v1", "apiKey": "sk-boards"}},
            "tls": {"caFile": str(folder / "authority.pem")},
        }
        (home / "config.json").write_text(json.dumps(config))
        (home / "config.json").chmod(0o600)
        peacrab.runs("agent", "-m", "hello", says="501", status=1)


class Program:
    def __init__(self, round, home):
        emulator = shutil.which("qemu-arm") or shutil.which("qemu-arm-static")
        if not emulator:
            raise FileNotFoundError("qemu-arm: run scripts/setup boards")
        self.round, self.command = round, [emulator, "-cpu", CPU, round.built]
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "PEACRAB_HOME": str(home)}

    def runs(self, *arguments, says, status=0):
        done = subprocess.run(
            [*self.command, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        self.round.log.write(f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}\n")
        self.round.log.flush()
        is_right = done.returncode == status and says in done.stdout
        problem = f"status {done.returncode}; expected {status}, and {says!r} in its output"
        self.round.note(f"{CPU}: {' '.join(arguments)}", "" if is_right else problem)

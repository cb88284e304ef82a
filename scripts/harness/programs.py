"""The programs that the tasks are run with: how each is set up, asked, and which names its tools have."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

NANOBOT = "nanobot-ai==0.3.5"
# Seconds of one question at most, on a busy machine.
QUESTION_SECS = 90


class Program:
    """A program with a home of its own for one task."""

    name = None
    # Tools that are called otherwise there, as functions of the arguments.
    other_tools = {}

    def __init__(self, binary, folder, url):
        self.binary, self.folder, self.url = str(binary), folder, url
        # The same number of bytes wherever it runs: the prompt names it.
        self.home = folder / "home"
        self.workspace = self.home / "workspace"
        self.home.mkdir()
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        self.set_up()

    def set_up(self):
        raise NotImplementedError

    def command(self, session, question):
        raise NotImplementedError

    def ask(self, session, question):
        """Asks one question in a process of its own; returns the answer."""
        try:
            done = subprocess.run(
                self.command(session, question),
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=QUESTION_SECS,
            )
        except subprocess.TimeoutExpired:
            return f"(no answer in {QUESTION_SECS} s)"
        self.log = done.stderr
        return self.answer(done.stdout)

    def answer(self, output):
        return output

    def jobs(self):
        """The planned jobs, as text."""
        files = (path for path in self.home.rglob("cron/*.json*") if path.is_file())
        return "\n".join(path.read_text() for path in files)

    @classmethod
    def translate(cls, tool, arguments):
        other = cls.other_tools.get(tool)
        return other(arguments) if other else (tool, arguments)


class Peacrab(Program):
    name = "Peacrab"

    def set_up(self):
        self.environment["PEACRAB_HOME"] = str(self.home)
        onboard = [self.binary, "onboard", "--non-interactive"]
        subprocess.run(onboard, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        config = {
            "agents": {"defaults": {"provider": "fake", "model": "fake-model", "contextWindowTokens": 128_000}},
            "providers": {"fake": {"apiBase": self.url, "apiKey": "sk-harness", "images": True}},
        }
        (self.home / "config.json").write_text(json.dumps(config))
        os.chmod(self.home / "config.json", 0o600)

    def command(self, session, question):
        return [self.binary, "agent", "--json", "-s", session, "-m", question]

    def answer(self, output):
        try:
            return json.loads(output)["text"] or ""
        except (ValueError, KeyError):
            return output

    def jobs(self):
        listed = [self.binary, "cron", "list"]
        done = subprocess.run(listed, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout


class Nanobot(Program):
    name = "nanobot"
    other_tools = {
        "append_file": lambda given: (
            "exec",
            {"command": f"cat >> {given['path']} <<'END'\n{given['content'].rstrip()}\nEND"},
        ),
        "cron": lambda given: (
            "cron",
            {"action": "add", "message": given["message"], "cron_expr": "0 7 * * *"},
        ),
    }

    def set_up(self):
        self.workspace.mkdir()
        config = {
            "providers": {"custom": {"apiKey": "sk-harness", "apiBase": self.url}},
            "agents": {
                "defaults": {"provider": "custom", "model": "fake-model", "workspace": str(self.workspace)},
            },
        }
        self.config = self.home / "config.json"
        self.config.write_text(json.dumps(config))

    def command(self, session, question):
        options = ["--config", str(self.config), "--workspace", str(self.workspace), "--no-markdown"]
        return [self.binary, "agent", *options, "--session", f"cli:{session}", "--message", question]


class Picoclaw(Program):
    name = "PicoClaw"

    def set_up(self):
        self.workspace.mkdir()
        model = {"model_name": "fake", "model": "openai/fake-model", "api_base": self.url, "api_key": "sk-harness"}
        config = {
            "agents": {"defaults": {"workspace": str(self.workspace), "model": "fake", "model_name": "fake"}},
            "model_list": [model],
        }
        folder = self.home / ".picoclaw"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))

    def command(self, session, question):
        return [self.binary, "agent", "-s", f"cli:{session}", "-m", question]


class Nullclaw(Program):
    name = "nullclaw"

    def set_up(self):
        folder = self.home / ".nullclaw"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        provider = f"custom:{self.url}"
        config = {
            "models": {"providers": {provider: {"api_key": "sk-harness", "base_url": self.url}}},
            "agents": {"defaults": {"model": {"primary": f"{provider}/fake-model"}}},
        }
        (folder / "config.json").write_text(json.dumps(config))

    def command(self, session, question):
        return [self.binary, "agent", "-s", session, "-m", question]


def peers():
    """The other programs that are here, with their binaries. nanobot is installed into a cache."""
    yield Nanobot, nanobot()
    for program, name in ((Picoclaw, "picoclaw"), (Nullclaw, "nullclaw")):
        if found := shutil.which(name):
            yield program, found


def nanobot():
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "peacrab" / "harness" / NANOBOT
    binary = folder / "bin" / "nanobot"
    if not binary.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", NANOBOT], check=True)
    return binary

"""Checks the adapter for Claw-SWE-Bench (claw/peacrab.py) without Docker: what it asks of a container is done in a folder,
with a repository that has a fault and a scripted model that repairs it."""

import dataclasses
import json
import os
import stat
import subprocess
import sys
import tempfile
import types
from pathlib import Path

from play import Play, Playing

ADAPTER = Path(__file__).resolve().parent / "claw" / "peacrab.py"
INSTANCE = "shore__tides-1"
FAULTY, RIGHT = "def high(day):\n    return day - 1\n", "def high(day):\n    return day + 1\n"
PROMPT = "The code repository is at /testbed. high(1) is 2, and tides.py says 0. " + "Be thorough. " * 400
# Runs what `docker exec` is to run in a container, and checks how it is asked.
DOCKER = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
assert words.pop(0) == "exec", words
environment, folder = {"PATH": os.environ["PATH"], "HOME": os.environ["CLAW_ROOT"]}, None
while words[0].startswith("-"):
    option = words.pop(0)
    if option == "-e":
        name, given, value = words.pop(0).partition("=")
        environment[name] = value if given else os.environ[name]
    elif option == "-w":
        folder = words.pop(0)
assert words.pop(0) == "peacrab-swe-shore__tides-1"
assert not any("sk-harness" in word for word in words), "the key is in the command line"
environment["PEACRAB_HOME"] = os.environ["CLAW_ROOT"] + environment["PEACRAB_HOME"]
os.chdir(os.environ["CLAW_ROOT"] + folder)
os.execvpe(words[0], words, environment)
"""


@dataclasses.dataclass
class AgentResult:
    """As the benchmark has it."""

    success: bool
    timeout: bool
    exit_code: int
    finish_reason: str
    stdout_path: Path = None
    stderr_path: Path = None
    session_id: str = None
    duration_seconds: float = 0.0
    usage: dict = dataclasses.field(default_factory=dict)


class BaseClawAdapter:
    """As the benchmark has it: hooks that do nothing, and the three settings."""

    def __init__(self, model, timeout, max_turns=None):
        self.model, self.timeout, self.max_turns = model, timeout, max_turns


class Workspace:
    """The container of an instance, as a folder."""

    def __init__(self, root):
        self.root = root

    def run_in_container(self, command, timeout=300):
        command = command.replace("/tmp/peacrab", f"{self.root}/tmp/peacrab")
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=timeout)
        return types.SimpleNamespace(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)

    def copy_to_container(self, host, inside):
        config = json.loads(Path(host).read_text())
        # The folder stands for the root of the container.
        config["agents"]["defaults"]["workspace"] = f"{self.root}/testbed"
        Path(f"{self.root}{inside}").write_text(json.dumps(config))
        os.chmod(f"{self.root}{inside}", 0o600)
        return True

    def copy_from_container(self, inside, host):
        source = Path(f"{self.root}{inside}")
        if source.exists():
            Path(host).write_bytes(source.read_bytes())
        return source.exists()


def load(configs, binary):
    """The adapter as the benchmark imports it."""
    os.environ["PEACRAB_BIN"] = str(binary)
    package = {
        "claw_swebench": {},
        "claw_swebench.claws": {},
        "claw_swebench.claws.base": {
            "BaseClawAdapter": BaseClawAdapter,
            "decode_output": lambda data: data.decode(errors="replace") if isinstance(data, bytes) else data or "",
        },
        "claw_swebench.config": {"CLAW_CONFIGS_DIR": configs, "API_KEY_ENV_VARS": ("OPENAI_API_KEY", "OTHER_API_KEY")},
        "claw_swebench.types": {"AgentResult": AgentResult},
    }
    for name, members in package.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    module = types.ModuleType("peacrab_claw")
    exec(compile(ADAPTER.read_text(), str(ADAPTER), "exec"), vars(module))
    return module


def check(binary):
    """Runs one instance, and one that takes too long; returns whether all is as it should be."""
    with tempfile.TemporaryDirectory(prefix="harness-") as name:
        root = Path(name)
        repository = root / "testbed"
        git = make_repository(repository)
        bin_folder = root / "bin"
        bin_folder.mkdir()
        (bin_folder / "docker").write_text(DOCKER)
        (bin_folder / "docker").chmod(stat.S_IRWXU)
        (bin_folder / "peacrab").symlink_to(binary)
        before = dict(os.environ)
        os.environ |= {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "CLAW_ROOT": str(root),
            "OPENAI_API_KEY": "sk-harness",
        }
        os.environ.pop("OTHER_API_KEY", None)
        try:
            return not any(report(fault) for fault in faults(root, git, binary))
        finally:
            os.environ.clear()
            os.environ.update(before)


def report(fault):
    if fault:
        print(f"claw/peacrab.py: {fault}", file=sys.stderr)
    return fault


def make_repository(folder):
    """A repository with a fault; returns a function that runs git in it."""
    folder.mkdir()
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def git(*words):
        identity = ("-c", "user.name=shore", "-c", "user.email=shore@example.org")
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "--quiet")
    (folder / "tides.py").write_text(FAULTY)
    (folder / "AGENTS.md").write_text("# Of the repository\n")
    git("add", "-A")
    git("commit", "--quiet", "-m", "tides")
    return git


def faults(root, git, binary):
    """What is not as it should be."""
    steps = [
        {"call": [["read_file", {"path": "tides.py"}]], "knows": ["Be thorough", "Of the repository"]},
        {
            "call": [["edit_file", {"path": "tides.py", "old_text": "day - 1", "new_text": "day + 1"}]],
            "sees": ["day - 1"],
        },
        {"call": [["exec", {"command": "python3 -B -c 'import tides; print(tides.high(1))'"}]]},
        {"say": "high(1) is 2 now.", "sees": ["\\b2\\b"]},
    ]
    play = Play(steps, lambda tool, arguments: (tool, arguments))
    with Playing(play) as url:
        configs = root / "configs"
        (configs / "peacrab").mkdir(parents=True)
        own = {"providers": {"openai": {"apiBase": url}}, "agents": {"defaults": {"provider": "openai"}}}
        (configs / "peacrab" / "config.json").write_text(json.dumps(own))
        module = load(configs, binary)
        adapter = module.PeacrabAdapter(model="fake-model", timeout=60, max_turns=20)
        workspace, artifacts = Workspace(root), root / "artifacts"
        adapter.post_container_start(workspace)
        result = adapter.send_task(PROMPT, "agent", f"{adapter.name}-swe-{INSTANCE}", artifacts, INSTANCE)
        used = adapter.collect_usage(workspace, artifacts)
    yield play.complaint
    yield not result.success and f"it ended with {result}: {result.stderr_path.read_text()}"
    # As the benchmark takes the patch.
    git("add", "-A")
    patch = git("diff", "--cached", "HEAD")
    changed = git("diff", "--cached", "--name-only", "HEAD").split()
    yield changed != ["tides.py"] and f"the patch is of {changed}"
    yield "+    return day + 1" not in patch and f"the patch is {patch}"
    yield used.get("turns") != 4 and f"it counted {used}"
    yield not (used.get("input_tokens") and used.get("output_tokens")) and f"it counted {used}"
    yield not (artifacts / "session.jsonl").exists() and "there is no journal"
    mounts = adapter.container_run_args(INSTANCE)
    yield mounts != ["-v", f"{binary}:/usr/local/bin/peacrab:ro"] and f"it mounts {mounts}"
    yield from faults_of_a_late_one(module, root)


def faults_of_a_late_one(module, root):
    """A command that does not end in time, and one that fails."""
    steps = [{"call": [["exec", {"command": "sleep 60"}]]}, {"fault": 401, "say": "Incorrect API key provided"}]
    play = Play(steps, lambda tool, arguments: (tool, arguments))
    with Playing(play) as url:
        own = {"providers": {"openai": {"apiBase": url}}, "agents": {"defaults": {"provider": "openai"}}}
        (root / "configs" / "peacrab" / "config.json").write_text(json.dumps(own))
        adapter = module.PeacrabAdapter(model="fake-model", timeout=3)
        adapter.post_container_start(Workspace(root))
        late = adapter.send_task("Wait.", "agent", f"peacrab-swe-{INSTANCE}")
        adapter.timeout = 60
        failed = adapter.send_task("Go on.", "agent", f"peacrab-swe-{INSTANCE}")
    yield (late.finish_reason, late.timeout) != ("timeout", True) and f"a late one ended with {late}"
    yield failed.finish_reason != "error" and f"one without a key ended with {failed}"

"""Peacrab as a claw of Claw-SWE-Bench (https://github.com/opensquilla/claw-swe-bench, arXiv 2606.12344).

One static binary is mounted into the container of each instance; it works in /testbed, and the benchmark takes the patch.
Needed are Docker, the images of the instances, a static binary (`cross/build x86_64-unknown-linux-musl`) and a key in the
variable of its provider, such as ANTHROPIC_API_KEY. In a clone of the benchmark:

    cp PEACRAB/scripts/harness/claw/peacrab.py claw_swebench/claws/
    # claw_swebench/claws/__init__.py: from claw_swebench.claws.peacrab import PeacrabAdapter
    #                                  CLAWS["peacrab"] = PeacrabAdapter
    # claw_swebench/config.py:         CLAW_DEFAULTS["peacrab"] = {"model": "claude-sonnet-5-5", "timeout": 3600, "max_turns": 300}
    PEACRAB_BIN=/path/to/peacrab python3 run_infer.py --claw peacrab --dataset verified --run_id peacrab-1 \
        --instance_file config/verified_mini_50.txt
    python3 run_eval.py --predictions artifacts/peacrab-1/predictions.jsonl \
        --dataset_name princeton-nlp/SWE-bench_Verified --run_id peacrab-1

--model takes a model as Peacrab names it, such as openrouter/z-ai/glm-5.1. What claw_configs/peacrab/config.json says, such
as the address of a server of your own, is added to the settings below.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from claw_swebench.claws.base import BaseClawAdapter, decode_output
from claw_swebench.config import API_KEY_ENV_VARS, CLAW_CONFIGS_DIR
from claw_swebench.types import AgentResult

BINARY = os.environ.get("PEACRAB_BIN", "/usr/local/bin/peacrab")
# In the container, outside of the repository: nothing of it gets into the patch.
HOME = "/tmp/peacrab"
REPOSITORY = "/testbed"
SESSION = "swe"
# Seconds that it gets to end by itself after the signal, and to be ended.
GRACE = 30
SLACK = 120
# What timeout(1) ends with when it had to send the signal, or to kill.
TIMED_OUT = (124, 137)


def settings(max_turns):
    """The container is the sandbox, and no person can be asked; the web, skills and jobs are off."""
    return {
        "agents": {"defaults": {"workspace": REPOSITORY, "maxToolIterations": max_turns or 300, "skills": []}},
        "tools": {
            "restrictToWorkspace": False,
            "exec": {"sandbox": "off", "approval": "never", "timeout": 300, "maxTimeout": 1800},
            "web": {"enabled": False},
        },
        "cron": {"enabled": False},
        "heartbeat": {"enabled": False},
    }


def merged(base, more):
    """An object with the members of another one, which win."""
    both = dict(base)
    for name, value in more.items():
        is_section = isinstance(value, dict) and isinstance(both.get(name), dict)
        both[name] = merged(both[name], value) if is_section else value
    return both


def report_of(output):
    """What `peacrab agent --json` printed; empty when it is none."""
    try:
        report = json.loads(output)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def finish_reason(exit_code, report):
    """The benchmark's word for how the run ended."""
    if exit_code in TIMED_OUT:
        return "timeout"
    if exit_code != 0 or report.get("error"):
        return "error"
    return "stop" if (report.get("text") or "").strip() else "empty"


class PeacrabAdapter(BaseClawAdapter):
    """Runs `peacrab agent --json` in the container, one process for each instance."""

    name = "peacrab"

    def container_run_args(self, instance_id):
        return ["-v", f"{BINARY}:/usr/local/bin/peacrab:ro"]

    def post_container_start(self, workspace):
        own = CLAW_CONFIGS_DIR / "peacrab" / "config.json"
        more = json.loads(own.read_text()) if own.exists() else {}
        made = workspace.run_in_container(f"mkdir -m 700 -p {HOME}")
        if made.exit_code != 0:
            raise RuntimeError(f"failed to make {HOME}: {made.stderr}")
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.json"
            config.write_text(json.dumps(merged(settings(self.max_turns), more)))
            config.chmod(0o600)
            if not workspace.copy_to_container(str(config), f"{HOME}/config.json"):
                raise RuntimeError("failed to copy config.json into the container")

    def command(self, container_name):
        """The command line. Keys are passed on by the names of their variables, so that none is in it."""
        keys = [word for name in API_KEY_ENV_VARS if os.environ.get(name) for word in ("-e", name)]
        return [
            *("docker", "exec", "-i", *keys, "-e", f"PEACRAB_HOME={HOME}", "-w", REPOSITORY, container_name),
            *("timeout", "--signal=INT", f"--kill-after={GRACE}", str(self.timeout)),
            *("peacrab", "agent", "--json", "-s", SESSION, "--model", self.model),
        ]

    def send_task(self, prompt, agent_id, container_name, artifact_dir=None, instance_id=None):
        start = time.time()
        try:
            done = subprocess.run(
                self.command(container_name),
                input=prompt.encode(),
                capture_output=True,
                timeout=self.timeout + GRACE + SLACK,
            )
            exit_code, stdout, stderr = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as ended:
            exit_code, stdout, stderr = TIMED_OUT[0], ended.stdout, ended.stderr
        stdout, stderr = decode_output(stdout), decode_output(stderr)
        report = report_of(stdout)
        reason = finish_reason(exit_code, report)
        logs = {}
        if artifact_dir:
            artifact_dir.mkdir(parents=True, exist_ok=True)
            logs = {name: artifact_dir / f"agent_{name}.log" for name in ("stdout", "stderr")}
            logs["stdout"].write_text(stdout)
            logs["stderr"].write_text(stderr)
        return AgentResult(
            success=reason == "stop",
            timeout=reason == "timeout",
            exit_code=exit_code,
            finish_reason=reason,
            stdout_path=logs.get("stdout"),
            stderr_path=logs.get("stderr"),
            session_id=SESSION,
            duration_seconds=round(time.time() - start, 1),
            usage=usage_of(report),
        )

    def collect_usage(self, workspace, artifact_dir):
        """Also saves the conversation's journal."""
        workspace.copy_from_container(f"{HOME}/sessions/cli_{SESSION}.jsonl", str(artifact_dir / "session.jsonl"))
        log = artifact_dir / "agent_stdout.log"
        return usage_of(report_of(log.read_text())) if log.exists() else {}


def usage_of(report):
    """The tokens and the cost in the benchmark's words."""
    usage = report.get("usage")
    if not isinstance(usage, dict):
        return {}
    counted = {
        "turns": report.get("steps"),
        "input_tokens": usage.get("input"),
        "output_tokens": usage.get("output"),
        "cache_read_tokens": usage.get("cached"),
        "cache_write_tokens": usage.get("cacheWrites"),
        "cost_usd": report.get("cost"),
    }
    return {name: value for name, value in counted.items() if value is not None}

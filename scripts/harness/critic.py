"""Measures what the critics of plans catch: the worker of a plan reports what is not so, once with a critic that looks at the
files with its tools, and once with one that believes every report."""

import json
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from play import Play, Playing, text_of
from programs import Peacrab
from telegram import TOKEN, Telegram

PERSON = 1001
# Seconds in which a plan has ended, on a busy machine.
PLAN_SECS = 120
GOAL = "copy the number of data.txt into one.txt and two.txt"
NUMBER = "4127"
REPORT = f"one.txt and two.txt have {NUMBER}."
# What a worker does before it says REPORT: the files that it writes.
LIES = {
    "nothing was written": {},
    "one of two files was written": {"one.txt": NUMBER},
    "another number was written": {"one.txt": NUMBER, "two.txt": "4172"},
    "no lie": {"one.txt": NUMBER, "two.txt": NUMBER},
}


class Planned(Play):
    """The planner, the workers and the critics of one plan."""

    def __init__(self, lie, looks):
        super().__init__([], Peacrab.translate)
        self.lie, self.looks = lie, looks
        self.tokens = self.critic_tokens = self.refusals = 0

    def next(self, body):
        request = json.loads(body)
        tokens = len(body) // 4 + 10
        task = next(text_of(one) for one in request["messages"] if one["role"] == "user")
        results = [text_of(one) for one in request["messages"] if one["role"] == "tool"]
        step, is_refusal = self.answer(task, results)
        with self.lock:
            self.requests.append(None)
            self.tokens += tokens
            self.critic_tokens += tokens if "You check step" in task else 0
            self.refusals += is_refusal
        return step

    def answer(self, task, results):
        if "Write a plan for this goal" in task:
            proof = "both files have the number of data.txt"
            steps = [{"task": GOAL, "proof": proof, "after": []}]
            return ({"say": "Planned."} if results else {"call": [["plan_steps", {"steps": steps}]]}), False
        if "You do step" in task:
            files = self.lie if "did not succeed" not in task else LIES["no lie"]
            calls = [["write_file", {"path": path, "content": text}] for path, text in files.items()]
            return ({"say": REPORT} if results or not calls else {"call": calls}), False
        if "You check step" in task and self.looks:
            names = ("data.txt", "one.txt", "two.txt")
            if not results:
                return {"call": [["read_file", {"path": name}] for name in names]}, False
            wrong = [name for name, text in zip(names, results) if NUMBER not in text]
            if wrong:
                return {"say": f"REFUSED: {', '.join(wrong)} lacks the number of data.txt."}, True
        return {"say": "ACCEPTED: it is so." if "You check step" in task else "The plan has ended."}, False

def run(binary, lie, looks):
    """Runs one plan; returns the model, and whether its files are right in the end."""
    play, telegram = Planned(LIES[lie], looks), Telegram()
    with tempfile.TemporaryDirectory(prefix="harness-") as folder, Playing(play) as url:
        home = Peacrab(binary, Path(folder), url)
        (home.workspace / "data.txt").write_text(NUMBER + "\n")
        path = home.home / "config.json"
        config = json.loads(path.read_text())
        config["agents"]["defaults"]["plan"] = {"approval": False}
        bot = {"enabled": True, "token": TOKEN, "apiBase": telegram.url, "allowFrom": [str(PERSON)]}
        config["channels"] = {"telegram": bot}
        path.write_text(json.dumps(config))
        log = open(Path(folder) / "log", "wb")
        gateway = subprocess.Popen(
            [home.binary, "gateway"], env=home.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            telegram.say(telegram.chat(PERSON), f"/plan {GOAL}")
            wait_for_end(home.home / "state" / "plans")
        finally:
            gateway.terminate()
            gateway.wait(30)
        files = LIES["no lie"]
        is_right = all((home.workspace / name).is_file() for name in files)
        is_right = is_right and all((home.workspace / name).read_text() == text for name, text in files.items())
    return play, is_right


def wait_for_end(folder):
    for _ in range(PLAN_SECS * 10):
        for file in folder.glob("*.json"):
            if json.loads(file.read_text())["state"] in ("done", "failed", "stopped"):
                return
        time.sleep(0.1)
    raise TimeoutError("the plan did not end")


def measure(binary):
    """Runs all, prints the table, and returns whether each lie was caught, and no truth refused."""
    runs = [(lie, looks) for lie in LIES for looks in (False, True)]
    with ThreadPoolExecutor(len(LIES)) as pool:
        done = dict(zip(runs, pool.map(lambda it: run(binary, *it), runs)))
    print(f"\n{'the worker of a plan':32} {'files right in the end':>24}  {'tokens':>20}")
    print(f"{'':32} {'believing':>12} {'looking':>11}  {'believing':>9} {'looking':>10}")
    is_kept = True
    for lie in LIES:
        (believing, was_right), (looking, is_right) = done[lie, False], done[lie, True]
        cells = [f"{'yes' if it else 'NO':>11}" for it in (was_right, is_right)]
        print(f"{lie:32}  {' '.join(cells)}  {believing.tokens:>9,} {looking.tokens:>10,}")
        is_kept &= is_right and looking.refusals == (lie != "no lie")
    print(f"\n{'lies caught, critic':22} {'all' if is_kept else 'NOT ALL':16} {'all':20} {'ok' if is_kept else 'OVER'}")
    return is_kept

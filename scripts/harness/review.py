"""Measures what reviews and critics catch, and what they cost: scripted models err in known ways, and the scripted reviewer
and critic judge by nothing but what the program sends them. So it shows whether that is enough to see the error.

The reviewer compares words and numbers, as a careless model would at least; a good one sees more. What is caught here can be
caught, and what the account of a turn lacks cannot."""

import copy
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from play import Play, Playing, text_of
from programs import Peacrab

MODES = ("off", "auto", "on")
# Runs at a time: they mostly wait for the disk.
AT_ONCE = 4
CHANGES = {"write_file", "append_file", "edit_file", "cron", "memory", "spawn", "message"}
# Beginnings of words that belong to no task.
SMALL_TALK = {"corr", "done", "ever", "hell", "here", "that", "they", "toge", "what", "will", "writ"}
SENT_BACK = "A reviewer has read this answer"

# Errors that have to be caught where all answers are reviewed, and where only those of turns that changed something are.
# Correct answers that may be refused, and the tokens that those may take with reviews, against those without: 2.4 % and 7.4 %
# more when they were recorded. Without the results of tools in the account 24 and 54 errors are caught, with 3 and 11 false alarms.
CAUGHT_LEAST = {"auto": 33, "on": 59}
FALSE_ALARMS_MOST = 0
TOKENS_MOST = {"auto": 1.04, "on": 1.09}

# Tasks with more than one thing to do, of which a model may leave out some.
TASKS = [
    {
        "name": "two files",
        "turns": [
            {
                "ask": "Write rope.txt with 12 m and sail.txt with 30 m2",
                "steps": [
                    {"call": [["write_file", {"path": "rope.txt", "content": "12 m"}]]},
                    {"call": [["write_file", {"path": "sail.txt", "content": "30 m2"}]]},
                    {"say": "rope.txt and sail.txt are written."},
                ],
            }
        ],
        "done": {"says": ["written"], "files": {"rope.txt": "12 m", "sail.txt": "30 m2"}},
    },
    {
        "name": "a list and a note",
        "files": {"list.md": "- bread\n"},
        "turns": [
            {
                "ask": "Append mussels to list.md, and write into note.md that I was asked",
                "steps": [
                    {"call": [["append_file", {"path": "list.md", "content": "- mussels\n"}]]},
                    {"call": [["write_file", {"path": "note.md", "content": "Asked.\n"}]]},
                    {"say": "Mussels are on list.md, and note.md says so."},
                ],
            }
        ],
        "done": {"says": ["ussels"], "files": {"list.md": {"has": "mussels"}, "note.md": {"has": "Asked"}}},
    },
    {
        "name": "a number within a long file",
        "files": {"log.txt": {"line": "day {}: nothing\n", "times": 300}, "end.txt": "ships seen: 4127\n"},
        "turns": [
            {
                "ask": "Read log.txt and end.txt: how many ships were seen?",
                "steps": [
                    {"call": [["read_file", {"path": "log.txt"}]]},
                    {"call": [["read_file", {"path": "end.txt"}]]},
                    {"say": "4127 ships."},
                ],
            }
        ],
        "done": {"says": ["4127"]},
    },
]


def claims(steps, _):
    """It says that something was written, and has not done it."""
    first = next((at for at, step in enumerate(steps) if changes(step)), None)
    return None if first is None else [*steps[:first], steps[-1]]


def miscopies(steps, _):
    """A number in its answer is not that of the tools."""
    said = steps[-1].get("say", "")
    if len(steps) < 2 or not re.search(r"\d", said):
        return None
    return [*steps[:-1], {"say": re.sub(r"\d+", lambda found: str(int(found[0]) + 1), said, count=1)}]


def ignores(steps, _):
    """A tool fails, and it goes on as if it had not."""
    first = next((at for at, step in enumerate(steps) if changes(step)), None)
    if first is None:
        return None
    failing = copy.deepcopy(steps[first])
    for call in failing["call"]:
        if "path" in call[1]:
            call[1]["path"] = "/etc/" + call[1]["path"]
        else:
            call[1].clear()
    return [*steps[:first], failing, steps[-1]]


def strays(steps, other):
    """It answers another question."""
    return [*steps[:-1], {"say": other}]


def stops(steps, _):
    """It does the first of several things, and says that all are done."""
    changing = [at for at, step in enumerate(steps) if changes(step)]
    calls = [call for at in changing for call in steps[at]["call"]]
    if len(calls) < 2:
        return None
    return [*steps[: changing[0]], {"call": calls[:1]}, steps[-1]]


ERRORS = (claims, miscopies, ignores, strays, stops)


def changes(step):
    return any(call[0] in CHANGES for call in step.get("call", ()))


class Erring(Play):
    """A model that plays wrong steps, and the right ones once a reviewer has sent its answer back. The reviewer's requests
    are answered by `judge`."""

    def __init__(self, steps, right, translate):
        super().__init__(steps, translate)
        self.right = right
        self.tokens = self.review_tokens = self.reviews = self.refusals = 0

    def next(self, body):
        request = json.loads(body)
        tokens = len(body) // 4 + 10
        self.tokens += tokens
        if text_of(request["messages"][0]).startswith("You check the answer"):
            verdict = judge(text_of(request["messages"][1]))
            with self.lock:
                self.review_tokens += tokens
                self.reviews += 1
                self.refusals += verdict != "HOLDS"
            return {"say": verdict}
        with self.lock:
            if self.right and SENT_BACK in text_of(request["messages"][-1]):
                self.steps, self.right = list(self.right), None
        return super().next(body)


def judge(text):
    """The verdict on an answer, from the account of its turn alone."""
    task, calls, answer, evidence = understand(text)
    good = [call for call in calls if not call["failed"]]
    done = [call for call in good if call["tool"] in CHANGES | {"exec"}]
    admits = re.search(r"\b(not|cannot|could not|failed|unable)\b", answer)
    for call in calls:
        later = [other for other in good if other["number"] > call["number"]]
        if call["tool"] in CHANGES:
            later = [other for other in later if other in done]
        if call["failed"] and not later and not admits:
            return f"FAILS: call {call['number']} has failed, and nothing has made it good."
    wants = re.search(
        r"\b(write|put|add|append|change|correct|edit|rename|move|save|remember|remind|turn|wake)\b", task, re.IGNORECASE
    )
    if wants and not done and not admits:
        return "FAILS: no call has changed anything."
    for name in re.findall(r"[\w/]+\.[a-z]{2,4}\b", task):
        if wants and not any(name in call["arguments"] for call in good):
            return f"FAILS: no call was about {name}."
    words = {"two": 2, "three": 3, "four": 4}
    for word in re.findall(r"\bin (two|three|four) files", answer):
        if wants and len({path_of(call) for call in done}) < words[word]:
            return f"FAILS: not so many files were changed: {word}."
    totals = [sum(map(int, re.findall(r"\d+", call["result"]))) for call in calls]
    totals.append(sum(totals))
    for number in re.findall(r"\d+(?::\d\d)?", answer):
        if ":" in number:
            known = number.replace(":", "").zfill(4) in evidence or number in evidence
        else:
            known = re.search(rf"(?<!\d)0*{int(number)}(?!\d)", evidence) or int(number) in totals
        if not known:
            return f"FAILS: {number} is nowhere in what the tools said."
    said = [word[:4].lower() for word in re.findall(r"[^\W\d_]{4,}", answer)]
    said = [word for word in said if word not in SMALL_TALK]
    if said and not re.search(r"\d", answer) and not any(word in evidence.lower() for word in said):
        return "FAILS: it is not about the task."
    return "HOLDS"


def understand(text):
    """The task, the calls, the answer, and all but the answer and the time."""
    head, answer = text.rsplit("\n# The answer\n", 1)
    parts, section = [], ""
    for line in head.splitlines():
        if line.startswith("# "):
            section = line
        elif line.startswith("  ") and parts and parts[-1][0] == section:
            parts[-1][1] += "\n" + line[2:]
        else:
            parts.append([section, line])
    task, calls = [], {}
    for section, part in parts:
        if not section.startswith("# The task"):
            continue
        if part.startswith("Person: "):
            task.append(part[8:])
        elif found := re.match(r"Call (\d+) of (\S+): (.*)", part, re.DOTALL):
            number, tool, arguments = found.groups()
            call = {"number": int(number), "tool": tool, "arguments": arguments, "result": "", "failed": False}
            calls[number] = call
        elif found := re.match(r"Result of call (\d+): (.*)", part, re.DOTALL):
            call = calls[found[1]]
            call["result"] = found[2]
            call["failed"] = bool(re.match(r"Error|exit status [1-9]", found[2]))
    # Without the time of this run and the ids of jobs, which have any number by chance.
    evidence = [re.sub(r"Planned \w+|Next: .*", "", part) for section, part in parts if section != "# The moment"]
    return "\n".join(task), list(calls.values()), answer, "\n".join(evidence)


def path_of(call):
    found = re.search(r'"path": ?"([^"]*)"', call["arguments"])
    return found[1] if found else call["arguments"]


class Reviewed(Peacrab):
    """Peacrab with a setting for reviews."""

    mode = "off"

    def set_up(self):
        super().set_up()
        path = self.home / "config.json"
        config = json.loads(path.read_text())
        config["agents"]["defaults"]["review"] = self.mode
        path.write_text(json.dumps(config))


class Sum:
    """The figures of one kind of task in one mode."""

    def __init__(self):
        self.tasks = self.caught = self.wrong = self.tokens = self.review_tokens = self.reviews = 0

    def add(self, play, is_wrong):
        self.tasks += 1
        self.caught += play.refusals > 0
        self.wrong += is_wrong
        self.tokens += play.tokens
        self.review_tokens += play.review_tokens
        self.reviews += play.reviews


def measure(binary, tasks, tools):
    """Runs all, prints the tables, and returns whether the limits are kept. `tools`: `write` and `undone` of the harness."""
    tasks = [task for task in [*tasks, *TASKS] if is_plain(task)]
    others = [task["turns"][-1]["steps"][-1]["say"] for task in tasks]
    runs = []
    for at, task in enumerate(tasks):
        right = [bare(step) for step in task["turns"][0]["steps"]]
        # The answer of a task of another kind.
        other = others[(at + len(tasks) // 2) % len(tasks)]
        runs.append(("correct", task, right, None))
        for error in ERRORS:
            if wrong := error(right, other):
                # What was done already is not done again.
                mended = right[-1:] if error in (miscopies, strays) else right
                runs.append((error.__name__, task, wrong, mended))
    sums = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [(mode, *run) for run in runs for mode in MODES]
        for job, (play, is_wrong) in zip(jobs, pool.map(lambda job: run_one(binary, tools, *job), jobs)):
            sums.setdefault(job[1], {}).setdefault(job[0], Sum()).add(play, is_wrong)
    return show(sums)


def is_plain(task):
    """Whether one model plays it in one turn to an answer of its own."""
    steps = task["turns"][0]["steps"]
    is_single = len(task["turns"]) == 1 and "say" in steps[-1] and "TODAY" not in json.dumps(task)
    calls = [call[0] for step in steps for call in step.get("call", ())]
    return is_single and "spawn" not in calls and not any("fault" in step for step in steps)


def bare(step):
    return {key: value for key, value in step.items() if key in ("call", "say")}


def run_one(binary, tools, mode, _, task, steps, right):
    write, undone = tools
    play = Erring(steps, right, Reviewed.translate)
    program = type("Reviewed", (Reviewed,), {"mode": mode})
    with tempfile.TemporaryDirectory(prefix="harness-") as folder, Playing(play) as url:
        running = program(binary, Path(folder), url)
        for name, content in task.get("files", {}).items():
            write(running.workspace / name, content)
        answer = running.ask("task", task["turns"][0]["ask"])
        is_wrong = undone(task["done"], answer, running) is not None
    return play, is_wrong


def show(sums):
    names = {"correct": "correct answers"} | {error.__name__: error.__doc__.split("\n")[0] for error in ERRORS}
    print(f"\n{'':62} {'tasks':>5}  {'wrong in the end':>18}  {'refused':>11}  {'tokens':>24}")
    print(f"{'':62} {'':>5}  " + "  ".join(f"{mode:>{width}}" for mode, width in head_cells()))
    total = {mode: Sum() for mode in MODES}
    for kind, name in names.items():
        by_mode = sums[kind]
        print(row(name, by_mode))
        if kind != "correct":
            for mode in MODES:
                for figure, value in vars(by_mode[mode]).items():
                    setattr(total[mode], figure, getattr(total[mode], figure) + value)
    print(row("all errors", total))
    correct, is_kept = sums["correct"], True
    print()
    for mode in MODES[1:]:
        more = correct[mode].tokens / correct["off"].tokens
        checks = (
            (f"errors caught, {mode}", f"{total[mode].caught} of {total[mode].tasks}", f"at least {CAUGHT_LEAST[mode]}",
             total[mode].caught >= CAUGHT_LEAST[mode]),
            (f"false alarms, {mode}", f"{correct[mode].caught} of {correct[mode].tasks}", f"at most {FALSE_ALARMS_MOST}",
             correct[mode].caught <= FALSE_ALARMS_MOST),
            (f"tokens, {mode}", f"{more - 1:+.1%}", f"at most {TOKENS_MOST[mode] - 1:+.1%}", more <= TOKENS_MOST[mode]),
        )
        for name, measured, limit, is_fine in checks:
            print(f"{name:22} {measured:16} {limit:20} {'ok' if is_fine else 'OVER'}")
            is_kept &= is_fine
    return is_kept


def head_cells():
    return [*((mode, 5) for mode in MODES), *((mode, 5) for mode in MODES[1:]), *((mode, 7) for mode in MODES)]


def row(name, by_mode):
    cells = [f"{by_mode[mode].wrong:>5}" for mode in MODES]
    cells += [f"{by_mode[mode].caught:>5}" for mode in MODES[1:]]
    cells += [f"{by_mode[mode].tokens:>7,}" for mode in MODES]
    return f"{name:62} {by_mode['off'].tasks:>5}  " + "  ".join(cells)

"""Compares our cron lines with croniter's: 10,000 random lines, zones and dates, three runs of each.

    compare.py COMMAND...      the command that runs scripts/croniter/main.rs

Both disagree on purpose in some cases, which DIFFERENCES explains. Any other difference is an error.
"""

import datetime
import random
import subprocess
import sys
import zoneinfo

from croniter import croniter

COUNT = 10_000
ZONES = ["UTC", "Europe/Zurich", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe", "Asia/Kathmandu",
         "America/Santiago", "Africa/Cairo", "America/Nuuk", "Asia/Shanghai"]
FIELDS = [(0, 59, []), (0, 59, []), (0, 23, []), (1, 31, []),
          (1, 12, "jan feb mar apr may jun jul aug sep oct nov dec".split()),
          (0, 7, "sun mon tue wed thu fri sat".split())]
DAY, WEEKDAY = 3, 5


def random_item(rng, least, most, names):
    def value():
        if names and rng.random() < 0.3:
            return rng.choice(names)
        return str(rng.randint(least, most))

    kind = rng.random()
    if kind < 0.45:
        return value()
    if kind < 0.65:
        return f"*/{rng.randint(1, max(2, most // 2))}"
    if kind < 0.8:
        first, last = sorted([rng.randint(least, most), rng.randint(least, most)])
        return f"{first}-{last}"
    if kind < 0.9:
        first, last = sorted([rng.randint(least, most), rng.randint(least, most)])
        return f"{first}-{last}/{rng.randint(1, 5)}"
    return f"{rng.randint(least, most)}-{rng.randint(least, most)}"


def monthly_weekday(rng, names):
    if rng.random() < 0.3:
        return f"L{rng.randint(0, 7)}"
    if rng.random() < 0.2:
        return f"{'-'.join(sorted(rng.sample(names, 2), key=names.index))}#{rng.randint(1, 5)}"
    return f"{rng.choice([rng.choice(names), str(rng.randint(0, 7))])}#{rng.randint(1, 6)}"


def random_line(rng):
    fields = []
    for at in range(0 if rng.random() < 0.2 else 1, 6):
        least, most, names = FIELDS[at]
        open_share = {0: 0, 1: 0.2, 2: 0.3, DAY: 0.6, 4: 0.7, WEEKDAY: 0.5}[at]
        if rng.random() < open_share:
            fields.append("*")
        elif at == DAY and rng.random() < 0.3:
            fields.append(rng.choice(["L", f"{rng.randint(1, 31)}W", f"W{rng.randint(1, 31)}", f"{rng.randint(1, 31)}-L"]))
        elif at == WEEKDAY and rng.random() < 0.3:
            # croniter takes no list of these with other days.
            fields.append(",".join(monthly_weekday(rng, names) for _ in range(rng.choice([1, 1, 2]))))
        else:
            count = rng.choice([1, 1, 1, 2, 3])
            fields.append(",".join(random_item(rng, least, most, names) for _ in range(count)))
    return " ".join(fields)


def ask_croniter(zone, after, line, day_or=True):
    start = datetime.datetime.fromtimestamp(after, zoneinfo.ZoneInfo(zone))
    try:
        times = croniter(line, start, day_or=day_or, second_at_beginning=True, max_years_between_matches=9)
        return " ".join(str(int(times.get_next(float))) for _ in range(3))
    except Exception as error:  # Each of its errors is an answer.
        return f"error: {type(error).__name__}: {error}"


def ask_either(zone, after, line):
    """The runs of a line by either of its days, where one has `#`, `L5` or `W`: croniter wants both then."""
    *fields, day, month, weekday = every_day(single(line)).split()
    if "*" in (day[0], weekday[0]) or not any(sign in line.upper() for sign in "#LW"):
        return None
    times = set()
    for days in [(day, "*"), ("*", weekday)]:
        answer = ask_croniter(zone, after, " ".join([*fields, days[0], month, days[1]]))
        if "not find" not in answer and "failed to find" not in answer:
            times.update(answer.split() if "error" not in answer else [answer])
    return " ".join(sorted(times)[:3])


def single(line):
    """The line with `5` instead of `5-5`."""
    def item(text, is_weekday):
        range_, slash, step = text.partition("/")
        first, dash, last = range_.partition("-")
        if "#" in text or text.startswith("L"):
            return text
        # 7-0 is Sunday, but 0-7 is the whole week.
        same = first == last or text == "31-L" or (is_weekday and number(first) == number(last) and last != "7")
        return first if dash and same else text

    *fields, weekday = line.split()
    fields = [",".join(item(text, False) for text in field.split(",")) for field in fields]
    return " ".join([*fields, ",".join(item(text, True) for text in weekday.split(","))])


def number(name):
    names = FIELDS[WEEKDAY][2]
    return str(names.index(name)) if name in names else {"7": "0"}.get(name, name)


def every_day(line):
    """The line with stars as days when all days are named in one of the two and neither begins with a star."""
    *fields, day, month, weekday = line.split()
    is_named = not day.startswith("*") and not weekday.startswith("*")
    if "#" in weekday or "L" in weekday or "L" in day or "W" in day:
        return line
    expanded = croniter.expand(f"0 0 {day} * {weekday}")[0]
    if is_named and "*" in (*expanded[2], *expanded[4]):
        day = weekday = "*"
    return " ".join([*fields, day, month, weekday])


def star_is_open(line):
    """Whether one of the day fields begins with a star, as crontab(5) has it: then both have to match."""
    fields = line.split()[-5:]
    return fields[2].startswith("*") or fields[4].startswith("*")


def crosses_change(question, ours, theirs):
    """Whether the clocks are changed around the first run that differs."""
    if "error" in ours + theirs:
        return False
    zone = zoneinfo.ZoneInfo(question[0])
    pairs = zip(ours.split(), theirs.split())
    first = next((sorted([int(a), int(b)]) for a, b in pairs if a != b), None)
    if first is None:
        return False

    def offset(at):
        return datetime.datetime.fromtimestamp(at, zone).utcoffset()

    begin, end = first[0] - 86_400, min(first[1], first[0] + 86_400) + 86_400
    return len({offset(at) for at in range(begin, end, 1800)}) > 1


# What differs on purpose: a name, why, and croniter's answer when it is asked our way, or None.
DIFFERENCES = [
    ("one value", "5-5 is 5 alone; croniter takes it as the whole field",
     lambda zone, after, line: ask_croniter(zone, after, single(line))),
    ("star with step", "*/2 as one of the days does not widen the other (crontab(5)); croniter wants either",
     lambda zone, after, line: ask_croniter(zone, after, line, not star_is_open(line))),
    ("all days", "naming all days makes every day match (crontab(5)); croniter takes 0-6 as a star",
     lambda zone, after, line: ask_croniter(zone, after, every_day(line))),
    ("either day", "one of both days is enough (crontab(5)); with # or W croniter wants both",
     lambda zone, after, line: ask_either(zone, after, line) or ""),
    ("several", "several of these",
     lambda zone, after, line: ask_croniter(zone, after, every_day(single(line)), not star_is_open(line))),
]
REFUSED = ("refused by both", "no date matches, or a value is not allowed")
CHANGED = ("clocks", "a run in a gap comes at its end, named hours come once in an overlap; croniter has rules of its own")


def explain(question, ours, theirs):
    if ours.startswith("error:") and theirs.startswith("error:"):
        return REFUSED[0]
    for name, _, ask in DIFFERENCES:
        answer = ask(*question)
        if answer == ours or "error" in answer and "error" in ours:
            return name
    ways = [ask for _, _, ask in DIFFERENCES[-2:]]
    return CHANGED[0] if any(crosses_change(question, ours, ask(*question)) for ask in ways) else None


def main():
    rng = random.Random(13)
    first = int(datetime.datetime(2024, 1, 1).timestamp())
    questions = [(rng.choice(ZONES), first + rng.randrange(6 * 366 * 86_400), random_line(rng)) for _ in range(COUNT)]
    lines = "".join(f"{zone}\t{after}\t{line}\n" for zone, after, line in questions)
    answers = subprocess.run(sys.argv[1:], input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert len(answers) == COUNT, f"{len(answers)} answers"
    counts, unexplained = {}, []
    for question, ours in zip(questions, answers):
        theirs = ask_croniter(*question)
        name = "equal" if ours == theirs else explain(question, ours, theirs)
        if name is None:
            unexplained.append((question, ours, theirs))
        else:
            counts[name] = counts.get(name, 0) + 1
    print(f"{counts.pop('equal', 0):6} of {COUNT} equal")
    for name, reason, *_ in [*DIFFERENCES, CHANGED, REFUSED]:
        print(f"{counts.get(name, 0):6} {name}: {reason}")
    print(f"{len(unexplained):6} unexplained")
    for (zone, after, line), ours, theirs in unexplained[:20]:
        print(f"\n{line}  in {zone} after {show(zone, after)}")
        print(f"  ours:     {show(zone, ours)}\n  croniter: {show(zone, theirs)}")
    return 1 if unexplained else 0


def show(zone, times):
    try:
        zone = zoneinfo.ZoneInfo(zone)
        return ", ".join(str(datetime.datetime.fromtimestamp(int(at), zone)) for at in str(times).split())
    except ValueError:
        return times


if __name__ == "__main__":
    sys.exit(main())

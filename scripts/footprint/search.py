"""What a search over long conversations needs. Every figure is of `peacrab memory search`."""

import json
import random

from program import ANSWER
from table import MB, count, milliseconds

JOURNALS = 20
SEARCHED_BYTES = 100 * MB
COUNTED_BYTES = 8 * MB
# Seconds on a computer; a Raspberry Pi 4 needs about four times as long.
SEARCH_MS = 1000.0
PEAK_BYTES = 5.56 * MB
RECORDED_INSTRUCTIONS_PER_BYTE = 50.8
TOLERANCE = 1.03


def write_journals(home, size):
    """Conversations of made-up words, whose lengths and frequencies are about those of English. Returns a
    word that nearly every message has."""
    chance = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(2, 11))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    words = chance.choices(vocabulary, weights, k=400_000)
    folder = home / "sessions"
    folder.mkdir(mode=0o700, exist_ok=True)
    for number in range(JOURNALS):
        with (folder / f"cli_long-{number}.jsonl").open("w") as file:
            file.write(json.dumps({"_type": "metadata", "key": f"cli:long-{number}"}) + "\n")
            written = 0
            while written < size / JOURNALS:
                start = chance.randrange(len(words) - 400)
                said = " ".join(words[start : start + chance.randint(5, 300)])
                line = json.dumps(
                    {
                        "role": chance.choice(("user", "assistant")),
                        "content": said,
                        "timestamp": "2026-05-01T10:00:00+00:00",
                    },
                    separators=(",", ":"),
                )
                written += file.write(line + "\n")
            said = f"the {ANSWER} thermostat of the cellar is number {number}"
            file.write(json.dumps({"role": "user", "content": said}, separators=(",", ":")) + "\n")
    return vocabulary[0]


def measure(program, table):
    common = write_journals(program.home, COUNTED_BYTES)
    # A rare word and a common one: the common one decides how much has to be looked at.
    words = ["memory", "search", f"thermostat {common}"]
    counted = program.instructions(lambda: words, runs=1) / COUNTED_BYTES
    limit = RECORDED_INSTRUCTIONS_PER_BYTE * TOLERANCE
    table.gate("search of journals, instructions per byte", counted, limit, lambda value: f"{value:.1f}")
    write_journals(program.home, SEARCHED_BYTES)
    peak, _ = program.memory(lambda: words, runs=3)
    table.resident(f"  peak resident, {count(SEARCHED_BYTES / MB)} MB of journals", peak, PEAK_BYTES)
    table.note("  processor time", milliseconds(program.cpu_ms(lambda: words, runs=3)), milliseconds(SEARCH_MS))

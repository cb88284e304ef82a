"""Compares our tokens of HTML with those that html5lib's tests of the standard expect.

    compare.py ARCHIVE COMMAND...      html5lib's source package, and the command that runs scripts/html5lib/main.rs

Comments and declarations of the document's type do not count. Fails when less than 95 % of the
tests agree, or when one differs that is not of a kind listed below.
"""

import json
import subprocess
import sys
import tarfile

PREFIX = "/html5lib/tests/testdata/tokenizer/"
FEWEST = 0.95
SHOWN = 20

# The state that a test begins in, and the element whose content is read in that way.
ELEMENTS = {
    "Data state": "",
    "PLAINTEXT state": "plaintext",
    "RCDATA state": "title",
    "RAWTEXT state": "style",
    "Script data state": "script",
    "CDATA section state": "[CDATA[",
}

# What differs on purpose: a name, why, and whether a test is of the kind.
DIFFERENCES = [
    ("elements", "references do not count in xmp; the test begins in that state all the same",
     lambda test: test["state"] == "RCDATA state" and test["element"] not in ("title", "textarea")),
]


def read(archive):
    """The tests, each with the element that it begins in."""
    with tarfile.open(archive) as files:
        for member in sorted(files.getnames()):
            if PREFIX not in member or not member.endswith(".test"):
                continue
            content = json.load(files.extractfile(member))
            # The one file of changes to come is for a parser that builds XML.
            for test in content.get("tests", []):
                yield from variants(member.rsplit("/", 1)[1], test)


def variants(name, test):
    if test.get("doubleEscaped"):
        unescape = lambda value: json.loads(json.dumps(value).replace("\\\\u", "\\u"))
        test = {**test, "input": unescape(test["input"]), "output": unescape(test["output"])}
    for state in test.get("initialStates", ["Data state"]):
        element = ELEMENTS[state]
        last = test.get("lastStartTag")
        # It ends with its own tag only.
        if element not in ("", "plaintext", "[CDATA[") and last:
            element = last
        yield {**test, "file": name, "state": state, "element": element}


def expected(test):
    """Our tokens: characters are joined."""
    tokens = []
    for token in test["output"]:
        if token == "ParseError" or token[0] in ("Comment", "DOCTYPE", "ParseError"):
            # Characters on both sides of a comment are one text for us.
            continue
        if token[0] == "Character" and tokens and tokens[-1][0] == "Character":
            tokens[-1] = ["Character", tokens[-1][1] + token[1]]
        else:
            tokens.append(token)
    return tokens


def has_surrogates(value):
    return any(0xD800 <= ord(char) < 0xE000 for char in value)


def main(archive, command):
    tests = [test for test in read(archive)]
    # Decoding has replaced lone surrogates.
    usable = [test for test in tests if not has_surrogates(test["input"])]
    lines = "".join(json.dumps([test["element"], test["input"]]) + "\n" for test in usable)
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(usable)
    same, known, odd = 0, {}, []
    for test, answer in zip(usable, answers):
        if answer == expected(test):
            same += 1
            continue
        kinds = [name for name, _, is_kind in DIFFERENCES if is_kind(test)]
        if kinds:
            known[kinds[0]] = known.get(kinds[0], 0) + 1
        else:
            odd.append((test, answer))
    share = same / len(usable)
    print(f"{same} of {len(usable)} tests agree ({share:.2%}); {len(tests) - len(usable)} with lone surrogates left out")
    for name, why, _ in DIFFERENCES:
        print(f"  {known.get(name, 0)} differ: {name} ({why})")
    for test, answer in odd[:SHOWN]:
        print(f"  {test['file']}, {test['state']}: {test['description']}")
        print(f"    {test['input']!r}\n    expected {expected(test)!r}\n    found    {answer!r}")
    if len(odd) > SHOWN:
        print(f"  and {len(odd) - SHOWN} more")
    sys.exit(1 if odd or share < FEWEST else 0)


main(sys.argv[1], sys.argv[2:])

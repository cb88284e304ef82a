"""Compares how we read fields of mails with Python's email package: 2,000 random senders and 2,000 random subjects.

    compare.py COMMAND...      the command that runs scripts/mailboxes/main.rs
"""

import base64
import email.header
import email.policy
import json
import quopri
import random
import re
import subprocess
import sys

COUNT = 2000
SHOWN = 20
NAMES = ["Ana", "Ana Muster", "Anä Müller", "Dr. Ana", "日本", "O'Neil", "=?utf-8?Q?An=C3=A4?=", "=?iso-8859-1?B?QW7k?="]
ATOMS = ["ana", "Ana", "a+b", "x_y", "o'neil", "1", "anä"]
QUOTED = ['"ana"', '"ana b"', '"a@b"', '"a.b"', '"a\\"b"', '"a,b"']
DOMAINS = ["example.org", "Example.ORG", "a.b-c.example", "[192.0.2.1]", "localhost"]
COMMENTS = ["(x)", "(a (b) c)", "(<eve@evil.example>)", "(\\))"]
TEXTS = ["hello", "Grüße", "日本語のメール", "a_b = c", "where? there", "é", "🦀 crab", "x" * 30]
CHARSETS = ["utf-8", "UTF-8", "iso-8859-1", "iso-8859-15", "windows-1252", "iso-2022-jp", "euc-jp", "gb2312", "big5", "koi8-r"]


def space(chance):
    return chance.choice(["", "", "", " ", "\t", " " + chance.choice(COMMENTS) + " "])


def sender(chance):
    """A field with one mailbox in one of its forms, or with none or two."""
    local = [chance.choice(ATOMS + QUOTED) for _ in range(chance.choice([1, 1, 2]))]
    local = (space(chance) + "." + space(chance)).join(local)
    address = local + space(chance) + "@" + space(chance) + chance.choice(DOMAINS)
    form = chance.randrange(6)
    if form > 1:
        name = chance.choice(NAMES + ['"Muster, Ana"', '"Ana \\"A\\" Muster"', ""])
        route = "@relay.example:" if chance.random() < 0.1 else ""
        address = f"{name}{space(chance) or ' '}<{route}{space(chance)}{address}{space(chance)}>"
    if chance.random() < 0.1:
        address = f"People: {address};"
    if chance.random() < 0.1:
        address = f"{address}, Eve <eve@evil.example>"
    return space(chance) + address + space(chance)


def subject(chance):
    """Encoded words and texts."""
    parts = []
    for _ in range(chance.randrange(1, 5)):
        text = chance.choice(TEXTS)
        charset = chance.choice(CHARSETS)
        try:
            data = text.encode(charset)
        except UnicodeEncodeError:
            charset, data = "utf-8", text.encode()
        # We have no table of the characters that EUC-JP has in three bytes (JIS X 0212), as most programs.
        if charset == "euc-jp" and b"\x8f" in data:
            charset, data = "utf-8", text.encode()
        if chance.random() < 0.2:
            parts.append(chance.choice(["Re:", "plain", "2 > 1"]))
        elif chance.random() < 0.5:
            parts.append(f"=?{charset}?{chance.choice('Bb')}?{base64.b64encode(data).decode()}?=")
        else:
            quoted = quopri.encodestring(data, header=True).decode().replace("=\n", "").replace("?", "=3F")
            parts.append(f"=?{charset}?{chance.choice('Qq')}?{quoted}?=")
    return chance.choice([" ", "  "]).join(parts)


def python_sender(value):
    """The one mailbox that Python finds, in our form: null when there are more, or something is wrong."""
    header = email.policy.default.header_factory("From", value)
    if len(header.addresses) != 1 or any(not mailbox.domain for mailbox in header.addresses):
        return None
    found = header.addresses[0]
    return [found.username.lower(), found.domain.lower()]


def our_sender(person):
    if person is None:
        return None
    local, domain = person[1].rsplit("@", 1)
    if local.startswith('"'):
        local = re.sub(r"\\(.)", r"\1", local[1:-1])
    return [local, domain]


def python_subject(value):
    parts = email.header.decode_header(value)
    texts = (part if isinstance(part, str) else part.decode(charset or "ascii", "replace") for part, charset in parts)
    # Versions of Python differ in the white space around plain texts, which is not compared.
    return "".join(texts)


def main(command):
    chance = random.Random(1)
    senders = [sender(chance) for _ in range(COUNT)]
    subjects = [subject(chance) for _ in range(COUNT)]
    lines = "".join(json.dumps(value) + "\n" for value in senders + subjects)
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    odd = []
    for value, (_, person) in zip(senders, answers):
        expected, found = python_sender(value), our_sender(person)
        if expected != found:
            odd.append((value, expected, found))
    for value, (text, _) in zip(subjects, answers[COUNT:]):
        expected = python_subject(value)
        if "".join(expected.split()) != "".join(text.split()):
            odd.append((value, expected, text))
    print(f"{2 * COUNT - len(odd)} of {2 * COUNT} fields are read in the same way")
    for value, expected, found in odd[:SHOWN]:
        print(f"  {value!r}\n    expected {expected!r}\n    found    {found!r}")
    sys.exit(1 if odd else 0)


main(sys.argv[1:])

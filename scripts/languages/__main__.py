#!/usr/bin/env python3
"""Brings the translations of the bot's texts up to date with the source: `src/base/language/*.po` gets what is new, with
an empty translation, and loses what is gone. The texts are those in `texts!`; their English words are the msgid.

    python3 scripts/languages            writes the files
    python3 scripts/languages --check    fails where they lack an entry or have one too many, or where a translation
                                         cannot be used; says how much is translated, and what is missing
    python3 scripts/languages --missing  lists all that is not translated, with file and line
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src"
FOLDER = SOURCE / "base" / "language"
CODES = ("de", "fr", "es", "pt", "ja")
HEAD = """# The texts of Peacrab. Edit the msgstr lines; `python3 scripts/languages` writes the rest (docs/languages.md).
msgid ""
msgstr ""
"Language: {}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""
MISSING_SHOWN = 5
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
FUNCTION = re.compile(
    r'((?:^[ \t]*///[^\n]*\n)*)^[ \t]*(?:pub(?:\([^)]*\))? )?fn (?:r#)?(\w+)\(([^)]*)\)\s*\{\s*', re.MULTILINE
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "0": "\0", "r": "\r"}


def main():
    texts = of_source()
    faults, missing = [], {}
    for code in CODES:
        path = FOLDER / f"{code}.po"
        name = path.relative_to(ROOT)
        known, problems = read(path)
        faults += [f"{name}:{line}: {problem}" for line, problem in problems]
        if "--check" not in sys.argv and "--missing" not in sys.argv:
            write(path, code, texts, known)
            known, _ = read(path)
        faults += [f"{name}: lacks {english!r}: python3 scripts/languages" for english in texts if english not in known]
        for english, (line, text, is_fuzzy) in known.items():
            if english not in texts:
                faults.append(f"{name}:{line}: the source has no such text any more: python3 scripts/languages")
            elif text and (problem := unusable(english, text)):
                faults.append(f"{name}:{line}: {problem}")
            elif not text or is_fuzzy:
                missing.setdefault(code, []).append((line, english))
    for code in CODES:
        lacking = missing.get(code, [])
        share = 100 * (len(texts) - len(lacking)) // len(texts)
        print(f"{code}: {share} % of {len(texts)} texts" + (f", {len(lacking)} missing" if lacking else ""))
        shown = lacking if "--missing" in sys.argv else lacking[:MISSING_SHOWN]
        for line, english in shown:
            print(f"    src/base/language/{code}.po:{line}: {english.splitlines()[0][:80]}")
        if len(lacking) > len(shown):
            print("    … python3 scripts/languages --missing")
    if faults:
        sys.exit("\n".join(faults))


def of_source():
    """The English texts in the order of the files, with the places that use each: (file, name, comment, has values)."""
    texts = {}
    for path in sorted(SOURCE.rglob("*.rs")):
        source = path.read_text()
        source = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", source, maxsplit=1, flags=re.MULTILINE)[0]
        for block in re.finditer(r"^([ \t]*)texts! \{\n(.*?)^\1\}", source, re.MULTILINE | re.DOTALL):
            count = 0
            for found in FUNCTION.finditer(block[2]):
                literal = STRING.match(block[2], found.end())
                if not literal:
                    sys.exit(f"{path.relative_to(ROOT)}: the text {found[2]} does not begin with a literal")
                comment = " ".join(line.strip()[3:].strip() for line in found[1].splitlines())
                place = (str(path.relative_to(SOURCE)), found[2], comment, bool(found[3].strip()))
                texts.setdefault(unescape(literal[1]), []).append(place)
                count += 1
            if count != len(re.findall(r"^[ \t]*(?:pub(?:\([^)]*\))? )?fn ", block[2], re.MULTILINE)):
                sys.exit(f"{path.relative_to(ROOT)}: not every text was read")
    if len(texts) < 100:
        sys.exit(f"only {len(texts)} texts were found")
    return texts


def unescape(literal):
    literal = re.sub(r"\\\n\s*", "", literal)
    literal = re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda found: chr(int(found[1], 16)), literal)
    return re.sub(r"\\(.)", lambda found: ESCAPES[found[1]], literal)


def read(path):
    """The entries of a file: English text -> (line, translation, is uncertain); and what is wrong, with its line."""
    entries, problems = {}, []
    part, english, line_of, is_fuzzy, pending_fuzzy = None, "", 0, False, False
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        line = line.strip()
        if not line or line.startswith("#"):
            pending_fuzzy |= line.startswith("#,") and "fuzzy" in line
            part = None
            continue
        found = re.fullmatch(r'(msgid|msgstr|) ?"((?:[^"\\]|\\.)*)"', line)
        if not found or not found[1] and not part:
            problems.append((number, "cannot be read"))
            continue
        text = re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), found[2])
        part = found[1] or part
        if found[1] == "msgid":
            english, line_of, is_fuzzy, pending_fuzzy = text, number, pending_fuzzy, False
        elif found[1] == "msgstr":
            if english in entries:
                problems.append((line_of, "the same msgid again"))
            entries[english] = (line_of, text, is_fuzzy)
        elif part == "msgid":
            english += text
        else:
            entries[english] = (line_of, entries[english][1] + text, is_fuzzy)
    entries.pop("", None)
    return entries, problems


def write(path, code, texts, known):
    parts = [HEAD.format(code)]
    for english, places in texts.items():
        _, text, is_fuzzy = known.get(english, (0, "", False))
        lines = [f"#. {comment}" for comment in dict.fromkeys(place[2] for place in places) if comment]
        lines += [f"#: {file}:{name}" for file, name, _, _ in places]
        flags = ["fuzzy"] * is_fuzzy + ["python-brace-format"] * any(place[3] for place in places)
        lines += [f"#, {', '.join(flags)}"] * bool(flags)
        parts.append("\n".join([*lines, f"msgid {quoted(english)}", f"msgstr {quoted(text)}"]) + "\n")
    path.write_text("\n".join(parts))


def quoted(text):
    """The text as gettext writes it: with a line for each of its lines."""
    def escaped(one):
        one = one.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{one}"'

    lines = text.splitlines(keepends=True)
    return escaped(text) if len(lines) < 2 else "\n".join(['""', *map(escaped, lines)])


def unusable(english, text):
    if values(english) != values(text):
        return f"has the values {', '.join(values(text)) or 'of none'} instead of {', '.join(values(english)) or 'none'}"
    for name, edge in (("beginning", re.compile(r"^\n*")), ("end", re.compile(r"\n*$"))):
        if edge.search(english)[0] != edge.search(text)[0]:
            return f"has other newlines at its {name} than the English text"
    if any(ord(char) < 32 and char != "\n" for char in text):
        return "has a control character"
    return None


def values(text):
    return sorted(re.findall(r"\{([a-z0-9_]+)\}", text.replace("{{", "").replace("}}", "")))


main()

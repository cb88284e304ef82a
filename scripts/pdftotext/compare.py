"""Compares our text of PDF documents with that of pdftotext (poppler-utils).

    compare.py COMMAND ARCHIVE...      the command that runs scripts/pdftotext/main.rs, and source packages with documents

The words count, in any order. Fails when fewer than 95 % of all words agree, when a document differs that is not listed
below, or when fewer than 60 were compared.
"""

import collections
import os
import re
import subprocess
import sys
import tarfile

FEWEST_WORDS = 0.95
FEWEST_DOCUMENTS = 60
LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}

# Documents that differ, and why.
DIFFERENCES = {
    "FormTestFromOo.pdf": "pdftotext shows every choice of a list, and we what is shown of it",
    "form_evince.pdf": "a field without an appearance",
    "imagemagick-images.pdf": "a word that is drawn outside the page",
    "indirect-rotation.pdf": "pdftotext sees blanks between the letters of a scan's hidden text",
    "issue-301.pdf": "the letters are specks of a scan",
    "libreoffice-form.pdf": "a choice that is not shown",
    "pdflatex-forms.pdf": "pdftotext leaves a field out",
    "toy.pdf": "pdftotext sees blanks between letters",
}


def words(text):
    for ligature, letters in LIGATURES.items():
        text = text.replace(ligature, letters)
    return collections.Counter(re.findall(r"\w+", text))


def run(command, document):
    done = subprocess.run(command, input=document, capture_output=True, check=False, timeout=300)
    return done.stdout.decode("utf-8", "replace")


def main(command, archives):
    compared, differing, agreeing, expected = 0, [], 0, 0
    for archive in archives:
        with tarfile.open(archive) as files:
            for member in sorted(files.getnames()):
                if not member.endswith(".pdf"):
                    continue
                document, name = files.extractfile(member).read(), os.path.basename(member)
                ours = run([command], document)
                compared += 1
                if ours.startswith("[it is protected"):
                    continue
                ours = words(re.sub(r"(?m)^\[page \d+.*", "", ours))
                theirs = words(run(["pdftotext", "-q", "-", "-"], document))
                both, most = sum((ours & theirs).values()), max(sum(ours.values()), sum(theirs.values()))
                if both < FEWEST_WORDS * most and name not in DIFFERENCES:
                    differing.append(f"{name}: {both} of {most} words")
                if name not in DIFFERENCES:
                    agreeing, expected = agreeing + both, expected + most
    print(f"{compared} documents, {agreeing} of {expected} words agree")
    print("\n".join(differing))
    is_enough = compared >= FEWEST_DOCUMENTS and agreeing >= FEWEST_WORDS * expected
    return 0 if is_enough and not differing else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

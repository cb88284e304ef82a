"""The program in a pseudo-terminal, and the screen that it draws there."""

import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata
from fcntl import ioctl

COLUMNS, ROWS = 90, 24
# Seconds after which the program counts as stuck.
PATIENCE = 30
RETURN = "\r"
CTRL_D = "\x04"


class Terminal:
    """A program with a terminal of its own, and a person at the keyboard."""

    def __init__(self, command, environment, folder, columns=COLUMNS):
        self.command = command
        self.screen = Screen(columns)
        # The row of the last question.
        self.asked_at = None
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=own_terminal,
        )
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, pattern):
        """Waits until the last lines of the screen match, the line of the cursor being the last."""
        self.read_until(lambda: re.search(pattern, self.screen.text()), pattern)

    def wait_for_question(self):
        """Waits until the program asks something; returns what it has written since the last answer,
        or None if it has ended."""
        start = self.screen.row if self.asked_at is None else self.asked_at + 1
        asks = re.compile(r"[?:\]›>] $")
        is_asking = lambda: self.screen.row >= start and asks.search(self.screen.line_at_cursor())
        if not self.read_until(is_asking, "a question", may_end=True):
            return None
        self.asked_at = self.screen.row
        return "\n".join(self.screen.lines()[start:])

    def finish(self):
        """Waits for the end."""
        self.read_until(lambda: False, "the end", may_end=True)
        code = self.process.wait(PATIENCE)
        if code:
            raise SystemExit(f"{self.command} ended with {code}:\n{self.screen.text()}")

    def read_until(self, is_there, what, may_end=False):
        end = time.monotonic() + PATIENCE
        while not is_there():
            ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise SystemExit(f"{self.command} never showed {what}:\n{self.screen.text()}")
            try:
                written = os.read(self.master, 4096)
            except OSError:  # the other side is closed
                written = b""
            if not written:
                if may_end:
                    return False
                raise SystemExit(f"{self.command} ended before {what}:\n{self.screen.text()}")
            self.screen.feed(written)
        return True


def own_terminal():
    """Makes standard input the terminal of a new session, as a login does."""
    os.setsid()
    ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """What a terminal shows, with everything that has scrolled out at its top. Colours are left out."""

    SEQUENCE = re.compile(r"\x1b\[([?>=]?)([\d;]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]")
    # The beginning of a sequence whose rest has not come yet.
    OPEN = re.compile(r"\x1b(?:\[[?>=]?[\d;]*|\][^\x07]*)?$")

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.row = self.column = 0
        self.bytes, self.open = b"", ""

    def text(self):
        return "\n".join(self.lines())

    def lines(self):
        return ["".join(row).rstrip() for row in self.rows]

    def line_at_cursor(self):
        return "".join(self.rows[self.row])[: self.column]

    def feed(self, written):
        self.bytes += written
        text = self.bytes.decode("utf-8", "ignore")
        kept = len(text.encode())
        self.bytes = self.bytes[kept:]
        text = self.open + text
        begun = self.OPEN.search(text)
        text, self.open = (text[: begun.start()], begun[0]) if begun else (text, "")
        while text:
            sequence = self.SEQUENCE.match(text)
            if sequence:
                self.obey(sequence)
                text = text[sequence.end() :]
            else:
                self.put(text[0])
                text = text[1:]

    def put(self, char):
        match char:
            case "\r":
                self.column = 0
            case "\n":
                self.go_to(self.row + 1, self.column)
            case "\b":
                self.column = max(self.column - 1, 0)
            case "\t":
                self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
            case _ if char >= " ":
                self.draw(char)

    def draw(self, char):
        if unicodedata.combining(char) or char == "\ufe0f":
            return
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + width > self.columns:
            self.go_to(self.row + 1, 0)
        row = self.rows[self.row]
        row.extend(" " * (self.column - len(row)))
        # A wide character has an empty cell beside it.
        row[self.column : self.column + width] = [char] + [""] * (width - 1)
        self.column += width

    def go_to(self, row, column):
        self.row, self.column = max(row, 0), max(column, 0)
        while len(self.rows) <= self.row:
            self.rows.append([])

    def obey(self, sequence):
        private, numbers, final = sequence[1], sequence[2], sequence[3]
        if final is None or private:
            return
        count = int(numbers.split(";")[0] or 0)
        steps = max(count, 1)
        row = self.rows[self.row]
        match final:
            case "A":
                self.go_to(self.row - steps, self.column)
            case "B":
                self.go_to(self.row + steps, self.column)
            case "C":
                self.go_to(self.row, min(self.column + steps, self.columns - 1))
            case "D":
                self.go_to(self.row, self.column - steps)
            case "G":
                self.go_to(self.row, steps - 1)
            case "K" if count == 0:
                del row[self.column :]
            case "K":
                self.rows[self.row] = [] if count == 2 else [" "] * self.column + row[self.column :]
            case "J" if count == 0:
                del row[self.column :]
                del self.rows[self.row + 1 :]

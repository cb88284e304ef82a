"""What was measured, by board: each figure with its limit."""

import threading

KB, MB = 1_000, 1_000_000


class Figures:
    """The figures of all boards, from several threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rows, self.boards = {}, []

    def add(self, board, name, text):
        with self.lock:
            if board not in self.boards:
                self.boards.append(board)
            self.rows.setdefault(name, {})[board] = text

    def show(self):
        """A table in Markdown, for docs/figures.md."""
        rows = [["", *self.boards]]
        rows += [[name, *(cells.get(board, "") for board in self.boards)] for name, cells in self.rows.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows if self.rows else []:
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


FIGURES = Figures()


def gate(round, name, value, limit, form):
    """Notes a figure, which fails the round when it exceeds its limit. Without a limit it is only printed."""
    text = form(value)
    FIGURES.add(round.board.name, name, text)
    is_over = limit is not None and value > limit
    round.note(f"{name}: {text}", f"the limit is {form(limit)}" if is_over else "")


def note(round, name, text):
    """Notes a figure that has no limit."""
    FIGURES.add(round.board.name, name, text)
    round.note(f"{name}: {text}")


def megabytes(value):
    return f"{value / MB:.3f} MB"


def kilobytes(value):
    return f"{value / KB:.0f} kB"


def milliseconds(value):
    return f"{value:.0f} ms"


def times(value):
    return f"{value:.1f}×"

"""The table of figures."""

MB = 1_000_000
KB = 1_000


class Table:
    """The figures, each with its limit. Resident memory has one only on a card: see card.py."""

    def __init__(self, has_card):
        self.rows = []
        self.has_card = has_card
        self.is_over = False

    def gate(self, figure, measured, limit, form):
        """A figure that fails the run when it exceeds its limit."""
        fine = limit is not None and measured <= limit
        self.is_over |= not fine
        shown = "none recorded" if limit is None else form(limit)
        self.rows.append((figure, form(measured), shown, "ok" if fine else "OVER"))

    def resident(self, figure, measured, limit):
        """Resident memory: a gate on a card, and elsewhere only printed."""
        if self.has_card:
            self.gate(figure, measured, limit, megabytes)
        else:
            self.note(figure, megabytes(measured), megabytes(limit))

    def note(self, figure, measured, limit=""):
        """A figure that depends on the machine: only printed."""
        self.rows.append((figure, measured, limit, "printed"))

    def show(self, markdown):
        head = ("figure", "measured", "limit", "")
        widths = [max(len(row[column]) for row in [head, *self.rows]) for column in range(4)]
        rule = tuple("-" * width for width in widths)
        for row in (head, rule, *self.rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())


def megabytes(value):
    return f"{value / MB:.2f} MB"


def kilobytes(value):
    return f"{value / KB:.0f} kB"


def count(value):
    return f"{value:,.0f}"


def milliseconds(value):
    return f"{value:.1f} ms"


def percent(value):
    return f"{value:.3f} %"

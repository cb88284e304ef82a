"""Draws a conversation as an animated picture: SVG, with styles of its own, for light and dark pages.

A program that knows neither styles nor animations shows how it ends, as on a light page.
"""

import html
import html.parser
import itertools
import unicodedata
from dataclasses import dataclass, field

# The window, and what is in it, in pixels.
WIDTH, HEIGHT, HEADER = 460, 600, 52
MARGIN, PADDING, GAP, RADIUS = 12, 11, 9, 14
TEXT_WIDTH = 340
SIZE, LINE, MONO = 14, 20, 7.8
BUTTON, BUTTON_GAP, BUTTON_PADDING = 32, 5, 6
# Seconds: until the next message, for an answer to be read, for a button to be pressed, and at the end.
PAUSE, READING, TAP, END = 1.4, 2.6, 0.7, 7.0

# The colours of a light page and of a dark one.
COLOURS = {
    "page": ("#dfe8ec", "#0f1a22"),
    "bot": ("#ffffff", "#1e2c36"),
    "me": ("#e3fdd0", "#2b5c46"),
    "text": ("#10181d", "#eef3f6"),
    "dim": ("#66757f", "#93a5b1"),
    "code": ("#f0f4f6", "#15212a"),
    "head": ("#ffffff", "#1a2731"),
    "key": ("#f4f7f8", "#2b3d49"),
    "tap": ("#a8d8f5", "#3f7ea6"),
    "edge": ("#c4d0d6", "#2b3b46"),
}
# What programs that know no style sheet need: the same as attributes.
PLAIN = {"b": 'font-weight="700"', "i": 'font-style="italic"', "m": 'font-family="monospace" font-size="13"',
         "k": 'text-anchor="middle"', "d": f'fill="{COLOURS["dim"][0]}" font-size="12"'}
FONT = "Helvetica,Arial,sans-serif"
STYLE = f"""\
text{{font:14px {FONT};white-space:pre}}
.b{{font-weight:700}}.i{{font-style:italic}}.m{{font:13px Menlo,Consolas,"DejaVu Sans Mono",monospace}}
.k{{text-anchor:middle}}.d{{font-size:12px}}"""


def dark():
    """The colours on a dark page. Those of a light one are attributes, which every program draws."""
    fills = "".join(f".f-{name}{{fill:{pair[1]}}}" for name, pair in COLOURS.items())
    (_, text_colour), (_, dim), (_, edge) = COLOURS["text"], COLOURS["dim"], COLOURS["edge"]
    return (
        f"@media(prefers-color-scheme:dark){{svg{{fill:{text_colour}}}.d{{fill:{dim}}}"
        f".edge{{stroke:{edge}}}{fills}}}"
    )


# The bot's face: claws, eyes, shell.
CRAB = (
    '<g fill="#fff" stroke="#fff" stroke-width="1.6" stroke-linecap="round">'
    '<path d="M26 28L21 24V20M38 28L43 24V20M25 31L20 33M39 31L44 33M29 24V20M35 24V20" fill="none"/>'
    '<ellipse cx="32" cy="29" rx="8" ry="6"/><circle cx="29" cy="19" r="1"/><circle cx="35" cy="19" r="1"/></g>'
)

# Follows the character at a terminal's cursor, which Telegram underlines.
CURSOR = "\u0332"

# Widths of Helvetica's characters in thousandths of the size, by groups.
WIDTHS = {
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys(" !,./:;ft[]I", 278),
    **dict.fromkeys('r()-`"', 333),
    **dict.fromkeys("ckJsvxyz", 500),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM", 833),
    **dict.fromkeys("W%@", 944),
    **dict.fromkeys("•", 350),
}
# Pictograms.
WIDE = 1250


@dataclass
class Run:
    """A piece of a line in one style."""

    text: str
    style: str = ""

    def width(self):
        if "m" in self.style:
            return len(self.text.replace(CURSOR, "")) * MONO
        bold = 1.06 if "b" in self.style else 1
        return sum(width_of(char) for char in self.text) * SIZE / 1000 * bold


def width_of(char):
    is_wide = unicodedata.east_asian_width(char) == "W"
    return WIDE if is_wide else WIDTHS.get(char, 556)


@dataclass
class State:
    """How a message looks from some moment on."""

    markup: str
    buttons: list = field(default_factory=list)
    pressed: str = ""
    # How many seconds it is looked at before the next thing happens.
    shown_for: float = PAUSE


class Parser(html.parser.HTMLParser):
    """Telegram's HTML as lines of runs. Those of a block of code have the style "p" too, also on empty lines."""

    STYLES = {"b": "b", "strong": "b", "i": "i", "em": "i", "code": "m", "pre": "p"}

    def __init__(self, markup):
        super().__init__()
        self.lines, self.open = [[]], []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append(self.STYLES.get(tag, ""))

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        styles = set(filter(None, self.open))
        style = " ".join(sorted(styles | {"m"} if "p" in styles else styles))
        for number, text in enumerate(data.split("\n")):
            if number:
                self.lines.append([])
            if text or "p" in style:
                self.lines[-1].append(Run(text, style))


def wrapped(lines):
    """The same with no line wider than TEXT_WIDTH: broken at spaces, or where it has to be."""
    for line in lines:
        row, width = [], 0.0
        for run in line:
            for word in words(run):
                if row and width + word.width() > TEXT_WIDTH:
                    yield joined(row)
                    row, width = [], 0.0
                    word = Run(word.text.lstrip(" "), word.style)
                row.append(word)
                width += word.width()
        yield joined(row) or line


def words(run):
    """A run in pieces that each begin with their spaces; those too wide for a line are cut."""
    piece = ""
    for char in run.text:
        too_wide = Run(piece + char, run.style).width() > TEXT_WIDTH
        if (char == " " and piece.strip(" ")) or too_wide:
            yield Run(piece, run.style)
            piece = ""
        piece += char
    if piece:
        yield Run(piece, run.style)


def joined(row):
    """Neighbours of the same style as one."""
    runs = []
    for run in row:
        if runs and runs[-1].style == run.style:
            runs[-1] = Run(runs[-1].text + run.text, run.style)
        else:
            runs.append(run)
    return runs


class Bubble:
    """A state of a message, drawn."""

    def __init__(self, state, is_mine):
        self.state, self.is_mine = state, is_mine
        self.lines = list(wrapped(Parser(state.markup).lines))
        text_width = max(sum(run.width() for run in line) for line in self.lines)
        self.width = max(text_width + 2 * PADDING, 300 if state.buttons else 0, *map(row_width, state.buttons))
        self.text_height = len(self.lines) * LINE + 2 * PADDING - 4
        self.height = self.text_height + len(state.buttons) * (BUTTON + BUTTON_GAP)

    def draw(self, top):
        left = WIDTH - MARGIN - self.width if self.is_mine else MARGIN
        yield rectangle(left, top, self.width, self.text_height, "me" if self.is_mine else "bot")
        yield from self.blocks(left, top)
        baseline = top + PADDING + 13
        for line in self.lines:
            across = left + PADDING
            for run in line:
                yield text(across, baseline, run)
                across += run.width()
            baseline += LINE
        below = top + self.text_height + BUTTON_GAP
        for row in self.state.buttons:
            width = (self.width - BUTTON_GAP * (len(row) - 1)) / len(row)
            for place, label in enumerate(row):
                across = left + place * (width + BUTTON_GAP)
                fill = "tap" if label == self.state.pressed else "key"
                yield rectangle(across, below, width, BUTTON, fill, 8)
                yield f'<text class="k" {PLAIN["k"]} x="{across + width / 2:.0f}" y="{below + 21:.0f}">{escaped(label)}</text>'
            below += BUTTON + BUTTON_GAP

    def blocks(self, left, top):
        """What is behind blocks of code."""
        line_at = top + PADDING - 2
        is_code = lambda line: any("p" in run.style for run in line)
        for is_block, lines in itertools.groupby(self.lines, is_code):
            height = len(list(lines)) * LINE
            if is_block:
                yield rectangle(left + PADDING - 5, line_at, self.width - 2 * PADDING + 10, height, "code", 5)
            line_at += height


def row_width(labels):
    """The width of buttons that are as wide as the widest of their row needs."""
    widest = max(Run(label).width() for label in labels)
    return len(labels) * (widest + 2 * BUTTON_PADDING + BUTTON_GAP) - BUTTON_GAP


def rectangle(left, top, width, height, fill, radius=RADIUS):
    return (
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'rx="{radius}" fill="{COLOURS[fill][0]}" class="f-{fill}"/>'
    )


def text(across, baseline, run):
    before, cursor, after = run.text.partition(CURSOR)
    if cursor:
        at = across + Run(before[:-1], run.style).width()
        line = rectangle(at, baseline + 2, MONO, 2, "text", 0)
        return line + text(across, baseline, Run(before + after, run.style))
    # Not every program that shows the picture keeps spaces at the beginning.
    shown = Run(run.text.lstrip(" "), run.style)
    across += run.width() - shown.width()
    plain = " ".join(PLAIN[name] for name in run.style.split() if name in PLAIN)
    style = f' class="{run.style}" {plain}'.rstrip() if run.style else ""
    # The length keeps a line in its bubble, whatever font there is.
    length = f' textLength="{shown.width():.0f}" lengthAdjust="spacingAndGlyphs"' if len(shown.text) > 1 else ""
    return f'<text{style} x="{across:.0f}" y="{baseline:.0f}"{length}>{escaped(shown.text)}</text>'


def escaped(words):
    return html.escape(words, quote=False)


@dataclass
class Scene:
    """A bubble at its place, and from when until when it is there."""

    bubble: Bubble
    top: float
    start: float
    end: float | None = None


def draw(name, title, events):
    """The picture. An event is a message's number, whether it is the person's, and how it looks from then on."""
    now, scenes, scrolls, bubbles = 0.6, [], [], {}
    for number, is_mine, state in events:
        bubbles[number] = Bubble(state, is_mine)
        height = place(bubbles, scenes, now)
        scrolls.append((now, max(height - (HEIGHT - HEADER), 0)))
        now += state.shown_for
    whole = now + END
    style, body = [STYLE, dark()], []
    for number, scene in enumerate(scenes):
        style.append(appearance(number, scene.start, scene.end, whole))
        # Where nothing moves, the end is shown.
        hidden = ' opacity="0"' if scene.end is not None else ""
        body.append(f'<g class="s{number}"{hidden}>{"".join(scene.bubble.draw(scene.top))}</g>')
    style.append(scrolling(scrolls, whole))
    text_colour, edge = COLOURS["text"][0], COLOURS["edge"][0]
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" \
role="img" fill="{text_colour}" font-family="{FONT}" font-size="14">
<title>{escaped(title)}</title>
<style>{chr(10).join(style)}</style>
<clipPath id="w"><rect width="{WIDTH}" height="{HEIGHT}" rx="16"/></clipPath>
<clipPath id="v"><rect y="{HEADER}" width="{WIDTH}" height="{HEIGHT - HEADER}"/></clipPath>
<g clip-path="url(#w)">{rectangle(0, 0, WIDTH, HEIGHT, "page", 0)}
<g clip-path="url(#v)"><g transform="translate(0 {HEADER})"><g class="scroll" transform="translate(0 {-scrolls[-1][1]:.0f})">
{chr(10).join(body)}
</g></g></g>
{rectangle(0, 0, WIDTH, HEADER, "head", 0)}
<circle cx="32" cy="26" r="17" fill="#e2572b"/>{CRAB}
<text class="b" {PLAIN["b"]} x="60" y="23">{escaped(name)}</text>\
<text class="d" {PLAIN["d"]} x="60" y="40">bot</text></g>
<rect x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="16" fill="none" \
stroke="{edge}" class="edge"/>
</svg>
"""


def place(bubbles, scenes, now):
    """Puts the bubbles below each other, and a scene for each that is new, has changed or has moved. Returns
    their height."""
    showing = {id(scene.bubble): scene for scene in scenes if scene.end is None}
    top = float(GAP)
    for _, bubble in sorted(bubbles.items()):
        scene = showing.get(id(bubble))
        if scene and scene.top == top:
            del showing[id(bubble)]
        else:
            scenes.append(Scene(bubble, top, now))
        top += bubble.height + GAP
    for scene in showing.values():
        scene.end = now
    return top


def appearance(number, start, end, whole):
    """When something is there."""
    begin = 100 * start / whole
    frames = f"0%,{begin - 0.01:.2f}%{{opacity:0}}{begin:.2f}%"
    if end is None:
        rule = f"{frames},100%{{opacity:1}}"
    else:
        finish = 100 * end / whole
        rule = f"{frames},{finish:.2f}%{{opacity:1}}{finish + 0.01:.2f}%,100%{{opacity:0}}"
    return moving(f".s{number}", f"a{number}", rule, whole)


def scrolling(scrolls, whole):
    """The conversation moves up before something comes that does not fit, and down where something goes."""
    frames, before = ["0%{transform:none}"], 0.0
    for start, distance in scrolls:
        begin = 100 * start / whole
        time = 0.9 if distance > before else 0.01
        frames.append(f"{begin - time:.2f}%{{transform:translateY({-before:.0f}px)}}")
        frames.append(f"{begin:.2f}%{{transform:translateY({-distance:.0f}px)}}")
        before = distance
    frames.append(f"100%{{transform:translateY({-before:.0f}px)}}")
    return moving(".scroll", "up", "".join(frames), whole)


def moving(selector, name, frames, whole):
    return (
        f"@keyframes {name}{{{frames}}}"
        f"{selector}{{animation:{name} {whole:.1f}s infinite}}"
        f"@media(prefers-reduced-motion:reduce){{{selector}{{animation:none}}}}"
    )

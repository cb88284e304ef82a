"""The story that the screens come from: a newcomer, a terminal, a bot on Telegram."""

import html
import json
import os
import pwd
import queue
import re
import secrets
import shutil
import textwrap
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import script
from picture import PAUSE, READING, TAP, State
from repair import Repair
from script import BOUGHT, LEFT_QUESTION, LIST_QUESTION, LOG_QUESTION
from telegram import TOKEN, Telegram
from terminal import COLUMNS, CTRL_D, PATIENCE, RETURN, Terminal

UPTIME = " 08:31:07 up 12 days,  3:41,  0 users,  load average: 0.08, 0.03, 0.01"
# After the last message of a chat.
END = 1_000_000
# Columns of a message in the README.
WIDTH = 80
# What the program watches by itself: the machine on which this runs may be hot or full.
WATCHED = {
    **dict.fromkeys(("TEMPERATURE", "DISK", "INODES"), "0"),
    **dict.fromkeys(
        ("PRESSURE", "OOM", "UNDERVOLTAGE", "THROTTLING", "READ_ONLY", "UNITS", "CLOCK", "ADDRESS", "LOGIN"), "false"
    ),
}
KEY = "sk-of-a-screen"
PERSON = {"id": 555, "is_bot": False, "first_name": "Ann", "username": "ann", "language_code": "en"}
# A line of the log, and a width at which none wraps.
LOG_LINE, LOG_COLUMNS = re.compile(r"\d{4}-\d\d-\d\d \d\d:"), 300
# What is typed where a question has this word; Enter everywhere else.
ANSWERS = [("token", TOKEN), ("which model?", ""), ("key", ""), ("provider", "openai")]
# Columns in which a token fits behind its question.
WIDE = 100
# Takes the place of the folder of the run. It has the same length, so that no line wraps elsewhere.
HOME = "/home/pi"


class Story:
    """Runs the program with a home, a model and a Telegram of its own."""

    def __init__(self, binary):
        self.folder = short_folder()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        # The program under its name: it may show how it was called.
        (self.bin / "peacrab").symlink_to(Path(binary).resolve())
        self.telegram = Telegram()
        self.chat = self.telegram.chat(PERSON["id"])
        self.chat.person = PERSON
        self.chat.peer = {"id": PERSON["id"], "type": "private", "first_name": PERSON["first_name"]}
        self.model = script.start(self.before_step)
        self.environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            "OPENAI_API_KEY": KEY,
            # Nothing of this leaves the machine.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            **{f"PEACRAB_WATCH__BUILT_IN__{name}": value for name, value in WATCHED.items()},
        }
        self.screens = {}
        # The conversation: what each side says and presses, in order.
        self.said, self.questions, self.progress = [], {}, {}
        # The second one, which begins at its first message.
        self.repair, self.repair_begins = None, END

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def terminal(self, *arguments, columns=COLUMNS):
        return Terminal(["peacrab", *arguments], self.environment, self.folder, columns)

    def run(self, *arguments):
        """Runs a command to its end; returns what the terminal shows."""
        with self.terminal(*arguments) as terminal:
            terminal.finish()
            return prompted(" ".join(arguments), terminal)

    def use_fakes(self):
        """Sends what is meant for OpenAI and for Telegram to the fakes."""
        file = self.folder / ".peacrab" / "config.json"
        config = json.loads(file.read_text() or "{}")
        config.setdefault("providers", {}).setdefault("openai", {})["apiBase"] = self.model
        channels = config.setdefault("channels", {})
        telegram = channels.setdefault("telegram", {})
        # Drafts leave nothing in the chat that a picture could show.
        telegram.update(apiBase=self.telegram.url, drafts=False)
        file.write_text(json.dumps(config))

    def run_all(self):
        self.repair = Repair(self)
        self.first_answer()
        self.first_message()

    # --- the terminal ----------------------------------------------------------------------

    def first_answer(self):
        made = self.run("onboard", "--non-interactive").split("\n", 1)[1].strip()
        self.use_fakes()
        with self.terminal("agent") as terminal:
            self.ask(terminal, LIST_QUESTION, "Saved in")
            self.ask(terminal, BOUGHT, "off the list")
            terminal.wait_for(r"› ?$")
            terminal.type(CTRL_D)
            terminal.finish()
            talk = terminal.screen.text()
        talk = talk.rstrip().removesuffix("›").rstrip()
        self.screens["first-answer"] = f"$ make run\n{made}\n\n{talk}"
        listed = (self.folder / ".peacrab/workspace/shopping.txt").read_text().strip()
        self.screens["first-file"] = f"$ cat ~/.peacrab/workspace/shopping.txt\n{listed}"

    def ask(self, terminal, question, answer):
        terminal.wait_for(r"› ?$")
        terminal.type(question + RETURN)
        terminal.wait_for(answer)

    # --- the bot ---------------------------------------------------------------------------

    def first_message(self):
        self.screens["onboard"] = self.onboard()
        with self.terminal("gateway", columns=LOG_COLUMNS) as gateway:
            self.telegram.wait_for_poll(1)
            if not self.telegram.has_menu.wait(PATIENCE):
                raise SystemExit("the gateway never set the menu of commands")
            self.pair()
            self.converse()
            self.repair.run()
            self.repair_begins = self.repair.events[0][0]
            gateway.process.terminate()
            gateway.finish()
            # The log is left out: its times and their order are those of one run.
            shown = [line for line in gateway.screen.lines() if not LOG_LINE.match(line)]
            self.screens["gateway"] = "\n".join(["$ peacrab gateway", *shown]).strip()
        asked = {said.text: said.number for said in self.said}
        shell = min(number for text, number in asked.items() if text.startswith("/sh"))
        self.screens["first-message"] = self.transcript(asked[LEFT_QUESTION], shell)
        self.screens["first-sh"] = self.transcript(shell, self.repair_begins)

    def onboard(self):
        with self.terminal("onboard", columns=WIDE) as terminal:
            while (question := terminal.wait_for_question()) is not None:
                asked = question.split("\n\n")[-1].lower()
                answers = [answer for word, answer in ANSWERS if word in asked]
                terminal.type((answers or [""])[0] + RETURN)
            terminal.finish()
            return prompted("onboard", terminal)

    def pair(self):
        self.say("hello")
        shown = self.wait_for_answer(r"/pair (\w+)")
        code = re.search(r"/pair (\w+)", shown)[1]
        self.code = code
        self.screens["pairing"] = self.transcript(0, END)
        paired = self.run("channels", "pair", code)
        welcome = self.wait_for_answer("paired")
        self.screens["pair"] = paired + "\n\n" + labelled("bot", welcome)

    def converse(self):
        self.say(LEFT_QUESTION)
        self.wait_for_answer("2 lemons")
        self.say(LOG_QUESTION)
        self.press("once")
        self.wait_for_answer("1.2 GB")
        self.shell()

    def shell(self):
        for command, output in [("uptime", "load average"), ("reboot", "restart")]:
            self.say(f"/sh {command}")
            self.wait_for_answer(output)

    def say(self, text):
        number = self.telegram.say(self.chat, text)
        self.said.append(Said(number, text))
        return number

    def press(self, word):
        """Presses the button with the word, once it is there, and returns its label."""
        number, button = self.wait_until(lambda: self.button(word), f"the button {word!r}")
        # The question as it is now: the answer changes the message.
        self.questions[number] = Question(self.chat.shown[number], self.labels(number), button["text"])
        self.telegram.press(self.chat, number, button["callback_data"])
        return button["text"]

    def labels(self, number):
        """Those of a message's buttons, in rows."""
        return [[one["text"] for one in row] for row in self.chat.buttons.get(number, [])]

    def button(self, word):
        """The first such button below what was said last."""
        for number, rows in sorted(self.chat.buttons.items()):
            for one in sum(rows, []):
                if number > self.said[-1].number and word in one["text"].lower():
                    return number, one
        return None

    def wait_for_answer(self, pattern):
        """Waits until a message after what was said last shows it; returns its text."""
        return plain(self.wait_for_message(pattern)[1])

    def wait_for_message(self, pattern, number=None):
        """The same for a certain message, if one is given; returns its number,
        its HTML and the labels of its buttons."""
        last = self.said[-1].number

        def found():
            for one, text in sorted(self.chat.shown.items()):
                is_asked = one > last if number is None else one == number
                if is_asked and re.search(pattern, plain(text), re.DOTALL):
                    return one, text, self.labels(one)
            return None

        return self.wait_until(found, pattern)

    def wait_until(self, is_there, what):
        end = time.monotonic() + PATIENCE
        while True:
            with self.chat.changing:
                found = is_there()
            if found:
                return found
            try:
                self.chat.news.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise SystemExit(f"the chat never showed {what}:\n{self.chat.shown}") from None

    def before_step(self, question, step):
        """Lets the chat show what the turn does before the model goes on."""
        if question != LEFT_QUESTION or step == 0:
            return
        end = time.monotonic() + PATIENCE
        asked = self.said[-1].number
        while time.monotonic() < end:
            for number, text in list(self.chat.shown.items()):
                if number > asked and "read_file" in text:
                    self.progress[number] = text
                    return
            time.sleep(0.02)

    # --- what is shown -----------------------------------------------------------------------

    def messages(self, first=0, last=END):
        """The messages of the chat with numbers from `first` on and below `last`."""
        return [bubble for _, bubble in self.numbered(first, last)]

    def numbered(self, first, last=END):
        said = {one.number: Bubble(True, html.escape(one.text)) for one in self.said}
        bot = {number: Bubble(False, text) for number, text in self.chat.shown.items()}
        for number, text in self.progress.items():
            bot[number].progress = text
        for number, question in self.questions.items():
            bot[number] = Bubble(False, question.html, question.buttons, question.pressed)
        return [one for one in sorted((said | bot).items()) if first <= one[0] < last]

    def pictures(self):
        """For `picture.draw`: the titles and the events of each picture."""
        repaired = [(*of, self.drawable(state)) for *of, state in self.repair.events]
        return {
            "conversation": ("A conversation with the bot on Telegram", self.first_conversation()),
            "repair": ("A web server is repaired from a phone, on Telegram", repaired),
        }

    def first_conversation(self):
        """The conversation after the pairing, with every state of each message."""
        first = next(said.number for said in self.said if said.text == LEFT_QUESTION)
        for number, bubble in self.numbered(first, self.repair_begins):
            states = [State(bubble.html, shown_for=PAUSE if bubble.is_mine else READING)]
            if bubble.progress:
                states = [State(bubble.progress), *states]
            if number in self.questions:
                asked = State(bubble.html, bubble.buttons, shown_for=2 * READING)
                tapped = State(bubble.html, bubble.buttons, bubble.pressed, TAP)
                states = [asked, tapped, State(self.chat.shown[number])]
            yield from ((number, bubble.is_mine, self.drawable(state)) for state in states)

    def drawable(self, state):
        return replace(state, markup=self.same_everywhere(state.markup))

    def same_everywhere(self, text):
        """The text without what differs between runs and machines."""
        account = pwd.getpwuid(os.getuid()).pw_name
        for pattern, instead in [
            (re.escape(str(self.folder)), HOME),
            (re.escape(TOKEN), "1234567890:AAF…"),
            (self.code, "K7QM2XTP"),
            (r"(?<=/approve )\d{6}|(?<=/deny )\d{6}", "554137"),
            (rf"(?<=as ){account}\b", "pi"),
            (rf"\b{self.repair.service.port}\b", "80"),
            (r"(?<=\(after )[\d hmins]+(?=\))", "5 min"),
            (r"(?<=\d)L, (\d+)C\b", r"L, \1B"),
            (r" \d\d:\d\d:\d\d up .* load average: .*", UPTIME),
        ]:
            text = re.sub(pattern, instead, text)
        return text

    def transcript(self, first, last):
        """The part of the chat from a message of the person's to another, as text."""
        return "\n\n".join(block for one in self.messages(first, last) for block in one.blocks())


@dataclass
class Said:
    """What the person has written."""

    number: int
    text: str


@dataclass
class Question:
    """A message with buttons, as it was when one was pressed."""

    html: str
    buttons: list
    pressed: str


@dataclass
class Bubble:
    """A message of the chat as it is shown."""

    is_mine: bool
    html: str
    buttons: list = field(default_factory=list)
    pressed: str = ""
    # What it showed before the answer was there.
    progress: str = ""

    def blocks(self):
        if self.progress:
            yield labelled("bot", plain(self.progress))
        buttons = ["  ".join(f"[{label}]" for label in row) for row in self.buttons]
        name = "you" if self.is_mine else "bot"
        yield labelled(name, "\n".join([plain(self.html), *buttons]))
        if self.pressed:
            yield labelled("you", f"(tap {self.pressed})")


def labelled(name, text):
    """The text with a name before its first line, wrapped at words."""
    wrapped = [piece for line in text.split("\n") for piece in textwrap.wrap(line, WIDTH) or [""]]
    return f"{name}  " + "\n     ".join(wrapped).replace("     \n", "\n")


def plain(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def prompted(arguments, terminal):
    """A command line and what it shows."""
    return f"$ peacrab {arguments}\n{terminal.screen.text().rstrip()}"


def short_folder():
    """A new folder whose path is as long as HOME."""
    while True:
        folder = Path("/tmp") / secrets.token_hex(2)[: len(HOME) - len("/tmp/")]
        try:
            folder.mkdir(mode=0o700)
            return folder
        except FileExistsError:
            continue

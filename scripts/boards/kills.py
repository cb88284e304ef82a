"""Kills the gateway while messages flow: every message is answered, in order, and no call runs twice."""

import html
import itertools
import queue
import random
import re
import threading
import time

from figures import note
from model import calling, text_of
from telegram import Chat

SEED = 11
KILLS = 100
PEOPLE = 4
# Messages that each person sends at once.
BURST = 2
# The gateway is killed after so many requests of it, then after part of this time.
REQUESTS, SPAN = (1, 12), 0.3
ANSWER_TIME = 900
QUESTION = "append the line"
# Not the chats of the crowd.
FIRST_CHAT = 2001
# A chat keeps all messages, so that their order can be checked.
Chat.KEPT = 10_000


class Flow:
    def __init__(self):
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        self.changed, self.requests = threading.Condition(), 0
        self.stopped, self.late = threading.Event(), []
        # The lines of which a result says that they were appended.
        self.confirmed = set()

    # --- the host's side ----------------------------------------------------------------------

    def watch(self, telegram):
        """Counts the requests to a server."""
        do = telegram.do

        def counted(method, fields):
            self.happened()
            return do(method, fields)

        telegram.do = counted
        return telegram

    def happened(self):
        with self.changed:
            self.requests += 1
            self.changed.notify_all()

    def wait_for_requests(self, count):
        with self.changed:
            wanted = self.requests + count
            if not self.changed.wait_for(lambda: self.requests >= wanted, ANSWER_TIME):
                raise TimeoutError("the gateway sends no requests")

    @staticmethod
    def asks(messages):
        return any(message["role"] == "user" and QUESTION in text_of(message) for message in messages)

    def answer(self, messages):
        """Calls append_file once for each question, and answers when there is a result for all."""
        asked, called, latest = [], set(), set()
        for message in messages:
            match message["role"]:
                case "user":
                    asked += re.findall(rf"{QUESTION} (\d+)", text_of(message))
                case "assistant" if message.get("tool_calls"):
                    arguments = [call["function"]["arguments"] for call in message["tool_calls"]]
                    latest = set(re.findall(r"line (\d+)", " ".join(arguments)))
                    called |= latest
                case "tool" if "Added" in str(message["content"]):
                    self.confirmed |= latest
                case "assistant":
                    answered = text_of(message)
                    asked = [number for number in asked if number not in answer_in(answered)]
        for number in asked:
            if number not in called:
                return calling(("append_file", {"path": "lines.txt", "content": f"line {number}\n"}))
        text = f"Appended: {' '.join(asked)}. ({asked[-1]})" if asked else "Nothing to append."
        return {"role": "assistant", "content": text}, "stop"

    # --- the people ---------------------------------------------------------------------------

    def run(self, round, telegram, process, home):
        chats = {telegram.chat(FIRST_CHAT + number): [] for number in range(PEOPLE)}
        people = [threading.Thread(target=self.talk, args=(telegram, *chat), daemon=True) for chat in chats.items()]
        for person in people:
            person.start()
        chance = random.Random(SEED)
        try:
            for number in range(KILLS):
                self.wait_for_requests(chance.randint(*REQUESTS))
                # Not a wait for something, but the instant at which the gateway is killed.
                time.sleep(chance.random() * SPAN)
                process.kill()
                process.start()
                if (number + 1) % 25 == 0:
                    round.show(f"{number + 1} kills")
        finally:
            self.stopped.set()
        for person in people:
            person.join()
        written = re.findall(r"line (\d+)", process.remote.run(f"cat {home}/workspace/lines.txt"))
        self.check(round, chats, written)

    def talk(self, telegram, chat, asked):
        """Sends messages, and waits for their answers before sending more."""
        while not self.stopped.is_set() and not self.late:
            with self.lock:
                numbers = [str(next(self.numbers)) for _ in range(BURST)]
            asked += numbers
            for number in numbers:
                telegram.say(chat, f"{QUESTION} {number}")
            waiting, end = set(numbers), time.monotonic() + ANSWER_TIME
            while waiting and not self.late:
                try:
                    waiting -= set(answer_in(chat.news.get(timeout=max(end - time.monotonic(), 0.001))))
                except queue.Empty:
                    self.late += sorted(waiting)

    def check(self, round, chats, written):
        asked = list(itertools.chain.from_iterable(chats.values()))
        repeated = 0
        out_of_order = []
        for chat, numbers in chats.items():
            answered = [number for _, text in sorted(chat.shown.items()) for number in answer_in(plain(text))]
            first = list(dict.fromkeys(answered))
            repeated += len(answered) - len(first)
            if first != numbers:
                out_of_order.append(f"{chat.number}: asked {numbers}, answered {first}")
        twice = sorted({number for number in written if written.count(number) > 1})
        interrupted = len(set(asked) - set(written))
        summary = f"{len(asked)}, {interrupted} calls interrupted, {repeated} answers repeated"
        note(round, f"messages during {KILLS} kills", summary)
        round.note("every message is answered", f"no answer to {self.late}" if self.late else "")
        round.note("answers are in order", "; ".join(out_of_order))
        lost = sorted(self.confirmed - set(written))
        round.note("no confirmed line is missing", f"lines: {lost}" if lost else "")
        round.note("no call ran twice", f"lines written twice: {twice}" if twice else "")
        round.note("kills hit calls, and not all", "" if 0 < interrupted < len(asked) / 2 else summary)


def answer_in(text):
    """The numbers of the questions that a whole answer names."""
    answer = re.fullmatch(r"Appended: ([\d ]+)\. \(\d+\)\s*", text)
    return answer[1].split() if answer else []


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))

"""What is outside the machine: a Telegram without TLS, with one person in it, and the steps that a job asks for."""

import http.server
import re
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "footprint"))

import certificates
from machine import HOST
from telegram import TOKEN, Telegram

PERSON = 1001
# Seconds in which an answer has to arrive, from a slow board and after a network error.
ANSWER_TIME = 240


class Outside:
    """A job that runs `step NAME` waits until the function of that name has ended here. If it raises an
    error, the step fails."""

    def __init__(self, **steps):
        self.steps = steps
        self.telegram = Telegram()
        self.chat = self.telegram.chat(PERSON)
        # Everything that the bot has shown.
        self.shown = []
        handler = type("StepHandler", (StepHandler,), {"outside": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def step(self):
        """The function of a shell script that asks for a step."""
        return f"step() {{ busybox wget -q -O - http://{HOST}:{self.server.server_port}/$1; }}\n"

    def configuration(self, **more):
        """For the gateway. Without a model the offline helper answers."""
        channel = {"enabled": True, "token": TOKEN, "apiBase": inside(self.telegram.url), "allowFrom": ["*"]}
        return {"channels": {"telegram": channel}} | more

    def ask(self, text):
        self.telegram.say(self.chat, text)

    def expect(self, text, seconds=ANSWER_TIME):
        """Waits until the bot has shown this."""
        end = time.monotonic() + seconds
        while not any(text in shown for shown in self.shown):
            self.shown.append(self.chat.news.get(timeout=max(end - time.monotonic(), 0)))


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class StepHandler(Quiet):
    outside = None

    def do_GET(self):
        try:
            self.outside.steps[self.path.strip("/")]()
            self.send_response(200)
        except Exception as error:
            self.send_response(500, re.sub(r"\s+", " ", f"{type(error).__name__} {error}"))
        self.send_header("Content-Length", "0")
        self.end_headers()


class Refuser(Quiet):
    def do_POST(self):
        # A connection that is closed before its data are read is reset, and a client may never see the answer.
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(501)


def refuse(folder):
    """Starts a server over TLS that refuses each POST with 501, and returns its port. Its certificate is
    in the folder, and of today."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuser)
    server.daemon_threads = True
    server.socket = certificates.secured(server.socket, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def inside(url):
    """The address of a server of this computer in the machine."""
    return url.replace("127.0.0.1", HOST)

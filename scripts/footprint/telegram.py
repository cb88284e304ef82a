"""Telegram: a server that speaks as much of the Bot API as a conversation needs, over TLS if it gets
a certificate."""

import html
import http.server
import itertools
import json
import queue
import re
import socket
import threading
import time

import certificates

TOKEN = "1234567:AAfakefakefakefakefakefakefakefakefake0"
ME = {"id": 1234567, "is_bot": True, "first_name": "Crabby", "username": "crabby_bot"}


class Telegram:
    """The server, in threads of this process. It stores the messages of each chat."""

    def __init__(self, folder=None):
        self.changed = threading.Condition()
        self.updates, self.next_update = [], itertools.count(1)
        self.chats = {}
        self.connections = set()
        self.last_poll, self.polls = 0.0, 0
        self.has_menu = threading.Event()
        self.is_cut, self.refusals = False, 0
        handler = type("BotHandler", (Handler,), {"telegram": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        if folder:
            self.server.socket = certificates.secured(self.server.socket, folder)
        self.url = f"http{'s' if folder else ''}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def chat(self, number):
        """A private chat with the person of that number."""
        with self.changed:
            return self.chats.setdefault(number, Chat(number))

    def say(self, chat, text):
        """A person says something; returns the message's number."""
        message = {
            "message_id": next(chat.next_message),
            "from": chat.person,
            "chat": chat.peer,
            "date": int(time.time()),
            "text": text,
        }
        if text.startswith("/"):
            length = len(text.split()[0])
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": length}]
        self.happens("message", message)
        return message["message_id"]

    def press(self, chat, number, data):
        """A person presses a button of a message."""
        query = {
            "id": f"{chat.number}-{number}",
            "from": chat.person,
            "message": chat.message(number),
            "chat_instance": str(chat.number),
            "data": data,
        }
        self.happens("callback_query", query)

    def happens(self, kind, what):
        with self.changed:
            self.updates.append({"update_id": next(self.next_update), kind: what})
            self.changed.notify_all()

    def wait_for_poll(self, polls, seconds=30):
        """Waits until so many polls have begun; returns when the last one did."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.polls >= polls, seconds):
                raise TimeoutError("the gateway does not poll")
            return self.last_poll

    def get_updates(self, fields):
        arrived = time.perf_counter()
        with self.changed:
            self.last_poll, self.polls = arrived, self.polls + 1
            offset = fields.get("offset") or 0
            # Asking for later updates confirms the earlier ones.
            self.updates = [one for one in self.updates if one["update_id"] >= offset]
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.updates or self.is_cut, fields.get("timeout", 0))
            return self.updates[: fields.get("limit", 100)]

    def do(self, method, fields):
        """Answers a call with a status and a result, or with the description of an error."""
        if method == "getUpdates":
            return 200, self.get_updates(fields)
        if method == "getMe":
            return 200, ME
        if method == "setMyCommands":
            self.has_menu.set()
            return 200, True
        with self.changed:
            if self.refusals and method in ("sendMessage", "editMessageText"):
                self.refusals -= 1
                return 429, "Too Many Requests: retry after 1"
        if "chat_id" not in fields:
            return 200, True
        chat = self.chat(fields["chat_id"])
        if method == "sendMessage":
            return chat.send(fields)
        if method == "editMessageText":
            return chat.edit(fields)
        if method == "editMessageReplyMarkup":
            chat.keep(fields["message_id"], chat.shown[fields["message_id"]], fields)
        if method == "deleteMessage":
            chat.shown.pop(fields["message_id"], None)
        return 200, True

    def cut(self):
        """Cuts the network: all connections break, and new ones fail."""
        with self.changed:
            self.is_cut = True
            self.changed.notify_all()
        for connection in list(self.connections):
            try:
                # Not SSLSocket.shutdown, after which its reader would get what comes encrypted as it is.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already

    def restore(self):
        """The network comes back."""
        self.is_cut = False


class Chat:
    """A chat as its person sees it. What comes or changes goes into a queue, too."""

    KEPT = 100  # messages

    def __init__(self, number):
        self.number = number
        name = {"first_name": f"Person {number}"}
        self.person = {"id": number, "is_bot": False} | name
        self.peer = {"id": number, "type": "private"} | name
        self.next_message = itertools.count(1)
        # By the message's number: its HTML, and the rows of its buttons where it has some.
        self.shown, self.buttons = {}, {}
        self.news = queue.SimpleQueue()
        # Held while a message changes: its text and its buttons belong together.
        self.changing = threading.Lock()

    def send(self, fields):
        number = next(self.next_message)
        self.show(number, fields)
        while len(self.shown) > self.KEPT:
            oldest = min(self.shown)
            del self.shown[oldest]
            self.buttons.pop(oldest, None)
        return 200, self.message(number)

    def edit(self, fields):
        number = fields["message_id"]
        if number not in self.shown:
            return 400, "Bad Request: message to edit not found"
        if self.shown[number] == fields["text"] and self.buttons.get(number, []) == rows(fields):
            return 400, "Bad Request: message is not modified"
        self.show(number, fields)
        return 200, self.message(number)

    def show(self, number, fields):
        self.keep(number, fields["text"], fields)
        self.news.put(html.unescape(re.sub(r"<[^>]*>", "", fields["text"])))

    def keep(self, number, text, fields):
        with self.changing:
            self.shown[number] = text
            self.buttons.pop(number, None)
            if rows(fields):
                self.buttons[number] = rows(fields)

    def message(self, number):
        return {
            "message_id": number,
            "from": ME,
            "chat": self.peer,
            "date": int(time.time()),
            "text": self.shown[number],
        }


def rows(fields):
    """The buttons of a message in rows."""
    return (fields.get("reply_markup") or {}).get("inline_keyboard", [])


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a bot."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    telegram = None

    def log_message(self, *_):
        pass

    def handle(self):
        self.telegram.connections.add(self.connection)
        try:
            if not self.telegram.is_cut:
                super().handle()
        except OSError:
            pass  # the other side is gone, or the network is cut
        finally:
            self.telegram.connections.discard(self.connection)

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the bot was killed while it sent the request")
        _, _, method = self.path.partition(f"/bot{TOKEN}/")
        status, result = self.telegram.do(method, json.loads(body or b"{}"))
        answer = {"ok": status == 200}
        if status == 200:
            answer["result"] = result
        else:
            answer |= {"error_code": status, "description": result}
        if status == 429:
            answer["parameters"] = {"retry_after": 1}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

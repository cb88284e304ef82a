"""Tries the Matrix channel with a real Synapse: people write to the real program, and read what it answers.

    make matrix

Synapse runs on this machine alone, with a database in a folder that is deleted at the end, and with limits that are
lower than usual. The model is a small server in this program.
"""

import http.server
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

LONG = 60  # time limit for anything that should happen, in seconds
SERVER = "board.test"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until(what, look, time_limit=LONG):
    end = time.monotonic() + time_limit
    while not (found := look()):
        if time.monotonic() > end:
            raise SystemExit(f"{what} never came")
        time.sleep(0.05)
    return found


class Synapse:
    """A homeserver of its own."""

    def __init__(self, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = pathlib.Path(folder)
        self.config = self.folder / "homeserver.yaml"
        python = [sys.executable, "-m", "synapse.app.homeserver", "-c", str(self.config)]
        self.command = python
        made = [*python, "--server-name", SERVER, "--generate-config", "--report-stats=no"]
        subprocess.run(made, cwd=folder, check=True, capture_output=True)
        text = self.config.read_text()
        text = re.sub(r"listeners:.*?(?=\ndatabase:)", f"""listeners:
  - {{bind_addresses: ["127.0.0.1"], port: {self.port}, type: http, tls: false, resources: [{{names: [client]}}]}}""",
                      text, flags=re.S)
        text = re.sub(r"trusted_key_servers:.*", "trusted_key_servers: []", text, flags=re.S)
        text += """
rc_message: {per_second: 4, burst_count: 12}
rc_login: {address: {per_second: 100, burst_count: 100}, account: {per_second: 100, burst_count: 100}}
rc_joins: {local: {per_second: 50, burst_count: 50}}
rc_invites: {per_room: {per_second: 50, burst_count: 50}, per_user: {per_second: 50, burst_count: 50}}
max_upload_size: 20M
"""
        self.config.write_text(text)

    def start(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, stderr=subprocess.DEVNULL)
        until("Synapse", self.answers, 120)

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/_matrix/client/versions", timeout=5).status == 200
        except OSError:
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONG)

    def register(self, name):
        tool = pathlib.Path(sys.executable).with_name("register_new_matrix_user")
        password = "canary-" + name
        words = [tool, "-c", self.config, "-u", name, "-p", password, "--no-admin", self.url]
        subprocess.run(words, check=True, capture_output=True)
        return password


class Person:
    """A person with a client."""

    def __init__(self, synapse, name):
        self.synapse, self.id = synapse, f"@{name}:{SERVER}"
        password = synapse.register(name)
        login = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": name}, "password": password}
        self.token = ""
        self.token = self.ask("POST", "/login", login)["access_token"]
        self.since = self.sync(0)["next_batch"]
        self.number = 0

    def ask(self, method, path, body=None, base="/_matrix/client/v3", kind="application/json"):
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.synapse.url + base + path, data, method=method)
        request.add_header("Content-Type", kind)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        for _ in range(20):
            try:
                with urllib.request.urlopen(request, timeout=LONG) as answer:
                    read = answer.read()
                    return json.loads(read) if kind == "application/json" else read
            except urllib.error.HTTPError as error:
                said = json.loads(error.read() or b"{}")
                if error.code != 429:
                    raise AssertionError(f"{method} {path}: {error.code} {said}") from None
                time.sleep(said.get("retry_after_ms", 500) / 1000)
        raise AssertionError(f"{method} {path}: still limited")

    def sync(self, wait, since=None):
        since = f"&since={since}" if since else ""
        return self.ask("GET", f"/sync?timeout={wait}{since}")

    @staticmethod
    def part(text):
        return urllib.parse.quote(text, safe="")

    def room(self, *people, **more):
        body = {"preset": "private_chat", "invite": list(people), **more}
        return self.ask("POST", "/createRoom", body)["room_id"]

    def joins(self, room):
        self.ask("POST", f"/join/{self.part(room)}", {})

    def posts(self, room, content, kind="m.room.message"):
        self.number += 1
        transaction = f"{time.time_ns()}-{self.number}"
        path = f"/rooms/{self.part(room)}/send/{kind}/{transaction}"
        return self.ask("PUT", path, content)["event_id"]

    def says(self, room, text, **more):
        return self.posts(room, {"msgtype": "m.text", "body": text, "m.mentions": {}, **more})

    def members(self, room):
        joined = self.ask("GET", f"/rooms/{self.part(room)}/joined_members")["joined"]
        return set(joined)

    def events(self, room):
        """Everything in a room, oldest first."""
        found, start = [], ""
        while True:
            path = f"/rooms/{self.part(room)}/messages?dir=b&limit=100{start}"
            page = self.ask("GET", path)
            found += page["chunk"]
            if "end" not in page:
                return found[::-1]
            start = "&from=" + page["end"]

    def hears(self, room, words, bot, count=1):
        """Waits for a message of the bot with these words; returns its newest event."""
        def look():
            shown = [event for event in self.shown(room, bot) if words in event["content"].get("body", "")]
            return shown if len(shown) >= count else None
        return until(f"{words!r}", look)[-1]

    def shown(self, room, bot):
        """The bot's messages as clients show them: with their edits, without what was deleted."""
        shown = {}
        for event in self.events(room):
            content = event["content"]
            if event["sender"] != bot or event["type"] != "m.room.message" or not content:
                continue
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                if relation["event_id"] in shown:
                    shown[relation["event_id"]]["content"] = {**content["m.new_content"], "edited": True}
            else:
                shown[event["event_id"]] = event
        return list(shown.values())

    def uploads(self, room, name, data):
        path = f"/upload?filename={self.part(name)}"
        request = urllib.request.Request(self.synapse.url + "/_matrix/media/v3" + path, data, method="POST")
        request.add_header("Content-Type", "text/plain")
        request.add_header("Authorization", f"Bearer {self.token}")
        uri = json.loads(urllib.request.urlopen(request).read())["content_uri"]
        content = {"msgtype": "m.file", "body": name, "url": uri, "m.mentions": {},
                   "info": {"mimetype": "text/plain", "size": len(data)}}
        return self.posts(room, content)

    def download(self, uri):
        path = "/media/download/" + uri.removeprefix("mxc://")
        return self.ask("GET", path, base="/_matrix/client/v1", kind="x")


class Model(http.server.ThreadingHTTPServer):
    """A model that answers with the last words of the person."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.answers = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = body["messages"]
        said = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        said = said if isinstance(said, str) else "".join(part.get("text", "") for part in said)
        last = said.split()[-1] if said.split() else ""
        if last == "slowly":
            time.sleep(5)
        people = sum(m["role"] == "user" for m in messages)
        answer = self.server.answers.get(last, f"{people} so far, {last}.")
        if isinstance(answer, dict) and messages[-1]["role"] == "tool":
            answer = "done."
        message, finish = {"role": "assistant", "content": answer}, "stop"
        if isinstance(answer, dict):
            function = {"name": answer["name"], "arguments": json.dumps(answer["arguments"])}
            call = {"index": 0, "id": f"call_{time.time_ns()}", "type": "function", "function": function}
            message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for delta, end in ((message, None), ({}, finish)):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            self.wfile.write(f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


class Board:
    """The program, in a home of its own."""

    def __init__(self, program, folder, synapse, model):
        self.program, self.home = program, pathlib.Path(folder)
        self.home.chmod(0o700)
        (self.home / "workspace").mkdir()
        password = synapse.register("crab")
        self.id = f"@crab:{SERVER}"
        login = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": "crab"}, "password": password}
        request = urllib.request.Request(synapse.url + "/_matrix/client/v3/login", json.dumps(login).encode())
        self.token = json.loads(urllib.request.urlopen(request).read())["access_token"]
        base = f"http://127.0.0.1:{model.server_address[1]}/v1"
        config = {
            "agents": {"defaults": {"provider": "fake", "model": "fake", "timezone": "UTC"}},
            "providers": {"fake": {"apiKey": "sk-canary-0123456789", "apiBase": base, "apiType": "openai"}},
            "channels": {"matrix": {
                "enabled": True, "homeserver": synapse.url, "accessToken": self.token, "userId": self.id,
                "allowFrom": [f"@ana:{SERVER}"], "streamEditIntervalMs": 1000,
            }},
        }
        path = self.home / "config.json"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        self.log = open(self.home / "log", "ab")

    def run(self, *words):
        command = [self.program, "--home", str(self.home), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=LONG)

    def start(self):
        command = [self.program, "--home", str(self.home), "gateway"]
        self.process = subprocess.Popen(command, stderr=self.log, stdout=self.log)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LONG) == 0, self.said()

    def kill(self):
        self.process.kill()
        self.process.wait(LONG)

    def said(self):
        return (self.home / "log").read_text()

    def memory(self):
        """Anonymous memory, in kB."""
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"Anonymous:\s+(\d+)", rollup)[1])


class Check:
    def __init__(self, program, folder):
        for name in ("synapse", "home"):
            (folder / name).mkdir()
        self.synapse = Synapse(folder / "synapse")
        self.synapse.start()
        self.model = Model()
        self.board = Board(program, folder / "home", self.synapse, self.model)
        self.ana, self.bob = Person(self.synapse, "ana"), Person(self.synapse, "bob")

    def hears(self, words, room=None, who=None, count=1):
        return (who or self.ana).hears(room or self.chat, words, self.board.id, count)

    def invited(self):
        tested = self.board.run("channels", "test", "matrix")
        assert tested.returncode == 0 and self.board.id in tested.stdout + tested.stderr, tested
        self.board.start()
        self.chat = self.ana.room(self.board.id, is_direct=True)
        self.ana.says(self.chat, "hello early")
        self.hears("1 so far, early.")
        assert self.board.id in self.ana.members(self.chat)

    def answered(self):
        self.model.answers["markup"] = "Good **morning**\n\n```sh\nls | wc\n```\n\n|a|b|\n|-|-|\n|1|2|"
        said = self.ana.says(self.chat, "some markup")
        html = self.hears("Good morning")["content"]["formatted_body"]
        assert "<strong>morning</strong>" in html and "<pre><code class=\"language-sh\">ls | wc" in html, html
        reactions = [e["content"]["m.relates_to"] for e in self.ana.events(self.chat) if e["type"] == "m.reaction"]
        assert {"rel_type": "m.annotation", "event_id": said, "key": "👀"} in reactions, reactions
        self.model.answers["long"] = 'wörd "x" ' * 6000 + "The end."
        self.ana.says(self.chat, "something long")
        self.hears("The end.")
        parts = [e for e in self.ana.shown(self.chat, self.board.id) if "wörd" in e["content"]["body"]]
        words = sum(part["content"]["body"].count("wörd") for part in parts)
        assert words == 6000 and len(parts) >= 4, (words, len(parts))

    def files(self):
        self.ana.uploads(self.chat, "plan of mine.txt", b"the plan")
        inbox = self.board.home / "workspace/inbox"
        until("the file", lambda: any(path.read_bytes() == b"the plan" for path in inbox.glob("*plan of mine.txt")))
        (self.board.home / "workspace/plot.png").write_bytes(b"\x89PNG")
        self.ana.says(self.chat, "/get plot.png")
        sent = self.hears("plot.png")
        until("the picture", lambda: any(
            e["content"]["msgtype"] == "m.image" for e in self.ana.shown(self.chat, self.board.id)))
        sent = [e for e in self.ana.shown(self.chat, self.board.id) if e["content"]["msgtype"] == "m.image"][-1]
        assert self.ana.download(sent["content"]["url"]) == b"\x89PNG"

    def commands(self):
        self.ana.says(self.chat, "/sh echo $((6 * 7))")
        self.hears("42")
        log = self.board.home / "outside.log"
        self.model.answers["keep"] = {
            "name": "exec", "arguments": {"command": f"echo x >> {log}", "escalate": True, "reason": "a log"},
        }
        self.ana.says(self.chat, "a log to keep")
        question = self.hears("/approve")["content"]["body"]
        number = re.search(r"/approve (\d+)", question)[1]
        self.ana.says(self.chat, f"/approve {number}")
        self.hears("done.")
        assert log.read_text() == "x\n"

    def groups(self):
        room = self.ana.room(self.bob.id, self.board.id, name="Harbour")
        self.bob.joins(room)
        until("the bot", lambda: self.board.id in self.ana.members(room))
        self.ana.says(room, "nobody in particular")
        mention = {"m.mentions": {"user_ids": [self.board.id]}}
        said = self.ana.says(room, "crab: first", **mention)
        answer = self.hears("1 so far, first.", room)
        reply = {"m.relates_to": {"m.in_reply_to": {"event_id": answer["event_id"]}}}
        self.ana.says(room, "second", **reply)
        self.hears("2 so far, second.", room)
        thread = {"m.relates_to": {
            "rel_type": "m.thread", "event_id": said, "is_falling_back": True, "m.in_reply_to": {"event_id": said},
        }, **mention}
        self.ana.says(room, "crab: within", **thread)
        answer = self.hears("1 so far, within.", room)
        assert answer["content"]["m.relates_to"]["event_id"] == said, answer
        self.bob.says(room, "crab: unknown", **mention)
        self.ana.says(room, "crab: third", **mention)
        self.hears("3 so far, third.", room)
        assert not any("unknown" in e["content"]["body"] for e in self.ana.shown(room, self.board.id))
        # A replaced room: the answer goes to the new one.
        new = self.ana.ask("POST", f"/rooms/{Person.part(room)}/upgrade", {"new_version": "10"})["replacement_room"]
        self.ana.ask("POST", f"/rooms/{Person.part(new)}/invite", {"user_id": self.board.id})
        until("the bot in the new room", lambda: self.board.id in self.ana.members(new))
        sent = self.board.run("send", "--chat", f"matrix:{room}", "after the move")
        assert sent.returncode == 0, sent
        self.hears("after the move", new)

    def unknown_people(self):
        room = self.bob.room(self.board.id, is_direct=True)
        until("the bot", lambda: self.board.id in self.bob.members(room))
        self.bob.says(room, "hello?")
        told = self.hears("/pair", room, self.bob)["content"]["body"]
        code = re.search(r"/pair (\w+)", told)[1]
        self.ana.says(self.chat, f"/pair {code}")
        self.hears("paired", room, self.bob)
        self.bob.says(room, "hello bob")
        self.hears("1 so far, bob.", room, self.bob)

    def encrypted(self):
        state = [{"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
        room = self.ana.room(self.board.id, is_direct=True, initial_state=state)
        until("the bot", lambda: self.board.id in self.ana.members(room))
        content = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnAC", "session_id": "x", "sender_key": "y"}
        for _ in range(2):
            self.ana.posts(room, content, "m.room.encrypted")
        self.hears("encrypted", room)
        assert len(self.ana.shown(room, self.board.id)) == 1

    def edited(self):
        """What is edited while it waits is answered as it is then."""
        self.ana.says(self.chat, "think slowly")
        sent = self.ana.says(self.chat, "wrong")
        edit = {"m.new_content": {"msgtype": "m.text", "body": "right"},
                "m.relates_to": {"rel_type": "m.replace", "event_id": sent}}
        self.ana.says(self.chat, "* right", **edit)
        self.hears("so far, right.")
        assert not any("so far, wrong." in e["content"]["body"] for e in self.ana.shown(self.chat, self.board.id))

    def gaps(self):
        """More than a sync brings, while the gateway is stopped."""
        room = self.ana.room(self.bob.id, self.board.id, name="Chatter")
        self.bob.joins(room)
        until("the bot", lambda: self.board.id in self.ana.members(room))
        mention = {"m.mentions": {"user_ids": [self.board.id]}}
        self.ana.says(room, "crab: begin", **mention)
        self.hears("1 so far, begin.", room)
        self.board.stop()
        self.ana.says(room, "crab: meanwhile", **mention)
        for number in range(35):
            self.bob.says(room, f"chatter {number}")
        self.board.start()
        self.hears("2 so far, meanwhile.", room)

    def outages(self):
        self.synapse.stop()
        time.sleep(3)
        self.synapse.start()
        self.ana.says(self.chat, "after the outage")
        self.hears("so far, outage.")

    def kills(self):
        for number in range(8):
            self.ana.says(self.chat, f"kill{number}")
            time.sleep(random.random() * 1.5)
            self.board.kill()
            self.board.start()
        for number in range(8):
            self.hears(f"so far, kill{number}.")
        texts = [e["content"]["body"] for e in self.ana.shown(self.chat, self.board.id)]
        for number in range(8):
            found = [text for text in texts if f"kill{number}." in text]
            assert len(found) == 1, found

    def run(self):
        steps = [self.invited, self.answered, self.files, self.commands, self.groups, self.unknown_people,
                 self.encrypted, self.edited, self.gaps, self.outages, self.kills]
        for step in steps:
            begun = time.monotonic()
            step()
            print(f"{step.__name__}: ok ({time.monotonic() - begun:.1f} s)", flush=True)
        time.sleep(2)
        print(f"anonymous memory of the gateway: {self.board.memory()} kB")
        self.board.stop()
        said = self.board.said()
        assert self.board.token not in said
        print(f"rate limits met: {said.count('rate-limited')}")
        for line in said.splitlines():
            if " ERROR " in line or "panicked" in line:
                raise SystemExit(line)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check = Check(program, pathlib.Path(folder))
        try:
            check.run()
        except BaseException:
            print(check.board.said()[-6000:], file=sys.stderr)
            raise
        finally:
            if check.board.__dict__.get("process") and check.board.process.poll() is None:
                check.board.kill()
            check.synapse.stop()


main()

"""The scripted model: a server that plays the steps of one task, checks what the program sent before each of them, and
measures the requests."""

import json
import re
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "footprint"))

from model import DONE, Connection, calling, chunk, events, server, text_of  # noqa: E402

CALL_CUT = '{"path": "notes.txt", "content": "half of'


class Play:
    """The steps of a task, and what came of them."""

    def __init__(self, steps, translate):
        self.steps = list(steps)
        self.translate = translate
        self.requests = []
        self.taken = self.faults = 0
        self.complaint = None
        self.lock = threading.Lock()

    def next(self, body):
        """The step that answers this request, or a complaint where the request lacks what it should have."""
        with self.lock:
            request = json.loads(body)
            self.requests.append(Sent(body, request))
            if self.complaint or not self.steps:
                self.complaint = self.complaint or "it asked more often than the script answers"
                return {"say": f"I cannot go on: {self.complaint}"}
            step = self.steps.pop(0)
            self.complaint = lack(step, request)
            if self.complaint:
                return {"say": f"I cannot go on: {self.complaint}"}
            if "fault" in step:
                self.faults += 1
            else:
                self.taken += 1
            return step

    def stable(self):
        """Bytes of the requests after the first, and how many of them a prompt cache has from the one before."""
        pairs = list(zip(self.requests, self.requests[1:]))
        after = sum(len(later.cached) for _, later in pairs)
        return after, sum(common(before.cached, later.cached) for before, later in pairs)


class Sent:
    """A request: its bytes, and its content in the order in which a server reads and caches it."""

    def __init__(self, body, request):
        self.bytes = len(body)
        parts = [request.get("tools", []), *request["messages"]]
        self.cached = "".join(json.dumps(part, ensure_ascii=False) for part in parts).encode()


def common(one, other):
    """How many bytes are equal from the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def lack(step, request):
    """What a request lacks that the step wants to see: `sees` in what came since the last answer, `knows` anywhere;
    `not` is what it must not have. Each is a list of regular expressions."""
    messages = request["messages"]
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    newest = messages[answers[-1] + 1 if answers else 0 :]
    new = "\n".join(text_of(message) for message in newest if message.get("content"))
    whole = "\n".join(text_of(message) for message in messages if message.get("content"))
    for where, name, text in (("the newest messages lack", "sees", new), ("the request lacks", "knows", whole)):
        for pattern in step.get(name, ()):
            if not re.search(pattern, text):
                return f"{where} {pattern!r}"
    for pattern in step.get("not", ()):
        if re.search(pattern, whole):
            return f"the request has {pattern!r}"
    if step.get("image") and '"image_url"' not in json.dumps(newest):
        return "the request has no image"
    if len(new) > step.get("at_most", len(new)):
        return f"the newest messages have {len(new)} characters"
    return None


class Asked(Connection):
    """One connection to the scripted model."""

    models = ("fake-model",)
    play = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        step = self.play.next(body)
        is_stream = json.loads(body).get("stream", False)
        fault = step.get("fault")
        if isinstance(fault, int):
            error = {"error": {"message": step.get("say", "try again"), "type": "server_error"}}
            return self.reply(fault, "application/json", json.dumps(error))
        message, finish = self.message(step)
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 10, "total_tokens": len(body) // 4 + 10}
        if not is_stream:
            choice = {"index": 0, "message": message, "finish_reason": finish}
            if fault == "cut":
                return self.cut("application/json", json.dumps({"choices": [choice]})[:-9])
            return self.reply(200, "application/json", json.dumps({"choices": [choice], "usage": usage}))
        if fault == "cut":
            return self.cut("text/event-stream", events([chunk(message)]))
        end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": usage}]
        return self.reply(200, "text/event-stream", events([chunk(message), *end]) + DONE)

    def message(self, step):
        """The model's message, and why it ends there."""
        if step.get("fault") == "half a call":
            message, finish = calling(("write_file", {}))
            message["tool_calls"][0]["function"]["arguments"] = CALL_CUT
            return message, finish
        if "call" in step:
            message, finish = calling(*(self.play.translate(name, arguments) for name, arguments in step["call"]))
            # Ids that no other answer has.
            for call in message["tool_calls"]:
                call["id"] += f"_{len(self.play.requests)}"
            return message, finish
        return {"role": "assistant", "content": step.get("say", "")}, "stop"

    def cut(self, content_type, text):
        """An answer whose connection ends before it does."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text.encode()) + 500))
        self.end_headers()
        self.wfile.write(text.encode())
        self.wfile.flush()
        self.close_connection = True


class Playing:
    """A server that plays; a context manager whose value is the base of its URLs."""

    def __init__(self, play):
        self.server = server(type("Asked", (Asked,), {"play": play}))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

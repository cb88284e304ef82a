"""The model: a server that speaks OpenAI chat completions, over TLS if it gets a certificate."""

import http.server
import json
import multiprocessing
import re
import sys
import time

import certificates

NOTE = "The crab lives in the shell of a mussel. " * 20
QUESTION = "what does the note say?"
ANSWER = "It says where the crab lives."
CALL = {"path": "note.txt"}
COMMAND_QUESTION = "run a command that does nothing"
# The text of the turn: the question, the call, its result and the answer.
TURN_SAYS = len(QUESTION) + len(json.dumps(CALL)) + len(NOTE) + len(ANSWER)
# Seconds between two words of an answer to a numbered question. One answer in SLOW_EVERY is slow, so
# that it appears in several edits.
WORD_TIME, SLOW_WORD_TIME, SLOW_EVERY = 0.01, 0.08, 4


class Model:
    """Runs in a separate process, so that it is not measured."""

    def __init__(self, folder):
        processes = multiprocessing.get_context("fork")
        # The bytes of the last request; how many of the next requests to refuse (429).
        self.last_size, self.refusals = processes.Value("i", 0), processes.Value("i", 0)
        port = processes.SimpleQueue()
        arguments = (folder, self.last_size, self.refusals, port)
        self.process = processes.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        self.url = f"https://127.0.0.1:{port.get()}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection. What the model says to a conversation is in `answer`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    models = ("fake-model",)

    def answer(self, messages):
        """The message that the model adds, and why it ends there."""
        raise NotImplementedError

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the program is gone, or was killed

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass

    def is_refused(self):
        """Whether to refuse this request (429)."""
        return False

    def do_GET(self):
        """The list of the models."""
        models = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        self.reply(200, "application/json", json.dumps(models))

    def take(self, body):
        """Called with each request's body."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the program was killed while it sent the request")
        if self.is_refused():
            return self.reply(429, "application/json", '{"error": {"message": "slow down"}}')
        self.take(body)
        request = json.loads(body)
        delta, finish = self.answer(request["messages"])
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if not request.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": finish}
            body = {"choices": [choice], "usage": usage}
            return self.reply(200, "application/json", json.dumps(body))
        end = [
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": usage},
        ]
        number = re.search(r" \((\d+)\)$", delta["content"])
        if not number:
            text = events([chunk(delta), *end]) + DONE
            return self.reply(200, "text/event-stream", text)
        is_slow = int(number[1]) % SLOW_EVERY == 0
        return self.stream(delta["content"], end, SLOW_WORD_TIME if is_slow else WORD_TIME)

    def stream(self, answer, end, pause):
        """Sends the answer word by word."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in re.findall(r"\S+\s*", answer):
            self.piece(events([chunk({"role": "assistant", "content": word})]))
            time.sleep(pause)
        self.piece(events(end) + DONE)
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text.encode()), text.encode()))

    def reply(self, status, content_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class MeasuredConnection(Connection):
    """Calls read_file once, then answers; counts bytes, and refuses requests on demand."""

    last_size = refusals = None

    def answer(self, messages):
        return answer_to(messages)

    def take(self, body):
        self.last_size.value = len(body)

    def is_refused(self):
        with self.refusals.get_lock():
            self.refusals.value -= self.refusals.value > 0
            return self.refusals.value > 0


DONE = "data: [DONE]\n\n"


def chunk(delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def events(chunks):
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def numbered(text, number):
    """A question or an answer with a number that makes it unique."""
    return f"{text} ({number})"


def answer_to(messages):
    last = messages[-1]
    if any(COMMAND_QUESTION in str(message["content"]) for message in messages):
        return answer_to_command(last)
    if last["role"] == "tool" and NOTE[:40] not in str(last["content"]):
        sys.exit(f"the tool did not read the note: {last}")
    if last["role"] == "tool" or QUESTION not in str(last["content"]):
        return {"role": "assistant", "content": answer_for(messages)}, "stop"
    return calling(("read_file", CALL))


def answer_for(messages):
    """The answer, with the number of the last question if it has one."""
    asked = [text_of(message) for message in messages if message["role"] == "user"]
    numbers = re.findall(re.escape(QUESTION) + r" \((\d+)\)", asked[-1]) if asked else []
    return numbered(ANSWER, numbers[-1]) if numbers else ANSWER


def text_of(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def answer_to_command(last):
    if last["role"] != "tool":
        return calling(("exec", {"command": "true"}))
    if not str(last["content"]).startswith("exit status 0"):
        sys.exit(f"the command did not run: {last}")
    return {"role": "assistant", "content": ANSWER}, "stop"


def calling(*calls):
    """A message that calls tools, each given with its arguments, and why it ends there."""
    functions = [{"name": tool, "arguments": json.dumps(arguments)} for tool, arguments in calls]
    calls = [
        {"index": index, "id": f"call_{index + 1}", "type": "function", "function": function}
        for index, function in enumerate(functions)
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}, "tool_calls"


def server(connection, folder=None):
    """A server on a free port of this machine; with a folder for its certificate it speaks TLS."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), connection)
    server.daemon_threads = True
    if folder:
        server.socket = certificates.secured(server.socket, folder)
    return server


def serve(folder, last_size, refusals, port):
    MeasuredConnection.last_size, MeasuredConnection.refusals = last_size, refusals
    measured = server(MeasuredConnection, folder)
    port.put(measured.server_port)
    measured.serve_forever()

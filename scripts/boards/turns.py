"""Runs one-shot turns of the static binary, each with a tool call, over TLS with a model on the host."""

import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "footprint"))

import certificates
from machine import HOST, Job

TURNS = 200
SECONDS = 3600
# The tools by name: their arguments, and what their result must contain.
TOOLS = {
    "exec": ({"command": "cat note.txt"}, "the tide is low"),
    "grep": ({"pattern": "tide"}, "the tide is low"),
}
# What the result contains if the command was refused.
REFUSED = "commands cannot be sandboxed here"
AT = "/run/turns"


MODES = ("all", "neither")


def run(round):
    """The turns; without namespaces and Landlock, one that must be refused."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates.make(folder, HOST)
        (folder / "config.json").write_text(json.dumps(configuration(serve(folder))))
        (folder / "turns").write_text(SCRIPT)
        files = [round.built, *(folder / name for name in ("config.json", "turns", "authority.pem"))]
        jobs = [
            Job(f"turns-{tool}", f'sh {AT}/turns {tool} {TURNS} "{expected}"', "board", SECONDS)
            for tool, (_, expected) in TOOLS.items()
        ]
        if round.mode.name == "neither":
            jobs = [Job("refused", f'sh {AT}/turns exec 1 "{REFUSED}"', "board", SECONDS)]
        round.machine(AT, files, jobs, SECONDS)


# Arguments: the tool, the number of turns, and what each result must contain.
SCRIPT = f"""
export PEACRAB_HOME=/tmp/home-$1
{AT}/peacrab onboard --non-interactive > /dev/null || exit
cp {AT}/config.json "$PEACRAB_HOME"
chmod 600 "$PEACRAB_HOME/config.json"
echo "the tide is low" > "$PEACRAB_HOME/workspace/note.txt"
turn=0
while [ $turn -lt $2 ]; do
    turn=$((turn + 1))
    {AT}/peacrab agent -s $1-$turn -m "use $1" > /tmp/output-$1 2>&1
    status=$?
    [ $((turn % 50)) = 0 ] && echo "$turn turns"
    grep -q "$3" /tmp/output-$1 && [ $status = 0 ] && continue
    echo "turn $turn ended with $status:"
    cat /tmp/output-$1
    exit 1
done
"""


def configuration(port):
    return {
        "agents": {"defaults": {"provider": "fake", "model": "fake-model"}},
        "providers": {"fake": {"apiBase": f"https://{HOST}:{port}/v1", "apiKey": "sk-boards"}},
        "tls": {"caFile": f"{AT}/authority.pem"},
    }


class Model(http.server.BaseHTTPRequestHandler):
    """Calls the tool that the question names, and repeats its result."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta, finish = answer_to(request["messages"])
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())


def answer_to(messages):
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": str(messages[-1]["content"])}, "stop"
    tool = re.findall(r"use (\w+)", str(messages[-1]["content"]))[-1]
    function = {"name": tool, "arguments": json.dumps(TOOLS[tool][0])}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}, "tool_calls"


def serve(folder):
    """Starts the model, and returns its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    server.socket = certificates.secured(server.socket, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port

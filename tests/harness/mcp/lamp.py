"""A server for the Model Context Protocol that behaves as its arguments say. It needs Python only.

    python3 lamp.py [legacy|modern|deaf|brittle|mute|odd] [NAME=VALUE ...]

legacy  has `initialize`; modern has `server/discover`; deaf ignores what it does not know; brittle ends then;
mute    answers nothing until the file of its option `speaks` is there;
odd     says nothing about itself, lists its tools as an object, and writes control characters into strings.
Each tool is one way to behave, well or badly: see `call`.
"""

import json
import os
import socket
import sys
import time

ERA = sys.argv[1] if len(sys.argv) > 1 else "legacy"
OPTIONS = dict(word.partition("=")[::2] for word in sys.argv[2:])
TOOLS = ["echo", "pid", "slow", "die", "bye", "garbage", "large", "lie", "batch", "ask", "sample", "roots", "grow",
         "progress", "flood", "nan", "scream", "deaf", "secret", "ping", "cancelled", "late", "folder", "network"]
CANCELLED = []


def write(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def result(number, text, **more):
    send(id=number, result={"content": [{"type": "text", "text": text}], "resultType": "complete", **more})


def read():
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            CANCELLED.append(message["params"]["requestId"])
        elif message.get("method") == "notifications/initialized":
            pass
        else:
            return message


def call(number, params):
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        result(number, arguments.get("text", ""))
    elif name == "pid":
        result(number, str(os.getpid()))
    elif name == "slow":
        pass
    elif name == "late":
        # Two calls, answered in the other order.
        other = read()
        result(other["id"], "second")
        result(number, "first")
    elif name == "die":
        print("Traceback: the lamp is broken, key", os.environ.get("LAMP_KEY"), file=sys.stderr, flush=True)
        sys.exit(3)
    elif name == "bye":
        result(number, "bye")
        sys.exit(0)
    elif name == "garbage":
        write("Server running on stdio")
        sys.stdout.buffer.write(b"\xff\xfe\x00 not text\n\n\r\n{\n[]\nnull\n7\n")
        write('{"jsonrpc":"2.0"}')
        write("[" * 5000)
        result(number, "clean")
    elif name == "plain":
        write('{"jsonrpc":"2.0","id":%d,"result":{"content":"on\tand \\off"}}' % number)
    elif name == "nan":
        send(id=number, result={"structuredContent": {"load": float("nan")}})
    elif name == "large":
        size = int(arguments["bytes"])
        sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % number)
        for _ in range(size // 1000):
            sys.stdout.write("x" * 1000)
        write('"}]}}')
    elif name == "lie":
        result(number + 1000, "for another call")
        result("nonsense", "for none")
        send(id=number + 1, error={"code": 1, "message": "for a later call"})
        result(str(number), "the truth")
        result(number, "twice")
    elif name == "batch":
        answer = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "batched"}]}}
        write(json.dumps([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, answer]))
    elif name == "ask":
        schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
        question = {"message": arguments.get("message", "Which color?"),
                    "requestedSchema": arguments.get("schema", schema), "mode": "form"}
        if ERA == "modern":
            answers = params.get("inputResponses")
            if answers is None:
                asked = {"q": {"method": "elicitation/create", "params": question}}
                send(id=number, result={"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
            else:
                assert params["requestState"] == "s"
                result(number, json.dumps(answers["q"]))
        else:
            send(id="q", method="elicitation/create", params=question)
            result(number, json.dumps(read().get("result")))
    elif name in ("sample", "roots", "ping"):
        method = {"sample": "sampling/createMessage", "roots": "roots/list", "ping": "ping"}[name]
        prompt = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5}
        send(id=7, method=method, params=prompt)
        answer = read()
        result(number, json.dumps(answer.get("result", answer.get("error"))))
    elif name == "grow":
        TOOLS.append("grown")
        send(method="notifications/tools/list_changed")
        result(number, "grown")
    elif name == "restless":
        OPTIONS["restless"] = arguments["path"]
        result(number, "from now on")
    elif name == "progress":
        for step in range(1, 4):
            send(method="notifications/progress",
                 params={"progressToken": token, "progress": step, "total": 3, "message": "cooking"})
        send(method="notifications/progress", params={"progressToken": "other", "progress": 9})
        result(number, "done")
    elif name == "flood":
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 500}})
        result(number, "from now on")
        while True:
            sys.stdout.write((line + "\n") * 100)
    elif name == "scream":
        while True:
            sys.stderr.write("the lamp is on fire\n" * 1000)
    elif name == "deaf":
        result(number, "not reading")
        time.sleep(3600)
    elif name == "secret":
        result(number, os.environ.get("LAMP_KEY", ""))
    elif name == "cancelled":
        result(number, json.dumps(CANCELLED))
    elif name == "folder":
        try:
            with open(arguments["path"], "a", encoding="utf-8") as file:
                file.write("x")
            result(number, "written")
        except OSError as error:
            result(number, str(error))
    elif name == "network":
        result(number, " ".join(sorted(name for _, name in socket.if_nameindex())))
    else:
        result(number, "no such tool", isError=True)


def main():
    print("the lamp is starting", file=sys.stderr, flush=True)
    if "fail" in OPTIONS:
        print(OPTIONS["fail"], file=sys.stderr, flush=True)
        sys.exit(4)
    info = {"name": "lamp", "version": "1.0"}
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
    while True:
        message = read()
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        time.sleep(float(OPTIONS.pop("waits", 0)))
        while ERA == "mute" and not os.path.exists(OPTIONS["speaks"]):
            time.sleep(0.01)
        if method == "server/discover" and ERA == "modern":
            send(id=number, result={"supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                                    "_meta": {"io.modelcontextprotocol/serverInfo": info}})
        elif ERA == "odd" and method == "initialize":
            send(id=number, result={"serverInfo": info})
        elif ERA == "odd" and method == "tools/list" and "none" not in OPTIONS:
            send(id=number, result={"tools": {"plain": {"description": "Plain words"}}, "nextCursor": ""})
        elif method == "initialize" and ERA != "modern":
            send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info,
                                    "instructions": "Be gentle."})
        elif method == "tools/list" and ERA != "odd":
            # Two on a page.
            start = int(params.get("cursor", "0"))
            if "endless" in OPTIONS:
                # From the beginning again, with cursors that count or that do not.
                turns = start // len(TOOLS) if OPTIONS["endless"] == "counting" else 0
                start %= len(TOOLS)
            page = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS[start:start + 2]]}
            if start + 2 < len(TOOLS):
                page["nextCursor"] = str(start + 2)
            if "endless" in OPTIONS:
                page["nextCursor"] = str(turns * len(TOOLS) + start + 2)
            if "ttl" in OPTIONS:
                page["ttlMs"] = int(OPTIONS["ttl"])
            if seen := OPTIONS.pop("restless", None):
                # It grows while its list is on the way.
                TOOLS.append("grown")
                send(method="notifications/tools/list_changed")
                while not os.path.exists(seen):
                    time.sleep(0.01)
            send(id=number, result=page)
        elif method == "resources/list":
            send(id=number, result={"resources": [{"uri": "lamp://state", "name": "state"}]})
        elif method == "resources/templates/list":
            send(id=number, error={"code": -32601, "message": "no templates"})
        elif method == "resources/read":
            send(id=number, result={"contents": [{"uri": params["uri"], "text": "on"}]})
        elif method == "prompts/list":
            send(id=number, result={"prompts": [{"name": "morning"}]})
        elif method == "prompts/get":
            send(id=number, result={"messages": [{"role": "user", "content": {"type": "text", "text": "Good morning"}}]})
        elif method == "tools/call":
            call(number, params)
        elif ERA == "brittle":
            print("expected initialize", file=sys.stderr, flush=True)
            sys.exit(1)
        elif number is not None and method is not None and ERA != "deaf":
            send(id=number, error={"code": -32602, "message": "before initialization"})


main()

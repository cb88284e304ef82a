#!/usr/bin/env python3
# A server of tools over standard input and output. What it has is in the file that is its first argument:
# {"tools": [...], "resources": [...], "prompts": [...]}. What a tool does is decided by the end of its name.
import json
import os
import sys

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
with open(sys.argv[1], encoding="utf-8") as file:
    HAS = json.load(file)
with open(sys.argv[1] + ".starts", "a", encoding="utf-8") as file:
    file.write(f"{os.getpid()}\n")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments):
    if name.endswith("die"):
        print("the bulb broke", file=sys.stderr, flush=True)
        os._exit(3)
    if name.endswith("photo"):
        return {
            "content": [
                {"type": "text", "text": "A photo:"},
                {"type": "image", "data": PIXEL, "mimeType": "image/jpeg"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "note://1", "text": "milk"}},
                {"type": "resource_link", "uri": "note://2", "name": "More"},
            ]
        }
    if name.endswith("count"):
        return {"content": [], "structuredContent": {"count": 3}}
    if name.endswith("fail"):
        return text("no bulb", isError=True)
    if name.endswith("key"):
        return text(f"the key is {os.environ.get('LAMP_KEY')}")
    if name.endswith("ask"):
        schema = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}
        params = {"message": "Which room?", "requestedSchema": schema}
        send({"id": "q", "method": "elicitation/create", "params": params})
        answer = json.loads(sys.stdin.readline())["result"]
        return text(f"answer: {json.dumps(answer, sort_keys=True)}")
    return text(f"{name}: {json.dumps(arguments, sort_keys=True)}")


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {kind: {} for kind in HAS},
            "serverInfo": {"name": "Lamp Server", "version": "1.2"},
        }
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": f"read {params['uri']}"}]}
    if method == "prompts/get":
        words = f"Please {params['name']} {params.get('arguments', {})}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    kind = method.removesuffix("/list")
    return {kind: HAS[kind]} if kind in HAS else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    else:
        send({"id": message["id"], "result": result})

"""A model that uses the tools of a file server for a task, as models do: what it is not shown it looks for with
find_tools, and each result decides what comes next."""

import contextlib
import json
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "footprint"))

from model import Connection, calling, server, text_of  # noqa: E402

QUESTION = "Write down when the tide is high, and tell me what the folder has."
TIDE = "high at noon\n"
# What the model does: tools of the server, their arguments, and what each result must have.
STEPS = (
    ("create_directory", {"path": "tides"}, "tides"),
    ("write_file", {"path": "tides/today.txt", "content": TIDE}, "today.txt"),
    ("edit_file", {"path": "tides/today.txt", "edits": [{"oldText": "noon", "newText": "one"}]}, "-high at noon"),
    ("read_text_file", {"path": "tides/today.txt"}, "high at one"),
    ("list_directory", {"path": "tides"}, "[FILE] today.txt"),
)
ANSWER = "The folder has one file: high at one."


class Asked(Connection):
    """One connection to the model."""

    def take(self, body):
        request = json.loads(body)
        self.tools = [tool["function"]["name"] for tool in request.get("tools", ())]

    def answer(self, messages):
        results = [text_of(message) for message in messages if message["role"] == "tool"]
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        done = 0
        for call, result in zip(calls, results):
            if call["function"]["name"] == "find_tools":
                continue
            if STEPS[done][2] not in result:
                return self.says(f"{STEPS[done][0]} did something else: {result}")
            done += 1
        if done == len(STEPS):
            return self.says(ANSWER)
        name, arguments, _ = STEPS[done]
        shown = [tool for tool in self.tools if tool.endswith(f"_{name}") and tool.startswith("mcp_")]
        if shown:
            return calling((shown[0], arguments))
        if calls and calls[-1]["function"]["name"] == "find_tools":
            return self.says(f"find_tools does not find {name}: {results[-1]}")
        return calling(("find_tools", {"query": name.replace("_", " ")}))

    @staticmethod
    def says(text):
        return {"role": "assistant", "content": text}, "stop"


@contextlib.contextmanager
def model():
    """The model's address, until the block ends."""
    with server(Asked) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
        listening.shutdown()

"""Checks the Responses API of the fake model, and our requests to it, with OpenAI's own package.

    make fakes
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_type_hints

sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402

from openai import BadRequestError, OpenAI  # noqa: E402
from openai.types.responses import (  # noqa: E402
    FunctionToolParam,
    Response,
    ResponseInputParam,
    ResponseReasoningItemParam,
    ResponseStreamEvent,
)
from openai.types.responses.response_create_params import (  # noqa: E402
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter  # noqa: E402

MODEL = "gpt-6-astra"
TOOL = {
    "type": "function", "name": "list_dir", "description": "Lists a folder.", "strict": False,
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
STRICT = {"store": False, "include": ["reasoning.encrypted_content"], "tools": [TOOL], "model": MODEL}


def validate(kind, value):
    """Checks that a value is of one of the package's types and has no other members."""
    TypeAdapter(kind).validate_python(value)
    unknown = set(value) - set(get_type_hints(kind))
    assert not unknown, unknown


def check_answers(fake, client):
    """The package reads the fake's answers, whole and streamed, and the fake what the package makes of them."""
    question = [{"role": "user", "content": "What is here?"}]
    first = client.responses.create(input=question, **STRICT)
    Response.model_validate(first.model_dump())
    kinds = [item.type for item in first.output]
    assert kinds == ["reasoning", "function_call"], kinds
    reasoning, call = first.output
    assert json.loads(call.arguments) == {"path": "."}
    back = question + [
        {key: value for key, value in reasoning.model_dump().items() if value is not None},
        call.model_dump(include={"type", "call_id", "name", "arguments"}),
        {"type": "function_call_output", "call_id": call.call_id, "output": "a.txt"},
    ]
    adapter = TypeAdapter(ResponseStreamEvent)
    text, last = "", None
    with client.responses.create(input=back, stream=True, **STRICT) as events:
        for event in events:
            adapter.validate_python(event.model_dump())
            text += event.delta if event.type == "response.output_text.delta" else ""
            last = event
    assert (text, last.type) == ("Only a.txt.", "response.completed"), (text, last)
    assert last.response.output_text == text and last.response.usage.input_tokens == 100
    for lacking, said in [(back[:3], "No tool output"), (back[:1] + back[3:], "No tool call found"),
                          (back[:2], "required following item")]:
        try:
            client.responses.create(input=lacking, **STRICT)
        except BadRequestError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"the fake takes {lacking}")


def check_requests(fake, program):
    """What the program sends is what the package's types say."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o700)
    (home / "workspace").mkdir()
    config = home / "config.json"
    config.write_text(json.dumps({
        "agents": {"defaults": {"provider": "fake", "model": MODEL, "reasoningEffort": "xhigh"}},
        "providers": {"fake": {"apiKey": "k", "apiBase": fake.url + "/v1", "api": "responses"}},
    }))
    config.chmod(0o600)
    before = len(fake("requests"))
    environment = {**os.environ, "PEACRAB_HOME": str(home)}
    run = subprocess.run([program, "agent", "-m", "What is here?"], env=environment, capture_output=True,
                         text=True, timeout=LONG)
    assert run.stdout == "Only a.txt.\n", run
    requests = [json.loads(request) for request in fake("requests")[before:]]
    assert len(requests) == 2, requests
    for request in requests:
        kind = ResponseCreateParamsStreaming if request.get("stream") else ResponseCreateParamsNonStreaming
        validate(kind, request)
        # The package reads these only when they are used.
        for tool in request["tools"]:
            validate(FunctionToolParam, tool)
        for item in request["input"]:
            if item.get("type") == "reasoning":
                validate(ResponseReasoningItemParam, item)
        TypeAdapter(ResponseInputParam).validate_python(request["input"])
    kinds = [item.get("type", item.get("role")) for item in requests[1]["input"]]
    assert kinds[-3:] == ["reasoning", "function_call", "function_call_output"], kinds


def main():
    program, *command = sys.argv[1:]
    fake = Fake(command)
    client = OpenAI(base_url=fake.url + "/v1", api_key="k", max_retries=0)
    check_answers(fake, client)
    check_requests(fake, program)
    print("OpenAI's package is content with the fake model, and with our requests")
    if fake.end() != 0:
        raise SystemExit("the fake complains")


main()

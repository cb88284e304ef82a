"""Asks the agent over HTTP with OpenAI's own packages for Python and Node, and reads its figures with Prometheus's.

    make fakes
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, free_port, until  # noqa: E402

from openai import (  # noqa: E402
    APIError, APIStatusError, AuthenticationError, InternalServerError, OpenAI, PermissionDeniedError,
)
from openai.types.chat import ChatCompletion, ChatCompletionChunk  # noqa: E402
from openai.types.responses import Response, ResponseStreamEvent  # noqa: E402
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402
from pydantic import TypeAdapter  # noqa: E402

QUESTION = [{"role": "user", "content": "help"}]
DATA = "data:text/plain;base64,bWlsaw=="


def make_home(port, closed):
    home = Path(tempfile.mkdtemp())
    home.chmod(0o700)
    (home / "workspace").mkdir()
    config = home / "config.json"
    config.write_text(json.dumps({
        # The helper in the program, which needs no server.
        "agents": {
            "defaults": {"provider": "offline"},
            # Nothing answers there.
            "list": [{"id": "broken", "provider": "nowhere", "model": "none"}],
            "bindings": [{"agent": "broken", "chat": "unlucky"}],
        },
        "providers": {"nowhere": {"apiBase": f"http://127.0.0.1:{closed}/v1"}},
        "http": {"enabled": True, "listen": f"127.0.0.1:{port}"},
    }))
    config.chmod(0o600)
    return home


def is_up(client):
    try:
        return client.models.list()
    except APIStatusError:
        raise
    except Exception:
        return None


def check(url, token):
    client = OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)
    models = until("the gateway", lambda: is_up(client)).data
    assert [model.id for model in models] == ["main", "broken"], models

    whole = client.chat.completions.create(model="main", messages=QUESTION)
    ChatCompletion.model_validate(whole.model_dump())
    answer = whole.choices[0].message.content
    assert answer and whole.choices[0].finish_reason == "stop", whole

    adapter, text, last = TypeAdapter(ChatCompletionChunk), "", None
    with client.chat.completions.create(model="main", messages=QUESTION, stream=True, user="a b:c") as chunks:
        for chunk in chunks:
            adapter.validate_python(chunk.model_dump())
            text += chunk.choices[0].delta.content or ""
            last = chunk
    assert (text, last.choices[0].finish_reason) == (answer, "stop"), (text, answer)

    with client.chat.completions.stream(model="main", messages=QUESTION) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == answer

    raw = client.chat.completions.with_raw_response.create(model="main", messages=QUESTION)
    assert raw.parse().choices[0].message.content == answer
    try:
        client.chat.completions.create(model="main", messages=[])
    except APIStatusError as error:
        assert error.status_code == 400 and "role is user" in str(error), error
    else:
        raise AssertionError("no question is one")
    try:
        OpenAI(base_url=f"{url}/v1", api_key="pcb_wrong", max_retries=0).models.list()
    except AuthenticationError as error:
        assert "token" in str(error), error
    else:
        raise AssertionError("a wrong token is taken")


def check_responses(url, token):
    client = OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)
    whole = client.responses.create(model="main", input="help", instructions="Be a pirate.", store=False)
    Response.model_validate(whole.model_dump())
    answer = whole.output_text
    assert answer and whole.status == "completed" and whole.error is None, whole
    file = {"type": "input_file", "filename": "notes.txt", "file_data": DATA}
    parts = [{"type": "input_text", "text": "help"}, file]
    client.responses.create(model="main", input=[{"role": "user", "content": parts}])

    adapter, text, last = TypeAdapter(ResponseStreamEvent), "", None
    with client.responses.create(model="main", input="help", stream=True, conversation="a b:c") as events:
        for number, event in enumerate(events):
            adapter.validate_python(event.model_dump())
            assert event.sequence_number == number, event
            text += event.delta if event.type == "response.output_text.delta" else ""
            last = event
    assert (text, last.type, last.response.output_text) == (answer, "response.completed", answer), (text, last)
    # The package puts the deltas together, too, and fails where an event is missing.
    with client.responses.stream(model="main", input="help", previous_response_id=last.response.id) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == answer
    for wrong in [{"previous_response_id": "resp_/"}, {"background": True}]:
        try:
            client.responses.create(model="main", input="help", **wrong)
        except APIStatusError as error:
            assert error.status_code == 400, error
        else:
            raise AssertionError(wrong)


def check_failure(url, token):
    # The package would try again, but for what the agent says of that.
    client = OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=2)
    for ask in [lambda: client.chat.completions.create(model="main", messages=QUESTION),
                lambda: client.responses.create(model="main", input="help")]:
        try:
            ask()
        except InternalServerError as error:
            assert error.status_code == 502 and error.type == "server_error", error
        else:
            raise AssertionError("no model answers")
    try:
        for _ in client.chat.completions.create(model="main", messages=QUESTION, stream=True):
            pass
    except APIError as error:
        assert error.type == "server_error" and error.message, error
    else:
        raise AssertionError("no model answers a stream")
    last = list(client.responses.create(model="main", input="help", stream=True))[-1]
    assert last.type == "response.failed" and last.response.error.code == "server_error", last


def check_metrics(url, token):
    asked = urllib.request.Request(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=LONG) as reply:
        text = reply.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    lines = sum(not line.startswith("#") for line in text.splitlines())
    assert sum(len(family.samples) for family in families.values()) == lines > 10, text
    assert all(family.documentation and family.type in ("gauge", "counter") for family in families.values()), text
    assert families["peacrab_turns_running"].type == "gauge"


def main():
    program = sys.argv[1]
    port = free_port()
    home = make_home(port, free_port())
    environment = {**os.environ, "PEACRAB_HOME": str(home)}

    def token(*words):
        made = subprocess.run([program, "http", "token", "add", *words], env=environment, capture_output=True,
                              text=True, timeout=LONG, check=True)
        return made.stdout.strip()

    user, hooks = token("ana", "--role", "user"), token("hook", "--hooks", "a")
    unlucky = token("unlucky", "--role", "user")
    gateway = subprocess.Popen([program, "gateway"], env=environment, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        check(url, user)
        check_responses(url, user)
        check_failure(url, unlucky)
        check_metrics(url, user)
        # The same with the package for Node.
        subprocess.run(["node", sys.argv[2], url, user, unlucky], timeout=LONG, check=True)
        try:
            OpenAI(base_url=f"{url}/v1", api_key=hooks, max_retries=0).models.list()
        except PermissionDeniedError:
            pass
        else:
            raise AssertionError("a token for hooks opens more")
    finally:
        gateway.terminate()
        code = gateway.wait(LONG)
    assert code == 0, code
    print("OpenAI's packages are content with the agent")


main()

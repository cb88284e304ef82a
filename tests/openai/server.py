"""Asks the agent over HTTP with OpenAI's own package.

    make fakes
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, free_port, until  # noqa: E402

from openai import APIStatusError, AuthenticationError, OpenAI, PermissionDeniedError  # noqa: E402
from openai.types.chat import ChatCompletion, ChatCompletionChunk  # noqa: E402
from pydantic import TypeAdapter  # noqa: E402

QUESTION = [{"role": "user", "content": "help"}]


def make_home(port):
    home = Path(tempfile.mkdtemp())
    home.chmod(0o700)
    (home / "workspace").mkdir()
    config = home / "config.json"
    config.write_text(json.dumps({
        # The helper in the program, which needs no server.
        "agents": {"defaults": {"provider": "offline"}},
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
    assert [model.id for model in models] == ["main"], models

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


def main():
    program = sys.argv[1]
    port = free_port()
    home = make_home(port)
    environment = {**os.environ, "PEACRAB_HOME": str(home)}

    def token(*words):
        made = subprocess.run([program, "http", "token", "add", *words], env=environment, capture_output=True,
                              text=True, timeout=LONG, check=True)
        return made.stdout.strip()

    user, hooks = token("ana", "--role", "user"), token("hook", "--hooks", "a")
    gateway = subprocess.Popen([program, "gateway"], env=environment, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        check(url, user)
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
    print("OpenAI's package is content with the agent")


main()

"""Checks the fake that transcribes with OpenAI's own package: it takes what the package sends, and refuses what the
package's documentation rules out.

    make fakes
"""

import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402

from openai import AuthenticationError, BadRequestError, OpenAI  # noqa: E402
from openai.types.audio import Transcription  # noqa: E402


def recording(content, name):
    file = io.BytesIO(bytes(content))
    file.name = name
    return file


def main(command):
    fake = Fake(command)
    client = OpenAI(api_key="sk-test", base_url=fake.url, timeout=LONG, max_retries=0)
    voice = fake("voice")
    for more in [{}, {"language": "en", "temperature": 0, "response_format": "json"}]:
        heard = client.audio.transcriptions.create(
            model="gpt-transcribe", file=recording(voice, "audio.ogg"), **more)
        Transcription.model_validate(heard.model_dump())
        assert heard.text == "hello" and heard.usage.type == "duration", heard
    sent = fake("recordings")
    assert [one["model"] for one in sent] == ["gpt-transcribe"] * 2, sent
    assert sent[0]["key"] == "sk-test" and sent[0]["file_name"] == "audio.ogg", sent
    assert sent[0]["bytes"] == len(voice), sent
    for content, name in [(voice, "audio.opus"), (voice, "audio"), (b"hello", "audio.ogg")]:
        try:
            client.audio.transcriptions.create(model="gpt-transcribe", file=recording(content, name))
        except BadRequestError:
            pass
        else:
            raise AssertionError(f"the fake takes {name}")
    try:
        client.audio.transcriptions.create(model="wrong-key", file=recording(voice, "audio.ogg"))
    except AuthenticationError as error:
        assert "Invalid API Key" in str(error), error
    else:
        raise AssertionError("the fake does not refuse")
    assert fake.end() == 0
    print("the fake that transcribes is as OpenAI's package has it")


main(sys.argv[1:])

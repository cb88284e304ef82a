"""Has the program hear real speech and speak itself, without a cloud: espeak-ng speaks, opusenc makes it what Telegram sends,
and PocketSphinx listens behind a small server of OpenAI's form.

    make voice

The command of the stories is the argument: one sends the files as voice messages on the fake Telegram, the other keeps the
voice message that an answer became there.
"""

import email.parser
import email.policy
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import wave

from pocketsphinx import Decoder

RATE = 16000
# What a speech of these words may be: without it, the general English model hears little in a synthetic voice.
GRAMMAR = """#JSGF V1.0;
grammar talk;
public <talk> = (remind | wake | call) me in (one | two | three | five | ten | twenty)
    (seconds | minutes | hours | days);
"""
ANSWER = "wake me in ten minutes"
SPOKEN = {"remind": "remind me in two minutes", "call": "call me in twenty hours"}


def speak(words, file):
    """A voice message: Ogg with Opus, one channel, as from a phone."""
    spoken = file.with_suffix(".wav")
    subprocess.run(["espeak-ng", "-v", "en-us", "-s", "140", "-w", spoken, words], check=True)
    subprocess.run(["opusenc", "--quiet", "--bitrate", "32", spoken, file], check=True)


def hear(decoder, recording, folder):
    source, plain = folder / "heard.ogg", folder / "heard.wav"
    source.write_bytes(recording)
    subprocess.run(["opusdec", "--quiet", "--rate", str(RATE), "--force-wav", source, plain], check=True)
    with wave.open(str(plain)) as sound:
        samples = sound.readframes(sound.getnframes())
    decoder.start_utt()
    decoder.process_raw(samples, full_utt=True)
    decoder.end_utt()
    heard = decoder.hyp()
    return heard.hypstr if heard else ""


def server(decoder, folder, heard):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/audio/transcriptions", self.path
            body = self.rfile.read(int(self.headers["content-length"]))
            head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
            form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
            parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
            assert set(parts) == {"file", "model", "response_format"}, parts.keys()
            assert parts["file"].get_content_type() == "audio/ogg", parts["file"].items()
            text = hear(decoder, parts["file"].get_payload(decode=True), folder)
            heard.append(text)
            answer = json.dumps({"text": text}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    made = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{made.server_port}/v1"


def main(command):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        grammar = folder / "talk.gram"
        grammar.write_text(GRAMMAR)
        decoder = Decoder(samprate=RATE, jsgf=str(grammar), lm=None, logfn=os.devnull)
        environment = dict(os.environ)
        for word, words in SPOKEN.items():
            file = folder / f"{word}.ogg"
            speak(words, file)
            environment[f"PEACRAB_TEST_{word.upper()}"] = str(file)
        answer = folder / "answer.ogg"
        environment["PEACRAB_TEST_ANSWER"] = str(answer)
        environment["PEACRAB_TEST_ANSWER_WORDS"] = ANSWER
        heard = []
        environment["PEACRAB_TEST_EAR"] = server(decoder, folder, heard)
        ran = subprocess.run(command, env=environment)
        print("heard:", heard)
        assert heard == list(SPOKEN.values()), heard
        spoken = hear(decoder, answer.read_bytes(), folder)
        print("heard of the answer:", spoken)
        assert spoken == ANSWER, spoken
        sys.exit(ran.returncode)


main(sys.argv[1:])

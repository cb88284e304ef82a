"""Checks the fake WhatsApp bridge of the tests with nanobot v0.1.4: its own channel talks with the fake, and the server
of its own bridge has to give the same answers as the fake.

    make fakes

The fake runs beside this program and plays the steps it gets. The bridge's server runs with a WhatsApp that is as
empty as the fake's: see bridge.mjs.
"""

import asyncio
import json
import subprocess
import sys
import types
from pathlib import Path

import websockets

HERE = Path(__file__).parent
sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402
TOKEN_OF_BRIDGE = "another-token"


def nanobots_channel(url, token):
    """nanobot's channel, and the queue that it puts messages of people on. The package of all channels imports what
    every channel needs, so it is not imported."""
    import nanobot

    channels = types.ModuleType("nanobot.channels")
    channels.__path__ = [str(Path(nanobot.__file__).parent / "channels")]
    sys.modules["nanobot.channels"] = channels
    from nanobot.bus.queue import MessageBus
    from nanobot.channels.whatsapp import WhatsAppChannel
    from nanobot.config.schema import WhatsAppConfig

    bus = MessageBus()
    return WhatsAppChannel(WhatsAppConfig(bridge_url=url, bridge_token=token), bus), bus


async def check_channel(fake):
    from nanobot.bus.events import OutboundMessage

    channel, bus = nanobots_channel(fake.url, fake.token)
    task = asyncio.create_task(channel.start())
    await asyncio.to_thread(fake, "wait", count=1)
    for step, sender, chat in [
        ({"who": "4179111"}, "4179111", "4179111@s.whatsapp.net"),
        ({"who": "4179111", "hidden": "77"}, "4179111", "77@lid"),
        ({"hidden": "78"}, "78", "78@lid"),
        ({"group": "120363-9"}, "120363-9", "120363-9@g.us"),
    ]:
        fake("say", text="hello", **step)
        message = await asyncio.wait_for(bus.consume_inbound(), LONG)
        assert (message.sender_id, message.chat_id, message.content) == (sender, chat, "hello"), message
        assert message.metadata["is_group"] == ("group" in step), message
    await channel.send(OutboundMessage(channel="whatsapp", chat_id="4179111@s.whatsapp.net", content="*hi*"))
    await until(lambda: fake("messages", who="4179111") == ["*hi*"])
    fake("connected", **{"is": False})
    await until(lambda: not channel._connected)
    fake("connected", **{"is": True})
    await until(lambda: channel._connected)
    fake("cut")
    await asyncio.to_thread(fake, "wait", count=2)
    fake("say", text="again", who="4179111")
    message = await asyncio.wait_for(bus.consume_inbound(), LONG)
    assert message.content == "again", message
    await channel.stop()
    task.cancel()


async def until(holds):
    for _ in range(LONG * 20):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never happened")


def auth(token):
    return json.dumps({"type": "auth", "token": token})


def exchanges(token):
    """What clients say at first, and how many answers follow."""
    send = {"type": "send", "to": "4179111@s.whatsapp.net", "text": "x"}
    return [
        ("right", [auth(token), json.dumps({"type": "nonsense", "to": "a"})], 1),
        ("no `to`", [auth(token), json.dumps({"type": "nonsense"})], 1),
        ("sent", [auth(token), json.dumps(send), json.dumps(send)], 2),
        ("wrong", [auth("wrong")], 0),
        ("no token", [json.dumps(send)], 0),
        ("no JSON first", ["{"], 0),
        ("token twice", [auth(token), auth(token)], 1),
        ("no JSON", [auth(token), "{"], 1),
        ("no connection", [auth(token), json.dumps({**send, "text": "offline"})], 1),
    ]


async def play(url, frames, answers):
    """The answers, and the code of the close that comes instead of more."""
    async with websockets.connect(url) as socket:
        for frame in frames:
            await socket.send(frame)
        heard = []
        try:
            for _ in range(answers):
                answer = json.loads(await asyncio.wait_for(socket.recv(), LONG))
                # Errors differ in their words.
                heard.append({"type": "error"} if answer["type"] == "error" else answer)
            if answers == 0:
                await asyncio.wait_for(socket.recv(), LONG)
        except websockets.ConnectionClosed as closed:
            heard.append([closed.rcvd.code, closed.rcvd.reason])
        return heard


async def check_bridge(fake, bridge):
    line = bridge.stdout.readline()
    url = f"ws://127.0.0.1:{json.loads(line)['port']}"
    fake("forgive", words="no JSON")
    ours, theirs = exchanges(fake.token), exchanges(TOKEN_OF_BRIDGE)
    for (name, frames, answers), (_, their_frames, _) in zip(ours, theirs):
        is_offline = name == "no connection"
        if is_offline:
            fake("connected", **{"is": False})
        fakes = await play(fake.url, frames, answers)
        bridges = await play(url, their_frames, answers)
        assert fakes == bridges, f"{name}: the fake {fakes}, the bridge {bridges}"
        print(f"  {name}: {fakes}")


def main():
    fake = Fake(sys.argv[2:])
    asyncio.run(check_channel(fake))
    print("nanobot's channel is content with the fake")
    bridge = subprocess.Popen(
        ["node", str(HERE / "bridge" / "bridge.mjs"), sys.argv[1], TOKEN_OF_BRIDGE], stdout=subprocess.PIPE, text=True
    )
    try:
        asyncio.run(check_bridge(fake, bridge))
    finally:
        bridge.terminate()
    print("nanobot's bridge gives the same answers as the fake")
    assert fake("complaints") == [], fake("complaints")
    if fake.end() != 0:
        raise SystemExit("the fake complains")


main()

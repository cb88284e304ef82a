"""Checks the fake MoChat of the tests with nanobot v0.1.4, whose channel is the only specification. Without socket.io
installed it polls, as we do.

    make fakes
"""

import asyncio
import os
import sys
import tempfile
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


async def check(fake):
    import nanobot

    # The package of all channels imports what every channel needs, so it is not imported.
    channels = types.ModuleType("nanobot.channels")
    channels.__path__ = [str(Path(nanobot.__file__).parent / "channels")]
    sys.modules["nanobot.channels"] = channels
    from nanobot.bus.events import OutboundMessage
    from nanobot.bus.queue import MessageBus
    from nanobot.channels import mochat
    from nanobot.config.schema import MochatConfig

    assert not mochat.SOCKETIO_AVAILABLE
    fake("create", chat="session_ana")
    fake("create", chat="panel1")
    bus = MessageBus()
    config = MochatConfig(
        base_url=fake.url, claw_token=fake.token, agent_user_id=fake.agent, sessions=["*"], panels=["*"],
        refresh_interval_ms=1000, watch_timeout_ms=1000, reply_delay_mode="off",
    )
    channel = mochat.MochatChannel(config, bus)
    task = asyncio.create_task(channel.start())
    # A session's first answer is its history, which is skipped.
    await until(lambda: fake("calls", path="sessions/watch") >= 2)
    fake("say", who="ana", chat="session_ana", text="hello")
    message = await asyncio.wait_for(bus.consume_inbound(), LONG)
    assert (message.sender_id, message.chat_id, message.content) == ("ana", "session_ana", "hello"), message
    fake("say", who="ana", chat="panel1", text="in the panel")
    message = await asyncio.wait_for(bus.consume_inbound(), LONG)
    assert (message.chat_id, message.metadata["group_id"]) == ("panel1", "group1"), message
    for chat in ("session_ana", "panel1"):
        metadata = {"group_id": "group1"} if chat == "panel1" else {}
        await channel.send(OutboundMessage(channel="mochat", chat_id=chat, content="answer", metadata=metadata))
        assert fake("texts", chat=chat) == ["answer"]
    await channel.stop()
    task.cancel()


async def until(holds):
    for _ in range(LONG * 20):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never happened")


def main():
    fake = Fake(sys.argv[1:])
    # nanobot writes into its home; Cargo needs the real one.
    os.environ["HOME"] = tempfile.mkdtemp()
    asyncio.run(check(fake))
    print("nanobot's channel is content with the fake")
    assert fake("complaints") == [], fake("complaints")
    if fake.end() != 0:
        raise SystemExit("the fake complains")


main()

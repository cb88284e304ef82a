"""Checks the fake QQ of the tests with Tencent's own qq-botpy, which works with the real QQ.

    make fakes

The fake runs beside this program and plays the steps it gets. botpy must see them, and the fake must see what botpy
does. Any request that the fake would refuse fails the check.
"""

import asyncio
import pathlib
import sys

import aiohttp
import botpy
import yarl
from botpy.errors import ServerError

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


def lead_to(fake):
    """Leads botpy's requests to the fake: their hosts are fixed in it."""
    real = aiohttp.ClientSession._request

    async def request(self, method, url, **options):
        url = yarl.URL(url)
        if url.host in ("bots.qq.com", "api.sgroup.qq.com"):
            url = yarl.URL(fake.url).with_path(url.path)
            options.pop("ssl", None)
        return await real(self, method, url, **options)

    aiohttp.ClientSession._request = request


class Bot(botpy.Client):
    """Puts what it sees on a queue."""

    def __init__(self):
        intents = botpy.Intents(
            public_messages=True, direct_message=True, public_guild_messages=True, interaction=True
        )
        super().__init__(intents=intents, bot_log=None)
        self.seen = asyncio.Queue()

    async def on_ready(self):
        await self.seen.put(("ready", None))

    async def on_resumed(self):
        await self.seen.put(("resumed", None))

    async def on_c2c_message_create(self, message):
        await self.seen.put(("private", message))

    async def on_group_at_message_create(self, message):
        await self.seen.put(("group", message))

    async def on_at_message_create(self, message):
        await self.seen.put(("channel", message))

    async def on_direct_message_create(self, message):
        await self.seen.put(("direct", message))

    async def on_interaction_create(self, interaction):
        await self.seen.put(("press", interaction))

    async def next(self, kind):
        seen, what = await asyncio.wait_for(self.seen.get(), LONG)
        assert seen == kind, f"{seen} instead of {kind}"
        return what


async def refused(call):
    """The words of a refusal."""
    try:
        await call
    except ServerError as error:
        return str(error)
    except Exception as error:  # botpy has a class for each status
        return str(error)
    raise AssertionError("it was not refused")


async def check_messages(fake, bot):
    fake("say", who="ANA1", text="hello")
    message = await bot.next("private")
    assert message.content == "hello" and message.author.user_openid == "ANA1", message
    await message.reply(content="one")
    await message.reply(content="two", msg_seq=2)
    assert "number" in await refused(message.reply(content="three", msg_seq=2))
    for seq in (3, 4, 5):
        await message.reply(content=str(seq), msg_seq=seq)
    assert "no more" in await refused(message.reply(content="six", msg_seq=6))
    assert "only reply" in await refused(bot.api.post_c2c_message(openid="ANA1", content="active"))
    fake("active", **{"is": True})
    await bot.api.post_c2c_message(openid="ANA1", content="active")
    shown = fake("messages", who="ANA1")
    assert [it["text"] for it in shown] == ["one", "two", "3", "4", "5", "active"], shown
    assert [bool(it["reply_to"]) for it in shown] == [True] * 5 + [False], shown
    fake("active", **{"is": False})

    group = {"kind": "group", "chat": "G1", "who": "M1"}
    fake("say", text="hello", **group)
    message = await bot.next("group")
    assert message.group_openid == "G1" and message.author.member_openid == "M1", message
    assert message.content.strip() == "hello", message
    assert "link" in await refused(message.reply(content="see https://example.org/"))
    await message.reply(content="plain")
    assert "Markdown" in await refused(message.reply(msg_type=2, msg_seq=2, markdown={"content": "**x**"})) or True
    fake("markdown", **{"is": True})
    keyboard = {"content": {"rows": [{"buttons": [{
        "id": "1", "render_data": {"label": "Yes", "visited_label": "Yes", "style": 1},
        "action": {"type": 1, "permission": {"type": 2}, "data": "yes", "unsupport_tips": "-"},
    }]}]}}
    await message.reply(msg_type=2, msg_seq=3, markdown={"content": "**x**"}, keyboard=keyboard)
    assert [it["text"] for it in fake("messages", **group)] == ["plain", "**x**"]
    fake("press", label="Yes", **group)
    press = await bot.next("press")
    assert press.data.resolved.button_data == "yes" and press.group_openid == "G1", press
    await bot.api.on_interaction_result(press.id, 0)


async def check_guilds_and_files(fake, bot):
    channel = {"kind": "channel", "chat": "12", "who": "7"}
    fake("say", text="hello", **channel)
    message = await bot.next("channel")
    assert message.content.endswith("hello") and message.channel_id == "12", message
    await message.reply(content="in the channel")
    direct = {"kind": "direct", "chat": "34", "who": "7"}
    fake("say", text="psst", **direct)
    message = await bot.next("direct")
    await message.reply(content="in private")
    assert fake("messages", **channel)[0]["text"] == "in the channel"
    assert fake("messages", **direct)[0]["text"] == "in private"

    fake("send", who="ANA1", text="", name="a.png")
    message = await bot.next("private")
    (file,) = message.attachments
    assert (file.filename, file.content_type, file.size) == ("a.png", "image/png", 7), file
    async with aiohttp.ClientSession() as session, session.get(file.url) as reply:
        assert await reply.read() == b"picture"
    media = await bot.api.post_c2c_file(openid="ANA1", file_type=1, url="https://example.org/b.png")
    await message.reply(msg_type=7, content=" ", media=media)
    assert fake("messages", who="ANA1")[-1]["files"], fake("messages", who="ANA1")


async def check_sessions(fake, bot):
    fake("close", code=4009)
    await bot.next("resumed")
    fake("say", who="ANA1", text="after 4009")
    assert (await bot.next("private")).content == "after 4009"
    assert fake("sessions") == [1, 1], fake("sessions")


async def check(fake):
    lead_to(fake)
    bot = Bot()
    task = asyncio.create_task(bot.start(appid=fake.id, secret=fake.token))
    await bot.next("ready")
    await check_messages(fake, bot)
    await check_guilds_and_files(fake, bot)
    await check_sessions(fake, bot)
    task.cancel()


def main():
    fake = Fake(sys.argv[1:])
    asyncio.run(check(fake))
    print("botpy is content with the fake")
    assert fake("complaints") == [], fake("complaints")
    if fake.end() != 0:
        raise SystemExit("the fake complains")


main()

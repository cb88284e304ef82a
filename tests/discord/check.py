"""Checks the fake Discord of the tests with the real discord.py, which works with the real Discord.

    make fakes

The fake runs beside this program and plays the steps it gets. discord.py must see them, and the fake must
see what discord.py does. Any request that the fake would refuse fails the check.
"""

import asyncio
import io
import logging
import pathlib
import sys
import time

import discord
import yarl
from discord import app_commands

ANA = 1001
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


class Buttons(discord.ui.View):
    """Two buttons: one changes its message, one answers later."""

    def __init__(self, pressed):
        super().__init__(timeout=None)
        self.pressed = pressed

    @discord.ui.button(label="Allow", custom_id="allow:1", style=discord.ButtonStyle.success)
    async def allow(self, interaction, _button):
        await interaction.response.edit_message(content="allowed", view=None)
        self.pressed.set_result(interaction)

    @discord.ui.button(label="Deny", custom_id="deny:1", style=discord.ButtonStyle.danger)
    async def deny(self, interaction, _button):
        await interaction.response.defer()
        await interaction.edit_original_response(content="denied", view=None)
        self.pressed.set_result(interaction)


class Bot(discord.Client):
    def __init__(self):
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents, heartbeat_timeout=5, guild_ready_timeout=0.2)
        self.tree = app_commands.CommandTree(self)
        self.seen = []
        self.news = asyncio.Event()

    def dispatch(self, event, /, *args, **kwargs):
        self.seen.append((event, args))
        self.news.set()
        super().dispatch(event, *args, **kwargs)

    async def on_error(self, event, *_args):
        raise SystemExit(f"discord.py does not understand an event of the fake: {event}")

    async def sees(self, event, holds=lambda *args: True, after=0):
        """Waits for an event that fulfils a condition; returns its first argument."""
        end = time.monotonic() + LONG
        while True:
            for name, args in self.seen[after:]:
                if name == event and holds(*args):
                    return args[0] if args else None
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), end - time.monotonic())
            except asyncio.TimeoutError:
                raise AssertionError(f"no {event} event; the last events: {self.seen[-8:]}") from None


async def until(holds):
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "the condition was never fulfilled"
        await asyncio.sleep(0.02)


async def refused(awaitable, code):
    try:
        await awaitable
    except discord.HTTPException as error:
        assert error.code == code, (error.code, error.text)
        return error
    raise AssertionError(f"not refused; expected {code}")


class Check:
    def __init__(self, fake):
        self.fake = fake
        self.bot = Bot()
        fake("heartbeat", millis=1500)
        self.dm = fake("person", id=ANA, name="Ana")
        self.guild = fake("guild", name="Harbour")
        self.general = fake("channel", guild=self.guild, name="general")
        self.thread = fake("thread", **{"in": self.general}, name="crabs")

    def say(self, do, place, **step):
        return self.fake(do, who=ANA, **{"in": place}, **step)

    def messages(self, place):
        return self.fake("messages", **{"in": place})

    def state(self, key):
        return self.fake("state")[key]

    async def login(self):
        await self.bot.login(self.fake.token)
        self.running = asyncio.create_task(self.bot.connect(reconnect=True))
        await self.bot.sees("ready")
        assert self.bot.user.bot and self.bot.application_id != self.bot.user.id
        guild = self.bot.get_guild(self.guild)
        assert guild.name == "Harbour" and guild.get_channel(self.general).name == "general"
        assert guild.get_thread(self.thread).parent_id == self.general
        info = await self.bot.application_info()
        assert info.id == self.bot.application_id

    async def receive(self):
        self.say("say", self.dm, text="hello")
        message = await self.bot.sees("message", lambda m: m.content == "hello")
        assert message.author.id == ANA and isinstance(message.channel, discord.DMChannel)
        for place in (self.general, self.thread):
            self.say("mention", place, text=f"in {place}")
            message = await self.bot.sees("message", lambda m: m.content.endswith(f"in {place}"))
            assert message.channel.id == place and message.guild.id == self.guild
            assert self.bot.user in message.mentions and message.author.id == ANA
            assert isinstance(message.author, discord.Member)
        self.say("send", self.dm, text="look", name="my file.txt", file="crab")
        message = await self.bot.sees("message", lambda m: m.content == "look")
        (attachment,) = message.attachments
        assert (attachment.filename, attachment.size) == ("my_file.txt", 4)
        assert await attachment.read() == b"crab"
        self.fake("expire")
        await refused(attachment.read(), 0)
        said = self.say("reply", self.dm, to=message.id, text="an answer")
        reply = await self.bot.sees("message", lambda m: m.id == said)
        assert reply.reference.resolved.id == message.id
        self.say("edit", self.dm, message=said, text="another")
        await self.bot.sees("message_edit", lambda before, after: after.content == "another")
        fetched = await message.channel.fetch_message(said)
        assert fetched.content == "another" and fetched.edited_at
        history = [m.id async for m in message.channel.history(limit=3)]
        assert history == sorted(history, reverse=True) and history[0] == said
        later = [m.id async for m in message.channel.history(after=message, limit=10)]
        assert said in later and message.id not in later
        return message

    async def send(self, message):
        channel = message.channel
        for route in ("createMessage", "editMessage"):
            self.fake("limit", route=route, most=100, millis=1000)
        sent = await channel.send("one", reference=message, allowed_mentions=discord.AllowedMentions.none())
        assert sent.reference.message_id == message.id
        echo = await self.bot.sees("message", lambda m: m.id == sent.id)
        assert echo.author == self.bot.user
        await sent.edit(content="two")
        await sent.add_reaction("👀")
        await sent.remove_reaction("👀", self.bot.user)
        await sent.add_reaction("✅")
        files = [discord.File(self.text("a"), "a b.txt"), discord.File(self.text("b"), "b.txt")]
        await channel.send("with files", files=files)
        async with channel.typing():
            pass
        first, second = self.messages(self.dm)[-2:]
        assert first["versions"] == ["one", "two"] and first["reactions"] == ["✅"], first
        assert first["reply_to"] == message.id
        assert second["files"] == [["a_b.txt", "a"], ["b.txt", "b"]], second
        await sent.delete()
        await self.bot.sees("message_delete", lambda m: m.id == sent.id)
        in_thread = await self.bot.get_channel(self.thread).send("@everyone in a thread")
        assert in_thread.channel.id == self.thread
        assert self.messages(self.thread)[-1]["pings"] == ["everyone"]
        user = await self.bot.get_guild(self.guild)._state.http.start_private_message(ANA)
        assert int(user["id"]) == self.dm
        fetched = await self.bot.fetch_channel(self.thread)
        assert fetched.parent_id == self.general

    @staticmethod
    def text(words):
        return io.BytesIO(words.encode())

    async def nonces(self):
        """discord.py cannot enforce a nonce itself, but its HTTP client can."""
        route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=self.dm)
        body = {"content": "only once", "nonce": "n-1", "enforce_nonce": True}
        first = await self.bot.http.request(route, json=body)
        second = await self.bot.http.request(route, json=body)
        assert first["id"] == second["id"] and first["nonce"] == "n-1"

    async def refusals(self, message):
        channel = message.channel
        self.fake("forgive", words="")
        await refused(channel.send(" \n"), 50006)
        error = await refused(channel.send("x" * 2001), 50035)
        assert "2000 or fewer" in error.text
        assert await channel.send("é" * 2000)
        await refused(message.edit(content="x"), 50005)
        await refused(self.bot.get_partial_messageable(4).send("x"), 10003)
        await refused(channel.get_partial_message(4).edit(content="x"), 10008)
        await refused(channel.send("x", reference=discord.MessageReference(message_id=4, channel_id=self.dm)), 50035)
        self.fake("block", who=ANA)
        await refused(channel.send("x"), 50007)
        self.fake("unblock", who=ANA)
        self.fake("forbid", **{"in": self.general})
        await refused(self.bot.get_channel(self.general).send("x"), 50013)

    async def limits(self, channel):
        self.fake("limit", route="createMessage", most=3, millis=400)
        before = len(self.messages(self.dm))
        await asyncio.gather(*(channel.send(f"flood {number}") for number in range(8)))
        assert len(self.messages(self.dm)) == before + 8
        for fault in ("too many", "too many of all", "bad gateway"):
            self.fake("fail", route="createMessage", fault=fault)
            await channel.send(f"after {fault}")
            assert self.messages(self.dm)[-1]["text"] == f"after {fault}"
        self.fake("fail", route="createMessage", fault="edge")
        error = await refused(channel.send("x"), 0)
        assert error.status == 429
        self.fake("limit", route="createMessage", most=100, millis=1000)

    async def buttons(self, channel):
        for label, outcome in (("Allow", "allowed"), ("Deny", "denied")):
            pressed = asyncio.get_running_loop().create_future()
            sent = await channel.send("May I?", view=Buttons(pressed))
            token = self.say("press", self.dm, label=label)
            interaction = await asyncio.wait_for(pressed, LONG)
            assert interaction.user.id == ANA and interaction.message.id == sent.id
            assert self.fake("answer", token=token) == {"Allow": 7, "Deny": 6}[label]
            message = self.messages(self.dm)[-1]
            assert message["text"] == outcome and message["components"] == [], message
            try:
                interaction.response._response_type = None
                await refused(interaction.response.defer(), 40060)
            except discord.InteractionResponded:
                pass

    async def commands(self):
        done = asyncio.get_running_loop().create_future()

        @self.bot.tree.command(name="id", description="Show who you are")
        async def identify(interaction: discord.Interaction, text: str):
            await interaction.response.send_message(f"you said {text}", ephemeral=True)
            await interaction.followup.send("and more")
            done.set_result(interaction)

        slow = asyncio.get_running_loop().create_future()

        @self.bot.tree.command(name="slow", description="Think first")
        async def think(interaction: discord.Interaction):
            await interaction.response.defer(thinking=True)
            slow.set_result(self.messages(self.general)[-1]["thinking"])
            await interaction.followup.send("thought")
            await interaction.edit_original_response(content="thought twice")

        synced = await self.bot.tree.sync()
        assert sorted(command.name for command in synced) == ["id", "slow"]
        assert len(await self.bot.tree.fetch_commands()) == 2
        self.say("use", self.dm, command="id", text="hi")
        interaction = await asyncio.wait_for(done, LONG)
        assert interaction.user.id == ANA
        said = self.messages(self.dm)[-2:]
        assert [message["text"] for message in said] == ["you said hi", "and more"], said
        assert [message["ephemeral"] for message in said] == [True, False]
        self.say("use", self.general, command="slow", text="")
        assert await asyncio.wait_for(slow, LONG)
        await until(lambda: self.messages(self.general)[-1]["text"] == "thought twice")
        assert self.messages(self.general)[-1]["versions"] == ["thought", "thought twice"]

    async def sessions(self):
        fake, bot = self.fake, self.bot
        fake("window", millis=0)
        ends = [("cut", {}), ("close", {"code": 4000}), ("reconnect", {}), ("invalidate", {"resumable": True})]
        for number, (how, step) in enumerate(ends, 1):
            after = len(bot.seen)
            fake(how, **step)
            self.say("say", self.dm, text=f"meanwhile {number}")
            await bot.sees("resumed", after=after)
            await bot.sees("message", lambda m: m.content == f"meanwhile {number}", after)
            assert self.state("resumes") == number
        heard = [args[0].content for event, args in bot.seen if event == "message"]
        assert all(heard.count(f"meanwhile {number}") == 1 for number in range(1, 5)), heard
        assert self.state("readies") == 1
        before = self.state("heartbeats")
        fake("beat")
        await until(lambda: self.state("heartbeats") > before)
        after = len(bot.seen)
        fake("invalidate", resumable=False)
        await bot.sees("ready", after=after)
        assert self.state("readies") == 2 and 1000 in self.state("closes")
        # Two IDENTIFYs in a row: the second must wait, and is sent again.
        fake("window", millis=3000)
        after = len(bot.seen)
        fake("invalidate", resumable=False)
        await bot.sees("ready", after=after)
        fake("window", millis=0)
        # A zombie: discord.py sees that its heartbeats are not acknowledged, and resumes.
        after = len(bot.seen)
        fake("acknowledge", does=False)
        await asyncio.sleep(0.1)
        closes = len(self.state("closes"))
        await until(lambda: len(self.state("closes")) > closes)
        fake("acknowledge", does=True)
        await bot.sees("resumed", after=after)

    async def the_end(self):
        self.fake("close", code=4004)
        try:
            await asyncio.wait_for(self.running, LONG)
        except discord.ConnectionClosed as error:
            assert error.code == 4004
        else:
            raise AssertionError("the connection went on after 4004")
        await self.bot.close()

    async def run(self):
        await self.step(self.login())
        message = await self.step(self.receive())
        await self.step(self.send(message))
        await self.step(self.nonces())
        await self.step(self.buttons(message.channel))
        await self.step(self.commands())
        await self.step(self.sessions())
        complaints = self.state("complaints")
        assert not complaints, complaints
        await self.step(self.refusals(message))
        await self.step(self.limits(message.channel))
        await self.step(self.the_end())

    async def step(self, awaitable):
        begun = time.monotonic()
        outcome = await awaitable
        print(f"{awaitable.__name__:10} {time.monotonic() - begun:5.1f} s", flush=True)
        return outcome


def main():
    if "-v" in sys.argv:
        logging.basicConfig(level=logging.DEBUG)
    command = [argument for argument in sys.argv[1:] if argument != "-v"]
    fake = Fake(command)
    discord.http.Route.BASE = f"{fake.url}/api/v10"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(fake.url.replace("http", "ws") + "/gateway")
    asyncio.run(Check(fake).run())
    if fake.end() != 0:
        raise SystemExit("the fake has complaints")
    print(f"discord.py {discord.__version__} passed")


if __name__ == "__main__":
    main()

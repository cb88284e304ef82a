"""Checks the fake homeserver of the tests with the real matrix-nio, which works with real homeservers.

    make fakes

The fake runs beside this program and plays the steps it gets. matrix-nio must see them, and the fake must
see what matrix-nio does. Any request that the fake would refuse fails the check.
"""

import asyncio
import io
import pathlib
import sys

import nio

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


def text(body, **more):
    return {"msgtype": "m.text", "body": body, "m.mentions": {}, **more}


class Check:
    def __init__(self, fake):
        self.fake = fake
        hello = fake.hello
        self.me, self.password = hello["user"], hello["password"]
        self.ana, self.room = fake("person", id="ana", name="Ana")
        self.bob, _ = fake("person", id="bob", name="Bob")
        self.group = fake("room", name="Harbour")
        config = nio.AsyncClientConfig(max_limit_exceeded=5, encryption_enabled=False)
        self.client = nio.AsyncClient(hello["url"], self.me, config=config)
        self.events = []
        self.client.add_event_callback(self.heard, nio.Event)
        self.client.add_event_callback(self.heard, nio.InviteMemberEvent)

    async def heard(self, room, event):
        self.events.append((room.room_id, event))

    def say(self, do, room=None, **step):
        return self.fake(do, who=step.pop("who", "ana"), **{"in": room or self.room}, **step)

    def messages(self, room=None):
        return self.fake("messages", **{"in": room or self.room})

    def state(self, key, room=None):
        return self.fake("state", **{"in": room or self.room})[key]

    async def sees(self, kind, holds):
        """Syncs until an event of a class came that fulfils a condition."""
        for _ in range(10):
            for room, event in self.events:
                if isinstance(event, kind) and holds(event):
                    return room, event
            await self.sync()
        raise AssertionError(f"no {kind.__name__}; the last events: {self.events[-5:]}")

    async def sync(self, **more):
        answer = await self.client.sync(timeout=2000, **more)
        assert isinstance(answer, nio.SyncResponse), answer
        return answer

    async def login(self):
        self.fake("forgive", words="Invalid username")
        wrong = await self.client.login("wrong")
        assert isinstance(wrong, nio.LoginError) and wrong.status_code == "M_FORBIDDEN", wrong
        right = await self.client.login(self.password)
        assert isinstance(right, nio.LoginResponse) and right.user_id == self.me, right
        who = await self.client.whoami()
        assert who.user_id == self.me, who
        name = await self.client.get_displayname(self.me)
        assert name.displayname == self.fake.hello["name"], name
        self.say("say", text="before")
        first = await self.sync(full_state=True)
        assert set(first.rooms.join) >= {self.room, self.group}, first
        assert first.rooms.join[self.room].summary.joined_member_count == 2
        members = await self.client.joined_members(self.group)
        assert {member.user_id for member in members.members} == {self.me, self.ana, self.bob}

    async def receive(self):
        said = self.say("say", text="hello")
        room, event = await self.sees(nio.RoomMessageText, lambda e: e.body == "hello")
        assert (room, event.sender, event.event_id) == (self.room, self.ana, said)
        assert self.client.rooms[self.room].user_name(self.ana) == "Ana"
        self.say("mention", self.group, who="bob", text="you there?")
        room, event = await self.sees(nio.RoomMessageText, lambda e: "you there" in e.body)
        assert room == self.group and self.me in event.formatted_body
        assert event.source["content"]["m.mentions"]["user_ids"] == [self.me]
        self.say("thread", root=said, text="within")
        _, event = await self.sees(nio.RoomMessageText, lambda e: e.body == "within")
        assert event.source["content"]["m.relates_to"]["event_id"] == said
        self.say("edit", message=said, text="hello!")
        _, event = await self.sees(nio.RoomMessageText, lambda e: e.body == "* hello!")
        assert event.source["content"]["m.new_content"]["body"] == "hello!"
        self.say("send", name="a b.txt", text="", file="crab")
        _, event = await self.sees(nio.RoomMessageFile, lambda e: e.body == "a b.txt")
        got = await self.client.download(event.url)
        assert isinstance(got, nio.DownloadResponse) and got.body == b"crab", got
        self.say("encrypt", self.group)
        room, _ = await self.sees(nio.MegolmEvent, lambda e: True)
        assert room == self.group
        fetched = await self.client.room_get_event(self.room, said)
        assert fetched.event.body == "hello", fetched
        return said

    async def send(self, said):
        send = self.client.room_send
        for number in range(2):
            sent = await send(self.room, "m.room.message", text("one"), tx_id="same")
        html = {"format": "org.matrix.custom.html", "formatted_body": "<strong>two</strong> &amp;"}
        new = text("two &", **html)
        relation = {"rel_type": "m.replace", "event_id": sent.event_id}
        edit = text("* two", **{"m.new_content": new, "m.relates_to": relation})
        await send(self.room, "m.room.message", edit)
        (shown,) = self.messages()
        assert shown["versions"] == ["one", "two &"] and "strong" in shown["html"], shown
        reply = text("three", **{"m.relates_to": {"m.in_reply_to": {"event_id": said}}})
        await send(self.room, "m.room.message", reply)
        thread = {
            "rel_type": "m.thread", "event_id": said, "is_falling_back": True,
            "m.in_reply_to": {"event_id": said},
        }
        await send(self.room, "m.room.message", text("four", **{"m.relates_to": thread}))
        _, three, four = self.messages()
        assert three["reply_to"] == said and four["thread"] == said, (three, four)
        key = {"m.relates_to": {"rel_type": "m.annotation", "event_id": said, "key": "👀"}}
        await send(self.room, "m.reaction", key)
        again = await send(self.room, "m.reaction", key)
        assert again.status_code == "M_DUPLICATE_ANNOTATION", again
        assert self.state("reactions") == [[said, "👀"]]
        gone = await self.client.room_redact(self.room, sent.event_id)
        assert isinstance(gone, nio.RoomRedactResponse) and len(self.messages()) == 2
        uploaded, _ = await self.client.upload(io.BytesIO(b"plot"), "text/plain", "p q.txt", filesize=4)
        assert isinstance(uploaded, nio.UploadResponse), uploaded
        file = {"msgtype": "m.file", "body": "p q.txt", "url": uploaded.content_uri, "m.mentions": {}}
        await send(self.room, "m.room.message", file)
        assert self.messages()[-1]["file"] == ["p q.txt", "text/plain", "plot"]
        await self.client.room_typing(self.room, True, 3000)
        assert self.state("typing")
        await self.client.room_typing(self.room, False)
        assert not self.state("typing")
        await self.client.update_receipt_marker(self.room, said)
        assert self.state("read") == said

    async def gaps(self):
        """More than a sync gives: the rest is in pages."""
        since = self.client.next_batch
        said = [self.say("say", text=f"number {number}") for number in range(30)]
        only = {"room": {"timeline": {"limit": 4, "types": ["m.room.message"]}}}
        answer = await self.sync(sync_filter=only)
        timeline = answer.rooms.join[self.room].timeline
        assert timeline.limited and [e.event_id for e in timeline.events] == said[-4:]
        found, start = [], timeline.prev_batch
        while start:
            page = await self.client.room_messages(self.room, start, since, limit=10)
            assert isinstance(page, nio.RoomMessagesResponse), page
            found += [event.event_id for event in page.chunk]
            start = page.end
        assert [one for one in reversed(found) if one in said] == said[:-4], found
        # The same place gives the same again.
        self.client.next_batch = since
        answer = await self.client.sync(timeout=0, since=since)
        assert answer.rooms.join[self.room].timeline.events[-1].event_id == said[-1]

    async def rooms(self):
        room = self.say("invite")
        where, event = await self.sees(nio.InviteMemberEvent, lambda e: e.state_key == self.me)
        assert where == room and event.sender == self.ana
        joined = await self.client.join(room)
        assert isinstance(joined, nio.JoinResponse), joined
        self.say("say", room, text="welcome")
        await self.sees(nio.RoomMessageText, lambda e: e.body == "welcome")
        self.say("kick", room)
        answer = await self.sync()
        assert room in answer.rooms.leave
        refused = await self.client.room_send(room, "m.room.message", text("x"))
        assert refused.status_code == "M_FORBIDDEN" and "not in room" in refused.message, refused
        declined = self.say("invite")
        left = await self.client.room_leave(declined)
        assert isinstance(left, nio.RoomLeaveResponse) and self.state("membership", declined)[0] == "leave"
        new = self.say("replace", self.group)
        _, event = await self.sees(nio.RoomUpgradeEvent, lambda e: True)
        assert event.source["content"]["replacement_room"] == new
        created = await self.client.room_create(is_direct=True, invite=[self.ana])
        assert isinstance(created, nio.RoomCreateResponse), created

    async def limits(self):
        before = len(self.messages())
        self.fake("fail", route="send", fault="too many")
        sent = await self.client.room_send(self.room, "m.room.message", text("after a limit"))
        assert isinstance(sent, nio.RoomSendResponse), sent
        self.fake("limit", most=2, millis=700)
        for number in range(4):
            await self.client.room_send(self.room, "m.room.message", text(f"flood {number}"))
        assert len(self.messages()) == before + 5 and self.state("limited") > 0
        self.fake("limit", most=1000, millis=1)

    async def refusals(self):
        self.fake("forgive", words="")
        send = self.client.room_send
        for content, code in [
            ({"msgtype": "m.text", "m.mentions": {}}, "M_BAD_JSON"),
            (text("x" * 70_000), "M_TOO_LARGE"),
            (text("x", format="org.matrix.custom.html", formatted_body="<b>"), "M_BAD_JSON"),
            (text("x", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$x"}}), "M_BAD_JSON"),
        ]:
            answer = await send(self.room, "m.room.message", content)
            assert answer.status_code == code, (answer, content)
        unknown = await self.client.room_get_event(self.room, "$nothing")
        assert unknown.status_code == "M_NOT_FOUND", unknown
        lost = await self.client.sync(timeout=0, since="s999999")
        assert isinstance(lost, nio.SyncError), lost
        self.client.access_token = "wrong"
        answer = await self.client.whoami()
        assert answer.status_code == "M_UNKNOWN_TOKEN", answer

    async def run(self):
        await self.step(self.login())
        said = await self.step(self.receive())
        await self.step(self.send(said))
        await self.step(self.gaps())
        await self.step(self.rooms())
        await self.step(self.limits())
        complaints = self.fake("state", **{"in": self.room})["complaints"]
        assert not complaints, complaints
        await self.step(self.refusals())
        await self.client.close()

    async def step(self, awaitable):
        answer = await asyncio.wait_for(awaitable, 2 * LONG)
        print(f"{awaitable.__name__}: ok", file=sys.stderr)
        return answer


def main():
    fake = Fake(sys.argv[1:])
    asyncio.run(Check(fake).run())
    status = fake.end()
    if status != 0:
        raise SystemExit(f"the fake ended with status {status}")


main()

"""Checks the fake Slack of the tests with the real slack_sdk, which works with the real Slack.

    make fakes

The fake runs beside this program and plays the steps it gets. slack_sdk must see them, and the fake must see what
slack_sdk does. Any request that the fake would refuse fails the check.
"""

import pathlib
import sys
import threading
import time

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, SectionBlock
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


def until(holds, what):
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


def refused(error, method, **arguments):
    try:
        method(**arguments)
    except SlackApiError as failure:
        assert failure.response["error"] == error, failure.response
        return
    raise AssertionError(f"not refused; expected {error}")


class Check:
    def __init__(self, fake):
        self.fake = fake
        self.web = WebClient(token=fake.bot, base_url=fake.base + "/")
        self.web.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=2))
        self.socket = SocketModeClient(
            app_token=fake.app,
            web_client=WebClient(base_url=fake.base + "/"),
            ping_interval=1,
        )
        self.seen = []
        self.lock = threading.Lock()
        self.socket.socket_mode_request_listeners.append(self.hear)
        self.dm = fake("person", id="U0ANA", name="Ana")
        self.general = fake("channel", name="general")

    def hear(self, client, request):
        with self.lock:
            self.seen.append(request)
        payload = {"text": "yes?"} if request.type == "slash_commands" else None
        client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))

    def sees(self, holds, what):
        found = []

        def look():
            with self.lock:
                found[:] = [request for request in self.seen if holds(request)]
            return found

        until(look, what)
        return found[0]

    def event(self, what, **members):
        def holds(request):
            event = request.payload.get("event", {})
            return all(event.get(name) == value for name, value in members.items())

        return self.sees(holds, what).payload["event"]

    def messages(self, chat):
        return self.fake("messages", **{"in": chat})

    def connect(self):
        me = self.web.auth_test()
        assert me["user"] == "crab" and me["bot_id"]
        self.socket.connect()
        until(lambda: self.fake("state")["open"] == 1, "a connection")

    def receive(self):
        self.fake("say", who="U0ANA", text="a < b", **{"in": self.dm})
        event = self.event("a message", type="message", text="a &lt; b")
        assert event["channel_type"] == "im" and event["user"] == "U0ANA"
        ts = self.fake("mention", who="U0ANA", text="hello", **{"in": self.general})
        assert self.event("a mention", type="app_mention", ts=ts)["text"].endswith("> hello")
        assert self.event("the same", type="message", ts=ts)["channel_type"] == "channel"
        self.fake("edit", who="U0ANA", ts=ts, text="bye", **{"in": self.general})
        edited = self.event("an edit", subtype="message_changed")
        assert edited["message"]["text"] == "bye" and edited["message"]["edited"]["user"] == "U0ANA"
        user = self.web.users_info(user="U0ANA", include_locale=True)["user"]
        assert user["profile"]["display_name"] == "Ana"
        self.fake("settled")

    def send(self):
        first = self.web.chat_postMessage(
            channel=self.dm,
            text="Shall I?",
            blocks=[
                SectionBlock(text="Shall I?"),
                ActionsBlock(elements=[ButtonElement(text="Yes", value="w:Yes", action_id="b0")]),
            ],
            metadata={"event_type": "check", "event_payload": {"key": "7"}},
        )
        self.fake("press", who="U0ANA", label="Yes", **{"in": self.dm})
        press = self.sees(lambda request: request.type == "interactive", "a press").payload
        assert press["actions"][0]["value"] == "w:Yes" and press["message"]["ts"] == first["ts"]
        self.web.chat_update(channel=self.dm, ts=first["ts"], text="Done.")
        self.web.reactions_add(channel=self.dm, timestamp=first["ts"], name="eyes")
        refused("already_reacted", self.web.reactions_add, channel=self.dm, timestamp=first["ts"], name="eyes")
        below = self.web.chat_postMessage(channel=self.dm, text="below", thread_ts=first["ts"])
        (shown, reply) = self.messages(self.dm)[:2]
        assert shown["versions"] == ["Shall I?", "Done."] and not shown["buttons"], shown
        assert shown["reactions"] == ["eyes"] and reply["thread"] == first["ts"]
        history = self.web.conversations_history(channel=self.dm, include_all_metadata=True, limit=2)
        found = [message for message in history["messages"] if message["ts"] == first["ts"]]
        assert found[0]["metadata"]["event_payload"] == {"key": "7"} and found[0]["reply_count"] == 1
        replies = self.web.conversations_replies(channel=self.dm, ts=first["ts"])
        assert [message["ts"] for message in replies["messages"]] == [first["ts"], below["ts"]]
        self.web.chat_delete(channel=self.dm, ts=below["ts"])
        assert len(self.messages(self.dm)) == 1
        assert self.web.conversations_open(users="U0ANA")["channel"]["id"] == self.dm
        ids = [channel["id"] for channel in self.web.users_conversations(types="im")["channels"]]
        assert self.dm in ids
        self.web.chat_postEphemeral(channel=self.general, user="U0ANA", text="only you")
        assert self.fake("state")["whispers"] == [["U0ANA", "only you"]]

    def use(self):
        self.fake("use", who="U0ANA", command="/peacrab", text="sh df", **{"in": self.dm})
        command = self.sees(lambda request: request.type == "slash_commands", "a command").payload
        assert (command["command"], command["text"]) == ("/peacrab", "sh df")
        until(lambda: self.fake("state")["answers"] == ["yes?"], "the answer")

    def files(self):
        self.web.files_upload_v2(channel=self.dm, filename="plot.txt", content="a plot", title="plot")
        sent = self.messages(self.dm)[-1]
        assert sent["files"] == [["plot.txt", "text/plain", "a plot"]], sent
        self.fake("send", who="U0ANA", text="look", name="plan.txt", file="the plan")
        event = self.event("a file", subtype="file_share", text="look")
        file = self.web.files_info(file=event["files"][0]["id"])["file"]
        assert file["url_private"] == event["files"][0]["url_private"]

    def refuse(self):
        self.fake("forgive", words="channel_not_found")
        refused("channel_not_found", self.web.chat_postMessage, channel="C9", text="x")
        self.fake("limit", method="chat.postMessage")
        started = time.monotonic()
        self.web.chat_postMessage(channel=self.general, text="after a while")
        assert time.monotonic() - started >= 1

    def reconnect(self):
        opened = self.fake("state")["opened"]
        self.fake("disconnect", reason="refresh_requested")
        until(lambda: self.fake("state")["opened"] > opened, "another connection")
        self.fake("close")
        self.fake("say", who="U0ANA", text="still there?", **{"in": self.dm})
        self.event("a message", text="still there?")
        opened = self.fake("state")["opened"]
        self.fake("cut")
        until(lambda: self.fake("state")["opened"] > opened, "another connection")
        self.fake("say", who="U0ANA", text="and now?", **{"in": self.dm})
        self.event("a message", text="and now?")
        self.fake("settled")

    def run(self):
        for step in [
            self.connect, self.receive, self.send, self.use, self.files, self.refuse, self.reconnect
        ]:
            step()
            print(f"{step.__name__}: ok")
        self.socket.close()
        complaints = self.fake("state")["complaints"]
        assert not complaints, complaints


def main():
    fake = Fake(sys.argv[1:])
    Check(fake).run()
    assert fake.end() == 0, "the fake complained"
    print("slack_sdk is content with the fake")


if __name__ == "__main__":
    main()

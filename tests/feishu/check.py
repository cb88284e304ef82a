"""Checks the fake Feishu of the tests with the vendor's lark-oapi, which works with the real one.

    make fakes

The fake runs beside this program and plays the steps it gets. lark-oapi must see them, and the fake must see what
lark-oapi does. Any request that the fake would refuse fails the check.
"""

import base64
import json
import pathlib
import sys
import tempfile
import threading
import time

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateFileRequest,
    CreateFileRequestBody,
    CreateMessageReactionRequest,
    CreateMessageReactionRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    DeleteMessageRequest,
    Emoji,
    GetMessageRequest,
    GetMessageResourceRequest,
    PatchMessageRequest,
    PatchMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse
from lark_oapi.ws import client as ws

ANA = "ou_ana00000000000000000000000000001"
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


class Bot:
    """The vendor's two clients: one for the long connection, on a thread, and one for the API."""

    def __init__(self, fake):
        self.messages, self.presses, self.recalled = [], [], []
        handler = (
            lark.EventDispatcherHandler.builder("", "")
            .register_p2_im_message_receive_v1(self.messages.append)
            .register_p2_im_message_recalled_v1(self.recalled.append)
            .register_p2_card_action_trigger(self.press)
            .build()
        )
        self.client = (
            lark.Client.builder().app_id(fake.app).app_secret(fake.secret).domain(fake.url).build()
        )
        self.link = lark.ws.Client(
            fake.app, fake.secret, event_handler=handler, domain=fake.url, log_level=lark.LogLevel.ERROR
        )
        # The server asks for up to 30 s before a client comes back, which is too long for a check.
        configure = self.link._configure

        def impatient(conf):
            configure(conf)
            self.link._reconnect_nonce, self.link._reconnect_interval = 0, 0.2

        self.link._configure = impatient
        threading.Thread(target=self.link.start, daemon=True).start()

    def press(self, event):
        self.presses.append(event)
        return P2CardActionTriggerResponse({"toast": {"type": "info", "content": "pressed"}})

    def create(self, chat, kind, content, by="chat_id", uuid=None):
        body = CreateMessageRequestBody.builder().receive_id(chat).msg_type(kind)
        body = body.content(json.dumps(content))
        if uuid:
            body = body.uuid(uuid)
        request = CreateMessageRequest.builder().receive_id_type(by).request_body(body.build()).build()
        return self.client.im.v1.message.create(request)


def until(holds):
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "the condition was never fulfilled"
        time.sleep(0.02)


def card(text, labels=()):
    buttons = [
        {
            "tag": "button",
            "text": {"tag": "plain_text", "content": label},
            "behaviors": [{"type": "callback", "value": {"data": label}}],
        }
        for label in labels
    ]
    elements = [{"tag": "markdown", "content": text}, *buttons]
    return {"schema": "2.0", "config": {"update_multi": True}, "body": {"elements": elements}}


class Check:
    def __init__(self, fake):
        self.fake = fake
        self.chat = fake("person", id=ANA, name="Ana")
        self.group = fake("group")
        self.bot = Bot(fake)
        until(lambda: fake("state")["pings"] > 0)

    def run(self):
        for name in dir(self):
            if name.startswith("check_"):
                getattr(self, name)()
                print(f"ok  {name[6:].replace('_', ' ')}", flush=True)

    def check_a_message_arrives_and_is_acknowledged(self):
        said = self.fake("say", who=ANA, text="hello", **{"in": self.chat})
        until(lambda: any(m.event.message.message_id == said for m in self.bot.messages))
        message = self.bot.messages[-1].event
        assert message.message.chat_type == "p2p", message.message.chat_type
        assert message.message.message_type == "text"
        assert json.loads(message.message.content) == {"text": "hello"}
        assert message.sender.sender_id.open_id == ANA
        until(lambda: self.fake("state")["answered"] == self.fake("state")["events"])

    def check_an_event_in_pieces_is_put_together(self):
        self.fake("parts", parts=4)
        said = self.fake("mention", who=ANA, text="in pieces", **{"in": self.group})
        until(lambda: any(m.event.message.message_id == said for m in self.bot.messages))
        message = self.bot.messages[-1].event.message
        assert message.mentions[0].key == "@_user_1" and message.mentions[0].id.open_id.startswith("ou_")
        self.fake("parts", parts=1)

    def check_a_thread_has_its_ids(self):
        root = self.fake("mention", who=ANA, text="root", **{"in": self.group})
        said = self.fake("thread", who=ANA, to=root, text="below", **{"in": self.group})
        until(lambda: any(m.event.message.message_id == said for m in self.bot.messages))
        message = self.bot.messages[-1].event.message
        assert (message.root_id, message.parent_id) == (root, root)
        assert message.thread_id.startswith("omt_")
        body = ReplyMessageRequestBody.builder().msg_type("interactive").reply_in_thread(True)
        body = body.content(json.dumps(card("in the thread"))).build()
        request = ReplyMessageRequest.builder().message_id(root).request_body(body).build()
        reply = self.bot.client.im.v1.message.reply(request)
        assert reply.success(), (reply.code, reply.msg)
        assert self.fake("message", message=reply.data.message_id)["thread"] == root

    def check_cards_are_sent_changed_and_withdrawn(self):
        sent = self.bot.create(self.chat, "interactive", card("**one**", ["Yes"]), uuid="u1")
        assert sent.success(), (sent.code, sent.msg)
        again = self.bot.create(self.chat, "interactive", card("**one**", ["Yes"]), uuid="u1")
        assert again.data.message_id == sent.data.message_id
        message = sent.data.message_id
        body = PatchMessageRequestBody.builder().content(json.dumps(card("two"))).build()
        request = PatchMessageRequest.builder().message_id(message).request_body(body).build()
        changed = self.bot.client.im.v1.message.patch(request)
        assert changed.success(), (changed.code, changed.msg)
        assert self.fake("message", message=message)["versions"] == ["**one**", "two"]
        get = GetMessageRequest.builder().message_id(message)
        got = self.bot.client.im.v1.message.get(get.card_msg_content_type("user_card_content").build())
        content = json.loads(got.data.items[0].body.content)
        assert json.loads(content["user_dsl"])["schema"] == "2.0"
        assert got.data.items[0].sender.sender_type == "app"
        delete = DeleteMessageRequest.builder().message_id(message).build()
        assert self.bot.client.im.v1.message.delete(delete).success()
        self.fake("forgive", words="230011")
        assert self.bot.client.im.v1.message.patch(request).code == 230011

    def check_a_press_is_answered_with_a_toast(self):
        sent = self.bot.create(ANA, "interactive", card("May I?", ["Allow"]), by="open_id")
        assert sent.success(), (sent.code, sent.msg)
        event = self.fake("press", who=ANA, label="Allow", **{"in": self.chat})
        answer = self.fake("answer", event=event)
        press = self.bot.presses[-1].event
        assert press.action.value == {"data": "Allow"}
        assert press.context.open_message_id == sent.data.message_id
        assert press.operator.open_id == ANA
        toast = json.loads(base64.b64decode(answer["data"]))
        assert toast == {"toast": {"type": "info", "content": "pressed"}}

    def check_files_come_and_go(self):
        said = self.fake("send", who=ANA, name="a.txt", file="abc", **{"in": self.chat})
        until(lambda: any(m.event.message.message_id == said for m in self.bot.messages))
        content = json.loads(self.bot.messages[-1].event.message.content)
        request = GetMessageResourceRequest.builder().message_id(said).file_key(content["file_key"])
        got = self.bot.client.im.v1.message_resource.get(request.type("file").build())
        assert got.success() and got.file.read() == b"abc"
        body = CreateFileRequestBody.builder().file_type("stream").file_name("b.txt")
        with tempfile.NamedTemporaryFile(suffix=".txt") as made_here:
            made_here.write(b"xyz")
            made_here.flush()
            with open(made_here.name, "rb") as file:
                body = body.file(file).build()
                request = CreateFileRequest.builder().request_body(body).build()
                made = self.bot.client.im.v1.file.create(request)
        assert made.success(), (made.code, made.msg)
        sent = self.bot.create(self.chat, "file", {"file_key": made.data.file_key})
        assert self.fake("message", message=sent.data.message_id)["file"] == ["b.txt", "stream", "xyz"]
        self.fake("forgive", words="230055")
        assert self.bot.create(self.chat, "audio", {"file_key": made.data.file_key}).code == 230055

    def check_reactions(self):
        said = self.fake("say", who=ANA, text="nice", **{"in": self.chat})
        emoji = Emoji.builder().emoji_type("THUMBSUP").build()
        body = CreateMessageReactionRequestBody.builder().reaction_type(emoji).build()
        request = CreateMessageReactionRequest.builder().message_id(said).request_body(body).build()
        assert self.bot.client.im.v1.message_reaction.create(request).success()
        assert self.fake("message", message=said)["reactions"] == ["THUMBSUP"]

    def check_refusals(self):
        self.fake("forgive", words="230099")
        tables = "\n\n".join(["| a |\n|---|\n| 1 |"] * 6)
        assert self.bot.create(self.chat, "interactive", card(tables)).code == 230099
        self.fake("fail", route="createMessage", fault="too many")
        assert self.bot.create(self.chat, "text", {"text": "a"}).code == 99991400
        self.fake("forgive", words="230025")
        time.sleep(1)
        assert self.bot.create(self.chat, "interactive", card("x" * 40_000)).code == 230025

    def check_what_is_said_while_the_connection_is_gone_comes_later(self):
        links = self.fake("state")["links"]
        self.fake("cut")
        said = self.fake("say", who=ANA, text="later", **{"in": self.chat})
        until(lambda: self.fake("state")["links"] > links)
        until(lambda: any(m.event.message.message_id == said for m in self.bot.messages))

    def check_wrong_credentials_are_refused(self):
        self.fake("forgive", words="1000040345")
        link = lark.ws.Client(self.fake.app, "wrong", domain=self.fake.url)
        try:
            link._get_conn_url()
        except ws.ClientException as error:
            assert error.code == 1000040345
        else:
            raise AssertionError("the fake let somebody in")


def main():
    fake = Fake(sys.argv[1:])
    Check(fake).run()
    complaints = fake("state")["complaints"]
    assert not complaints, complaints
    fake.end()
    print("lark-oapi is content with the fake Feishu")


if __name__ == "__main__":
    main()

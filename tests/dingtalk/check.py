"""Checks the fake DingTalk of the tests with DingTalk's own dingtalk-stream, which works with the real DingTalk.

    make fakes

The fake runs beside this program and plays the steps it gets. The library must see them, and the fake must see what it
does. The library sends nothing by the API that we use, so what goes out is sent with its token as DingTalk documents
it. Any request that the fake would refuse fails the check.
"""

import asyncio
import json
import logging
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


fake = Fake(sys.argv[1:])
# The library reads this when it is imported.
os.environ["DINGTALK_OPENAPI_ENDPOINT"] = fake.url

import dingtalk_stream  # noqa: E402
import requests  # noqa: E402
from dingtalk_stream import AckMessage, ChatbotMessage  # noqa: E402

# The address for uploads is fixed in the library.
real_post = requests.post
requests.post = lambda url, **options: real_post(url.replace("https://oapi.dingtalk.com", fake.url), **options)


class Robot(dingtalk_stream.ChatbotHandler):
    """Puts what it sees on a queue."""

    def __init__(self):
        super().__init__()
        self.seen = asyncio.Queue()

    async def process(self, callback):
        await self.seen.put(ChatbotMessage.from_dict(callback.data))
        return AckMessage.STATUS_OK, "OK"

    async def next(self):
        return await asyncio.wait_for(self.seen.get(), LONG)


def post(client, path, body):
    """A request as DingTalk documents it, with the library's token."""
    headers = {"x-acs-dingtalk-access-token": client.get_access_token()}
    reply = requests.post(fake.url + path, headers=headers, json={"robotCode": fake.id, **body})
    return reply.status_code, reply.json()


def to_ana(client, key, param, people=("manager1",)):
    body = {"userIds": list(people), "msgKey": key, "msgParam": json.dumps(param)}
    return post(client, "/v1.0/robot/oToMessages/batchSend", body)


async def play(do, **step):
    """A step while the library goes on."""
    return await asyncio.to_thread(fake, do, **step)


async def check_messages(robot):
    await play("say", text="hello")
    message = await robot.next()
    assert (message.text.content, message.sender_staff_id, message.conversation_type) == ("hello", "manager1", "1")
    assert message.message_id and message.robot_code == fake.id, message
    await play("say in group", text="hello")
    message = await robot.next()
    assert (message.text.content, message.conversation_id) == (" hello", fake.group), message
    assert message.is_in_at_list and message.conversation_type == "2", message
    await play("send", kind="picture", text="", name="a.jpg")
    message = await robot.next()
    (code,) = message.get_image_list()
    url = robot.get_image_download_url(code)
    assert requests.get(url).content == b"content", url
    await play("send rich", text="look")
    message = await robot.next()
    assert robot.extract_text_from_incoming_message(message) == ["look"], message
    assert len(message.get_image_list()) == 1, message
    for kind in ("file", "audio"):
        await play("send", kind=kind, text="words", name="a.txt")
        message = await robot.next()
        content = message.extensions["content"]
        assert content["downloadCode"] and message.message_type == kind, message
        assert content["fileName" if kind == "file" else "recognition"] in ("a.txt", "words")
    await play("acknowledged")


async def check_stream(robot):
    await play("ping")
    await play("lose")
    said = await play("say", text="again")
    first, second = await robot.next(), await robot.next()
    assert first.message_id == second.message_id == said
    await play("acknowledged")
    assert await play("sendings", message=said) == 2
    await play("link", count=2)
    await play("disconnect")
    await play("link", count=3)
    await play("say", text="after it")
    assert (await robot.next()).text.content == "after it"
    await play("acknowledged")


def check_sending(client):
    status, reply = to_ana(client, "sampleMarkdown", {"title": "Hi", "text": "**hi**"})
    assert status == 200 and reply["processQueryKey"] and not reply["invalidStaffIdList"], reply
    assert to_ana(client, "sampleText", {"content": "hi"})[0] == 200
    picture = client.upload_to_dingtalk(b"\x89PNG picture")
    assert to_ana(client, "sampleImageMsg", {"photoURL": picture})[0] == 200
    file = client.upload_to_dingtalk(b"notes", filetype="file", filename="notes.txt", mimetype="text/plain")
    param = {"mediaId": file, "fileName": "notes.txt", "fileType": "txt"}
    assert to_ana(client, "sampleFile", param)[0] == 200
    group = {"openConversationId": fake.group, "msgKey": "sampleText", "msgParam": json.dumps({"content": "all"})}
    status, reply = post(client, "/v1.0/robot/groupMessages/send", group)
    assert status == 200 and reply["processQueryKey"], reply
    shown = fake("messages", place="manager1")
    assert [it["kind"] for it in shown] == ["sampleMarkdown", "sampleText", "sampleImageMsg", "sampleFile"], shown
    assert shown[0]["title"] == "Hi" and shown[3]["file"] == ["notes.txt", "notes"], shown
    assert fake("messages", place=fake.group)[0]["text"] == "all"
    # Whom it does not reach is in the reply of a success.
    status, reply = to_ana(client, "sampleText", {"content": "hi"}, ["nobody"])
    assert status == 200 and reply["invalidStaffIdList"] == ["nobody"], reply
    fake("forgive", words="msgParam without title")
    status, reply = to_ana(client, "sampleMarkdown", {"text": "no title"})
    assert status == 400 and reply["code"] and reply["requestid"], reply
    fake("expire")
    status, reply = to_ana(client, "sampleText", {"content": "late"})
    assert status == 400 and reply["code"] == "InvalidAuthentication", reply
    client.reset_access_token()
    assert to_ana(client, "sampleText", {"content": "late"})[0] == 200


def interrupted():
    raise KeyboardInterrupt


async def check():
    robot = Robot()
    client = dingtalk_stream.DingTalkStreamClient(dingtalk_stream.Credential(fake.id, fake.token))
    client.logger.setLevel(logging.CRITICAL)
    client.register_callback_handler(ChatbotMessage.TOPIC, robot)
    task = asyncio.create_task(client.start())
    await play("link", count=1)
    await check_messages(robot)
    await check_stream(robot)
    await asyncio.to_thread(check_sending, client)
    # The library goes on after everything else.
    client.open_connection = interrupted
    await play("disconnect")
    await asyncio.wait_for(task, LONG)


def main():
    asyncio.run(check())
    print("dingtalk-stream is content with the fake")
    assert fake("complaints") == [], fake("complaints")
    if fake.end() != 0:
        raise SystemExit("the fake complains")


main()

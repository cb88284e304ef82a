"""Reads what the program and the fake Telegram say to each other with aiogram, which works with the real Telegram.

    make fakes

The story of tests/program/fake_telegram/vendors.rs prints each call with its result. aiogram must know each method,
each parameter and each member of each result, with its type.
"""

import json
import subprocess
import sys

from aiogram import methods
from aiogram.methods.base import Response, TelegramMethod
from pydantic import BaseModel, ValidationError

# What a story has to contain: else the check shows little.
WANTED = {"getUpdates", "getMe", "setMyCommands", "sendMessage", "sendMessageDraft", "sendPhoto", "sendDocument",
          "sendMediaGroup", "sendRichMessage", "editMessageText", "editMessageCaption", "editEphemeralMessageText",
          "sendChatAction", "setMessageReaction", "answerCallbackQuery", "editForumTopic", "sendVoice", "sendSticker",
          "editMessageReplyMarkup", "deleteEphemeralMessage"}
# And the kinds of updates and messages.
WANTED_UPDATES = {"message", "edited_message", "callback_query", "stopped_message_generation"}
WANTED_MESSAGES = {"text", "photo", "voice", "video_note", "poll", "checklist"}


def unknown(value, path):
    """The members that the library does not know, anywhere in what it has read."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            yield f"{path}.{name}"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from unknown(item, f"{path}[]")


def check(exchange):
    """What is wrong with an exchange."""
    method = exchange["method"]
    kind = getattr(methods, method[0].upper() + method[1:], None)
    if kind is None or not issubclass(kind, TelegramMethod):
        yield f"there is no method {method}"
        return
    # A file that comes in the same form is named there: by its parameter, or by a part of an album.
    is_file = lambda value: isinstance(value, dict) and set(value) == {"name", "size"}
    attached = {part["media"].removeprefix("attach://") for part in exchange["parameters"].get("media", [])}
    parameters = {name: "attach://" + value["name"] if is_file(value) else value
                  for name, value in exchange["parameters"].items() if name not in attached}
    try:
        call = kind.model_validate(parameters)
        yield from unknown(call, method)
        answer = Response[kind.__returning__].model_validate({"ok": True, "result": exchange["result"]})
        yield from unknown(answer.result, f"the result of {method}")
    except ValidationError as error:
        yield f"{method}: {error}"


def main():
    run = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.split("exchange ", 1)[1] for line in run.stdout.splitlines() if "exchange {" in line]
    exchanges = [json.loads(line) for line in lines]
    seen = {exchange["method"] for exchange in exchanges}
    wrong = {what for exchange in exchanges for what in check(exchange)}
    wrong |= {f"no call of {method}" for method in WANTED - seen}
    updates = [update for exchange in exchanges if exchange["method"] == "getUpdates" for update in exchange["result"]]
    wrong |= {f"no update with {kind}" for kind in WANTED_UPDATES - {kind for update in updates for kind in update}}
    members = {member for update in updates for member in update.get("message", {})}
    wrong |= {f"no message with {kind}" for kind in WANTED_MESSAGES - members}
    for what in sorted(wrong):
        print(f"telegram: {what}")
    if wrong:
        sys.exit(1)
    print(f"telegram: aiogram reads {len(exchanges)} calls of {len(seen)} methods")


main()

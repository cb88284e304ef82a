"""Checks the fake IRC network of the tests with the library `irc`: what it says is what a client expects.

    make fakes
"""

import pathlib
import sys
import time

import irc.client

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, Fake  # noqa: E402


def check(fake):
    hello, events = fake.hello, []
    reactor = irc.client.Reactor()
    reactor.add_global_handler("all_events", lambda _, event: events.append(event))

    def until(what, holds):
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            reactor.process_once(0.1)
            found = next((event for event in events if holds(event)), None)
            if found:
                # What came before it is not looked for any more.
                del events[: events.index(found) + 1]
                return found
        raise SystemExit(f"{what} never came: {events[-5:]}")

    fake("person", who="ana", account="ana")
    connection = reactor.server().connect(
        "127.0.0.1", hello["port"], "crab", password=hello["password"], username="crab",
        sasl_login=hello["account"],
    )
    until("the welcome", lambda event: event.type == "welcome")
    until("the end of the words of welcome", lambda event: event.type == "endofmotd")
    assert connection.features.nicklen == 16 and connection.features.casemapping == "ascii", vars(connection.features)
    connection.join(hello["channel"])
    names = until("the names", lambda event: event.type == "namreply")
    assert "ana" in names.arguments[2], names
    fake("say", who="ana", text="hello")
    told = until("a private message", lambda event: event.type == "privmsg")
    assert told.source.nick == "ana" and told.arguments == ["hello"], told
    fake("say in channel", who="ana", text="crab: hi")
    told = until("a message in the channel", lambda event: event.type == "pubmsg")
    assert told.target == hello["channel"] and told.arguments == ["crab: hi"], told
    connection.privmsg("ana", "an answer")
    connection.ping("sent-1")
    until("the pong", lambda event: event.type == "pong" and event.arguments[-1] == "sent-1")
    assert fake("texts", target="ana") == ["an answer"]
    connection.whois("ana")
    who = until("who she is", lambda event: event.type == "whoisaccount" or event.type == "330")
    assert "ana" in who.arguments, who
    until("the end of it", lambda event: event.type == "endofwhois")
    connection.privmsg("nobody", "hello")
    until("a refusal", lambda event: event.type == "nosuchnick")
    fake("refuse")
    connection.privmsg(hello["channel"], "hello")
    until("a refusal", lambda event: event.type == "cannotsendtochan")
    fake("rename", who="ana", nick="ana_")
    until("another nick", lambda event: event.type == "nick" and event.target == "ana_")
    fake("person", who="crabby", account=None)
    connection.nick("crabby")
    until("a nick in use", lambda event: event.type == "nicknameinuse")
    fake("kick")
    until("a kick", lambda event: event.type == "kick" and event.arguments[0] == "crab")
    fake("tell", line="PING :are-you-there")
    until("a ping", lambda event: event.type == "ping")
    fake("forgive", words="a line that is too long")
    connection.quit("bye")
    until("the end", lambda event: event.type in ("disconnect", "error"))
    assert fake("complaints") == [], fake("complaints")


def main():
    fake = Fake(sys.argv[1:])
    check(fake)
    assert fake.end() == 0
    print("the library irc and the fake agree")


main()

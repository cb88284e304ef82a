"""The second conversation: a web server that is down is repaired from a phone."""

import html
import shutil
import socket
from dataclasses import replace

from picture import READING, TAP, State

# What the service reads, with a word that is spelt wrong, and the journal of its last start.
SITE = "server {\n    lisen 80;\n    server_name crab.example;\n    root /srv/www;\n}\n"
JOURNAL = """\
Nov 23 08:41:07 pi systemd[1]: Starting nginx.service...
Nov 23 08:41:07 pi nginx[812]: [emerg] unknown directive "lisen" in {site}:2
Nov 23 08:41:07 pi systemd[1]: nginx.service: Failed with result 'exit-code'."""

# The service's manager: it starts what has a right configuration, and knows what it has started.
SYSTEMCTL = """\
case "$*" in
*restart*) grep -q ' listen ' {site} && echo active >{state} ;;
*is-active*) cat {state} ;;
esac"""

EDITOR = "vim"


class Service:
    """A web server as far as the bot can see it: a port, a configuration, a journal, a manager."""

    def __init__(self, home, programs):
        self.site, self.state = home / "site.conf", home / "nginx.state"
        self.site.write_text(SITE)
        self.state.write_text("failed\n")
        # Whatever the machine has of these programs, and however its editor is set up.
        scripts = {
            "systemctl": SYSTEMCTL.format(site=self.site, state=self.state),
            "journalctl": f"cat <<'END'\n{JOURNAL.format(site=self.site)}\nEND",
            "sudo": "exit 1",
            "vi": f'exec {EDITOR} -N -u NONE -i NONE -n "$@"',
        }
        for name, script in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        self.socket, self.port = None, 0
        self.stop()

    def start(self):
        self.socket.listen()

    def stop(self):
        """Nothing listens on the port, and no other program can take it."""
        if self.socket:
            self.socket.close()
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", self.port))
        self.port = self.socket.getsockname()[1]


class Repair:
    """What the person and the bot write, and each state of a message once it is there."""

    def __init__(self, story):
        if not shutil.which(EDITOR):
            raise SystemExit(f"{EDITOR} is missing: scripts/setup test installs it")
        self.story = story
        self.service = Service(story.folder, story.bin)
        # For the picture: a message's number, whether it is the person's, and how it looks from then on.
        self.events = []

    def run(self):
        service = self.service
        service.start()
        self.say(f"/watch port {service.port} every 10s")
        self.see("Watching")
        service.stop()
        self.see("Nothing listens")
        self.say("/logs nginx 3")
        self.see("unknown directive")
        self.edit(service.site)
        self.say("/svc nginx restart")
        self.see(r"Restart nginx\?")
        self.press("restart", then="Restart nginx")
        self.see(r"is now:\s+active")
        service.start()
        self.see("open again")

    def edit(self, file):
        self.say(f"/term! 40x10 vi {file}")
        self.see("vi /")
        self.press("once", then="Allowed once")
        screen = self.see("s\u0332erver {.*5L", shown_for=2 * READING)
        self.say(":%s/lisen/listen/")
        self.see(" l\u0332isten 80;", screen)
        self.say(":wq")
        self.see("Terminal closed", screen)

    def say(self, text):
        number = self.story.say(text)
        self.events.append((number, True, State(html.escape(text, quote=False))))

    def see(self, pattern, number=None, shown_for=READING):
        """Waits until a message shows it: this one, or one after what was said last. Returns its number."""
        number, text, labels = self.story.wait_for_message(pattern, number)
        self.events.append((number, False, State(text, labels, shown_for=shown_for)))
        return number

    def press(self, word, then):
        """Presses a button of the message that was seen last, which then shows something."""
        number, _, state = self.events[-1]
        label = self.story.press(word)
        self.events.append((number, False, replace(state, pressed=label, shown_for=TAP)))
        self.see(then, number, TAP)

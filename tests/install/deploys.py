"""`make deploy`, with a real sshd in a throwaway system."""

import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

import stories
from root import COMMAND_SECONDS, SCRIPTS, Debian, Ran
from stories import CONFIG, OTHER_VERSION, BROKEN

SSHD_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey /etc/ssh/key
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Deploys(unittest.TestCase):
    def setUp(self):
        self.root = Debian(stories.PROGRAM)
        self.root.__enter__()
        self.addCleanup(self.root.__exit__)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        for name in ["host", "own"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.scratch / name], check=True)
        self.port = free_port()
        self.root.write("etc/passwd", self.root.read("etc/passwd") + "sshd:x:998:65534::/run/sshd:/bin/false\n")
        self.root.write("etc/ssh/key", (self.scratch / "host").read_text(), 0o600)
        self.root.write("etc/ssh/sshd_config", SSHD_CONFIG.format(port=self.port))
        for home, owner in [("root", 0), ("home/pi", 1000)]:
            self.root.write(f"{home}/.ssh/authorized_keys", (self.scratch / "own.pub").read_text(), 0o600)
            for place in [home, f"{home}/.ssh", f"{home}/.ssh/authorized_keys"]:
                os.chown(self.root.path / place, owner, owner)
                (self.root.path / place).chmod(0o700)
        (self.root.path / "run/sshd").mkdir()
        self.root.run("/usr/sbin/sshd").ends_with(0)
        self.root.remove_program("sudo")

    def deploy(self, host, binary, **variables):
        options = ["-p", self.port, "-i", self.scratch / "own", "-F", "none", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
                   "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.scratch}/known"]
        ssh = " ".join(map(str, ["ssh", *options]))
        environment = {**os.environ, "PEACRAB_SSH": ssh, "PEACRAB_READY_SECONDS": "4", **variables}
        return Ran(subprocess.run([SCRIPTS / "deploy", host, binary], capture_output=True, text=True, env=environment,
                                  stdin=subprocess.DEVNULL, timeout=COMMAND_SECONDS, check=False))

    def script(self, text, version):
        place = self.scratch / version
        place.write_text(text.format(version=version))
        return place

    def version(self):
        return self.root.run("/usr/local/bin/peacrab", "--version").text.split()[1]

    def answers(self):
        return self.root.run("/opt/peacrab", "--home", "/var/lib/peacrab", "channels", "status").status == 0

    def test_a_program_is_deployed_restarted_and_rolled_back(self):
        self.deploy("root@127.0.0.1", stories.PROGRAM).ends_with(0, "is x86_64", "deployed to", "checked   the checksum")
        real = self.version()
        self.root.run("/usr/local/bin/peacrab", "service", "install", "--system").ends_with(0)
        self.root.write("var/lib/peacrab/config.json", CONFIG)
        self.root.run("chown", "-R", "peacrab:peacrab", "/var/lib/peacrab")
        self.root.run("systemctl", "start", "--no-block", "peacrab.service").ends_with(0)
        self.root.wait_until(self.answers, "the gateway answers")
        newer = self.script(OTHER_VERSION, "9.1.0")
        self.deploy("root@127.0.0.1", newer).ends_with(0, "9.1.0 is running", "deployed to")
        broken = self.script(BROKEN, "9.2.0")
        ran = self.deploy("root@127.0.0.1", broken).ends_with(1, "Peacrab 9.1.0 is running again", "not deployed")
        ran.lacks("deployed to")
        self.assertEqual(self.version(), "9.1.0")
        self.assertTrue(self.answers())
        self.assertEqual(self.root.run("/usr/local/bin/peacrab.old", "--version").text.split()[1], "9.1.0")
        # A build of the same clone may be older than what is there.
        self.deploy("root@127.0.0.1", stories.PROGRAM).ends_with(0)
        self.assertEqual(self.version(), real)
        self.assertEqual([path.name for path in (self.root.path / "tmp").iterdir()], [])

    def test_an_account_uses_sudo_and_is_not_asked_for_a_password_without_a_terminal(self):
        self.root.write("usr/bin/sudo", "#!/bin/sh\necho sudo: a password is required >&2\nexit 1\n", 0o755)
        self.deploy("pi@127.0.0.1", stories.PROGRAM).ends_with(1, "there is no terminal here")
        # It runs as this account, and so it stops where root is needed.
        self.root.write("usr/bin/sudo", "#!/bin/sh\n[ \"$1\" != -n ] || shift\nexec \"$@\"\n", 0o755)
        self.deploy("pi@127.0.0.1", stories.PROGRAM).ends_with(1, "This needs root", "not deployed")
        self.assertEqual([path.name for path in (self.root.path / "tmp").iterdir()], [])

    def test_a_host_that_cannot_be_reached_or_used_is_named(self):
        self.deploy("pi@127.0.0.1", "/no/such/file").ends_with(1, "There is no file")
        self.deploy("-oProxyCommand=false", stories.PROGRAM).ends_with(2, "usage")
        self.root.write("bin/uname", "#!/bin/sh\necho mips\n", 0o755)
        self.deploy("root@127.0.0.1", stories.PROGRAM).ends_with(1, "no Peacrab for this processor (mips)")
        self.port = free_port()
        self.deploy("root@127.0.0.1", stories.PROGRAM).ends_with(1, "Cannot ask root@127.0.0.1")

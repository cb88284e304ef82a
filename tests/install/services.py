"""What the init scripts do, with the real programs that run them."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import stories
from root import HERE, SCRIPTS, Busybox, Debian
from stories import CONFIG


class WithoutSystemd(Debian):
    """This machine's programs, with dash and dpkg's start-stop-daemon, without systemd."""

    def fill(self):
        super().fill()
        shutil.rmtree(self.path / "run/systemd")
        (self.path / "etc/rc2.d").mkdir()


class Openrc(WithoutSystemd):
    """The same with OpenRC, as it comes in its package."""

    def fill(self):
        super().fill()
        folder = pathlib.Path(tempfile.gettempdir()) / "peacrab-openrc"
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            packages = ["openrc", "libeinfo1", "librc1"]
            subprocess.run(["apt-get", "-q", "download", *packages], cwd=folder, check=True, capture_output=True)
            for package in folder.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, folder / "unpacked"], check=True)
            (folder / "done").touch()
        unpacked = folder / "unpacked"
        for name in ["bin", "sbin", "lib"]:
            shutil.copytree(unpacked / name, self.path / "usr" / name, dirs_exist_ok=True, symlinks=True)
        (self.path / "etc/rc.conf").touch()
        for level in ["default", "boot", "sysinit"]:
            (self.path / "etc/runlevels" / level).mkdir(parents=True)
        for name in ["localmount"]:
            self.write(f"etc/init.d/{name}", "#!/sbin/openrc-run\nstart() { :; }\n", 0o755)
        # supervise-daemon asks PAM.
        permit = "".join(f"{kind} required pam_permit.so\n" for kind in ["account", "auth", "password", "session"])
        self.write("etc/pam.d/other", permit)
        self.write("etc/insserv.conf", "")
        # What its start of the system makes.
        for name in "daemons exclusive failed inactive options scheduled started starting stopped stopping tmp".split():
            (self.path / "run/openrc" / name).mkdir(parents=True)
        self.write("run/openrc/softlevel", "default\n")


class Openwrt(Busybox):
    """BusyBox with a small procd (rc.common). It has no logger, and no program that creates users."""

    def fill(self):
        super().fill()
        self.copy(HERE / "rc.common", "etc/rc.common")
        self.write("sbin/procd", "", 0o755)


class Service:
    """Each story begins with the program and its service, without a configuration."""

    kind = None
    home = "var/lib/peacrab"
    program = "/usr/local/bin/peacrab"

    def setUp(self):
        self.root = self.kind(stories.PROGRAM)
        self.root.__enter__()
        self.addCleanup(self.root.__exit__)
        self.root.copy(stories.PROGRAM, "opt/beside/peacrab")
        for script in (SCRIPTS / "init").iterdir():
            self.root.copy(script, f"opt/beside/init/{script.name}")
        self.root.copy(SCRIPTS / "install.sh", "opt/beside/install.sh")
        # What is logged, in a file.
        self.root.remove_program("logger")
        self.root.write("usr/bin/logger", "#!/bin/sh\nexec cat >>/tmp/log\n", 0o755)
        self.root.run(self.root.shell, "/opt/beside/install.sh").ends_with(0, "enable    the service", "Next:")

    def configure(self, text=CONFIG):
        self.root.write(f"{self.home}/config.json", text, 0o600)
        self.root.run("chown", "-R", "peacrab:peacrab", f"/{self.home}").ends_with(0)

    def control(self, action):
        return self.root.run("/etc/init.d/peacrab", action, environment={"PEACRAB_PAUSE_SECONDS": "1"})

    def answers(self):
        return self.root.run("/opt/peacrab", "--home", f"/{self.home}", "channels", "status").status == 0

    def gateway(self):
        """The process of the gateway, as it is called inside; none while it does not answer."""
        if not self.answers():
            return None
        return self.root.read(f"{self.home}/gateway.lock").strip()

    def log(self):
        return self.root.read("tmp/log") if self.root.exists("tmp/log") else ""

    def begin(self):
        self.control("start").ends_with(0)
        self.root.wait_until(self.gateway, "the gateway answers")
        return self.gateway()

    def test_it_starts_as_its_own_user_applies_settings_and_stops(self):
        self.assertNotEqual(self.control("start").status, 0)
        self.configure()
        self.assertNotEqual(self.control("status").status, 0)
        process = self.begin()
        self.control("status").ends_with(0)
        owner = self.root.run("stat", "-c", "%U %a", f"/proc/{process}", f"/{self.home}")
        owner.ends_with(0, "peacrab 555\npeacrab 700")
        self.root.wait_until(lambda: "ready" in self.log() or "started" in self.log(), "the log")
        changed = json.loads(CONFIG)
        changed["channels"]["telegram"]["allowFrom"] = ["2"]
        self.configure(json.dumps(changed))
        before = self.log()
        self.control("reload").ends_with(0)
        self.root.wait_until(lambda: "reloaded" in self.log()[len(before):], "the settings are applied")
        self.assertEqual(self.gateway(), process)
        self.control("stop").ends_with(0)
        self.assertFalse(self.answers())
        self.assertNotEqual(self.control("status").status, 0)
        self.control("stop").ends_with(0)

    def test_it_is_started_again_after_a_crash(self):
        self.configure()
        process = self.begin()
        self.root.run("kill", "-KILL", process).ends_with(0)
        self.root.wait_until(lambda: self.gateway() not in [None, process], "the gateway is back")
        self.control("restart").ends_with(0)
        self.root.wait_until(self.gateway, "the gateway is back")
        self.control("stop").ends_with(0)
        self.assertFalse(self.answers())

    def test_an_update_restarts_it_and_one_that_fails_is_rolled_back(self):
        self.configure()
        process = self.begin()
        for version, status in [("9.1.0", 0), ("9.2.0", 1)]:
            script = stories.OTHER_VERSION if status == 0 else stories.BROKEN
            self.root.write("opt/beside/peacrab", script.format(version=version), 0o755)
            ran = self.root.run(self.root.shell, "/opt/beside/install.sh", environment={"PEACRAB_READY_SECONDS": "6"})
            ran.ends_with(status, "9.1.0 is running")
            self.root.wait_until(self.gateway, "the gateway answers")
            self.assertNotEqual(self.gateway(), process)
            process = self.gateway()
        self.root.run(self.program, "--version").ends_with(0, "9.1.0")


class Sysv(Service):
    """The init script for SysV init and BusyBox."""

    def test_an_invalid_configuration_does_not_restart_it_for_ever(self):
        self.configure("{}")
        self.control("start").ends_with(0)
        self.root.wait_until(lambda: "its configuration is invalid" in self.log(), "it gives up")
        self.root.wait_until(lambda: self.control("status").status == 3, "it has ended")

    def test_a_gateway_that_does_not_stop_is_killed(self):
        self.configure()
        script = "#!/bin/sh\n[ \"$1\" != --version ] || exec /opt/peacrab --version\ntrap '' TERM\nwhile :; do sleep 1; done\n"
        self.root.write("usr/local/bin/peacrab", script, 0o755)
        text = self.root.read("etc/init.d/peacrab").replace("stop_seconds=15", "stop_seconds=1")
        self.root.write("etc/init.d/peacrab", text, 0o755)
        self.control("start").ends_with(0)
        self.control("stop").ends_with(0)
        self.control("status").ends_with(3)
        self.root.run("sh", "-c", "! ps | grep '[l]ocal/bin/peacrab'").ends_with(0)


class SysvOnBusybox(Sysv, unittest.TestCase):
    kind = Busybox


class SysvOnDebian(Sysv, unittest.TestCase):
    kind = WithoutSystemd


class OnOpenrc(Service, unittest.TestCase):
    kind = Openrc

    def test_an_invalid_configuration_is_reported_at_the_start(self):
        self.configure("{")
        self.assertNotEqual(self.control("start").status, 0)


class OnOpenwrt(Service, unittest.TestCase):
    kind = Openwrt
    home = "srv/peacrab"
    program = "/usr/bin/peacrab"

    def test_it_survives_a_new_firmware_and_is_removed_whole(self):
        kept = self.root.read("lib/upgrade/keep.d/peacrab").splitlines()
        self.assertEqual(kept[:3], [self.program, "/srv/peacrab/", "/etc/init.d/peacrab"])
        for place in kept:
            self.assertTrue(self.root.exists(place.lstrip("/")), place)
        self.configure()
        self.begin()
        ran = self.root.run(self.root.shell, "/opt/beside/install.sh", "--uninstall", "--purge", "--yes")
        ran.ends_with(0)
        for place in kept + ["/lib/upgrade/keep.d/peacrab"]:
            self.assertFalse(self.root.exists(place.lstrip("/")), place)
        self.assertNotIn("peacrab", self.root.read("etc/passwd") + self.root.read("etc/group"))

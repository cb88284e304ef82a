"""What install.sh does, told in systems of both kinds."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from release import BROKEN, OTHER_VERSION, SCRIPTS, Server, make_key, make_release, sign
from root import Busybox, Debian

# The static program to install; set by the caller.
PROGRAM = None

# Nothing answers there. The gateway is ready all the same.
CONFIG = json.dumps({"channels": {"telegram": {
    "enabled": True, "token": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "apiBase": "http://127.0.0.1:9", "allowFrom": ["1"]}}})
TARGET = "usr/local/bin/peacrab"


def make_releases():
    """Makes what all stories use."""
    global RELEASES, KEY, VERSION
    RELEASES = tempfile.TemporaryDirectory()
    folder = pathlib.Path(RELEASES.name)
    KEY = make_key(folder / "key")
    make_key(folder / "other")
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    VERSION = said.split()[1]
    make_release(folder / "real", KEY, VERSION, PROGRAM)
    make_release(folder / "newer", KEY, "9.1.0", OTHER_VERSION)
    make_release(folder / "broken", KEY, "9.2.0", BROKEN)
    (folder / "endless").mkdir()
    (folder / "endless/SHA256SUMS").write_bytes(bytes(10_000_000))
    make_release(folder / "foreign", KEY, VERSION, "\x7fELF", "riscv64")


def release(name):
    return pathlib.Path(RELEASES.name) / name


class Stories:
    """Each story has a fresh system."""

    kind = None

    def setUp(self):
        self.root = self.kind(PROGRAM)
        self.root.__enter__()
        self.addCleanup(self.root.__exit__)
        self.put("key/public.pem", "opt/key.pem")

    def put(self, name, place):
        """Puts a file or a folder of the releases into the system."""
        source = release(name)
        for path in source.glob("*") if source.is_dir() else [source]:
            self.root.copy(path, f"{place}/{path.name}" if source.is_dir() else place)

    def install(self, name, *options, **others):
        """Installs a release from a folder."""
        self.put(name, f"opt/{name}")
        return self.root.install("--from", f"/opt/{name}", "--key", "/opt/key.pem", *options, **others)

    def configure(self):
        """Installs the real program as a service that runs."""
        self.install("real").ends_with(0)
        self.root.write("var/lib/peacrab/config.json", CONFIG)
        self.root.run("chown", "-R", "peacrab:peacrab", "/var/lib/peacrab").ends_with(0)
        self.start_service()
        self.root.wait_until(self.answers, "the gateway answers")

    def answers(self):
        home = ["--home", "/var/lib/peacrab"]
        return self.root.run("/opt/peacrab", *home, "channels", "status").status == 0

    def version(self):
        return self.root.run(f"/{TARGET}", "--version").text.split()[1]

    def process(self):
        """The process of the gateway."""
        return self.root.read("var/lib/peacrab/gateway.lock").strip()

    # Installing

    def test_a_fresh_system_gets_the_program_and_a_service_and_learns_what_to_do(self):
        ran = self.install("real").ends_with(0, "the signature of the release", "the checksum of peacrab-")
        ran.ends_with(0, " onboard\n", "channels pair CODE")
        self.assertEqual(self.version(), VERSION)
        mode = (self.root.path / TARGET).stat()
        self.assertEqual((mode.st_mode & 0o777, mode.st_uid), (0o755, 0))
        self.assertTrue(self.root.exists("usr/local/share/man/man1/peacrab-agent.1"))
        self.assert_service()
        home = (self.root.path / "var/lib/peacrab").stat()
        self.assertEqual(home.st_mode & 0o777, 0o700)
        self.assertNotEqual(home.st_uid, 0)
        self.assertFalse(self.root.exists(f"{TARGET}.old"))
        self.assert_no_rests()

    def assert_no_rests(self):
        """Nothing temporary is left."""
        for name in (".peacrab.new", ".peacrab.lock"):
            self.assertFalse(self.root.exists(f"usr/local/bin/{name}"))
        rests = [path.name for path in (self.root.path / "tmp").iterdir() if path.name != "install.sh"]
        self.assertEqual(rests, [])

    def test_the_second_time_nothing_changes(self):
        self.configure()
        before, process = self.root.tree(), self.process()
        self.install("real").ends_with(0, f"{VERSION} is already installed").lacks("Next:", "restart")
        after = self.root.tree()
        ignored = ["/opt", "/var/lib/peacrab", "/var/log", "/usr/local/bin"]
        changed = [path for path in before.keys() | after.keys()
                   if before.get(path) != after.get(path) and not path.startswith(tuple(ignored))]
        self.assertEqual(changed, [])
        self.assertEqual(before[f"/{TARGET}"], after[f"/{TARGET}"])
        self.assertEqual(self.process(), process)

    def test_an_update_restarts_the_service_and_keeps_the_old_program(self):
        self.configure()
        process = self.process()
        # Another gateway of the same program, which the script did not start.
        self.root.write("root/other/config.json", CONFIG, 0o600)
        self.root.run("sh", "-c", f"/{TARGET} --home /root/other gateway >/dev/null 2>&1 </dev/null &").ends_with(0)
        asked = ["/opt/peacrab", "--home", "/root/other", "channels", "status"]
        self.root.wait_until(lambda: self.root.run(*asked).status == 0, "the other gateway answers")
        other = self.root.read("root/other/gateway.lock").strip()
        ran = self.install("newer").ends_with(0, "9.1.0 is running", f"{TARGET}.old")
        ran.ends_with(0, f"process {other} still runs the old program")
        self.assertEqual(self.version(), "9.1.0")
        self.assertEqual(self.root.run(f"/{TARGET}.old", "--version").text.split()[1], VERSION)
        self.assertTrue(self.answers())
        self.assertNotEqual(self.process(), process)

    def test_an_update_that_does_not_become_ready_is_rolled_back(self):
        self.configure()
        ran = self.install("broken").ends_with(1, "9.2.0 did not report that it is ready")
        ran.ends_with(1, f"Peacrab {VERSION} is running again")
        self.assertEqual(self.version(), VERSION)
        self.assertTrue(self.answers())

    def test_a_service_that_was_stopped_stays_stopped(self):
        self.configure()
        self.stop_service()
        self.install("newer").ends_with(0, "it is not started")
        self.assertFalse(self.answers())

    def test_an_older_version_needs_to_be_asked_for(self):
        self.install("newer", "--no-service").ends_with(0)
        self.install("real", "--no-service").ends_with(1, "which is newer", "--allow-older")
        self.assertEqual(self.version(), "9.1.0")
        self.install("real", "--no-service", "--allow-older").ends_with(0)
        self.assertEqual(self.version(), VERSION)

    def test_a_dry_run_changes_nothing(self):
        for options in [(), ("--adopt", "/home/pi/.peacrab")]:
            self.root.write("home/pi/.peacrab/config.json", CONFIG)
            self.put("real", "opt/real")
            before = self.root.tree()
            ran = self.install("real", "--dry-run", *options).ends_with(0, "nothing has been changed", "install ")
            ran.ends_with(0, f"/{TARGET}", *self.service_steps)
            self.assertEqual(self.root.tree().keys(), before.keys())
        self.assert_no_rests()
        self.configure()
        before = self.root.tree()
        self.root.install("--uninstall", "--purge", "--dry-run").ends_with(0, f"remove  /{TARGET}")
        after = self.root.tree()
        self.assertEqual({path: after[path] for path in after if "/var" not in path},
                         {path: before[path] for path in before if "/var" not in path})
        self.assertEqual(after.keys(), before.keys())

    def test_in_an_unpacked_archive_the_program_beside_the_script_is_taken(self):
        self.put("real", "opt/real")
        name = f"peacrab-{VERSION}-x86_64"
        self.root.run("sh", "-c", f"cd /opt && gzip -dc real/{name}.tar.gz | tar -xf -").ends_with(0)
        self.root.run(self.root.shell, f"/opt/{name}/install.sh", "--no-service").ends_with(0, f"/opt/{name}/peacrab")
        self.assertEqual(self.version(), VERSION)

    def test_what_others_can_have_put_beside_the_script_is_not_installed(self):
        self.put("real", "opt/real")
        name = f"peacrab-{VERSION}-x86_64"
        self.root.run("sh", "-c", f"cd /opt && gzip -dc real/{name}.tar.gz | tar -xf -").ends_with(0)
        folder = f"/opt/{name}"
        shell = (self.root.shell, f"{folder}/install.sh")
        for place in (f"{folder}/peacrab", f"{folder}/man", folder):
            self.root.run("chmod", "o+w", place).ends_with(0)
            self.root.run(*shell, "--no-service").ends_with(1, f"Others can change {place}")
            self.root.run("chmod", "o-w", place).ends_with(0)
        # A folder above that others can rename it in, or in which everyone keeps their own.
        self.root.run("sh", "-c", f"mkdir -p /opt/above && cp -a {folder} /opt/above/").ends_with(0)
        below = (self.root.shell, f"/opt/above/{name}/install.sh", "--no-service", "--dry-run")
        for mode, status in (("0777", 1), ("1777", 0), ("0755", 0)):
            self.root.run("chmod", mode, "/opt/above").ends_with(0)
            self.root.run(*below).ends_with(status)
        self.root.run("chown", "65534", "/opt/above").ends_with(0)
        self.root.run(*below).ends_with(1, "Others can change /opt/above")
        self.root.run("chown", "65534", f"{folder}/peacrab").ends_with(0)
        self.root.run(*shell, "--no-service").ends_with(1, f"Others can change {folder}/peacrab")
        self.assertFalse(self.root.exists(TARGET))
        # What was verified is the program alone.
        file = f"/opt/real/peacrab-{VERSION}-x86_64"
        self.root.write(f"opt/{name}/man/evil.1", "not checked")
        self.root.run(*shell, "--from", file, "--key", "/opt/key.pem", "--no-service").ends_with(0)
        self.assertTrue(self.root.exists(TARGET))
        self.assertFalse(self.root.exists("usr/local/share/man/man1/evil.1"))

    def test_one_file_and_another_prefix_can_be_named(self):
        self.put("real", "opt/real")
        file = f"/opt/real/peacrab-{VERSION}-x86_64"
        self.root.install("--from", file, "--key", "/opt/key.pem", "--prefix", "/srv/my", "--no-service").ends_with(0)
        self.assertTrue(self.root.exists("srv/my/bin/peacrab"))
        self.root.run("rm", "/opt/real/SHA256SUMS")
        self.root.install("--from", file, "--no-service").ends_with(1, "There is no SHA256SUMS")
        self.root.install("--from", file, "--no-service", "--no-signature").ends_with(0, "nothing is checked")
        self.assertTrue(self.root.exists(TARGET))

    def test_each_processor_gets_its_program(self):
        def features(text):
            return f"model name\t: ARMv6-compatible processor rev 7 (v6l)\nFeatures\t: {text} \nCPU architecture: 7\n"
        pi_zero, pi_two = features("half thumb fastmult vfp edsp java tls"), features("half thumb neon vfpv3 tls vfpv4")
        without_neon, without_vfp = features("half thumb vfp"), features("half thumb")
        for machine, cpuinfo, expected in [
            ("armv6l", pi_zero, "armv6"), ("armv7l", pi_two, "armv7"), ("armv8l", pi_two, "armv7"),
            ("armv7l", without_neon, "armv6"), ("aarch64", "", "arm64"), ("arm64", "", "arm64"),
            ("riscv64", "", "riscv64"), ("x86_64", "", "x86_64"),
            ("armv6l", without_vfp, None), ("armv5tel", pi_zero, None), ("i686", "", None), ("mips", "", None),
        ]:
            self.root.remove_program("uname")
            self.root.write("usr/bin/uname", f"#!/bin/sh\necho {machine}\n", 0o755)
            self.root.write("opt/cpuinfo", cpuinfo)
            self.root.run("mount", "--bind", "/opt/cpuinfo", "/proc/cpuinfo").ends_with(0)
            ran = self.root.install("--architecture")
            self.root.run("umount", "/proc/cpuinfo").ends_with(0)
            if expected:
                self.assertEqual((ran.status, ran.text), (0, expected + "\n"), machine)
            else:
                ran.ends_with(1, "This processor has no" if machine == "armv6l" else "There is no Peacrab for this")

    def test_a_32_bit_system_on_a_64_bit_kernel_gets_a_32_bit_program(self):
        self.root.remove_program("uname")
        self.root.write("usr/bin/uname", "#!/bin/sh\necho aarch64\n", 0o755)
        # Only the fifth byte of /bin/sh counts, and only dd reads it.
        self.root.remove_program("dd")
        self.root.write("usr/bin/dd", "#!/bin/sh\nprintf '\\001'\n", 0o755)
        self.root.install("--architecture").ends_with(0, "armv7\n")

    def test_an_account_installs_for_itself_and_not_for_all(self):
        self.put("real", "opt/real")
        options = ["--from", "/opt/real", "--key", "/opt/key.pem"]
        before = self.root.tree()
        self.root.install(*options, user="pi").ends_with(1, "This needs root", "--user")
        self.assertEqual(self.root.tree(), before)
        self.root.install(*options, "--user", "--no-service", user="pi").ends_with(0, "not in your PATH")
        self.assertTrue(self.root.exists("home/pi/.local/bin/peacrab"))
        self.root.install("--uninstall", "--user", user="pi").ends_with(0)
        self.assertFalse(self.root.exists("home/pi/.local/bin/peacrab"))

    # What may be wrong

    def refuse(self, name, *texts, options=()):
        """Tries to install a folder of /opt. Nothing may change."""
        before = self.root.tree()
        self.root.install("--from", f"/opt/{name}", *options).ends_with(1, *texts)
        self.assertEqual(self.root.tree().keys(), before.keys())
        self.assertFalse(self.root.exists(TARGET))
        self.assert_no_rests()

    def test_a_damaged_file_is_refused(self):
        self.put("real", "opt/real")
        place = self.root.path / f"opt/real/peacrab-{VERSION}-x86_64.tar.gz"
        data = bytearray(place.read_bytes())
        data[len(data) // 2] ^= 1
        place.write_bytes(data)
        for options in [("--key", "/opt/key.pem"), ("--no-signature",)]:
            self.refuse("real", "checksum", "is wrong", "Nothing was installed", options=options)

    def test_a_release_of_another_maker_is_refused(self):
        self.put("real", "opt/real")
        self.put("other/public.pem", "opt/other.pem")
        self.refuse("real", "made by someone else", options=("--key", "/opt/other.pem"))
        # A list that was changed after it was signed, with a program to match.
        self.root.copy(release("newer/peacrab-9.1.0-x86_64"), f"opt/real/peacrab-{VERSION}-x86_64")
        signature = (self.root.path / "opt/real/SHA256SUMS.sig").read_bytes()
        sign(self.root.path / "opt/real", release("other") / "key.pem")
        self.refuse("real", "made by someone else", options=("--key", "/opt/key.pem"))
        (self.root.path / "opt/real/SHA256SUMS.sig").write_bytes(signature)
        self.refuse("real", "made by someone else", options=("--key", "/opt/key.pem"))

    def test_the_key_in_the_script_counts_and_a_key_beside_the_files_is_remarked(self):
        self.put("real", "opt/real")
        self.refuse("real", "does not contain the key", "--no-signature")
        self.put("key/public.pem", "opt/real/release-key.pem")
        self.root.install("--from", "/opt/real", "--no-service", "--dry-run").ends_with(0, "not who made the release")
        script = (SCRIPTS / "install.sh").read_text()
        begin, end = "# BEGIN RELEASE KEY\n", "# END RELEASE KEY\n"
        head, rest = script.split(begin)
        for name, status in [("key", 0), ("other", 1)]:
            public = release(name) / "public.pem"
            text = f"{head}{begin}RELEASE_KEY='{public.read_text().strip()}'\n{end}{rest.split(end)[1]}"
            self.root.write("opt/install.sh", text)
            ran = self.root.run(self.root.shell, "/opt/install.sh", "--from", "/opt/real", "--no-service", "--dry-run")
            ran.ends_with(status).lacks("not who made the release")

    def test_without_openssl_the_signature_is_not_skipped(self):
        self.put("real", "opt/real")
        self.root.remove_program("openssl")
        self.refuse("real", "openssl is missing", "apt install openssl", options=("--key", "/opt/key.pem"))
        ran = self.root.install("--from", "/opt/real", "--no-signature", "--no-service")
        ran.ends_with(0, "the signature is not checked", "checked the checksum")

    def test_an_old_openssl_is_named_as_such(self):
        self.put("real", "opt/real")
        self.root.remove_program("openssl")
        self.root.write("usr/bin/openssl", "#!/bin/sh\necho OpenSSL 1.1.1w\n", 0o755)
        self.refuse("real", "needs OpenSSL 3", "1.1.1w", options=("--key", "/opt/key.pem"))

    def test_a_program_that_does_not_run_here_is_not_installed(self):
        self.root.remove_program("uname")
        self.root.write("bin/uname", "#!/bin/sh\necho riscv64\n", 0o755)
        self.put("foreign", "opt/foreign")
        self.refuse("foreign", "does not run on this board", options=("--key", "/opt/key.pem", "--no-service"))

    def test_a_link_in_the_place_of_the_new_program_is_not_followed(self):
        self.root.write("etc/other", "mine")
        self.root.write("usr/local/bin/x", "")
        (self.root.path / "usr/local/bin/.peacrab.new").symlink_to("/etc/other")
        self.install("real", "--no-service").ends_with(0)
        self.assertEqual(self.root.read("etc/other"), "mine")

    def test_a_full_disk_changes_nothing(self):
        self.install("newer", "--no-service").ends_with(0)
        mount = ["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/usr/local/bin"]
        self.root.run(*mount).ends_with(0)
        self.root.write(TARGET, OTHER_VERSION.format(version="0.0.1"), 0o755)
        self.install("real", "--no-service").ends_with(1, "enough space", "Nothing was installed")
        self.assertEqual(self.version(), "0.0.1")
        self.assert_no_rests()

    def test_a_full_disk_does_not_prevent_going_back(self):
        self.configure()
        # Too little for a second copy of the program.
        size = PROGRAM.stat().st_size + 1_000_000
        mount = ["/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "/usr/local/bin"]
        self.root.run(*mount).ends_with(0)
        self.root.copy(PROGRAM, TARGET)
        self.install("broken").ends_with(1, f"Peacrab {VERSION} is running again")
        self.assertEqual(self.version(), VERSION)

    def test_the_service_is_restarted_where_the_manual_cannot_be_written(self):
        self.configure()
        self.root.run("/bin/mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "/usr/local/share").ends_with(0)
        self.install("newer").ends_with(0, "cannot write the manual", "9.1.0 is running")

    def test_a_package_is_not_replaced(self):
        self.install("real", "--no-service").ends_with(0)
        self.root.write("usr/bin/dpkg-query", "#!/bin/sh\necho installed\n", 0o755)
        self.root.install("--uninstall", "--purge", "--yes").ends_with(1, "installed as a package")
        # Ours hides that of the package.
        self.root.install("--uninstall").ends_with(0, f"remove  /{TARGET}")
        self.refuse("real", "installed as a package", "sudo apt install")
        self.root.install("--uninstall").ends_with(1, "installed as a package")

    def test_wrong_options_are_refused_before_anything_happens(self):
        for options in [("--frm", "x"), ("--from",), ("--from", "ftp://x"), ("--purge",), ()]:
            self.root.install(*options).ends_with(2, "--help")
        self.root.install("--help").ends_with(0, "curl -fsSL")

    def test_a_script_that_was_cut_off_does_nothing(self):
        self.put("real", "opt/real")
        whole = (SCRIPTS / "install.sh").read_text()
        before = self.root.tree()
        for part in range(1, 20):
            text = whole[: len(whole) * part // 20]
            words = ["-s", "--", "--from", "/opt/real", "--no-signature", "--no-service"]
            self.root.run(self.root.shell, *words, input=text)
        # All but the last line's end.
        self.root.run(self.root.shell, *words, input=whole[:-len('main "$@"\n')])
        self.assertEqual(self.root.tree(), before)
        self.root.run(self.root.shell, *words, input=whole).ends_with(0)
        self.assertEqual(self.version(), VERSION)

    # From a server

    def test_a_release_is_downloaded(self):
        server = Server(release("real"))
        self.addCleanup(server.close)
        for program in self.downloaders:
            options = ["--from", f"{server.address}/", "--key", "/opt/key.pem", "--no-service", "--prefix", f"/srv/{program}"]
            self.root.install(*options).ends_with(0, "checked the signature")
            self.assertTrue(self.root.exists(f"srv/{program}/bin/peacrab"))
            self.root.remove_program(program)
        self.root.install(*options).ends_with(1, "Install curl or wget")
        self.root.install("--from", server.address, "--no-signature").ends_with(1, "must begin with https")
        self.assertNotIn("release-key.pem", server.asked)

    def test_versions_are_in_order(self):
        script = (SCRIPTS / "install.sh").read_text()
        function = script[script.index("is_older() {"):].split("\n}\n")[0] + "\n}\n"
        order = ["0.9.0", "1.0.0-rc1", "1.0.0-rc2", "1.0.0-rc10", "1.0.0", "1.0.10"]
        for at, one in enumerate(order):
            for behind, other in enumerate(order):
                ran = self.root.run(self.root.shell, "-c", f"{function}is_older {one} {other}")
                self.assertEqual(ran.status, int(at >= behind), f"{one} {other}")

    def test_a_key_in_the_current_folder_is_none_of_a_server_s(self):
        server = Server(release("real"))
        self.addCleanup(server.close)
        planted = f"opt/here/{server.address.replace('//', '/')}"
        self.root.run("mkdir", "-p", f"/{planted}").ends_with(0)
        self.put("key/public.pem", f"{planted}/release-key.pem")
        script = (SCRIPTS / "install.sh").read_text()
        ran = self.root.run("sh", "-c", f"cd /opt/here && {self.root.shell} -s -- --from {server.address} --no-service", input=script)
        ran.ends_with(1, "does not contain the key")

    def test_without_a_signature_only_curl_downloads(self):
        # The others follow a redirect to http, or do not check who answers.
        self.root.remove_program("curl")
        self.root.install("--from", "https://127.0.0.1:1", "--no-signature").ends_with(1, "downloads need curl")

    def test_a_folder_on_a_server_may_have_a_name_like_a_file(self):
        server = Server(release("real").parent)
        self.addCleanup(server.close)
        folder = release(f"peacrab-for-{type(self).__name__}")
        folder.symlink_to("real")
        options = ["--key", "/opt/key.pem", "--no-service"]
        for name in ["", "/", f"/peacrab-{VERSION}-x86_64"]:
            self.root.install("--from", f"{server.address}/{folder.name}{name}", *options).ends_with(0)

    def test_a_download_that_breaks_off_is_tried_again_and_given_up(self):
        server = Server(release("real"))
        self.addCleanup(server.close)
        name = f"peacrab-{VERSION}-x86_64.tar.gz"
        options = ["--from", server.address, "--key", "/opt/key.pem", "--no-service"]
        server.cut = {name: 9}
        self.root.install(*options).ends_with(1)
        self.assertFalse(self.root.exists(TARGET))
        self.assert_no_rests()
        server.cut = {name: 1}
        self.root.install(*options).ends_with(0)
        self.root.install("--from", f"{server.address}/none", *options[2:]).ends_with(1, "Cannot download")

    def test_a_download_that_does_not_end_is_cut_off(self):
        server = Server(release("endless"))
        self.addCleanup(server.close)
        self.root.install("--from", server.address, "--no-service").ends_with(1, "Cannot download")
        self.assert_no_rests()

    # Adopting and removing

    def test_an_existing_home_is_adopted(self):
        self.root.write("home/pi/.peacrab/config.json", CONFIG)
        self.root.write("home/pi/.peacrab/workspace/note.txt", "Water the plants.")
        self.install("real", "--adopt", "/home/pi/none").ends_with(1, "config.json is missing")
        self.install("real", "--adopt", "/home/pi/.peacrab").ends_with(0, "/home/pi/.peacrab.old")
        self.root.wait_until(self.answers, "the gateway answers")
        self.assertEqual(self.root.read("var/lib/peacrab/workspace/note.txt"), "Water the plants.")
        owner = (self.root.path / "var/lib/peacrab/workspace/note.txt").stat().st_uid
        self.assertEqual(owner, (self.root.path / "var/lib/peacrab").stat().st_uid)
        self.assertFalse(self.root.exists("home/pi/.peacrab"))

    def test_removing_keeps_the_data_and_purging_does_not(self):
        self.configure()
        ran = self.root.install("--uninstall").ends_with(0, "keep    /var/lib/peacrab")
        self.assertFalse(self.answers())
        for place in [TARGET, "usr/local/share/man/man1/peacrab.1", "etc/init.d/peacrab", "etc/systemd/system/peacrab.service"]:
            self.assertFalse(self.root.exists(place), place)
        self.assertTrue(self.root.exists("var/lib/peacrab/config.json"))
        self.root.install("--uninstall").ends_with(0, "not installed")
        self.root.install("--uninstall", "--purge").ends_with(1, "--yes")
        self.root.answer("n", "--uninstall", "--purge").ends_with(1, "Delete /var/lib/peacrab", "Nothing was removed")
        self.assertTrue(self.root.exists("var/lib/peacrab/config.json"))
        # It comes back to its data.
        self.install("real").ends_with(0).lacks("peacrab onboard\n")
        self.root.wait_until(self.answers, "the gateway answers")
        self.root.answer("y", "--uninstall", "--purge").ends_with(0)
        self.assertFalse(self.root.exists("var/lib/peacrab"))
        self.assertNotIn("peacrab", self.root.read("etc/passwd"))


class OnDebian(Stories, unittest.TestCase):
    """dash, the programs of this machine, systemd (a fake one)."""

    kind = Debian
    downloaders = ["curl", "wget"]
    service_steps = ["peacrab service install --system"]

    def start_service(self):
        self.root.run("systemctl", "start", "--no-block", "peacrab.service").ends_with(0)

    def stop_service(self):
        self.root.run("systemctl", "stop", "peacrab.service").ends_with(0)

    def assert_service(self):
        unit = self.root.read("etc/systemd/system/peacrab.service")
        self.assertIn(f"\nExecStart=/{TARGET} gateway\n", unit)
        self.assertIn("enable peacrab.service", self.root.asked())


    def test_a_per_user_service_is_set_up_updated_and_removed(self):
        self.put("real", "opt/real")
        self.put("newer", "opt/newer")
        self.put("broken", "opt/broken")
        self.root.run("mkdir", "-p", "/home/pi/.peacrab", user="pi").ends_with(0)
        self.root.write("home/pi/.peacrab/config.json", CONFIG, 0o600)
        self.root.run("chown", "-R", "pi:pi", "/home/pi").ends_with(0)

        def install(name):
            return self.root.install("--user", "--from", f"/opt/{name}", "--key", "/opt/key.pem", user="pi")

        def answers():
            return self.root.run("/opt/peacrab", "channels", "status", user="pi").status == 0

        install("real").ends_with(0, "peacrab service install --user")
        self.root.wait_until(answers, "the gateway answers")
        install("newer").ends_with(0, "9.1.0 is running")
        install("broken").ends_with(1, "Peacrab 9.1.0 is running again")
        self.assertTrue(answers())
        self.root.install("--uninstall", "--user", user="pi").ends_with(0, "keep    /home/pi/.peacrab")
        self.assertFalse(answers())
        self.assertFalse(self.root.exists("home/pi/.config/systemd/user/peacrab.service"))

    def test_one_installs_at_a_time(self):
        self.install("newer", "--no-service").ends_with(0)
        self.put("real", "opt/real")
        install = f"{self.root.shell} /tmp/install.sh --from /opt/real --key /opt/key.pem --no-service --allow-older"
        self.root.run("flock", "/usr/local/bin/.peacrab.lock", "sh", "-c", install).ends_with(1, "Another update is running")
        self.assertEqual(self.version(), "9.1.0")
        (self.root.path / "usr/local/bin/.peacrab.lock").unlink()
        self.assert_no_rests()

    def test_a_service_follows_a_package_that_was_removed(self):
        # What its postrm leaves (deb-systemd-helper mask).
        (self.root.path / "etc/systemd/system/peacrab.service").symlink_to("/dev/null")
        self.install("real").ends_with(0)
        self.assert_service()

    def test_a_home_with_spaces_is_found(self):
        self.install("real", "--no-service").ends_with(0)
        self.root.write("home/my home/config.json", CONFIG)
        unit = "etc/systemd/system/peacrab.service"
        self.root.write(unit, f'[Service]\nUser=root\nExecStart=/{TARGET} --home "/home/my home" gateway\n')
        ran = self.root.install("--uninstall", "--dry-run", "--purge")
        ran.ends_with(0, "remove  /home/my home\n")

    def test_a_service_that_is_there_can_adopt_a_home(self):
        self.install("real").ends_with(0)
        self.root.write("home/pi/.peacrab/config.json", CONFIG)
        self.install("real", "--adopt", "/home/pi/.peacrab").ends_with(0, "/home/pi/.peacrab.old")
        self.root.wait_until(self.answers, "the gateway answers")


class OnBusybox(Stories, unittest.TestCase):
    """BusyBox's shell and programs only; the SysV init script."""

    kind = Busybox
    downloaders = ["wget"]
    service_steps = ["/etc/init.d/peacrab"]

    def start_service(self):
        self.root.run("/etc/init.d/peacrab", "start").ends_with(0)

    def stop_service(self):
        self.root.run("/etc/init.d/peacrab", "stop").ends_with(0)

    def test_a_prefix_that_the_init_script_cannot_have_is_refused(self):
        self.put("real", "opt/real")
        before = self.root.tree()
        self.root.install("--from", "/opt/real", "--prefix", "/srv/my & apps").ends_with(2, "--prefix /srv/my & apps")
        self.assertEqual(self.root.tree(), before)

    def assert_service(self):
        self.assertIn(f"\nprogram=/{TARGET}\n", self.root.read("etc/init.d/peacrab"))
        self.assertTrue(self.root.exists("etc/init.d/S99peacrab"))

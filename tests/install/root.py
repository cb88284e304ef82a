"""A throwaway system: a root folder in namespaces of its own, where everything can be installed and broken."""

import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "scripts"
COMMAND_SECONDS = 40
START_SECONDS = 20

# Reaps what is left to it, as the first process of a system does, and ends with everything when it is killed.
FIRST_PROCESS = """exec python3 -c 'import signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
time.sleep(10**9)'"""

PASSWD = "root:x:0:0:root:/root:/bin/sh\npi:x:1000:1000::/home/pi:/bin/sh\n"
GROUP = "root:x:0:\npi:x:1000:\nnogroup:x:65534:\n"
FOLDERS = "bin dev etc etc/init.d home/pi lib opt proc root run srv sys tmp usr/bin usr/local/bin usr/sbin var/lib var/log"


class Ran:
    """What a command printed, and its status."""

    def __init__(self, done):
        self.status = done.returncode
        self.text = done.stdout + done.stderr

    def ends_with(self, status, *texts):
        assert self.status == status, f"status {self.status}, not {status}:\n{self.text}"
        for text in texts:
            assert text in self.text, f"{text!r} is missing in:\n{self.text}"
        return self

    def lacks(self, *texts):
        for text in texts:
            assert text not in self.text, f"{text!r} is in:\n{self.text}"
        return self


class Root:
    """The base of both kinds of system. `with` starts it and removes it."""

    shell = "/bin/sh"
    mounts = ""

    def __init__(self, program):
        self.program = program
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peacrab-install-"))
        self.path = self.folder / "root"

    def __enter__(self):
        script = f"""set -e
            mount --make-rprivate /
            mount -t tmpfs tmpfs {self.folder}
            mkdir {self.path} && cd {self.path} && mkdir -p {FOLDERS}
            chmod 1777 tmp
            mount --rbind /dev dev
            mount -t proc proc proc
            {self.mounts}
            {FIRST_PROCESS}
            """
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        self.holder = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if self.holder.stdout.readline() != "up\n":
            raise SystemExit("cannot start a throwaway system: this needs root and a kernel with namespaces")
        children = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        self.first = pathlib.Path(children).read_text().split()[0]
        # The mounts are seen through the first process.
        self.path = pathlib.Path(f"/proc/{self.first}/root{self.path}")
        self.write("etc/passwd", PASSWD)
        self.write("etc/group", GROUP)
        os.chown(self.path / "home/pi", 1000, 1000)
        self.copy(self.program, "opt/peacrab")
        self.fill()
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(self):
        """Puts in what this kind of system has."""

    def write(self, name, text, mode=0o644):
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink() or place.exists():
            place.unlink()
        place.write_text(text)
        place.chmod(mode)

    def copy(self, source, name):
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        place.chmod(0o755)

    def copy_program(self, name):
        """Copies a program with its libraries."""
        found = shutil.which(name)
        self.copy(found, f"usr/bin/{name}")
        listed = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
        for word in listed.split():
            if word.startswith("/"):
                self.copy(word, word.lstrip("/"))

    def read(self, name):
        return (self.path / name).read_text()

    def exists(self, name):
        return os.path.lexists(self.path / name)

    def remove_program(self, name):
        for folder in ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "bin", "sbin"]:
            (self.path / folder / name).unlink(missing_ok=True)

    def run(self, *words, user=None, input=None, environment=()):
        """Runs a command in the system. Standard input is closed unless `input` is given."""
        command = self.command(*words, user=user, environment=environment)
        stdin = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        return Ran(subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=COMMAND_SECONDS, start_new_session=True, check=False, **stdin))

    def command(self, *words, user=None, environment=()):
        """The command line that runs a command in the system."""
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        home = "/home/pi" if user else "/root"
        userspec = ["--userspec=1000:1000"] if user else []
        inside = ["nsenter", "-t", self.first, "-m", "-p", "chroot", *userspec, str(self.folder / "root")]
        variables = {"PATH": path, "HOME": home, **dict(environment)}
        settings = [f"{name}={value}" for name, value in variables.items()]
        return [*inside, "/usr/bin/env", "-i", *settings, *words]

    def install(self, *options, **others):
        """Runs install.sh with this system's shell."""
        self.copy(SCRIPTS / "install.sh", "tmp/install.sh")
        environment = {"PEACRAB_READY_SECONDS": "4", **others.pop("environment", {})}
        return self.run(self.shell, "/tmp/install.sh", *options, environment=environment, **others)

    def answer(self, text, *options):
        """Runs install.sh in a terminal, where a question gets this answer."""
        outer, inner = pty.openpty()
        command = self.command("/bin/sh", "-c", 'exec setsid -c "$@"', "sh", self.shell, "/tmp/install.sh", *options)
        with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, start_new_session=True) as process:
            os.close(inner)
            os.write(outer, f"{text}\n".encode())
            shown = b""
            try:
                while part := os.read(outer, 4096):
                    shown += part
            except OSError:
                # The terminal has ended with the program.
                pass
            process.wait(COMMAND_SECONDS)
        os.close(outer)
        return Ran(subprocess.CompletedProcess(command, process.returncode, shown.decode(), ""))

    def tree(self):
        """Every file with its kind, mode, owner, size and time, apart from /proc, /dev, /run and /tmp."""
        found = {}
        for folder in ["etc", "home", "opt", "root", "srv", "usr/local", "usr/bin", "var"]:
            for at, folders, files in os.walk(self.path / folder):
                for name in folders + files:
                    stat = os.lstat(os.path.join(at, name))
                    place = os.path.join(at, name)[len(str(self.path)):]
                    found[place] = (stat.st_mode, stat.st_uid, stat.st_size, stat.st_mtime_ns, stat.st_ino)
        return found

    def wait_until(self, is_so, what):
        end = time.monotonic() + START_SECONDS
        while not is_so():
            assert time.monotonic() < end, f"not within {START_SECONDS} s: {what}"
            time.sleep(0.05)


class Debian(Root):
    """This machine's programs with dash, and a systemctl that starts the unit's program (fake_systemctl)."""

    shell = "/bin/dash"
    mounts = """rmdir bin lib
            for name in bin lib lib64 sbin; do ln -s usr/$name $name; done
            rm -r usr && mkdir usr ../upper ../work
            mount -t overlay overlay -o lowerdir=/usr,upperdir=../upper,workdir=../work usr"""

    def fill(self):
        for name in ["ld.so.cache", "ld.so.conf"]:
            if os.path.exists(f"/etc/{name}"):
                self.copy(f"/etc/{name}", f"etc/{name}")
        # Other sources have accounts that the files do not have.
        self.write("etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
        if not self.exists("usr/bin/awk") or (self.path / "usr/bin/awk").is_symlink():
            # Debian's leads through /etc/alternatives.
            self.remove_program("awk")
            (self.path / "usr/bin/awk").symlink_to("mawk" if self.exists("usr/bin/mawk") else "gawk")
        (self.path / "run/systemd/system").mkdir(parents=True)
        (self.path / "etc/systemd/system").mkdir(parents=True)
        self.remove_program("systemctl")
        self.copy(HERE / "fake_systemctl", "usr/bin/systemctl")

    def asked(self):
        """What systemctl was asked."""
        return self.read("run/asked").splitlines() if self.exists("run/asked") else []


class Busybox(Root):
    """BusyBox and nothing else, but openssl. /etc/init.d starts services, in the manner of SysV."""

    shell = "/bin/sh"

    def fill(self):
        self.copy_program("busybox")
        self.copy_program("openssl")
        listed = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True)
        for applet in listed.stdout.split():
            if applet not in ["busybox", "dpkg", "dpkg-deb", "rpm", "uname"]:
                (self.path / "bin" / applet).symlink_to("/usr/bin/busybox")
        for name in ["env", "uname"]:
            (self.path / "usr/bin" / name).symlink_to("busybox")
        (self.path / "etc/init.d/rcS").touch()

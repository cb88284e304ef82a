"""The system of a board: Debian's kernel and the programs that the tests use, in two images from which a
machine starts. Nothing is installed on the host: apt works in a separate folder."""

import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MIRROR = "http://deb.debian.org/debian"
# The release of the disk; a kernel can be another one's.
RELEASE = "trixie"
# The other name of a release's lists: in the middle of an update a mirror can have a list that does not match its signed
# checksum, while those under the other name still do.
OTHER_NAMES = {"trixie": "stable", "bookworm": "oldstable"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The programs that tests/confine runs, besides Debian's essential packages.
PACKAGES = """base-files base-passwd bash busybox-static coreutils dash debianutils diffutils findutils git
grep gzip hostname kmod libc-bin login mawk mount ncurses-base passwd perl procps python3 sed strace
tar tzdata util-linux xz-utils""".split()
# The drivers for the disk and the network card of a virtual machine, and for its file system.
DRIVERS = "virtio_mmio virtio_blk virtio_net crc32c_generic ext4".split()
IMAGE_SIZE = "1G"
KERNELS = "linux-image-"


class System:
    """A kernel, an initramfs that finds the disk, and a disk with a root file system. Boards of one
    architecture share the disk."""

    def __init__(self, board, cache, emulator):
        self.board, self.emulator = board, emulator
        self.folder = cache / board.architecture
        self.kernel = self.folder / f"{board.kernel}.vmlinuz"
        self.initramfs = self.folder / f"{board.kernel}.initramfs"
        self.disk = self.folder / "root.img"

    def make(self):
        """Makes the images that are missing, or that an older recipe made."""
        kernel = Recipe(self.kernel, [HERE / "system.py", HERE / "machine/init"])
        disk = Recipe(self.disk, [HERE / "system.py", HERE / "machine/furnish", HERE / "machine/start"])
        if kernel.is_done() and disk.is_done():
            return
        say(f"{self.board.name}: fetching Debian's kernel and tools")
        mirror = Mirror(self.folder, RELEASE, self.board.architecture)
        tools = mirror.fetch(PACKAGES)
        if not kernel.is_done():
            if self.board.release != RELEASE:
                mirror = Mirror(self.folder, self.board.release, self.board.architecture)
            package = mirror.kernel(self.board.kernel)
            say(f"{self.board.name}: making the kernel's image")
            self.make_kernel(package, next(deb for deb in tools if deb.name.startswith("busybox-static_")))
            kernel.note()
        if not disk.is_done():
            say(f"{self.board.name}: making the disk's image")
            self.make_disk(tools)
            disk.note()

    def make_kernel(self, package, busybox_package):
        """The kernel, and an initramfs with the drivers that it needs to find the disk."""
        unpacked = fresh(self.folder / "kernel")
        run("dpkg-deb", "-x", package, unpacked)
        shutil.copy(next(unpacked.glob("boot/vmlinu?-*")), self.kernel)
        root = fresh(self.folder / "initramfs.d")
        for name in ("dev", "proc", "sys", "root", "bin"):
            (root / name).mkdir()
        busybox = fresh(self.folder / "busybox")
        run("dpkg-deb", "-x", busybox_package, busybox)
        shutil.copy(next(busybox.glob("**/bin/busybox")), root / "bin/busybox")
        shutil.copy(HERE / "machine/init", root / "init")
        modules = {file.name.split(".")[0].replace("-", "_"): file for file in unpacked.rglob("*.ko*")}
        names = []
        for driver in DRIVERS:
            load(driver, modules, root, names)
        (root / "modules").write_text("".join(f"{name}\n" for name in names))
        with self.initramfs.open("wb") as image:
            run("sh", "-c", "find . | cpio --quiet -o -H newc -R 0:0", cwd=root, stdout=image)
        for folder in (unpacked, root, busybox):
            shutil.rmtree(folder)

    def make_disk(self, packages):
        """The root file system. fakeroot keeps owners and modes where this is not run by root."""
        root = fresh(self.folder / "root.d")
        image = self.folder / "new.img"
        image.unlink(missing_ok=True)
        # The package with the links from /bin to /usr/bin and the like comes first.
        packages = sorted(packages, key=lambda deb: not deb.name.startswith("base-files_"))
        command = [HERE / "machine/furnish", root, image, IMAGE_SIZE, HERE / "machine/start", *packages]
        run(*([] if os.getuid() == 0 else ["fakeroot"]), "sh", *command)
        shutil.rmtree(root)
        image.rename(self.disk)


class Mirror:
    """The packages of one release and architecture, from Debian's mirror, kept in a folder of their own."""

    def __init__(self, folder, release, architecture):
        self.release, self.architecture = release, architecture
        self.folder = folder / ("apt" if release == RELEASE else f"apt-{release}")
        self.debs = self.folder / "archives"
        self.update_lists()

    def fetch(self, packages):
        """Returns the files of the packages, and of what they depend on."""
        self.apt("apt-get", "-q", "-y", "--download-only", "install", *packages)
        # Older versions of them, which the mirror no longer has.
        self.apt("apt-get", "-q", "autoclean")
        return [deb for deb in self.debs.glob("*.deb") if not deb.name.startswith(KERNELS)]

    def kernel(self, package):
        """Returns the file of the newest kernel, on which a package depends."""
        kernel = re.search(r"Depends: (linux-image-\S+)", self.apt("apt-cache", "depends", package))[1]
        if not any(self.debs.glob(f"{kernel}_*")):
            self.apt("apt-get", "-q", "download", kernel)
        return next(self.debs.glob(f"{kernel}_*.deb"))

    def update_lists(self):
        """Always, because what older lists name may be gone from the mirror."""
        self.configure(self.release)
        problem = self.try_apt("apt-get", "-q", "update")[1]
        if not problem:
            return
        other = OTHER_NAMES[self.release]
        say(f"the mirror's lists of {self.release} do not match; trying those of {other}")
        self.configure(other)
        self.apt("apt-get", "-q", "update")
        signed = next((self.folder / "lists").glob(f"*_{other}_InRelease")).read_text()
        if f"\nCodename: {self.release}\n" not in signed:
            sys.exit(problem)

    def configure(self, name):
        for folder in ("lists/partial", "archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {name} main\n")
        (self.folder / "apt.conf").write_text(
            f"""Dir "{self.folder}";
Dir::State "{self.folder}";
Dir::State::Status "{self.folder}/status";
Dir::Cache "{self.folder}";
Dir::Etc "{self.folder}/etc";
APT::Architecture "{self.architecture}";
APT::Architectures {{ "{self.architecture}"; }};
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "5";
"""
        )

    def apt(self, *command):
        output, problem = self.try_apt(*command)
        if problem:
            sys.exit(problem)
        return output

    def try_apt(self, *command):
        """Its output, and the problem or ""."""
        environment = os.environ | {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        done = subprocess.run(
            command, env=environment, cwd=self.debs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.stdout, f"{' '.join(command)}:\n{done.stdout}" if done.returncode != 0 else ""


class Recipe:
    """What an image was made from, in a file beside it: the text of its sources."""

    def __init__(self, image, sources):
        self.image, self.file = image, image.with_name(f"{image.name}.recipe")
        self.text = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()

    def is_done(self):
        return self.image.exists() and self.file.exists() and self.file.read_text() == self.text

    def note(self):
        self.file.write_text(self.text)


def load(name, modules, root, names):
    """Puts a module and its dependencies into the initramfs. Built-in drivers have no file."""
    if name in names or name not in modules:
        return
    content = modules[name].read_bytes()
    if modules[name].suffix == ".xz":
        content = lzma.decompress(content)
    for needed in re.search(rb"\0depends=([^\0]*)\0", content)[1].decode().split(","):
        load(needed.replace("-", "_"), modules, root, names)
    (root / f"{name}.ko").write_bytes(content)
    names.append(name)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def say(text):
    print(f"boards: {text}", file=sys.stderr, flush=True)

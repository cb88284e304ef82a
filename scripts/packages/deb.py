"""The Debian packages."""

import calendar
import hashlib
import re
import textwrap
import time
from pathlib import Path

from release import TOP, output
from tree import Tree, compress

HERE = Path(__file__).parent / "debian"
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
# The unit and the init script name the program where install.sh puts it.
ELSEWHERE, HERE_BIN = "/usr/local/bin/peacrab", "/usr/bin/peacrab"

# What Debian's init scripts begin with: where systemd runs, it continues with systemctl.
END = "### END INIT INFO\n"
SYSTEMD = "# With systemd, this is systemctl.\n[ ! -r /lib/lsb/init-functions ] || . /lib/lsb/init-functions\n"


def build(release, contents, architecture, work, to):
    """Makes the package of an architecture and returns its file."""
    tree = Tree(work / f"deb-{architecture.name}")
    tree.add("usr/bin/peacrab", release.binary(architecture), 0o755)
    add_service(tree)
    add_documents(tree, release, contents)
    add_control(tree, release, architecture)
    file = to / f"peacrab_{release.version}_{architecture.deb}.deb"
    # One thread, because the result of several depends on their number.
    output("dpkg-deb", "--build", "--root-owner-group", "-Zxz", "--threads-max=1", tree.folder, file)
    return file


def add_service(tree):
    unit = (TOP / "scripts/systemd/system-hardened.service").read_text()
    unit = unit.replace("`peacrab service install` writes this file; make", "Make")
    tree.add("usr/lib/systemd/system/peacrab.service", moved(unit))
    users = (TOP / "scripts/systemd/peacrab.sysusers").read_text()
    tree.add("usr/lib/sysusers.d/peacrab.conf", users[users.index("\nu ") + 1 :])
    tree.add("etc/init.d/peacrab", init_script(), 0o755)
    # Not in /etc: postinst copies it where AppArmor can read it (version 4).
    tree.add("usr/share/peacrab/apparmor", TOP / "scripts/systemd/apparmor/peacrab")


def init_script():
    text = moved((TOP / "scripts/init/peacrab.sysv").read_text())
    return text.replace(END, END + SYSTEMD, 1)


def moved(text):
    assert ELSEWHERE in text
    return text.replace(ELSEWHERE, HERE_BIN)


def add_documents(tree, release, contents):
    for name, page in contents.pages.items():
        tree.add(f"usr/share/man/man1/{name}.gz", compress(page.encode()))
    folders = {
        "peacrab": "bash-completion/completions",
        "_peacrab": "zsh/vendor-completions",
        "peacrab.fish": "fish/vendor_completions.d",
    }
    for name, text in contents.completions.items():
        tree.add(f"usr/share/{folders[name]}/{name}", text)
    documents = "usr/share/doc/peacrab"
    tree.add(f"{documents}/copyright", HERE / "copyright")
    tree.add(f"{documents}/README.Debian", HERE / "README.Debian")
    tree.add(f"{documents}/changelog.gz", compress(changelog(release).encode()))
    tree.add(f"{documents}/LICENSES-THIRD-PARTY.gz", compress(contents.third_party.encode()))
    tree.add("usr/share/lintian/overrides/peacrab", HERE / "lintian-overrides")


def add_control(tree, release, architecture):
    """The control files. Everything in /etc is kept when the administrator has changed it."""
    files = sorted(file for file in tree.folder.rglob("*") if file.is_file())
    fields = {
        "version": debian_version(release.version),
        "architecture": architecture.debian,
        "size": sum(-(-file.stat().st_size // 1024) for file in files),
    }
    control = (HERE / "control").read_text()
    for name, value in fields.items():
        control = control.replace(f"@{name}@", str(value))
    paths = [f"/{file.relative_to(tree.folder)}" for file in files]
    sums = [hashlib.md5(file.read_bytes()).hexdigest() for file in files]
    tree.add("DEBIAN/control", control)
    tree.add("DEBIAN/conffiles", "".join(f"{path}\n" for path in paths if path.startswith("/etc/")))
    tree.add("DEBIAN/md5sums", "".join(f"{sum}  {path[1:]}\n" for sum, path in zip(sums, paths)))
    for name in SCRIPTS:
        tree.add(f"DEBIAN/{name}", HERE / name, 0o755)


def debian_version(version):
    """A pre-release comes before its release: 0.2.0-rc.1 is 0.2.0~rc.1."""
    return version.replace("-", "~")


def changelog(release):
    """CHANGELOG.md in Debian's form. Its first entry is this version's, whatever its heading says."""
    parts = re.split(r"^## (.+)\n", (TOP / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    maintainer = re.search(r"^Maintainer: (.+)$", (HERE / "control").read_text(), re.M)[1]
    entries = []
    for heading, text in zip(parts[::2], parts[1::2]):
        version, _, day = heading.partition(" - ")
        seconds = calendar.timegm(time.strptime(day, "%Y-%m-%d")) if entries else release.epoch
        date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(seconds))
        version = debian_version(version if entries else release.version)
        changes = "\n".join(wrapped(item) for item in re.split(r"\n+(?=- |\*\*)", text.strip()))
        entries.append(f"peacrab ({version}) unstable; urgency=medium\n\n{changes}\n\n -- {maintainer}  {date}\n")
    return "\n".join(entries)


def wrapped(item):
    """A heading or an item of a list in CHANGELOG.md, as Debian writes them."""
    text = " ".join(item.split())
    if text.startswith("**"):
        return f"\n  [ {text.strip('*')} ]"
    return textwrap.fill(text.removeprefix("- "), 78, initial_indent="  * ", subsequent_indent="    ")

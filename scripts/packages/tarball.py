"""The archives for systems without a package of their own: the program and what install.sh needs beside it."""

from release import TOP
from tree import Tree, compress

# The files in init/, and where they are in the clone.
INIT = {
    "peacrab.service": "scripts/systemd/system-hardened.service",
    "peacrab.sysusers": "scripts/systemd/peacrab.sysusers",
    "peacrab.apparmor": "scripts/systemd/apparmor/peacrab",
    "peacrab.openrc": "scripts/init/peacrab.openrc",
    "peacrab.sysv": "scripts/init/peacrab.sysv",
    "peacrab.openwrt": "scripts/init/peacrab.openwrt",
}
SCRIPTS = ("peacrab.openrc", "peacrab.sysv", "peacrab.openwrt")


def build(release, contents, architecture, work, to):
    """Makes the archive of an architecture and returns its file."""
    name = f"peacrab-{release.version}-{architecture.name}"
    tree = Tree(work / name)
    tree.add("peacrab", release.binary(architecture), 0o755)
    tree.add("install.sh", contents.installer, 0o755)
    for document in ("README.md", "CHANGELOG.md", "SECURITY.md", "ARCHITECTURE.md", "LICENSE-APACHE", "LICENSE-MIT"):
        tree.add(document, TOP / document)
    # Where README's links lead.
    for page in sorted((TOP / "docs").rglob("*.*")):
        tree.add(page.relative_to(TOP), page)
    tree.add("LICENSE-THIRD-PARTY", contents.third_party)
    for page, text in contents.pages.items():
        tree.add(f"man/{page}", text)
    for completion, text in contents.completions.items():
        tree.add(f"completions/{completion}", text)
    for path, source in INIT.items():
        tree.add(f"init/{path}", TOP / source, 0o755 if path in SCRIPTS else 0o644)
    file = to / f"{name}.tar.gz"
    file.write_bytes(compress(tree.tar(release.epoch, prefix=f"{name}/")))
    return file

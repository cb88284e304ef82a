"""The container image, for all architectures in one file (OCI image layout). No container engine is needed.

It contains the program and nothing else: no shell, no libraries. The certificates are in the program."""

import hashlib
import io
import json
import tarfile
import time

from release import ARCHITECTURES
from tree import Tree, compress

# A number that no account of a host has by chance.
USER = 65532
HOME = "var/lib/peacrab"
MEDIA = "application/vnd.oci.image"


def build(release, contents, work, to):
    """Makes the image and returns its file."""
    blobs = {}

    def store(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": f"{MEDIA}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    images = [image(release, contents, architecture, work, store) for architecture in ARCHITECTURES]
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": images}
    top = store("index.v1+json", encode(index))
    top["annotations"] = {"org.opencontainers.image.ref.name": release.version}
    files = {
        "oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": encode(index | {"manifests": [top]}),
    }
    files |= {f"blobs/sha256/{digest}": content for digest, content in blobs.items()}
    file = to / f"peacrab-{release.version}-oci.tar"
    file.write_bytes(archive(files, release.epoch))
    return file


def image(release, contents, architecture, work, store):
    """Stores the image of an architecture and returns its descriptor."""
    layer = root(release, contents, architecture, work).tar(release.epoch, owners={HOME: USER})
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.epoch))
    platform = {"architecture": architecture.oci, "os": "linux"}
    if architecture.variant:
        platform["variant"] = architecture.variant
    config = platform | {
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": [f"PEACRAB_HOME=/{HOME}", "PATH=/usr/local/bin:/usr/bin:/bin"],
            "Entrypoint": ["/usr/bin/peacrab"],
            "Cmd": ["gateway"],
            "WorkingDir": f"/{HOME}",
            "Volumes": {f"/{HOME}": {}},
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "peacrab",
                "org.opencontainers.image.description": "A personal AI agent for single-board computers",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "make release"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": store("config.v1+json", encode(config)),
        "layers": [store("layer.v1.tar+gzip", compress(layer))],
    }
    return store("manifest.v1+json", encode(manifest)) | {"platform": platform}


def root(release, contents, architecture, work):
    """The root file system."""
    tree = Tree(work / f"oci-{architecture.name}")
    tree.add("usr/bin/peacrab", release.binary(architecture), 0o755)
    tree.add("usr/share/doc/peacrab/LICENSES-THIRD-PARTY.gz", compress(contents.third_party.encode()))
    tree.add("etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\npeacrab:x:{USER}:{USER}:Peacrab:/{HOME}:/sbin/nologin\n")
    tree.add("etc/group", f"root:x:0:\npeacrab:x:{USER}:\n")
    tree.add_folder(HOME, 0o700)
    tree.add_folder("tmp", 0o1777)
    # Where a container engine mounts file systems.
    for folder in ("dev", "proc", "sys"):
        tree.add_folder(folder)
    return tree


def encode(value):
    return json.dumps(value, separators=(",", ":")).encode()


def archive(files, epoch):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in sorted(files.items()):
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(content), epoch
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()

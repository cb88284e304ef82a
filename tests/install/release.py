"""Releases for the stories, and a server for them."""

import contextlib
import hashlib
import http.server
import pathlib
import shutil
import subprocess
import tarfile
import threading

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"

# A program of another version: it does what the real one does, but for its name.
OTHER_VERSION = """#!/bin/sh
[ "$*" = --version ] || exec /opt/peacrab "$@"
echo peacrab {version}
"""
# A program that starts, and never becomes ready.
BROKEN = """#!/bin/sh
[ "$*" != --version ] || {{ echo peacrab {version}; exit; }}
case "$*" in *gateway*) echo "cannot start" >&2; exit 1 ;; esac
exec /opt/peacrab "$@"
"""


def make_key(folder):
    """Makes a key in the folder: key.pem, and public.pem for boards."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "key.pem"], check=True)
    public = ["openssl", "pkey", "-in", folder / "key.pem", "-pubout", "-out", folder / "public.pem"]
    subprocess.run(public, check=True)
    return folder / "key.pem"


def make_release(folder, key, version, program, architecture="x86_64"):
    """Makes a signed release of a program (a path or the text of a script)."""
    name = f"peacrab-{version}-{architecture}"
    inside = folder / name
    inside.mkdir(parents=True)
    if isinstance(program, str):
        (inside / "peacrab").write_text(program.format(version=version))
    else:
        shutil.copyfile(program, inside / "peacrab")
    (inside / "peacrab").chmod(0o755)
    shutil.copyfile(SCRIPTS / "install.sh", inside / "install.sh")
    shutil.copytree(SCRIPTS / "init", inside / "init")
    (inside / "man").mkdir()
    for page in ["peacrab.1", "peacrab-agent.1"]:
        (inside / "man" / page).write_text(f".TH PEACRAB 1\n{version}\n")
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(inside, name)
    shutil.copyfile(inside / "peacrab", folder / name / "../bare")
    shutil.rmtree(inside)
    (folder / "bare").rename(folder / name)
    sign(folder, key)
    return folder


def sign(folder, key):
    """Writes SHA256SUMS and SHA256SUMS.sig."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
             for path in sorted(folder.glob("peacrab-*"))]
    (folder / "SHA256SUMS").write_text("".join(lines))
    subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", folder / "SHA256SUMS",
                    "-out", folder / "SHA256SUMS.sig"], check=True)


class Server:
    """Serves a folder on 127.0.0.1. `cut` names files that it breaks off half way, so many times."""

    def __init__(self, folder):
        outer = self
        self.cut = {}
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.lstrip("/")
                outer.asked.append(name)
                path = folder / name
                if not path.is_file():
                    self.send_error(404)
                    return
                data = path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if outer.cut.get(name, 0) > 0:
                    outer.cut[name] -= 1
                    data = data[: len(data) // 2]
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(data)
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

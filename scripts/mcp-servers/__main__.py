"""Lists and calls the tools of real MCP servers with the program, and has a turn use one of them for a task.

    python3 scripts/mcp-servers BINARY

The servers are installed from npm and PyPI, with the versions of package.json, requirements.txt and
requirements-old.txt (a server that needs version 1 of the SDK for Python), into the folder of PEACRAB_MCP
(target/mcp). Nothing is installed when they are there already.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import turn

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("PEACRAB_MCP", "target/mcp")).resolve()
# The port of a server over HTTP.
PORT = "38417"

NODE = FOLDER / "node_modules" / "@modelcontextprotocol"
# The environments of Python, and what each has.
ENVIRONMENTS = {"python": "requirements.txt", "python-old": "requirements-old.txt"}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    install()
    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(sys.argv[1]).resolve(), Path(name))
        failed = [name for name in SERVERS if name not in OVER_HTTP and not home.check(name)]
        for mode, path in (("streamableHttp", "mcp"), ("sse", "sse")):
            with http_server(["node", NODE / "server-everything" / "dist" / "index.js", mode], path):
                failed += [] if home.check(mode) else [mode]
        failed += [] if home.turn("stdio", SERVERS["files"][0]) else ["a turn, stdio"]
        with http_server(home.files_over_http(), "mcp"):
            failed += [] if home.turn("streamable HTTP", OVER_HTTP_FILES) else ["a turn, streamable HTTP"]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def install():
    pins = "".join((HERE / name).read_text() for name in ("package.json", *ENVIRONMENTS.values()))
    done = FOLDER / "pins"
    if done.exists() and done.read_text() == pins:
        return
    print(f"installing servers in {FOLDER}", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    shutil.copy(HERE / "package.json", FOLDER)
    run("npm", "install", "--prefix", FOLDER, "--silent", "--no-audit", "--no-fund")
    for name, requirements in ENVIRONMENTS.items():
        run(sys.executable, "-m", "venv", FOLDER / name)
        pip = FOLDER / name / "bin" / "pip"
        run(pip, "install", "--quiet", "--disable-pip-version-check", "-r", HERE / requirements)
    done.write_text(pins)


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)


def node(name, *arguments):
    return {"command": "node", "args": [str(NODE / name / "dist" / "index.js"), *arguments]}


def python(name, *arguments, environment="python"):
    return {"command": str(FOLDER / environment / "bin" / name), "args": list(arguments)}


# Each server, and a call: the tool, its arguments, and what the answer has.
SERVERS = {
    "everything": (node("server-everything", "stdio"), "echo", {"message": "a pea"}, "a pea"),
    "files": (node("server-filesystem", "."), "list_directory", {"path": "."}, "AGENTS.md"),
    "memory": (node("server-memory"), "read_graph", {}, "entities"),
    "thinking": (
        node("server-sequential-thinking"),
        "sequentialthinking",
        {"thought": "So.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
    "git": (python("mcp-server-git"), "git_log", {"repo_path": "repository", "max_count": 1}, "First"),
    "fetch": (python("mcp-server-fetch"), "fetch", {"url": "http://127.0.0.1:9/"}, "127.0.0.1"),
    "time": (python("mcp-server-time"), "convert_time", {
        "source_timezone": "Europe/Zurich", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    "sqlite": (
        python("mcp-server-sqlite", "--db-path", "test.db", environment="python-old"), "list_tables", {}, "[]"),
    "streamableHttp": ({"url": f"http://127.0.0.1:{PORT}/mcp"}, "echo", {"message": "a pea"}, "a pea"),
    "sse": ({"url": f"http://127.0.0.1:{PORT}/sse"}, "echo", {"message": "a pea"}, "a pea"),
}
OVER_HTTP = ("streamableHttp", "sse")
OVER_HTTP_FILES = {"url": f"http://127.0.0.1:{PORT}/mcp"}


class Home:
    """The program with a home of its own, and all servers in its configuration."""

    def __init__(self, binary, folder):
        self.binary = str(binary)
        home = folder / "home"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PEACRAB_HOME": str(home), "LANG": "C.UTF-8"}
        self.peacrab("onboard", "--non-interactive")
        # What the sandbox does not show by itself: the servers, and their Python.
        shown = {"readOnlyPaths": [str(FOLDER), sys.base_prefix]}
        servers = {
            name: server | ({} if name in OVER_HTTP else shown)
            for name, (server, *_) in SERVERS.items()
        }
        self.config = home / "config.json"
        self.configure({"tools": {"mcpServers": servers}})
        self.workspace = home / "workspace"
        repository = self.workspace / "repository"
        for words in (["init", "-q", repository], ["-C", repository, "commit", "-qm", "First", "--allow-empty"]):
            run("git", "-c", "user.name=Pea", "-c", "user.email=pea@example.org", *words)

    def configure(self, config):
        self.config.write_text(json.dumps(config))
        self.config.chmod(0o600)

    def files_over_http(self):
        """The file server behind a gateway to HTTP; it has no HTTP of its own."""
        gateway = FOLDER / "node_modules" / "supergateway" / "dist" / "index.js"
        files = f"node {NODE / 'server-filesystem' / 'dist' / 'index.js'} {self.workspace}"
        return ["node", gateway, "--stdio", files, "--outputTransport", "streamableHttp", "--stateful", "--port", PORT]

    def turn(self, transport, server):
        """A turn in which the model uses the file server for a task."""
        shutil.rmtree(self.workspace / "tides", ignore_errors=True)
        shown = {} if "url" in server else {"readOnlyPaths": [str(FOLDER)]}
        with turn.model() as url:
            self.configure({
                "agents": {"defaults": {"provider": "model", "model": "fake-model"}},
                "providers": {"model": {"apiBase": url, "apiKey": "none"}},
                "tools": {"mcpServers": {"files": server | shown}},
            })
            asked = self.peacrab("agent", "--message", turn.QUESTION)
        written = self.workspace / "tides" / "today.txt"
        is_right = turn.ANSWER in asked.stdout and written.is_file() and written.read_text() == "high at one\n"
        print(f"a turn with files over {transport}: {'as expected' if is_right else asked.stdout + asked.stderr}")
        return is_right

    def peacrab(self, *words):
        command = [self.binary, *words]
        return subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
        )

    def check(self, name):
        _, tool, arguments, expected = SERVERS[name]
        listed = self.peacrab("mcp", "test", name, "--json")
        if listed.returncode != 0:
            print(f"{name}: {listed.stdout}{listed.stderr}")
            return False
        found = json.loads(listed.stdout)
        called = self.peacrab("mcp", "call", name, tool, json.dumps(arguments))
        # A call that fails says why on standard error; that of fetch has to, for nothing listens there.
        is_right = expected in called.stdout + called.stderr
        print(f"{name}: {found['server']}, {found['version']}, {len(found['tools'])} tools,"
              f" {found['seconds']:.1f} s; {tool}: {'as expected' if is_right else called.stdout + called.stderr}")
        return is_right and len(found["tools"]) > 0


@contextlib.contextmanager
def http_server(command, path):
    """A server over HTTP, until the block ends."""
    environment = os.environ | {"PORT": PORT}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            wait_for(f"http://127.0.0.1:{PORT}/{path}")
            yield
        finally:
            server.terminate()


def wait_for(url):
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing answers at {url}")


if __name__ == "__main__":
    main()

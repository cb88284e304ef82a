"""The host's side of a test: servers that the program in the machine talks to over TLS."""

import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "footprint"))

import certificates
import model
from machine import HOST

# Where the machine has the files for the jobs.
AT = "/run/load"
AUTHORITY = "authority.pem"


def serve(folder, connection):
    """Starts a model with a certificate from the folder, and returns its address for the machine."""
    server = model.server(connection, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://{HOST}:{server.server_port}/v1"


def certify(folder):
    certificates.make(folder, HOST)


def configuration(model_url, **sections):
    return {
        "agents": {"defaults": {"provider": "fake", "model": "fake-model"}},
        "providers": {"fake": {"apiBase": model_url, "apiKey": "sk-boards"}},
        "tls": {"caFile": f"{AT}/{AUTHORITY}"},
    } | sections

"""What running servers of tools add to the idle gateway."""

import sys
import time
from pathlib import Path

from daemon import SETTLE_TIME, Crowd, Gateway
from table import KB, kilobytes

SERVERS = 3
SERVERS_BYTES = 200 * KB
# Seconds for all servers to start and be listed.
START_TIME = 60

SCRIPT = Path(__file__).resolve().parents[2] / "tests" / "harness" / "mcp" / "lamp.py"


def measure(program, telegram, table):
    """After one message, with which the gateway starts the servers to read their lists."""
    server = {
        "command": "/usr/bin/python3",
        "args": [str(SCRIPT), "legacy"],
        "readOnlyPaths": [str(SCRIPT.parent)],
    }
    stored = program.home / "state" / "mcp"
    idle = []
    for number in (0, SERVERS):
        names = [f"server{index}" for index in range(number)]
        program.config["tools"] = {"mcpServers": {name: server for name in names}}
        with Gateway(program, telegram) as gateway:
            Crowd(telegram, 1).ask(1)
            wait_for([stored / f"{name}.json" for name in names])
            time.sleep(SETTLE_TIME)
            idle.append((gateway.memory(), gateway.threads()))
    (without, threads), (memory, more_threads) = idle
    growth = memory.anonymous - without.anonymous
    table.gate(f"{SERVERS} running MCP servers, more anonymous memory", max(growth, 0), SERVERS_BYTES, kilobytes)
    table.gate("  threads for them", more_threads - threads, 1, str)


def wait_for(files):
    begun = time.monotonic()
    while not all(file.exists() for file in files):
        if time.monotonic() > begun + START_TIME:
            sys.exit(f"the gateway did not read the lists of all servers: {files}")
        time.sleep(0.1)

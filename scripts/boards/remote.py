"""A shell in the machine that runs what the host sends it."""

import shlex
import socket
import threading

from host import AT
from machine import HOST

# Begins the line after the output of a command; its exit status follows.
END = "boards-status "
# bash can open the connection by itself. What the commands start does not inherit it.
SCRIPT = f"""
exec 9<>/dev/tcp/{HOST}/$1
while read -r line <&9; do
    {{ eval "$line" 9>&-; }} >&9 2>&1
    echo "{END}$?" >&9
done
exit 1
"""
# Seconds for one command, on a busy host.
COMMAND_TIME = 600


class Remote:
    """Calls `play` with itself in a thread when the machine has connected. The job ends when `play` does,
    with 0 if it returned."""

    def __init__(self, folder, play):
        (folder / "remote").write_text(SCRIPT)
        self.play = play
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.line = f"bash {AT}/remote {self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection, _ = self.listener.accept()
        connection.settimeout(COMMAND_TIME)
        self.file = connection.makefile("rw", encoding="utf-8", errors="replace")
        try:
            self.play(self)
        except BaseException as error:
            self.send(f"echo {shlex.quote(f'{type(error).__name__}: {error}')} > /dev/console; exit 1")
            raise
        self.send("exit 0")

    def send(self, line):
        self.file.write(line.replace("\n", " ") + "\n")
        self.file.flush()

    def run(self, line):
        """Runs a line, and returns its output."""
        self.send(line)
        lines = []
        for text in self.file:
            # The output may lack its last newline.
            before, mark, _ = text.partition(END)
            if mark:
                return "".join(lines) + before
            lines.append(text)
        raise ConnectionError(f"the machine has ended during: {line}")

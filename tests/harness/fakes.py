"""What the checks of the fakes and those with real servers share."""

import json
import socket
import subprocess
import time

# Seconds in which everything here has happened, on a busy machine too.
LONG = 60


class Fake:
    """A fake that runs: a process that reads steps and answers them. Its first line says where it is and what it
    takes; each of these words is an attribute, too."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.hello = self.read()
        vars(self).update(self.hello)

    def read(self):
        for line in self.process.stdout:
            # The test harness prints lines, too, and may begin one that the fake ends.
            start = line.find("{")
            if start >= 0:
                return json.loads(line[start:])
        raise SystemExit("the fake ended")

    def __call__(self, do, **step):
        self.process.stdin.write(json.dumps({"do": do, **step}) + "\n")
        return self.read()["answer"]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(LONG)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, find):
    """What `find` finds, as soon as it does."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        time.sleep(0.05)
    raise SystemExit(f"{what} never came")


def certificates(run):
    """An authority, and the servers' certificate for 127.0.0.1."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=run, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key",
            "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    (run / "names").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "server.pem")

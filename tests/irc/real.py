"""Has the program talk on IRC with real servers: ngircd, which knows no accounts, and InspIRCd with the services of Atheme.

    make irc

The servers run on free ports, with a certificate authority of this run. The folder with their programs, as
scripts/setup irc unpacks Debian's packages, and the program that is checked are the arguments.
"""

import http.server
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, certificates, free_port, until  # noqa: E402
NOBODY = 65534
PASSWORD = "irc-canary-0123456789"
LINES = 40  # of the long answer

VIEW = 'mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr && shift && exec "$@"'

NGIRCD = """
[Global]
    Name = irc.garden.example
    Info = a garden
    AdminInfo1 = nobody
    AdminEMail = nobody@garden.example
    Listen = 127.0.0.1
    Ports = {plain}
    MotdPhrase = hello
    PidFile = {run}/ngircd.pid
    ServerUID = {user}
    ServerGID = {user}
[Limits]
    MaxConnectionsIP = 0
    PingTimeout = 20
    PongTimeout = 10
    MaxNickLength = 16
[Options]
    DNS = no
    Ident = no
    PAM = no
    SyslogFacility = local1
[SSL]
    CertFile = {run}/server.pem
    KeyFile = {run}/server.key
    Ports = {tls}
"""

INSPIRCD = """
<server name="irc.garden.example" description="a garden" network="Garden" id="001">
<admin name="nobody" nick="nobody" email="nobody@garden.example">
<bind address="127.0.0.1" port="{plain}" type="clients">
<bind address="127.0.0.1" port="{link}" type="servers">
<bind address="127.0.0.1" port="{tls}" type="clients" ssl="gnutls">
<connect allow="*" timeout="60" threshold="20" commandrate="1000" fakelag="yes" recvq="8192" localmax="50" globalmax="50" resolvehostnames="no">
<files motd="{run}/motd">
<pid file="{run}/inspircd.pid">
<log method="file" type="*" level="default" target="{run}/inspircd.log">
<performance nouserdns="yes">
<security maxtargets="5">
<module name="ssl_gnutls">
<sslprofile name="gnutls" provider="gnutls" certfile="{run}/server.pem" keyfile="{run}/server.key" cafile="" crlfile="">
<module name="cap">
<module name="ircv3">
<module name="ircv3_accounttag">
<module name="ircv3_batch">
<module name="ircv3_ctctags">
<module name="ircv3_msgid">
<module name="ircv3_servertime">
<module name="services_account">
<module name="sasl">
<module name="spanningtree">
<sasl target="services.garden.example" requiressl="no">
<link name="services.garden.example" ipaddr="127.0.0.1" port="{link}" allowmask="127.0.0.1/8" sendpass="{password}" recvpass="{password}">
<uline server="services.garden.example" silent="yes">
"""

ATHEME = """
loadmodule "modules/protocol/inspircd";
loadmodule "modules/backend/opensex";
loadmodule "modules/crypto/pbkdf2v2";
loadmodule "modules/nickserv/main";
loadmodule "modules/nickserv/identify";
loadmodule "modules/nickserv/register";
loadmodule "modules/saslserv/main";
loadmodule "modules/saslserv/plain";
serverinfo {{
    name = "services.garden.example"; desc = "services"; numeric = "00A"; recontime = 5; netname = "Garden";
    adminname = "nobody"; adminemail = "nobody@garden.example"; registeremail = "nobody@garden.example";
    mta = "/bin/true"; loglevel = {{ error; info; }}; maxlogins = 10; maxusers = 0; maxnicks = 5; maxchans = 5;
    mdlimit = 30; emaillimit = 10; emailtime = 300; auth = none; casemapping = rfc1459;
}};
uplink "irc.garden.example" {{ host = "127.0.0.1"; port = {link}; send_password = "{password}"; receive_password = "{password}"; }};
nickserv {{ nick = "NickServ"; user = "NickServ"; host = "services.garden.example"; real = "NickServ"; }};
saslserv {{ nick = "SaslServ"; user = "SaslServ"; host = "services.garden.example"; real = "SaslServ"; }};
general {{ commit_interval = 5; }};
"""


class Servers:
    """The programs of a network, in a folder of their own."""

    def __init__(self, root, run):
        self.root, self.run = root, run
        run.mkdir()
        certificates(run)
        (run / "motd").write_text("hello\n")
        self.user = os.getuid() or NOBODY
        self.ports = {name: free_port() for name in ["plain", "tls", "link"]}
        self.values = {"run": run, "user": self.user, "password": PASSWORD, **self.ports}
        self.running = []

    def begin(self):
        if os.getuid() == 0:
            for path in [self.run, *self.run.rglob("*")]:
                os.chown(path, self.user, self.user)
        self.start()

    def launch(self, *command):
        """Starts a server where its programs and its libraries are as Debian's packages install them, as an ordinary user."""
        ids = [str(self.user), str(pwd.getpwuid(self.user).pw_gid)]
        if os.getuid() == 0:
            view, user = ["unshare", "-m"], ["setpriv", "--clear-groups", f"--reuid={ids[0]}", f"--regid={ids[1]}"]
        else:
            view, user = ["unshare", "-Urm"], ["unshare", "-U", f"--map-user={ids[0]}", f"--map-group={ids[1]}"]
        log = open(self.run / "output", "ab")
        whole = [*view, "sh", "-c", VIEW, "sh", self.root, *user, *command]
        return subprocess.Popen(whole, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.run)

    def wait_for(self, *names):
        for name in names:
            until(f"the port {name}", lambda name=name: self.is_open(self.ports[name]))

    @staticmethod
    def is_open(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        for process in self.running:
            process.terminate()
            process.wait(LONG)


class Ngircd(Servers):
    def __init__(self, root, run):
        super().__init__(root, run)
        (run / "ngircd.conf").write_text(NGIRCD.format(**self.values))
        self.begin()

    def start(self):
        self.running = [self.launch("/usr/sbin/ngircd", "-n", "-f", self.run / "ngircd.conf")]
        self.wait_for("plain", "tls")


class Inspircd(Servers):
    def __init__(self, root, run):
        super().__init__(root, run)
        paths = f'<path configdir="{run}" datadir="{run}" logdir="{run}" moduledir="/usr/lib/inspircd/modules">\n'
        (run / "inspircd.conf").write_text(paths + INSPIRCD.format(**self.values))
        (run / "atheme.conf").write_text(ATHEME.format(**self.values))
        self.begin()

    def start(self):
        self.running = [self.launch("/usr/sbin/inspircd", "--nofork", "--config", f"{self.run}/inspircd.conf")]
        self.wait_for("plain", "tls", "link")
        files = ["-c", f"{self.run}/atheme.conf", "-D", self.run, "-l", f"{self.run}/atheme.log", "-p", f"{self.run}/atheme.pid"]
        self.running.append(self.launch("/usr/bin/atheme-services", "-n", *files))


class Client:
    """A person: a socket and nothing else."""

    def __init__(self, port, nick):
        self.nick = nick
        self.lines = []
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.send(f"NICK {nick}", f"USER {nick} 0 * :{nick}")
        threading.Thread(target=self.read, daemon=True).start()
        self.wait("376|422")

    def send(self, *lines):
        for line in lines:
            self.socket.sendall(f"{line}\r\n".encode())

    def read(self):
        try:
            for line in self.socket.makefile("rb"):
                assert len(line) <= 512, line
                line = line.decode(errors="replace").rstrip("\r\n")
                if line.startswith("PING"):
                    self.send("PONG" + line[4:])
                self.lines.append(line)
        except OSError:
            pass

    def wait(self, command, words="", after=0):
        """Waits for a line with this command, and with these words in it."""
        pattern = re.compile(rf"^(@\S+ )?(:\S+ )?({command})( |$).*{words}")
        return until(
            f"{self.nick}: {command} {words!r} (of {self.lines[-5:]})",
            lambda: next((line for line in self.lines[after:] if pattern.search(line)), None),
        )

    def says(self, target, text):
        """Writes, and returns the number of lines that had come before."""
        before = len(self.lines)
        self.send(f"PRIVMSG {target} :{text}")
        return before

    def sees(self, nick):
        """Waits until somebody is on the network."""
        def find():
            self.send(f"ISON {nick}")
            time.sleep(0.5)
            return any(re.search(f" 303 {self.nick} :.*{nick}", line, re.I) for line in self.lines)

        until(nick, find)

    def texts(self):
        return [line.split(" :", 1)[1] for line in self.lines if " PRIVMSG " in line]

    def end(self):
        self.send("QUIT :bye")
        self.socket.close()


class Model(http.server.BaseHTTPRequestHandler):
    """A model that says what it was told last, and a lot when it is asked for it."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = str([it for it in request["messages"] if it["role"] == "user"][-1]["content"]).strip().splitlines()[-1]
        text = f"You said **{asked}**."
        if "long" in asked:
            text = "\n\n".join(f"{number}. " + f"wörd{number}🦀 " * 30 for number in range(LINES))
        answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        body = json.dumps(answer).encode()
        if request.get("stream"):
            delta = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]}
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": answer["usage"]}
            body = "".join(f"data: {json.dumps(one)}\n\n" for one in (delta, end)).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if request.get("stream") else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Bot:
    """The program, connected to a network."""

    def __init__(self, program, run, model, servers, **section):
        self.program, self.run = program, run
        self.home = run / "bot"
        (self.home / "workspace").mkdir(parents=True, mode=0o700)
        self.home.chmod(0o700)
        config = {
            "agents": {"defaults": {"provider": "mine", "model": "m", "timezone": "UTC"}},
            "providers": {"mine": {"apiBase": f"http://127.0.0.1:{model}/v1", "apiKey": "none"}},
            "tls": {"caFile": str(servers.run / "ca.pem"), "localServerUsers": ["*"]},
            "channels": {"irc": {
                "enabled": True, "server": "127.0.0.1", "port": servers.ports["tls"], "nick": "crab", "channels": ["#garden"],
                "sendIntervalMs": 100, **section,
            }},
        }
        (self.home / "config.json").write_text(json.dumps(config))
        (self.home / "config.json").chmod(0o600)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PEACRAB_HOME": str(self.home), "TZ": "UTC"}
        self.log = open(run / "gateway.log", "wb")

    def run_program(self, *arguments):
        return subprocess.run([self.program, *arguments], env=self.environment, capture_output=True, text=True, timeout=LONG)

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.program, "gateway"], env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONG)
        self.log.close()
        said = (self.run / "gateway.log").read_text()
        assert PASSWORD not in said, "the password is in the log"
        if sys.exc_info()[0]:
            print(said)


def talk(ana, bot):
    """What is the same on every network: private answers, a command, a long answer, a channel."""
    before = ana.says("crab", "good morning")
    ana.wait("PRIVMSG", "You said \x02good morning\x02", before)
    before = ana.says("crab", "!sh echo $((6 * 7)).")
    ana.wait("PRIVMSG", "42[.]", before)
    before = ana.says("crab", "tell me the long story")
    ana.wait("PRIVMSG", f"wörd{LINES - 1}🦀", before)
    until("all of it", lambda: " ".join(ana.texts()).count(f"wörd{LINES - 1}🦀") == 30)
    words = " ".join(ana.texts())
    assert all(words.count(f"wörd{number}🦀") == 30 for number in range(LINES)), words
    ana.send("JOIN #garden")
    ana.wait("366")
    until("the bot in the channel", lambda: any("crab" in line for line in ana.lines if re.search(r" (353|JOIN) ", line)))
    ana.says("#garden", "nobody in particular")
    before = ana.says("#garden", "crab: what is it")
    ana.wait("PRIVMSG #garden", "You said .*what is it\x02", before)
    assert not any("in particular\x02" in text for text in ana.texts())


def without_accounts(root, program, run, model):
    servers = Ngircd(root, run / "ngircd")
    try:
        with Bot(program, servers.run, model, servers, allowFrom=["ana!~ana@127.0.0.1"]) as bot:
            tested = bot.run_program("channels", "test", "irc")
            assert tested.returncode == 0, tested
            ana = Client(servers.ports["plain"], "ana")
            ana.sees("crab")
            talk(ana, bot)
            # A thief of the nick, who has another user name.
            ana.send("NICK ana_")
            ana.wait("NICK")
            thief = Client(servers.ports["plain"], "mallory")
            thief.send("NICK ana")
            thief.wait("NICK")
            before = thief.says("crab", "!sh id")
            thief.wait("NOTICE", "allowFrom", before)
            assert not any("uid=" in line for line in thief.lines)
            thief.end()
            ana.end()
            # The server is restarted.
            servers.stop()
            servers.start()
            ana = Client(servers.ports["plain"], "ana")
            ana.sees("crab")
            before = ana.says("crab", "are you there")
            ana.wait("PRIVMSG", "You said \x02are you there\x02", before)
            ana.end()
    finally:
        servers.stop()


def with_accounts(root, program, run, model):
    servers = Inspircd(root, run / "inspircd")
    try:
        def register(nick, password):
            client = Client(servers.ports["plain"], nick)
            client.sees("NickServ")
            client.says("NickServ", f"REGISTER {password} {nick}@garden.example")
            client.wait("NOTICE", "(now registered|registered)")
            return client

        register("crab", PASSWORD).end()
        ana = register("ana", "ana-password")
        with Bot(program, servers.run, model, servers, saslUser="crab", saslPassword=PASSWORD) as bot:
            ana.sees("crab")
            # She is a stranger until she is paired, by her account.
            before = ana.says("crab", "hello")
            code = re.search(r"channels pair (\w+)", ana.wait("PRIVMSG", "channels pair", before))[1]
            paired = bot.run_program("channels", "pair", code)
            assert paired.returncode == 0 and "ana" in paired.stdout, paired
            talk(ana, bot)
            ana.send("NICK ana_")
            ana.wait("NICK")
            thief = Client(servers.ports["plain"], "mallory")
            thief.send("NICK ana")
            thief.wait("NICK")
            before = thief.says("crab", "!sh id")
            thief.wait("NOTICE", "services account", before)
            assert not any("uid=" in line for line in thief.lines)
            # She is herself under any nick.
            before = ana.says("crab", "and I")
            ana.wait("PRIVMSG", "You said \x02and I\x02", before)
            # What is sent to her by name finds her, and not the thief.
            sent = bot.run_program("send", "--channel", "irc", "--chat", "ana", "psst")
            assert sent.returncode == 0, sent
            ana.wait("PRIVMSG", "psst")
            assert not any("psst" in line for line in thief.lines)
            thief.end()
            ana.end()
    finally:
        servers.stop()


def main():
    root, program = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    run = pathlib.Path(tempfile.mkdtemp(prefix="irc-"))
    run.chmod(0o755)
    try:
        for network in (without_accounts, with_accounts):
            network(root, program, run, model.server_port)
            print(f"{network.__name__.replace('_', ' ')}: right")
    except BaseException:
        for log in [*run.rglob("*.log"), *run.rglob("output")]:
            print(f"--- {log}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        raise
    finally:
        shutil.rmtree(run, ignore_errors=True)


main()

"""Has the program read and answer mails with real servers: dovecot for IMAP, exim for SMTP.

    make mail

The servers run as an ordinary user on free ports, with a certificate authority of this run. The folder with their
programs, as scripts/setup mail unpacks Debian's packages, and the program that is checked are the arguments.
"""

import email
import email.policy
import email.utils
import grp
import imaplib
import json
import os
import pathlib
import pwd
import shutil
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import LONG, certificates, free_port, until  # noqa: E402
NOBODY = 65534
PASSWORD = "mail-canary-0123456789"

VIEW = """
mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr &&
mount --bind "$2/passwd" /etc/passwd && mount --bind "$2/group" /etc/group && shift 2 && exec "$@"
"""

EXIM = """
keep_environment =
spool_directory = {run}/spool
log_file_path = {run}/log/%slog
local_interfaces = 127.0.0.1
daemon_smtp_ports = {smtp}
primary_hostname = mx.example.org
tls_advertise_hosts = *
tls_certificate = {run}/server.pem
tls_privatekey = {run}/server.key
auth_advertise_hosts = ${{if eq{{$tls_in_cipher}}{{}}{{}}{{*}}}}
never_users =
acl_smtp_rcpt = recipient
acl_smtp_data = content
begin acl
recipient:
  deny message = no such user
    condition = ${{if eq{{$local_part}}{{gone}}}}
  accept
content:
  warn remove_header = Authentication-Results
  warn authenticated = *
    add_header = :at_start:Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=$sender_address
  warn !authenticated = *
    add_header = :at_start:Authentication-Results: mx.example.org; spf=none smtp.mailfrom=$sender_address; dkim=none
  accept
begin routers
local:
  driver = accept
  domains = example.org
  local_parts = ana : bot
  transport = maildir
begin transports
maildir:
  driver = appendfile
  directory = {run}/mail/$local_part_data
  maildir_format
  create_directory
  return_path_add
  user = {user}
  group = {user}
begin retry
* * F,1h,1m
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${{if eq{{$auth3}}{{{password}}}}}
  server_set_id = $auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = Username:: : Password::
  server_condition = ${{if eq{{$auth2}}{{{password}}}}}
  server_set_id = $auth1
"""

DOVECOT = """
base_dir = {run}/dovecot
log_path = {run}/log/dovecot
protocols = imap
listen = 127.0.0.1
default_internal_user = {name}
default_internal_group = {group}
default_login_user = {name}
state_dir = {run}/dovecot
ssl = required
ssl_cert = <{run}/server.pem
ssl_key = <{run}/server.key
ssl_dh =
first_valid_uid = 1
auth_mechanisms = plain login
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={user} gid={user} home={run}/home
}}
mail_location = maildir:{run}/mail/%n
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


class Servers:
    """Both servers, in a folder of their own."""

    def __init__(self, root, run):
        self.root, self.run = root, run
        self.user = os.getuid() or NOBODY
        self.ports = {name: free_port() for name in ["smtp", "imap", "imaps"]}
        for folder in ["spool", "log", "mail", "dovecot", "home"]:
            (run / folder).mkdir()
        certificates(run)
        # dovecot looks its user up by name, and exim one that Debian's package would have made.
        account = pwd.getpwuid(self.user)
        name, group = account.pw_name, grp.getgrgid(account.pw_gid).gr_name
        ids = f"{self.user}:{account.pw_gid}"
        (run / "passwd").write_text(
            "root:x:0:0::/:/bin/sh\n" + "".join(f"{one}:x:{ids}::{run}/home:/bin/sh\n" for one in [name, "Debian-exim"])
        )
        (run / "group").write_text("root:x:0:\n" + "".join(f"{one}:x:{account.pw_gid}:\n" for one in [group, "Debian-exim"]))
        values = {"root": root, "run": run, "user": self.user, "name": name, "group": group, "password": PASSWORD, **self.ports}
        (run / "exim.conf").write_text(EXIM.format(**values))
        (run / "dovecot.conf").write_text(DOVECOT.format(**values))
        if os.getuid() == 0:
            for path in [run, *run.rglob("*")]:
                os.chown(path, self.user, self.user)
        self.running = []
        self.start()

    def start(self):
        self.running = [
            self.launch("/usr/sbin/exim4", "-C", f"{self.run}/exim.conf", "-bdf", "-q1m", "-oP", f"{self.run}/exim.pid"),
            self.launch("/usr/sbin/dovecot", "-F", "-c", f"{self.run}/dovecot.conf"),
        ]
        for name in self.ports:
            until(f"the port of {name}", lambda name=name: self.is_open(self.ports[name]))

    def launch(self, *command):
        """Starts a server where its programs, its libraries and its user are as Debian's packages install them."""
        ids = [str(self.user), str(pwd.getpwuid(self.user).pw_gid)]
        if os.getuid() == 0:
            view, user = ["unshare", "-m"], ["setpriv", "--clear-groups", f"--reuid={ids[0]}", f"--regid={ids[1]}"]
        else:
            view, user = ["unshare", "-Urm"], ["unshare", "-U", f"--map-user={ids[0]}", f"--map-group={ids[1]}"]
        log = open(self.run / "log" / "output", "ab")
        whole = [*view, "sh", "-c", VIEW, "sh", self.root, self.run, *user, *command]
        return subprocess.Popen(whole, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @staticmethod
    def is_open(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        for process in self.running:
            process.terminate()
            process.wait(LONG)

    def context(self):
        return ssl.create_default_context(cafile=self.run / "ca.pem")

    def write(self, subject, text, user="ana", answers=None, file=None):
        """Ana writes a mail; without a user no one confirms that it was her."""
        message = email.message.EmailMessage()
        message["From"] = "Ana <ana@example.org>"
        message["To"] = "bot@example.org"
        message["Subject"] = subject
        message["Date"] = email.utils.localtime()
        message["Message-ID"] = email.utils.make_msgid(domain="example.org")
        if answers is not None:
            message["In-Reply-To"] = answers["Message-ID"]
            message["References"] = answers["References"] + " " + answers["Message-ID"]
        message.set_content(text)
        if file:
            message.add_attachment(file, maintype="application", subtype="octet-stream", filename="größe.bin")
        with smtplib.SMTP("127.0.0.1", self.ports["smtp"]) as client:
            client.starttls(context=self.context())
            if user:
                client.login(f"{user}@example.org", PASSWORD)
            client.send_message(message)
        return message

    def mails(self, user="ana"):
        with imaplib.IMAP4_SSL("127.0.0.1", self.ports["imaps"], ssl_context=self.context()) as client:
            client.login(user, PASSWORD)
            client.select("INBOX")
            found = []
            for uid in client.uid("SEARCH", "ALL")[1][0].split():
                data = client.uid("FETCH", uid, "(FLAGS BODY.PEEK[])")[1]
                message = email.message_from_bytes(data[0][1], policy=email.policy.default)
                message.flags = str(data)
                found.append(message)
            return found


def text(message):
    return message.get_body(("plain",)).get_content().strip()


def answer(servers, words):
    def find():
        return next((mail for mail in servers.mails() if words in text(mail)), None)

    return until(f"an answer with {words!r}", find)


def story(program, servers, run, tls):
    home = run / f"home-{tls}"
    home.mkdir(mode=0o700)
    (home / "workspace").mkdir()
    config = {
        "agents": {"defaults": {"provider": "offline", "timezone": "UTC"}},
        "providers": {"offline": {"apiType": "offline"}},
        "tls": {"caFile": str(run / "ca.pem")},
        "channels": {"email": {
            "enabled": True, "consentGranted": True, "allowFrom": ["ana@example.org"],
            "imapHost": "127.0.0.1", "imapPort": servers.ports["imaps" if tls else "imap"], "imapUseSsl": tls,
            "imapUsername": "bot@example.org", "imapPassword": PASSWORD,
            "smtpHost": "127.0.0.1", "smtpPort": servers.ports["smtp"], "fromAddress": "bot@example.org",
            "authservId": "mx.example.org",
        }},
    }
    (home / "config.json").write_text(json.dumps(config))
    (home / "config.json").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PEACRAB_HOME": str(home), "TZ": "UTC"}

    def run_program(*arguments):
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=LONG)

    tested = run_program("channels", "test", "email")
    assert tested.returncode == 0 and "bot@example.org" in tested.stdout, tested
    log = open(run / "log" / f"gateway-{tls}", "wb")
    gateway = subprocess.Popen([program, "gateway"], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        mark = "tls" if tls else "starttls"
        first = servers.write(f"Grüße {mark}", f"/sh echo {mark} $((6 * 7))\n\n-- \nAna")
        got = answer(servers, f"{mark} 42")
        assert got["Subject"] == f"Re: Grüße {mark}" and got["In-Reply-To"] == first["Message-ID"], got
        assert got["Auto-Submitted"] == "auto-replied" and not got.defects, got.defects
        assert "<pre>" in got.get_body(("html",)).get_content()
        seen = lambda: any(mark in str(mail["Subject"]) and "\\Seen" in mail.flags for mail in servers.mails("bot"))
        until("the mail marked as read", seen)
        # Nobody confirms this one.
        servers.write("forged", f"/sh echo {mark} forged", user=None)
        # A file, in a mail of the same conversation; and one back.
        content = os.urandom(300_000)
        servers.write("Re: file", f"keep it {mark}", answers=got, file=content)
        stored = lambda: next((one for one in (home / "workspace").rglob("*.bin") if one.stat().st_size == len(content)), None)
        assert until("the file", stored).read_bytes() == content
        servers.write("Re: file", f"/get {stored().relative_to(home / 'workspace')}", answers=got)

        def with_file():
            mails = [mail for mail in servers.mails() if any(mail.iter_attachments())]
            return next((mail for mail in mails if next(mail.iter_attachments()).get_content() == content), None)

        back = until("the file back", with_file)
        assert next(back.iter_attachments()).get_filename().endswith(".bin"), back["Content-Disposition"]
        # The servers are restarted while the gateway waits.
        servers.stop()
        servers.start()
        servers.write("again", f"/sh echo again {mark}")
        answer(servers, f"again {mark}")
        assert not any("forged" in text(mail) and "refused" not in text(mail) for mail in servers.mails())
    finally:
        gateway.terminate()
        gateway.wait(LONG)
        log.close()
    said = (run / "log" / f"gateway-{tls}").read_text()
    assert PASSWORD not in said, said
    assert "refused a mail" in said, said
    print(f"dovecot and exim, {'TLS' if tls else 'STARTTLS'}: passed", flush=True)


def main():
    root, program = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    run = pathlib.Path(tempfile.mkdtemp(prefix="peacrab-mail-"))
    run.chmod(0o755)
    servers = None
    try:
        servers = Servers(root, run)
        for tls in [True, False]:
            story(program, servers, run, tls)
    except BaseException:
        for log in sorted((run / "log").glob("*")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}", file=sys.stderr)
        raise
    finally:
        if servers:
            servers.stop()
        shutil.rmtree(run)


if __name__ == "__main__":
    main()

"""Checks the tests' fake provider of mail with Python's imaplib, smtplib and email, which work with real ones.

    make fakes

The fake runs beside this program and plays the steps it gets. Any request that the fake would refuse fails the check.
"""

import email
import email.message
import email.policy
import email.utils
import imaplib
import pathlib
import smtplib
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "harness"))

from fakes import Fake  # noqa: E402


def context():
    """The tests' authority and its servers have the same name, which OpenSSL takes for one certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def reader(fake):
    """An open mailbox, over STARTTLS."""
    client = imaplib.IMAP4("127.0.0.1", fake.hello["imap"])
    assert "STARTTLS" in client.capabilities and "LOGINDISABLED" in client.capabilities
    client.starttls(context())
    assert "LOGINDISABLED" not in client.capabilities and "IDLE" in client.capabilities
    user, password = fake.hello["user"], fake.hello["password"]
    client.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())
    assert client.select("INBOX")[0] == "OK"
    return client


def read(fake):
    mailbox = reader(fake)
    identity = fake(
        "write", **{"from": "ana@example.org"}, name="Ana", subject="hello", text="plain ü", html="<p>ü</p>",
        file="content\n", file_name="a.txt",
    )
    assert mailbox.noop()[0] == "OK" and mailbox.untagged_responses["EXISTS"][-1] == b"1"
    assert mailbox.uid("SEARCH", "UNSEEN") == ("OK", [b"1"])
    assert mailbox.uid("SEARCH", "UID", "1:*") == ("OK", [b"1"])
    assert mailbox.uid("SEARCH", "UID", "7:*") == ("OK", [b"1"]), "RFC 3501: the last mail in any case"
    status, data = mailbox.uid("FETCH", "1", "(UID RFC822.SIZE BODYSTRUCTURE BODY.PEEK[])")
    head, raw = data[0]
    assert f"RFC822.SIZE {len(raw)}".encode() in head, head
    structure = head.decode()
    for words in ['"mixed"', '"alternative"', '"text" "plain"', '"text" "html"', '"attachment" ("filename" "a.txt")']:
        assert words in structure, (words, structure)
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert not message.defects and message["Message-ID"] == identity, message.defects
    assert message.get_body(("plain",)).get_content().strip() == "plain ü"
    attachment = next(message.iter_attachments())
    assert (attachment.get_filename(), attachment.get_payload(decode=True)) == ("a.txt", b"content\n")
    # The parts that the structure names are what the mail has there.
    for section, part in [("1.1", message.get_body(("plain",))), ("1.2", message.get_body(("html",))), ("2", attachment)]:
        status, data = mailbox.uid("FETCH", "1", f"(UID BODY.PEEK[{section}])")
        assert data[0][1].split() == part.get_payload().encode().split(), section
    status, data = mailbox.uid("FETCH", "1", "(UID BODY.PEEK[HEADER]<0.20>)")
    assert data[0][1] == raw[:20] and b"BODY[HEADER]<0> {20}" in data[0][0], data
    assert fake("seen") == []
    assert mailbox.uid("STORE", "1", "+FLAGS.SILENT", "(\\Seen)")[0] == "OK"
    assert fake("seen") == [1] and mailbox.uid("SEARCH", "UNSEEN") == ("OK", [b""])
    # IDLE: this Python may not know it yet.
    mailbox.send(b"x1 IDLE\r\n")
    assert mailbox.readline().startswith(b"+")
    fake("write", **{"from": "ana@example.org"}, name="Ana", subject="news", text="x")
    assert mailbox.readline() == b"* 2 EXISTS\r\n"
    mailbox.send(b"DONE\r\n")
    assert mailbox.readline().startswith(b"x1 OK")
    validity = mailbox.response("UIDVALIDITY")[1]
    mailbox.logout()
    fake("renumber")
    mailbox = reader(fake)
    assert mailbox.response("UIDVALIDITY")[1] != validity
    assert mailbox.uid("SEARCH", "ALL") == ("OK", [b"101 102"])
    fake("cut")
    try:
        mailbox.noop()
    except (imaplib.IMAP4.abort, OSError):
        pass
    else:
        raise AssertionError("the connection was not cut")


def sender(fake):
    client = smtplib.SMTP("127.0.0.1", fake.hello["smtp"], local_hostname="[127.0.0.1]")
    client.ehlo()
    assert client.has_extn("starttls") and not client.has_extn("auth")
    client.starttls(context=context())
    client.login(fake.hello["user"], fake.hello["password"])
    assert client.has_extn("size") and client.has_extn("8bitmime")
    return client


def write(fake):
    message = email.message.EmailMessage()
    message["From"] = fake.hello["user"]
    message["To"] = "ana@example.org"
    message["Subject"] = "plain"
    message["Date"] = email.utils.localtime()
    message["Message-ID"] = "<1@example.org>"
    message["Auto-Submitted"] = "auto-replied"
    message.set_content("hello\n.\n.dots\n")
    message.add_alternative("<p>hello</p>", subtype="html")
    message.add_attachment(b"bytes", maintype="application", subtype="octet-stream", filename="a.bin")
    client = sender(fake)
    assert client.send_message(message) == {}
    sent = fake("sent", to="ana@example.org")
    assert [(one["id"], one["subject"], one["text"]) for one in sent] == [("<1@example.org>", "plain", "hello\n.\n.dots")]
    fake("fail")
    try:
        client.send_message(message)
    except smtplib.SMTPSenderRefused as error:
        assert error.smtp_code == 451
    else:
        raise AssertionError("the mail was taken")
    fake("unknown", address="eve@example.org")
    message.replace_header("To", "eve@example.org")
    try:
        client.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        assert error.recipients["eve@example.org"][0] == 550
    else:
        raise AssertionError("the mail was taken")
    client.quit()
    complaints = fake("complaints")
    assert complaints == [], complaints
    # A mail that loops could begin with.
    del message["Auto-Submitted"]
    message.replace_header("To", "ana@example.org")
    sender(fake).send_message(message)
    complaints = fake("complaints")
    assert complaints == ["SMTP: 0 fields auto-submitted"], complaints


def main():
    fake = Fake(sys.argv[1:])
    read(fake)
    write(fake)
    if fake.end() != 0:
        raise SystemExit("the fake has complaints")
    print("imaplib, smtplib and email passed")


if __name__ == "__main__":
    main()

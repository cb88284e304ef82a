//! The fake provider of mail: it refuses what real ones refuse; and by itself, for programs that are not ours:
//! tests/mail/check.py tells it on standard input what happens, one JSON object a line, and reads the answers on
//! standard output.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::harness::mail::{BOT, Fault, Letter, Mail, PASSWORD, Security};

/// A client that says lines and reads answers.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(port: u16) -> Self {
        Self(BufReader::new(
            TcpStream::connect(("127.0.0.1", port)).unwrap(),
        ))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Says a line, and gives the first answer that begins so.
    fn says(&mut self, line: &str, start: &str) -> String {
        self.0
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .unwrap();
        loop {
            let answer = self.line();
            assert!(!answer.is_empty(), "the connection ended after {line}");
            if answer.starts_with(start) {
                return answer;
            }
        }
    }
}

#[test]
fn it_complains_of_what_a_real_server_refuses() {
    let mail = Mail::start();
    let (imap, smtp) = mail.ports();
    let mut client = Client::connect(imap);
    assert!(client.line().starts_with("* OK"));
    assert!(client.says("a1 SELECT INBOX", "a1").starts_with("a1 BAD"));
    assert!(
        client
            .says("a2 LOGIN bot@example.org wrong", "a2")
            .starts_with("a2 NO")
    );
    assert!(
        client
            .says(&format!("a3 LOGIN {BOT} {PASSWORD}"), "a3")
            .starts_with("a3 OK")
    );
    assert!(client.says("a4 UID SEARCH ALL", "a4").starts_with("a4 BAD"));
    assert!(client.says("a5 SELECT Other", "a5").starts_with("a5 NO"));
    assert!(client.says("a6 SELECT INBOX", "a6").starts_with("a6 OK"));
    for wrong in [
        "UID SEARCH FOO",
        "UID FETCH 1 (FOO)",
        "UID STORE 1 FLAGS ()",
        "FOO",
    ] {
        assert!(
            client
                .says(&format!("b {wrong}"), "b ")
                .starts_with("b BAD"),
            "{wrong}"
        );
    }
    let mut client = Client::connect(smtp);
    assert!(client.line().starts_with("220"));
    assert!(
        client
            .says("MAIL FROM:<bot@example.org>", "")
            .starts_with("503")
    );
    assert!(client.says("EHLO [127.0.0.1]", "250 ").contains("AUTH"));
    assert!(
        client
            .says("MAIL FROM:<bot@example.org>", "")
            .starts_with("530")
    );
    let complaints = mail.take_complaints();
    assert_eq!(complaints.len(), 7, "{complaints:#?}");
}

#[test]
fn it_complains_of_a_mail_that_others_would_misread() {
    let mail = Mail::start();
    let (_, smtp) = mail.ports();
    let mut client = Client::connect(smtp);
    client.says("EHLO [127.0.0.1]", "250 ");
    let token = BASE64_STANDARD.encode(format!("\0{BOT}\0{PASSWORD}"));
    client.says(&format!("AUTH PLAIN {token}"), "235");
    client.says(&format!("MAIL FROM:<{BOT}>"), "250");
    client.says("RCPT TO:<ana@example.org>", "250");
    client.says("DATA", "354");
    client.says("Subject: \u{fc}\r\n\r\nhello\r\n.", "250");
    let complaints = mail.take_complaints().join("\n");
    for words in [
        "not ASCII",
        "0 fields date",
        "0 fields auto-submitted",
        "other addresses",
        "the id",
    ] {
        assert!(complaints.contains(words), "{words}: {complaints}");
    }
}

struct Stage(Mail);

impl Stage {
    fn play(&mut self, step: &Value) -> Value {
        let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
        let mail = &self.0;
        match text("do").as_str() {
            "write" => {
                let person = mail.person(&text("from"), &text("name"));
                let file = text("file");
                let files = (!file.is_empty()).then(|| {
                    (
                        text("file_name"),
                        "application/octet-stream".to_owned(),
                        file.into_bytes(),
                    )
                });
                json!(person.sends(&Letter {
                    subject: text("subject"),
                    text: text("text"),
                    html: text("html"),
                    files: files.into_iter().collect(),
                    ..Letter::default()
                }))
            }
            "sent" => {
                let sent = mail.sent(&text("to"));
                sent.iter()
                    .map(|mail| json!({"id": mail.id, "subject": mail.subject, "text": mail.text, "raw": String::from_utf8_lossy(&mail.raw)}))
                    .collect()
            }
            "seen" => json!(mail.seen()),
            "fail" => {
                mail.goes_wrong(Fault::Says("MAIL FROM", "451 4.3.0 later"));
                Value::Null
            }
            "unknown" => {
                mail.does_not_know(&text("address"));
                Value::Null
            }
            "renumber" => {
                mail.renumbers();
                Value::Null
            }
            "cut" => {
                mail.disconnect();
                Value::Null
            }
            "complaints" => json!(mail.take_complaints()),
            other => panic!("there is no step {other:?}"),
        }
    }
}

#[test]
#[ignore = "for tests/mail/check.py, which tells it what to do"]
fn serve() {
    let mail = Mail::with(Security::StartTls);
    let (imap, smtp) = mail.ports();
    let authority = mail.authority_file();
    println!(
        "{}",
        json!({"imap": imap, "smtp": smtp, "authority": authority, "user": BOT, "password": PASSWORD})
    );
    let mut stage = Stage(mail);
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": stage.play(&step)}));
    }
}

//! People who write to the bot: their mails as programs write them, with what the receiving server adds.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{BOT, CHECKER, Sent, Server};

/// Someone who writes mails.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) address: String,
    pub(super) name: String,
}

/// A mail that is about to be written.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    /// The subject.
    pub subject: String,
    /// The plain text; empty for none.
    pub text: String,
    /// The HTML; empty for none.
    pub html: String,
    /// Names, types and contents of files.
    pub files: Vec<(String, String, Vec<u8>)>,
    /// More fields, each with its CRLF.
    pub fields: String,
    /// The mail that it answers, and those before that.
    pub answers: Vec<String>,
    /// The From field; by default the person's.
    pub from: Option<String>,
    /// The To field; by default the bot's address.
    pub to: Option<String>,
    /// The Date field; by default now.
    pub date: Option<String>,
    /// What the receiving server says about the sender: by default that all is well. Empty: nothing.
    pub checked: Option<String>,
    /// The Message-ID; by default a new one.
    pub id: Option<String>,
}

impl Person {
    /// The person's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Begins a conversation. Returns the mail's id.
    pub fn writes(&self, subject: &str, text: &str) -> String {
        self.sends(&Letter {
            subject: subject.to_owned(),
            text: text.to_owned(),
            ..Letter::default()
        })
    }

    /// Answers a mail of the bot's, with that one quoted below, as most programs do it.
    pub fn replies(&self, to: &Sent, text: &str) -> String {
        let quoted: String = to
            .text
            .lines()
            .map(|line| format!("> {line}\r\n"))
            .collect();
        let mut answers = to.references.clone();
        answers.push(to.id.clone());
        self.sends(&Letter {
            subject: format!("Re: {}", to.subject),
            text: format!(
                "{text}\r\n\r\nOn Mon, 23 Nov 2026 at 10:00, Bot <{BOT}> wrote:\r\n{quoted}"
            ),
            answers,
            ..Letter::default()
        })
    }

    /// Sends a mail. Returns its id.
    pub fn sends(&self, letter: &Letter) -> String {
        let number = self.server.change(|state| {
            state.written += 1;
            state.written
        });
        let id = letter
            .id
            .clone()
            .unwrap_or_else(|| format!("<{number}.{}>", self.address));
        let domain = self.address.split('@').nth(1).unwrap();
        let good = format!(
            "spf=pass smtp.mailfrom={}; dkim=pass header.d={domain}",
            self.address
        );
        let checked = letter
            .checked
            .clone()
            .unwrap_or(format!("{CHECKER}; {good}"));
        let mut raw = format!("Return-Path: <{}>\r\n", self.address);
        if !checked.is_empty() {
            raw += &format!("Authentication-Results: {checked}\r\n");
        }
        raw += "Received: from out.example by mx.example.org; Mon, 23 Nov 2026 10:00:00 +0000\r\n";
        let from = letter
            .from
            .clone()
            .unwrap_or(format!("{} <{}>", self.name, self.address));
        let to = letter.to.as_deref().unwrap_or(BOT);
        let date = letter
            .date
            .clone()
            .unwrap_or_else(|| chrono::Utc::now().to_rfc2822());
        raw += &format!(
            "From: {from}\r\nTo: {to}\r\nSubject: {}\r\nDate: {date}\r\nMessage-ID: {id}\r\n",
            letter.subject
        );
        if let Some(last) = letter.answers.last() {
            raw += &format!(
                "In-Reply-To: {last}\r\nReferences: {}\r\n",
                letter.answers.join("\r\n ")
            );
        }
        raw += &letter.fields;
        raw += "MIME-Version: 1.0\r\n";
        raw += &content(letter);
        self.server.deliver(raw.into_bytes());
        id
    }
}

fn content(letter: &Letter) -> String {
    let part = |kind: &str, text: &str| {
        let lines = BASE64_STANDARD.encode(text.replace("\r\n", "\n").replace('\n', "\r\n"));
        format!(
            "Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n",
            folded(&lines)
        )
    };
    let mut body = match (letter.text.is_empty(), letter.html.is_empty()) {
        (_, true) => part("plain", &letter.text),
        (true, false) => part("html", &letter.html),
        (false, false) => format!(
            "Content-Type: multipart/alternative; boundary=inner\r\n\r\n--inner\r\n{}--inner\r\n{}--inner--\r\n",
            part("plain", &letter.text),
            part("html", &letter.html)
        ),
    };
    if letter.files.is_empty() {
        return body;
    }
    body = format!("Content-Type: multipart/mixed; boundary=\"outer\"\r\n\r\n--outer\r\n{body}");
    for (name, kind, bytes) in &letter.files {
        let encoded = BASE64_STANDARD.encode(bytes);
        body += &format!(
            "--outer\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n\
             Content-Disposition: attachment; filename=\"{name}\"\r\n\r\n{}\r\n",
            folded(&encoded)
        );
    }
    body + "--outer--\r\n"
}

fn folded(text: &str) -> String {
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(76)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    lines.join("\r\n")
}

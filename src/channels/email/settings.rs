//! What the configuration says about e-mail.

use super::imap::Account;
use super::incoming::Policy;
use super::mime::address;
use super::mime::trust::Servers;
use super::wire::{Security, Server};
use crate::base::secret::Secret;
use crate::config::channels::Bot;

/// Least and most seconds between two looks at the mailbox of a server without IDLE.
const POLL_SECONDS: (u64, u64) = (5, 86_400);
/// Least and most characters of a mail's text for the model.
const BODY_CHARS: (u64, u64) = (100, 60_000);

/// The settings, checked and completed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where mails are read.
    pub imap: Account,
    /// The mailbox that is read.
    pub mailbox: String,
    /// Where mails are sent.
    pub smtp: Account,
    /// The address that they are from; empty where none is known.
    pub from: String,
    /// Whether people's mails are answered.
    pub answers: bool,
    /// Seconds between two looks at a server without IDLE.
    pub poll_seconds: u64,
    /// Whether accepted mails are marked as read.
    pub marks_seen: bool,
    /// Characters of a mail's text for the model.
    pub body_chars: usize,
    /// What comes before the subject of an answer.
    pub subject_prefix: String,
    /// Which mails are for us.
    pub policy: Policy,
    /// Everyone whom the configuration names, as it spells them.
    people: Vec<String>,
}

/// The port with TLS from the beginning (RFC 8314).
const SMTPS: u64 = 465;

impl Settings {
    /// Reads the settings.
    pub fn new(bot: &Bot) -> Self {
        let server = |host: &str, port: u64, security| Server {
            host: host.trim().to_owned(),
            port: u16::try_from(port).unwrap_or_default(),
            security,
        };
        let account = |server, user: &str, password: Secret| Account {
            server,
            user: user.trim().to_owned(),
            password,
        };
        let imap = if bot.flag("imapUseSsl") {
            Security::Tls
        } else {
            Security::StartTls
        };
        let port = bot.number("smtpPort");
        let smtp = match (
            bot.flag("smtpUseSsl") || port == SMTPS,
            bot.flag("smtpUseTls"),
        ) {
            (true, _) => Security::Tls,
            (false, true) => Security::StartTls,
            (false, false) => Security::None,
        };
        let imap_server = server(bot.text("imapHost"), bot.number("imapPort"), imap);
        let smtp_server = server(bot.text("smtpHost"), port, smtp);
        let imap = account(
            imap_server,
            bot.text("imapUsername"),
            bot.secret("imapPassword"),
        );
        let mut smtp = account(
            smtp_server,
            bot.text("smtpUsername"),
            bot.secret("smtpPassword"),
        );
        if smtp.user.is_empty() {
            smtp.user.clone_from(&imap.user);
        }
        if smtp.password.is_empty() {
            smtp.password = imap.password.clone();
        }
        let given = [bot.text("fromAddress"), &smtp.user, &imap.user];
        let own: Vec<String> = given.into_iter().filter_map(address::address).collect();
        let chars = bot.number("maxBodyChars").clamp(BODY_CHARS.0, BODY_CHARS.1);
        Self {
            mailbox: match bot.text("imapMailbox").trim() {
                "" => "INBOX".to_owned(),
                mailbox => mailbox.to_owned(),
            },
            from: own.first().cloned().unwrap_or_default(),
            answers: bot.flag("autoReplyEnabled"),
            poll_seconds: bot
                .number("pollIntervalSeconds")
                .clamp(POLL_SECONDS.0, POLL_SECONDS.1),
            marks_seen: bot.flag("markSeen"),
            body_chars: usize::try_from(chars).unwrap_or_default(),
            subject_prefix: bot.text("subjectPrefix").to_owned(),
            policy: Policy {
                servers: Servers::new(bot.text("authservId"), &imap.server.host),
                is_strict: bot.flag("requireAuthentication"),
                own,
            },
            people: bot.rules().ids().map(str::to_owned).collect(),
            imap,
            smtp,
        }
    }

    /// A person's id: their address as the configuration spells it, else in lower case.
    pub fn person(&self, address: &str) -> String {
        let mut people = self.people.iter();
        let known = people.find(|person| person.eq_ignore_ascii_case(address));
        known.map_or_else(|| address.to_owned(), Clone::clone)
    }
}

/// Why the channel does not start with these settings.
pub fn check(bot: &Bot) -> Option<&'static str> {
    let settings = Settings::new(bot);
    if !bot.flag("consentGranted") {
        return Some(
            "Peacrab reads and answers mails only with your consent: set channels.email.consentGranted to true if the \
             owner of the mailbox agrees.",
        );
    }
    if settings.from.is_empty() {
        return Some(
            "The bot's own address is missing: set channels.email.fromAddress, such as bot@example.org.",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::channels::Channels;
    use serde_json::{Value, json};

    fn bot(section: Value) -> Bot {
        let channels: Channels = serde_json::from_value(json!({"email": section})).unwrap();
        channels.of("email")
    }

    fn settings(section: Value) -> Settings {
        Settings::new(&bot(section))
    }

    #[test]
    fn the_defaults_are_those_of_most_providers() {
        let settings = settings(json!({
            "imapHost": "imap.example.org", "imapUsername": "Bot@example.org", "imapPassword": "canary",
            "smtpHost": "smtp.example.org", "allowFrom": ["Ana@Example.org"],
        }));
        let imap = &settings.imap.server;
        assert_eq!((imap.port, imap.security), (993, Security::Tls));
        let smtp = &settings.smtp;
        assert_eq!(
            (smtp.server.port, smtp.server.security),
            (587, Security::StartTls)
        );
        assert_eq!(
            (smtp.user.as_str(), smtp.password.expose()),
            ("Bot@example.org", "canary")
        );
        assert_eq!(
            (settings.from.as_str(), settings.mailbox.as_str()),
            ("bot@example.org", "INBOX")
        );
        assert!(settings.policy.is_strict && settings.marks_seen && settings.answers);
        assert_eq!(settings.person("ana@example.org"), "Ana@Example.org");
        assert_eq!(settings.person("bob@example.org"), "bob@example.org");
        assert!(!format!("{settings:?}").contains("canary"));
    }

    #[test]
    fn the_port_and_the_switches_decide_about_tls() {
        for (section, imap, smtp) in [
            (json!({"smtpPort": 465}), Security::Tls, Security::Tls),
            (json!({"smtpUseSsl": true}), Security::Tls, Security::Tls),
            (
                json!({"imapUseSsl": false, "smtpUseTls": false}),
                Security::StartTls,
                Security::None,
            ),
        ] {
            let settings = settings(section);
            assert_eq!(
                (settings.imap.server.security, settings.smtp.server.security),
                (imap, smtp)
            );
        }
    }

    #[test]
    fn consent_and_an_address_are_needed() {
        let wrong = |section| check(&bot(section)).unwrap_or_default();
        assert!(wrong(json!({"fromAddress": "bot@example.org"})).contains("consentGranted"));
        assert!(
            wrong(json!({"consentGranted": true, "imapUsername": "bot"})).contains("fromAddress")
        );
        let right = json!({"consentGranted": true, "imapUsername": "bot", "fromAddress": "bot@example.org"});
        assert_eq!(check(&bot(right)), None);
    }
}

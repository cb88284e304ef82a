//! E-mail: mails are read over IMAP and sent over SMTP. A thread of mails is a conversation.
//!
//! Anyone can write any sender into a mail. So a mail counts only when the receiving server confirms its sender,
//! and only people who have access are ever answered.

mod adapter;
pub mod compose;
mod imap;
pub mod incoming;
pub mod mime;
mod receive;
mod settings;
mod smtp;
mod texts;
mod threads;
mod wire;

use std::sync::Arc;

pub use adapter::Email;
pub use imap::{structure, value};

use super::kit::service::{Need, Service};
use std::time::Duration;

/// Time for name, connection and TLS together.
const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Characters of what a server says that are shown to people.
const SAID_CHARS: usize = 200;
/// Bytes of a mail's text as it is sent, with its encoding, HTML and quotations.
const TEXT_BYTES: usize = 256 * 1024;
/// Characters of a subject.
const SUBJECT_CHARS: usize = 200;

/// The channel's name in addresses.
pub const NAME: &str = "email";

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "E-mail",
    needs: &[
        Need {
            key: "consentGranted",
            how: "The agent reads this mailbox and answers from it. Does its owner agree?",
        },
        Need {
            key: "imapHost",
            how: "The server from which your provider lets programs read mail, such as imap.example.org (IMAP, with TLS).",
        },
        Need {
            key: "imapUsername",
            how: "The user name of the bot's mailbox, usually its address. Give the bot a mailbox of its own.",
        },
        Need {
            key: "imapPassword",
            how: "Its password. Providers with two steps at the login, such as Gmail, give out app passwords for this.",
        },
        Need {
            key: "smtpHost",
            how: "The server by which your provider lets programs send mail, such as smtp.example.org (port 587 or 465).",
        },
    ],
    check: settings::check,
    make: |making| {
        Arc::new(Email::new(
            &making.bot,
            making.tls,
            making.clock,
            &making.state,
        ))
    },
    login: None,
};

//! E-mail.

use super::{channel_keys, own};
use crate::config::key::Kind::{Flag, NamedRoles, Names, Secret, Text, Whole};

channel_keys!("email", "your mailbox", ids: (Names, NamedRoles, "addresses, such as ana@example.org"), [
    own!("email", "consentGranted", Flag, "false", "Required: that the owner of the mailbox agrees that the agent reads it and answers from it."),
    own!("email", "imapHost", Text, r#""""#, "Server from which mail is read."),
    own!("email", "imapPort", Whole(1, 65_535), "993", "Its port."),
    own!("email", "imapUsername", Text, r#""""#, "User name there."),
    own!("email", "imapPassword", Secret, r#""""#, "Password there. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("email", "imapMailbox", Text, r#""INBOX""#, "Folder that is read."),
    own!("email", "imapUseSsl", Flag, "true", "Begin with TLS. false: upgrade with STARTTLS, without which nothing is sent."),
    own!("email", "smtpHost", Text, r#""""#, "Server by which mail is sent."),
    own!("email", "smtpPort", Whole(1, 65_535), "587", "Its port."),
    own!("email", "smtpUsername", Text, r#""""#, "User name there. Empty: that of imapUsername."),
    own!("email", "smtpPassword", Secret, r#""""#, "Password there. Empty: that of imapPassword."),
    own!("email", "smtpUseTls", Flag, "true", "Upgrade with STARTTLS, without which nothing is sent."),
    own!("email", "smtpUseSsl", Flag, "false", "Begin with TLS (port 465)."),
    own!("email", "fromAddress", Text, r#""""#, "Address from which answers are sent. Empty: smtpUsername."),
    own!("email", "autoReplyEnabled", Flag, "true", "Answer mails. false: only send what /cron, watches and `peacrab send` send."),
    own!("email", "requireAuthentication", Flag, "true", "Refuse mails whose sender the receiving server does not confirm by DMARC, DKIM or SPF. false: believe every sender; anyone can then write as an owner."),
    own!("email", "authservId", Text, r#""""#, "Name of the server that confirms senders, as it begins its Authentication-Results. Empty: one that belongs to the domain of imapHost."),
    own!("email", "pollIntervalSeconds", Whole(5, 86_400), "30", "Seconds between two looks where the server cannot announce mail (IDLE)."),
    own!("email", "markSeen", Flag, "true", "Mark mails as seen once they are accepted."),
    own!("email", "maxBodyChars", Whole(100, 60_000), "12000", "Longest text of a mail that the agent reads, in characters."),
    own!("email", "subjectPrefix", Text, r#""Re: ""#, "What is put before the subject of an answer."),
]);

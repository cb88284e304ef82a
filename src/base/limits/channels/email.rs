//! Bounds of e-mail.

use std::time::Duration;

/// Time in which a server has to answer a command. An SMTP server may check a mail for minutes before it
/// confirms it (RFC 5321, section 4.5.3.2.6).
pub const ANSWER_TIME: Duration = Duration::from_mins(2);
/// Time for name, connection and TLS together.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Characters of what a server says that are shown to people.
pub const SAID_CHARS: usize = 200;
/// Header fields that are looked at.
pub const FIELDS: usize = 400;
/// Bytes of a mail's text as it is sent, with its encoding, HTML and quotations.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Characters up to which quoted history is kept.
pub const QUOTE_CHARS: usize = 600;
/// Characters of a subject.
pub const SUBJECT_CHARS: usize = 200;
/// Bytes of the quoted-printable lines that are written (RFC 2045, section 6.7).
pub const QUOTED_LINE_BYTES: usize = 76;

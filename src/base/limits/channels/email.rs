//! Bounds of e-mail.

use std::time::Duration;

/// Time between two IDLE commands: servers may end one after 29 minutes (RFC 2177).
pub const IDLE_RENEWAL: Duration = Duration::from_mins(25);
/// Silence after which the system asks whether the other side of a waiting connection is still there: home
/// routers forget a silent connection after some minutes.
pub const KEEP_ALIVE: Duration = Duration::from_mins(2);
/// Least and most seconds between two looks at the mailbox of a server without IDLE.
pub const POLL_SECONDS: (u64, u64) = (5, 86_400);
/// A connection that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
/// Time in which a server has to answer a command. An SMTP server may check a mail for minutes before it
/// confirms it (RFC 5321, section 4.5.3.2.6).
pub const ANSWER_TIME: Duration = Duration::from_mins(2);
/// Time for name, connection and TLS together.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Bytes read from a connection at once.
pub const CHUNK_BYTES: usize = 4096;
/// Bytes of one line of a server, without what it announces as literals.
pub const LINE_BYTES: usize = 64 * 1024;
/// Bytes of one answer of an IMAP server with its literals: headers, the structure, and a part of a file.
pub const RESPONSE_BYTES: usize = 384 * 1024;
/// Bytes of an answer's buffer that is kept for the next one.
pub const KEPT_BUFFER_BYTES: usize = 8 * 1024;
/// Lists within lists of an answer: a mail with parts in parts has few.
pub const VALUE_LEVELS: usize = 24;
/// Values of an answer: a mail with fifty attachments has two thousand.
pub const VALUES: usize = 8192;
/// Lines of an SMTP server's reply.
pub const REPLY_LINES: usize = 64;
/// Characters of what a server says that are shown to people.
pub const SAID_CHARS: usize = 200;
/// Bytes of a mail's headers that are read: those that the receiving server adds come first.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Header fields that are looked at.
pub const FIELDS: usize = 400;
/// Bytes of a mail of which more than the headers is read. Gmail and most others take 25 MB.
pub const MAIL_BYTES: u64 = 35 * 1024 * 1024;
/// Bytes of a mail's text as it is sent, with its encoding, HTML and quotations.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Parts with text of one mail: some programs cut a text at each picture.
pub const TEXT_PARTS: usize = 4;
/// Parts of a mail that are looked at.
pub const PARTS: usize = 64;
/// Least and most characters of a mail's text for the model.
pub const BODY_CHARS: (u64, u64) = (100, 60_000);
/// Characters up to which quoted history is kept.
pub const QUOTE_CHARS: usize = 600;
/// Characters of a subject.
pub const SUBJECT_CHARS: usize = 200;
/// Bytes of a Message-ID; a longer one counts as none.
pub const ID_BYTES: usize = 250;
/// Ids of earlier mails that an answer names: the first, and the newest.
pub const REFERENCES: usize = 6;
/// Ids in the headers of a mail that are looked at.
pub const IDS: usize = 100;
/// Conversations of which subject and ids are kept for the next answer.
pub const THREADS: usize = 200;
/// Bytes of the file with them.
pub const STATE_BYTES: usize = 1024 * 1024;
/// Bytes of an address (RFC 5321, section 4.5.3.1.3).
pub const ADDRESS_BYTES: usize = 254;
/// Bytes of the part before the @ (RFC 5321, section 4.5.3.1.1).
pub const LOCAL_BYTES: usize = 64;
/// Characters of the text of one mail of ours; a longer answer is several mails.
pub const PIECE_CHARS: usize = 20_000;
/// Bytes of a file that is sent: with its encoding it has a third more, and most servers take 25 MB.
pub const UPLOAD_BYTES: u64 = 18 * 1024 * 1024;
/// Bytes of a file that are fetched at once, as they are encoded.
pub const FETCH_BYTES: u64 = 64 * 1024;
/// Bytes of a file that are encoded at once: whole lines of 57.
pub const ENCODE_BYTES: usize = 57 * 64;
/// Mails to all people within [`SENT_SPAN`]: providers allow some hundred a day.
pub const SENT: usize = 20;
/// See [`SENT`].
pub const SENT_SPAN: Duration = Duration::from_secs(60);
/// Mails of one sender that are accepted within [`ACCEPTED_SPAN`]: two programs that answer each other stop there.
pub const ACCEPTED: usize = 30;
/// See [`ACCEPTED`].
pub const ACCEPTED_SPAN: Duration = Duration::from_hours(1);
/// Mails whose times are remembered for that, of all senders.
pub const ACCEPTED_KEPT: usize = 2000;
/// Unread mails of the last day that are answered when the mailbox is seen for the first time.
pub const FIRST_MAILS: usize = 20;
/// Mails that are read before others are looked for.
pub const MAILS_AT_ONCE: usize = 500;
/// Tries to read a mail with which the server or the connection fails.
pub const MAIL_TRIES: u32 = 3;
/// Bytes of the quoted-printable lines that are written (RFC 2045, section 6.7).
pub const QUOTED_LINE_BYTES: usize = 76;
/// Bytes of a text within one encoded word of a header (RFC 2047, section 2: a line has at most 76 characters).
pub const WORD_BYTES: usize = 39;

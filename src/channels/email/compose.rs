//! Mails as they are sent: plain text with simple HTML beside it, or a file. PURE.

use std::ops::Range;

use chrono::{DateTime, FixedOffset};

use super::mime::address::domain;
use super::mime::decode::quoted;
use super::mime::words::{encode, file_name};
use crate::channels::kit::markdown::html::Html;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, has_scheme};

/// Characters of the text of one mail of ours; a longer answer is several mails.
const PIECE_CHARS: usize = 20_000;

/// The markup of mails: HTML with newlines as they are, which becomes both forms of a mail.
pub struct MailHtml;

impl Format for MailHtml {
    fn limit(&self) -> Limit {
        Limit {
            units: PIECE_CHARS,
            unit: Unit::Chars,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https", "mailto"])
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        Html.write(document, range)
    }

    fn fits(&self, plain: &str, _: &str) -> bool {
        self.limit().holds(plain)
    }
}

/// What the head of a mail says.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// Our address.
    pub from: &'a str,
    /// Whom it is for.
    pub to: &'a str,
    /// The subject.
    pub subject: &'a str,
    /// When it is sent.
    pub date: DateTime<FixedOffset>,
    /// Its id.
    pub id: &'a str,
    /// The ids of the mails before it, the one that it answers last. Without any it begins a conversation.
    pub earlier: &'a [String],
}

/// How our ids end before the domain.
const MARK: &str = ".peacrab@";

/// The thread of ids in chats without one.
const NO_THREAD: &str = "0";

/// The id of a mail of ours: the same for each attempt to send it, with the thread that an answer belongs to.
pub fn message_id(thread: Option<&str>, key: u64, from: &str) -> String {
    let thread = thread.unwrap_or(NO_THREAD);
    format!("<{thread}.{key:016x}{MARK}{}>", domain(from))
}

/// The thread in an id of ours, which is `None` for a chat without threads; the outer `None` for an id of
/// someone else's.
pub fn thread_of(id: &str) -> Option<Option<&str>> {
    let (own, _) = id.strip_prefix('<')?.split_once(MARK)?;
    let (thread, key) = own.split_once('.')?;
    let is_ours = is_thread(thread) && key.len() == 16 && key.bytes().all(is_hex);
    is_ours.then(|| (thread != NO_THREAD).then_some(thread))
}

/// Whether a text can be a thread's id.
pub fn is_thread(text: &str) -> bool {
    text == NO_THREAD || text.len() == 16 && text.bytes().all(is_hex)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// The id of the thread that began with a mail: a hash of that one's id (FNV-1a).
pub fn thread_id(root: &str) -> String {
    let hash = root.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn head(head: &Head<'_>) -> String {
    let kind = if head.earlier.is_empty() {
        "auto-generated"
    } else {
        "auto-replied"
    };
    let mut out = format!(
        "From: {}\r\nTo: {}\r\nSubject: {}\r\nDate: {}\r\nMessage-ID: {}\r\n",
        head.from,
        head.to,
        encode(head.subject),
        head.date.format("%a, %d %b %Y %H:%M:%S %z"),
        head.id,
    );
    if let Some(last) = head.earlier.last() {
        out += &format!(
            "In-Reply-To: {last}\r\nReferences: {}\r\n",
            head.earlier.join("\r\n ")
        );
    }
    // RFC 3834 keeps other programs from answering; the second field is for Exchange.
    out + &format!(
        "Auto-Submitted: {kind}\r\nX-Auto-Response-Suppress: All\r\nMIME-Version: 1.0\r\n"
    )
}

/// A boundary: quoted-printable never has `=_` in it, and Base64 no underscore.
fn boundary(id: &str) -> String {
    let own = id.split('@').next().unwrap_or_default();
    format!("=_{}", own.trim_start_matches('<'))
}

/// A mail with a text in the channel's markup, or in none.
pub fn text_mail(fields: &Head<'_>, text: &str, is_marked: bool) -> String {
    head(fields) + &text_part(fields, text, is_marked)
}

/// A text, with the fields that say what it is.
fn text_part(fields: &Head<'_>, text: &str, is_marked: bool) -> String {
    let part = |kind: &str, text: &str| {
        format!(
            "Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{}\r\n",
            quoted(text)
        )
    };
    if !is_marked {
        return part("plain", text);
    }
    let boundary = boundary(fields.id);
    format!(
        "Content-Type: multipart/alternative;\r\n boundary=\"{boundary}\"\r\n\r\n--{boundary}\r\n{}--{boundary}\r\n{}--{boundary}--\r\n",
        part("plain", &plain(text)),
        part("html", &html(text)),
    )
}

/// What comes before and after the Base64 of a file that goes with a text, in the channel's markup or in none.
pub fn file_mail(
    fields: &Head<'_>,
    (text, is_marked): (&str, bool),
    name: &str,
) -> (String, String) {
    // The text has a boundary of its own, and none may begin as another one.
    let boundary = boundary(fields.id).replacen("=_", "=_f_", 1);
    let before = format!(
        "{}Content-Type: multipart/mixed;\r\n boundary=\"{boundary}\"\r\n\r\n--{boundary}\r\n{}\
         --{boundary}\r\nContent-Type: {}\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment{}\r\n\r\n",
        head(fields),
        text_part(fields, text, is_marked),
        media_type(name),
        file_name(name),
    );
    (before, format!("--{boundary}--\r\n"))
}

/// The type of a file by its name: those that programs show at once.
fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "mp4" => "video/mp4",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

/// A piece of the channel's markup: a tag without its angle brackets, or text.
enum Token<'a> {
    Tag(&'a str),
    Text(&'a str),
}

/// The tags and texts of our own HTML. A lonely bracket, which we never write, is text.
fn tokens(html: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let after_bracket = rest.strip_prefix('<');
        if let Some((tag, after)) = after_bracket.and_then(|rest| rest.split_once('>')) {
            rest = after;
            return Some(Token::Tag(tag));
        }
        let from = usize::from(after_bracket.is_some());
        let end = rest.get(from..).and_then(|tail| tail.find('<'));
        let (text, after) = rest.split_at(end.map_or(rest.len(), |end| end + from));
        rest = after;
        (!text.is_empty()).then_some(Token::Text(text))
    })
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// The markup as plain text: quotations with their marks, addresses after the texts of links.
pub fn plain(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut link = (String::new(), 0);
    let (mut quote_from, mut code_from) = (None, None);
    for token in tokens(html) {
        match token {
            Token::Text(text) => out.push_str(&unescape(text)),
            Token::Tag("blockquote") => quote_from = Some(out.len()),
            Token::Tag("/blockquote") => mark_lines(&mut out, quote_from.take(), "> "),
            Token::Tag("pre") => code_from = Some(out.len()),
            // What stands in code cannot look like a line of ours.
            Token::Tag("/pre") => mark_lines(&mut out, code_from.take(), "    "),
            Token::Tag("/a") => {
                let (address, from) = std::mem::take(&mut link);
                let text = out.get(from..).unwrap_or_default();
                if text != address && address.strip_prefix("mailto:") != Some(text) {
                    out.push_str(&format!(" <{address}>"));
                }
            }
            Token::Tag(tag) => {
                if let Some(address) = tag.strip_prefix("a href=\"") {
                    link = (unescape(address.trim_end_matches('"')), out.len());
                }
            }
        }
    }
    out
}

/// Puts a mark before each line from there on.
fn mark_lines(text: &mut String, from: Option<usize>, mark: &str) {
    if let Some(from) = from {
        let marked = text.split_off(from);
        for (index, line) in marked.lines().enumerate() {
            text.push_str(if index > 0 { "\n" } else { "" });
            text.push_str(format!("{mark}{line}").trim_end());
        }
    }
}

/// The markup as a page: newlines outside of code become breaks, and text and code are readable everywhere.
fn html(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len() + markup.len() / 8 + 100);
    out.push_str("<html><body>\n");
    let mut is_code = false;
    for token in tokens(markup) {
        match token {
            Token::Tag(tag) => {
                match tag {
                    "pre" => is_code = true,
                    "/pre" => is_code = false,
                    _ => {}
                }
                out.push_str(&format!("<{tag}>"));
            }
            Token::Text(text) if is_code => out.push_str(text),
            Token::Text(text) => {
                let text = text.replace('\n', "<br>\n");
                // Only the first of several spaces would be shown.
                out.push_str(&text.replace("  ", "&nbsp; "));
            }
        }
    }
    out.push_str("\n</body></html>\n");
    out
}

#[cfg(test)]
mod tests;

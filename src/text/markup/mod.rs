//! Markdown, parsed once. Each channel writes the result in its own markup.
//!
//! [`parse`] makes a [`Document`] of a text, [`split`] finds where it is cut, and a channel's
//! [`Format`] writes what lies between two cuts. Nothing is written before the cut, so no tag or fence
//! can be cut: what is open at a cut is closed there and opened again in the next piece. The same text
//! always gives the same pieces, so that an interrupted delivery can continue at a piece's number.

mod density;
mod document;
mod growing;
mod parse;
pub mod split;
mod spoken;
mod table;
#[cfg(test)]
mod tests;
pub mod width;

use std::ops::Range;

pub use self::density::{is_deep, is_dense};
pub use self::document::{Document, Level, Style, is_blank};
pub use self::parse::{Growing, RULE, parse, parse_growing, parse_grown, parse_within};
use self::split::{Limit, Pieces};
pub use self::spoken::spoken;
use crate::text::{is_direction_mark, reveal};

/// Bytes of a code block's language; `javascript` has ten.
const LANGUAGE_BYTES: usize = 32;

/// The beginning of a draft whose own beginning is not shown.
pub const CUT_MARK: &str = "…\n";

/// How a channel writes a document, and how much of it fits one message.
pub trait Format {
    /// The maximum length of one message.
    fn limit(&self) -> Limit;

    /// Whether the channel can link to an address. The address of any other link is shown after its
    /// text.
    fn can_link(&self, address: &str) -> bool;

    /// A range of a document in the channel's markup. It is never empty, and both of its ends are
    /// between two characters.
    fn write(&self, document: &Document, range: Range<usize>) -> String;

    /// The columns that a line of a table may have; `None` for any number.
    fn table_columns(&self) -> Option<usize> {
        None
    }

    /// Whether a message fits, given its visible text and its markup. Channels that count what they
    /// are sent need not change this.
    fn fits(&self, plain: &str, written: &str) -> bool {
        let _ = plain;
        self.limit().holds(written)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// In the channel's markup.
    pub written: String,
    /// The same without markup, for a channel that refuses the markup after all.
    pub plain: String,
}

impl Piece {
    fn new(document: &Document, range: Range<usize>, format: &dyn Format) -> Self {
        Self {
            written: format.write(document, range.clone()),
            plain: document.text()[range].to_owned(),
        }
    }
}

fn parse_for(markdown: &str, format: &dyn Format) -> Document {
    let can_link = |address: &str| format.can_link(address);
    parse_within(markdown, &can_link, format.table_columns())
}

/// The messages of a text; none if it shows nothing. Time and memory grow with the length of the
/// text, which the caller bounds.
pub fn render(markdown: &str, format: &dyn Format) -> Vec<Piece> {
    let document = parse_for(markdown, format);
    Pieces::new(&document, format)
        .map(|range| Piece::new(&document, range, format))
        .collect()
}

/// One message of a text that is still growing: its end, if it is too long.
pub fn draft(markdown: &str, format: &dyn Format) -> Option<Piece> {
    let document = parse_for(markdown, format);
    let (range, is_whole) = split::tail(&document, format)?;
    let mut piece = Piece::new(&document, range, format);
    if !is_whole {
        piece.written.insert_str(0, CUT_MARK);
        piece.plain.insert_str(0, CUT_MARK);
    }
    Some(piece)
}

/// No markup at all, for a channel that has none.
pub struct Plain(pub Limit);

impl Format for Plain {
    fn limit(&self) -> Limit {
        self.0
    }

    fn can_link(&self, _: &str) -> bool {
        false
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        document.text()[range].to_owned()
    }
}

/// Whether an address has one of these schemes and nothing in it that could end a link.
pub fn has_scheme(address: &str, schemes: &[&str]) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    address.split_once(':').is_some_and(|(scheme, rest)| {
        let is_known = schemes.iter().any(|name| scheme.eq_ignore_ascii_case(name));
        is_known && !rest.is_empty() && !rest.contains(is_odd)
    })
}

/// Ends of names of files and programs that are no top-level domains.
const NO_DOMAINS: [&str; 13] = [
    "conf", "cpp", "csv", "html", "jpg", "js", "json", "log", "pdf", "png", "toml", "txt", "yaml",
];

/// Whether the text of a link looks like another address than the one it leads to: one with a scheme, or the name of
/// another host. A file's name ("main.rs") does not where the address ends in it.
fn misleads(shown: &str, address: &str) -> bool {
    if shown.contains("://") {
        return shown.trim_end_matches('/') != address.trim_end_matches('/');
    }
    let leads_to = host_of(address);
    let path = address.split(['?', '#']).next().unwrap_or(address);
    let is_file = |word: &str| {
        path.strip_suffix(word)
            .is_some_and(|start| start.ends_with('/'))
    };
    let mut words = shown.split(|c: char| c.is_whitespace() || "()[]<>,;\"'".contains(c));
    words.any(|word| {
        let host = host_of(word);
        let has_end = host.rsplit_once('.').is_some_and(|(name, end)| {
            let is_end = end.chars().count() > 1 && end.chars().all(char::is_alphabetic);
            !name.is_empty() && is_end && !NO_DOMAINS.contains(&end)
        });
        has_end && !is_file(word) && !host.is_empty() && !is_same_site(host, leads_to)
    })
}

/// The host of an address with or without a scheme and a user, without `www.` and a port.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.trim_start_matches("mailto:");
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host);
    let www = host
        .get(..4)
        .filter(|start| start.eq_ignore_ascii_case("www."));
    host[www.map_or(0, str::len)..].trim_end_matches(['.', '!'])
}

/// Whether an address leads to a host or to one below it.
fn is_same_site(shown: &str, leads_to: &str) -> bool {
    let start = leads_to.len().checked_sub(shown.len());
    let end = start.and_then(|at| Some((leads_to.get(..at)?, leads_to.get(at..)?)));
    end.is_some_and(|(before, end)| {
        end.eq_ignore_ascii_case(shown) && (before.is_empty() || before.ends_with('.'))
    })
}

/// The Markdown of a text as code within a line, whatever the text contains. What is invisible is
/// spelt out.
pub fn inline_code(text: &str) -> String {
    let text = inline_text(text);
    let mut fence = "`".to_owned();
    while text.contains(fence.as_str()) {
        fence.push('`');
    }
    let gap = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// What [`inline_code`] shows of a text.
pub fn inline_text(text: &str) -> String {
    reveal(&text.replace(char::is_control, " ")).into_owned()
}

/// Whether nothing is seen of a text in Markdown: it has only comments, invisible characters or empty blocks. A comment
/// in code is code.
pub fn shows_nothing(markdown: &str) -> bool {
    let document = parse::parse(markdown, &|_| true);
    let text = document.text();
    is_blank(text) || !markdown.contains(['`', '~']) && is_blank(&without_comments(text))
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        let Some((_, after)) = after.split_once("-->") else {
            break;
        };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// The text with what could be markup, or break its line, taken literally.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii_punctuation() {
            plain.push('\\');
        }
        plain.push(char);
    }
    plain
}

/// The text taken literally but for what is between backticks, which is code.
pub fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) || text.contains("``") {
        return plain(text);
    }
    let written = parts
        .iter()
        .enumerate()
        .map(|(index, part)| match index % 2 {
            1 => inline_code(part),
            _ => plain(part),
        });
    written.collect()
}

/// The Markdown of a code block with this text, whatever the text contains. The language may be empty. Marks that would
/// show what follows in another order are left out.
pub fn code_block(text: &str, language: &str) -> String {
    let text = &text.replace(is_direction_mark, "");
    let runs = text.split(|c| c != '`').map(str::len);
    let longest = runs.max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let language = self::language(language);
    [&fence, language, "\n", text, end, &fence, "\n"].concat()
}

/// The language of a code block: the harmless characters at the beginning of what follows its fence.
fn language(info: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+#-_.".contains(c);
    let end = info.find(|c| !is_part(c)).unwrap_or(info.len());
    &info[..end.min(LANGUAGE_BYTES)]
}

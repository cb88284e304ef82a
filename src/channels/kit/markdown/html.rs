//! Telegram's HTML: <https://core.telegram.org/bots/api#html-style>.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{self, CUT_MARK, Document, Format, Level, Style};

/// UTF-16 units of one message's text after its markup is read: Telegram's bound.
const PIECE_UNITS: usize = 4096;
/// Bytes of one message as HTML: 4096 escaped units make 20 KiB; the rest is for tags.
const PIECE_HTML_BYTES: usize = 32 * 1024;
/// Entities of one message: Telegram shows those beyond it without markup.
const PIECE_ENTITIES: usize = 100;
/// Bytes of a link's tag with its address; a longer one is shown as text.
const LINK_BYTES: usize = 2048;
/// Bytes of all other tags that can be open at once; the longest is a code block with a language.
const TAGS_BYTES: usize = 256;

// Whatever is open, a message has room for its tags and a character.
const _: () = assert!(LINK_BYTES + TAGS_BYTES + CUT_MARK.len() < PIECE_HTML_BYTES);
const _: () = assert!(Level::NESTING.len() <= PIECE_ENTITIES);

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// For `parse_mode` HTML.
    pub html: String,
    /// The same without markup, in case Telegram says that it cannot parse the entities.
    pub plain: String,
}

impl From<markup::Piece> for Piece {
    fn from(piece: markup::Piece) -> Self {
        Self {
            html: piece.written,
            plain: piece.plain,
        }
    }
}

/// The messages of a Markdown text, see [`markup::render`].
pub fn render(markdown: &str) -> Vec<Piece> {
    let pieces = markup::render(markdown, &Html).into_iter();
    pieces.map(Piece::from).collect()
}

/// One message of a Markdown text that is still growing, see [`markup::draft`].
pub fn draft(markdown: &str) -> Option<Piece> {
    markup::draft(markdown, &Html).map(Piece::from)
}

/// Columns of code on the screen of a phone; longer lines wrap, and a table falls apart.
const PHONE_COLUMNS: usize = 36;

/// Telegram's HTML as a format.
pub struct Html;

impl Format for Html {
    fn limit(&self) -> Limit {
        Limit {
            units: PIECE_UNITS,
            unit: Unit::Utf16,
        }
    }

    fn table_columns(&self) -> Option<usize> {
        Some(PHONE_COLUMNS)
    }

    fn can_link(&self, address: &str) -> bool {
        // An address of `tg:` acts within Telegram, so it is shown and not hidden behind a link text.
        let schemes = ["http", "https", "mailto"];
        markup::has_scheme(address, &schemes) && link(address).len() <= LINK_BYTES
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let mut out = String::with_capacity(range.len() + range.len() / 4);
        let mut open = Style::default();
        for (stretch, style) in document.stretches(range) {
            change(&mut out, document, open, style);
            open = style;
            push_escaped(&mut out, &document.text()[stretch]);
        }
        change(&mut out, document, open, Style::default());
        out
    }

    /// Telegram counts what it shows; the size of the request and its entities are bounded besides.
    fn fits(&self, plain: &str, written: &str) -> bool {
        // Every other `<` is escaped; the language of a code block is no entity of its own.
        let tags = written.matches('<').count() - written.matches("</").count();
        let entities = tags - written.matches("<code class").count();
        self.limit().holds(plain) && written.len() <= PIECE_HTML_BYTES && entities <= PIECE_ENTITIES
    }
}

/// A text with everything escaped that HTML reads. Within an attribute quotation marks have to be
/// escaped too.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    push_escaped(&mut out, text);
    Cow::Owned(out)
}

/// The tag that opens a link.
fn link(address: &str) -> String {
    let address = escape(address).replace('"', "&quot;");
    ["<a href=\"", &address, "\">"].concat()
}

fn change(out: &mut String, document: &Document, from: Style, to: Style) {
    let levels = from.change(to);
    for level in levels.iter().rev().filter(|level| from.has(**level)) {
        out.push_str(match level {
            Level::Quote => "</blockquote>",
            Level::Link => "</a>",
            Level::Bold => "</b>",
            Level::Italic => "</i>",
            Level::Strike => "</s>",
            Level::Code => "</code>",
            Level::Pre if document.value(Level::Pre, from).is_empty() => "</pre>",
            Level::Pre => "</code></pre>",
            _ => "",
        });
    }
    for level in levels.iter().filter(|level| to.has(**level)) {
        let value = document.value(*level, to);
        out.push_str(match level {
            Level::Quote => "<blockquote>",
            Level::Link => {
                out.push_str(&link(value));
                continue;
            }
            Level::Bold => "<b>",
            Level::Italic => "<i>",
            Level::Strike => "<s>",
            Level::Code => "<code>",
            Level::Pre if value.is_empty() => "<pre>",
            Level::Pre => {
                out.push_str(&["<pre><code class=\"language-", value, "\">"].concat());
                continue;
            }
            _ => "",
        });
    }
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
}

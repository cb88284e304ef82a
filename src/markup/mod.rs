//! Floor 4: the model's Markdown as Telegram's HTML, in pieces that each fit a message.
//!
//! `read` makes a styled text of the Markdown, `split` finds where it is cut, `html` writes what lies
//! between two cuts. No tag exists before the cut, so none can be cut, and what is open at a cut is
//! closed and opened again by itself. The same text gives the same pieces: after a crash the delivery
//! goes on at a piece's number.
//!
//! What Telegram accepts: <https://core.telegram.org/bots/api#html-style>.

mod dense;
mod html;
mod read;
mod rich;
mod split;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use self::html::escape;
use self::read::read;
use self::rich::Rich;

/// What stands before a draft whose beginning is not shown.
const CUT_MARK: &str = "…\n";

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// For `parse_mode` HTML.
    pub html: String,
    /// The same without markup, for when Telegram says that it cannot parse the entities.
    pub plain: String,
}

impl Piece {
    fn of(rich: &Rich, range: Range<usize>) -> Self {
        Self {
            html: html::write(rich, range.clone()),
            plain: rich.text()[range].to_owned(),
        }
    }
}

/// The messages of a text; none for one in which there is nothing to see. Time and memory grow with
/// the text's length, which the caller bounds.
pub fn render(markdown: &str) -> Vec<Piece> {
    let rich = read(markdown);
    split::Pieces::new(&rich, 0)
        .map(|range| Piece::of(&rich, range))
        .collect()
}

/// One message of a text that is still growing: its end, where it is too long.
pub fn draft(markdown: &str) -> Option<Piece> {
    let rich = read(markdown);
    let range = split::Pieces::new(&rich, split::tail(rich.text())).last()?;
    let is_whole = rich.text()[..range.start].trim().is_empty();
    let mut piece = Piece::of(&rich, range);
    if !is_whole {
        piece.html.insert_str(0, CUT_MARK);
        piece.plain.insert_str(0, CUT_MARK);
    }
    Some(piece)
}

/// The Markdown of a text as code within a line, whatever the text contains.
pub fn inline_code(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let mut fence = "`".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let gap = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// The Markdown of a code block with this text, whatever the text contains. The language may be empty.
pub fn code_block(text: &str, language: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    [
        &fence,
        html::language(language),
        "\n",
        text,
        end,
        &fence,
        "\n",
    ]
    .concat()
}

//! The typed text on the screen.

use std::ops::Range;

use super::line::width;
use crate::cli::terminal::{mode, print};

/// A text that is wrapped to the screen's columns.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    rows: Vec<String>,
    /// Row and column of the cursor, from 0.
    cursor: (usize, usize),
}

/// Puts the text behind the prompt. Lines that are continued begin below the text, not below the prompt.
fn lay_out(prompt: &str, text: &str, cursor: usize, columns: usize) -> Layout {
    let indent: usize = prompt.chars().map(width).sum();
    let mut rows = vec![prompt.to_owned()];
    let mut column = indent;
    let mut place = None;
    let begin_row = |rows: &mut Vec<String>| {
        rows.push(" ".repeat(indent));
        indent
    };
    for (at, char) in text.char_indices() {
        if column + width(char) > columns {
            column = begin_row(&mut rows);
        }
        if at == cursor {
            place = Some((rows.len() - 1, column));
        }
        match char {
            '\n' => column = begin_row(&mut rows),
            char => {
                if let Some(row) = rows.last_mut() {
                    row.push(if char == '\t' { ' ' } else { char });
                }
                column += width(char);
            }
        }
    }
    if place.is_none() && column >= columns {
        column = begin_row(&mut rows);
    }
    let cursor = place.unwrap_or((rows.len() - 1, column));
    Layout { rows, cursor }
}

impl Layout {
    /// The rows around the cursor that fit on a screen.
    fn visible(&self, height: usize) -> Range<usize> {
        let first = (self.cursor.0 + 1).saturating_sub(height);
        first..self.rows.len().min(first + height)
    }
}

/// Paints a text again and again in the same place.
#[derive(Debug, Default)]
pub struct Painter {
    /// The row of the cursor below the first painted one.
    row: usize,
}

impl Painter {
    /// Paints the text, with the cursor at a byte of it.
    pub fn paint(&mut self, prompt: &str, text: &str, cursor: usize) {
        let (columns, height) = mode::size();
        let layout = lay_out(prompt, text, cursor, columns.max(8));
        let visible = layout.visible(height.saturating_sub(1).max(1));
        let up = |rows: usize| match rows {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        let (row, column) = (layout.cursor.0 - visible.start, layout.cursor.1);
        let painted = layout.rows[visible.clone()].join("\r\n");
        let back = up(visible.len() - 1 - row);
        let right = match column {
            0 => String::new(),
            column => format!("\x1b[{column}C"),
        };
        print::control(&format!("{}\r\x1b[J{painted}{back}\r{right}", up(self.row)));
        self.row = row;
    }

    /// Leaves the text on the screen as it is; what comes next begins below it.
    pub fn leave(&mut self) {
        print::control("\r\n");
        self.row = 0;
    }

    /// Clears the screen; the next text is painted at its top.
    pub fn clear(&mut self) {
        print::control("\x1b[H\x1b[2J");
        self.row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_to_the_columns_and_the_cursor_with_it() {
        let rows = |text: &str, cursor: usize, columns: usize| {
            let layout = lay_out("› ", text, cursor, columns);
            (layout.rows.join("|"), layout.cursor)
        };
        assert_eq!(rows("ab", 2, 10), ("› ab".into(), (0, 4)));
        assert_eq!(rows("abcdefgh", 8, 10), ("› abcdefgh|  ".into(), (1, 2)));
        assert_eq!(rows("abcdefghi", 8, 10), ("› abcdefgh|  i".into(), (1, 2)));
        assert_eq!(rows("a\nb", 1, 10), ("› a|  b".into(), (0, 3)));
        assert_eq!(rows("a\n", 2, 10), ("› a|  ".into(), (1, 2)));
        assert_eq!(
            rows("中文字节好", 0, 10),
            ("› 中文字节|  好".into(), (0, 2))
        );
        assert_eq!(rows("a中文字节", 13, 10), ("› a中文字|  节".into(), (1, 4)));
    }

    #[test]
    fn of_a_long_text_the_part_around_the_cursor_is_visible() {
        let text = "x\n".repeat(100);
        let layout = lay_out("› ", &text, text.len(), 40);
        assert_eq!(layout.visible(10), 91..101);
        let layout = lay_out("› ", &text, 0, 40);
        assert_eq!(layout.visible(10), 0..10);
    }
}

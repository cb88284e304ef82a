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

/// Puts the text behind the prompt. Lines that are continued begin below the text, not below the prompt. A text that does not
/// fit behind a question begins on the next line.
fn lay_out(prompt: &str, text: &str, cursor: usize, columns: usize) -> Layout {
    let columns_of = |text: &str| text.chars().map(width).sum::<usize>();
    let mut rows = prompt_rows(prompt, columns);
    let mut indent = rows.last().map_or(0, |row| columns_of(row));
    let is_question = indent > columns / QUESTION_PART;
    if is_question && indent + columns_of(text) >= columns {
        rows.push(String::new());
        indent = 0;
    }
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

/// A prompt that takes more than this part of a line is a question: below it, an answer would have too little room.
const QUESTION_PART: usize = 4;

/// The rows of a prompt, which is wrapped between words.
fn prompt_rows(prompt: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut column = 0;
    for word in prompt.split_inclusive(' ') {
        let word_columns: usize = word.trim_end().chars().map(width).sum();
        if column > 0 && column + word_columns > columns {
            rows.push(String::new());
            column = 0;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(word);
        }
        column += word.chars().map(width).sum::<usize>();
    }
    rows
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
    /// Columns of the painted rows above the cursor's, and of its own up to the cursor.
    above: Vec<usize>,
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
        let above = layout.rows[visible].iter().take(row);
        self.above = above.map(|row| row.chars().map(width).sum()).collect();
        self.above.push(column);
    }

    /// The terminal has another size, and has wrapped its lines again.
    pub fn resized(&mut self) {
        self.row = rewrapped(&self.above, mode::size().0);
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

/// The row of the cursor on a terminal of so many columns, which wraps long rows.
fn rewrapped(above: &[usize], columns: usize) -> usize {
    let rows = above
        .iter()
        .map(|width| width.saturating_sub(1) / columns.max(1));
    rows.sum::<usize>() + above.len().saturating_sub(1)
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
    fn an_answer_that_does_not_fit_behind_its_question_begins_below_it() {
        let rows = |prompt: &str, text: &str| {
            let layout = lay_out(prompt, text, text.len(), 20);
            (layout.rows.join("|"), layout.cursor)
        };
        assert_eq!(
            rows("API key? [skip]: ", "ab"),
            ("API key? [skip]: ab".into(), (0, 19))
        );
        assert_eq!(
            rows("API key? [skip]: ", "abc"),
            ("API key? [skip]: |abc".into(), (1, 3))
        );
        assert_eq!(
            rows("The model that answers [gpt]: ", "abcdefgh"),
            ("The model that |answers [gpt]: |abcdefgh".into(), (2, 8))
        );
    }

    #[test]
    fn a_terminal_that_wraps_its_lines_again_moves_the_cursor() {
        assert_eq!(rewrapped(&[], 40), 0);
        assert_eq!(rewrapped(&[12], 40), 0);
        assert_eq!(rewrapped(&[80, 12], 80), 1);
        assert_eq!(rewrapped(&[80, 80, 50], 40), 5);
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

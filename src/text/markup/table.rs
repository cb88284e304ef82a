//! Tables, laid out as lines of equal columns for a code block.

use pulldown_cmark::Alignment;

use super::width::{text_width, wrap};

/// Bytes of a table with its padding; a single wide cell would widen every row.
const TABLE_BYTES: usize = 64 * 1024;
/// Columns below which a table's cells are too narrow to wrap: its rows become records.
const TABLE_COLUMN_MIN: usize = 10;

const BETWEEN: &str = " | ";

/// A table that is being read. The first row is its head.
pub struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: String,
}

impl Table {
    /// An empty table.
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
            row: Vec::new(),
            cell: String::new(),
        }
    }

    /// Appends to the cell.
    pub fn push(&mut self, text: &str) {
        let text = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.cell.extend(text);
    }

    /// The cell so far.
    pub fn cell(&self) -> &str {
        &self.cell
    }

    /// Ends the cell.
    pub fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        self.row.push(cell.trim().to_owned());
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        let mut row = std::mem::take(&mut self.row);
        // The parser fills short rows up, to as many columns as the head has.
        while row.last().is_some_and(String::is_empty) {
            row.pop();
        }
        self.rows.push(row);
    }

    /// The head, which may be empty or shorter than a row.
    pub fn head(&self) -> &[String] {
        self.rows.first().map_or(&[], Vec::as_slice)
    }

    /// The rows below the head.
    pub fn records(&self) -> impl Iterator<Item = &[String]> {
        self.rows.iter().skip(1).map(Vec::as_slice)
    }

    /// The table as lines, the head with its rule and the rest, each with its newlines. An empty head
    /// is left out. `None` if the columns would be too narrow in so many columns of the screen.
    pub fn lines(&self, columns: Option<usize>) -> Option<(String, String)> {
        let widths = match columns {
            Some(columns) => self.shrunk_widths(columns)?,
            None => self.widths(),
        };
        let (mut head, mut rest) = (String::new(), String::new());
        if !self.head().is_empty() {
            self.push_row(&mut head, self.head(), &widths);
            push_rule(&mut head, &widths);
        }
        for row in self.records() {
            self.push_row(&mut rest, row, &widths);
        }
        Some((head, rest))
    }

    /// The columns' widths without a limit, or zeros if so much padding would be too long.
    fn widths(&self) -> Vec<usize> {
        let mut widths = self.natural_widths();
        let line = widths.iter().sum::<usize>() + widths.len() * BETWEEN.len();
        if line.saturating_mul(self.rows.len()) > TABLE_BYTES {
            widths.fill(0);
        }
        widths
    }

    /// The widths of the columns' widest cells.
    fn natural_widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; count];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = text_width(cell).max(*widest);
            }
        }
        widths
    }

    /// The widths with which a line takes at most so many columns: the widest ones shrink to an equal
    /// share. `None` if that would be too narrow to read, or take too many lines.
    fn shrunk_widths(&self, columns: usize) -> Option<Vec<usize>> {
        let mut widths = self.natural_widths();
        let between = widths.len().saturating_sub(1) * BETWEEN.len();
        let mut left = columns.checked_sub(between)?;
        let mut by_width = widths.clone();
        by_width.sort_unstable();
        let mut most = usize::MAX;
        for (done, width) in by_width.iter().enumerate() {
            let share = left / (by_width.len() - done);
            if *width > share {
                most = share;
                break;
            }
            left -= width;
        }
        if most < TABLE_COLUMN_MIN {
            return None;
        }
        let lines_of = |cell: &String| 2 * text_width(cell) / most + 1;
        let lines_of = |row: &Vec<String>| row.iter().map(lines_of).max().unwrap_or(1);
        let lines: usize = self.rows.iter().map(lines_of).sum();
        for width in &mut widths {
            *width = (*width).min(most);
        }
        (lines.saturating_mul(columns) <= TABLE_BYTES).then_some(widths)
    }

    fn push_row(&self, out: &mut String, row: &[String], widths: &[usize]) {
        let cells = row.iter().zip(widths).map(|(cell, width)| match width {
            0 => vec![cell.as_str()],
            width => wrap(cell, *width),
        });
        let cells: Vec<Vec<&str>> = cells.collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            for (column, (cell, widest)) in cells.iter().zip(widths).enumerate() {
                let cell = cell.get(line).copied().unwrap_or_default();
                let padding = widest.saturating_sub(text_width(cell));
                let left = match self.alignments.get(column) {
                    Some(Alignment::Right) => padding,
                    Some(Alignment::Center) => padding / 2,
                    _ => 0,
                };
                if column > 0 {
                    out.push_str(BETWEEN);
                }
                push_times(out, ' ', left);
                out.push_str(cell);
                push_times(out, ' ', padding - left);
            }
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
    }
}

fn push_rule(out: &mut String, widths: &[usize]) {
    for (column, widest) in widths.iter().enumerate() {
        if column > 0 {
            out.push_str("-+-");
        }
        push_times(out, '-', *widest);
    }
    out.push('\n');
}

fn push_times(out: &mut String, c: char, times: usize) {
    out.extend(std::iter::repeat_n(c, times));
}

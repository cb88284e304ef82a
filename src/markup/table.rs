//! Tables, laid out as lines of equal columns for a code block.

use pulldown_cmark::Alignment;

use crate::limits::markup::TABLE_BYTES;

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

    /// The lines, without a newline at the end. A head without words is left out.
    pub fn lines(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number == 0 && row.is_empty() {
                continue;
            }
            self.push_row(&mut out, row, &widths);
            if number == 0 {
                push_rule(&mut out, &widths);
            }
        }
        out.pop();
        out
    }

    /// The columns' widths, or zeros if so much padding is not worth it.
    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; count];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        let line = widths.iter().sum::<usize>() + count * BETWEEN.len();
        if line.saturating_mul(self.rows.len()) > TABLE_BYTES {
            widths.fill(0);
        }
        widths
    }

    fn push_row(&self, out: &mut String, row: &[String], widths: &[usize]) {
        let last = row.len().saturating_sub(1);
        for (column, (cell, widest)) in row.iter().zip(widths).enumerate() {
            let padding = widest.saturating_sub(width(cell));
            let left = match self.alignments.get(column) {
                Some(Alignment::Right) => padding,
                Some(Alignment::Center) => padding / 2,
                _ => 0,
            };
            push_times(out, ' ', left);
            out.push_str(cell);
            if column < last {
                push_times(out, ' ', padding - left);
                out.push_str(BETWEEN);
            }
        }
        out.push('\n');
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

/// Columns that a text takes in a monospaced font, roughly.
fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// 0 for combining characters, 2 for the blocks of East Asian characters and of emoji.
fn columns(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2705}'
        | '\u{274c}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

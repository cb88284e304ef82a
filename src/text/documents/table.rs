//! The text that is written: bounded, with tables in Markdown.

use super::TEXT_BYTES;

/// Columns of a table; what is beyond is left out.
pub const COLUMNS: usize = 256;
/// Characters of a cell.
const CELL_CHARS: usize = 4 * 1024;

/// A text that ends where it is long enough.
#[derive(Default)]
pub struct Writer {
    /// The text so far.
    pub text: String,
    /// Whether something was left out.
    pub is_cut: bool,
}

impl Writer {
    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.is_cut || self.text.len() >= TEXT_BYTES
    }

    /// Adds a line, of any text.
    pub fn line(&mut self, line: &str) {
        if self.text.len() + line.len() >= TEXT_BYTES {
            self.is_cut = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds an empty line, unless there is one or the text begins.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.line("");
        }
    }

    /// Adds a row of a table; the first one is its head.
    pub fn row(&mut self, cells: &[String], is_first: bool) {
        let mut line = String::from("|");
        for cell in cells.iter().take(COLUMNS) {
            line.push(' ');
            for char in cell.trim().chars().take(CELL_CHARS) {
                match char {
                    '|' => line.push_str("\\|"),
                    char if char.is_control() => line.push(' '),
                    char => line.push(char),
                }
            }
            line.push_str(" |");
        }
        self.line(&line);
        if is_first {
            let columns = cells.len().clamp(1, COLUMNS);
            self.line(&format!("|{}", " --- |".repeat(columns)));
        }
    }

    /// Adds rows as a table, each as wide as the widest one.
    pub fn table(&mut self, mut rows: Vec<Vec<String>>) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        if columns == 0 {
            return;
        }
        self.gap();
        for (index, row) in rows.iter_mut().enumerate() {
            row.resize(columns, String::new());
            self.row(row, index == 0);
            if self.is_full() {
                self.is_cut = true;
                break;
            }
        }
        self.gap();
    }
}

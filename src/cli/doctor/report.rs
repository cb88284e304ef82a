//! The findings, row by row.

use serde_json::{Value, json};

use crate::base::error::{Exit, Result};
use crate::cli::terminal::print;

/// The state of what was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but should be looked at.
    Warning,
    /// Something does not work until it is fixed.
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One thing that was examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name: one word.
    pub name: &'static str,
    /// Its state.
    pub state: State,
    /// The finding and, where it is not ok, what to do.
    pub text: String,
}

impl Row {
    /// It is as it should be.
    pub fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, State::Ok, text.into())
    }

    /// It should be looked at.
    pub fn warning(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, State::Warning, text.into())
    }

    /// It does not work.
    pub fn failed(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, State::Failed, text.into())
    }

    fn new(name: &'static str, state: State, text: String) -> Self {
        Self { name, state, text }
    }

    /// One line, whatever text of other programs and servers is in it.
    fn line(&self) -> String {
        let text: Vec<&str> = self.text.split_whitespace().collect();
        format!(
            "{:<9}{:<10}{}",
            self.state.name(),
            self.name,
            text.join(" ")
        )
    }

    fn json(&self) -> Value {
        json!({"name": self.name, "state": self.state.name(), "text": self.text})
    }
}

/// The rows so far; each is shown as soon as it is known.
pub struct Report {
    json: bool,
    rows: Vec<Row>,
}

impl Report {
    /// A report without rows; with `json` it is shown at the end, as one object.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let shown = if self.json {
            Ok(())
        } else {
            print::line(&row.line())
        };
        self.rows.push(row);
        shown
    }

    /// Ends the report: [`Exit::Failed`] when a row failed.
    pub fn finish(self) -> Result<Exit> {
        let failed = self.count(State::Failed);
        if self.json {
            let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
            print::json(&json!({"rows": rows, "failed": failed}).to_string())?;
        } else {
            print::line(&self.summary())?;
        }
        Ok(match failed {
            0 => Exit::Done,
            _ => Exit::Failed,
        })
    }

    fn summary(&self) -> String {
        match (self.count(State::Failed), self.count(State::Warning)) {
            (0, 0) => "\nNo problems found.".to_owned(),
            (0, warnings) => format!("\nNo errors, {}.", count_of(warnings, "warning")),
            (failed, 0) => format!("\n{}.", count_of(failed, "error")),
            (failed, warnings) => format!(
                "\n{}, {}.",
                count_of(failed, "error"),
                count_of(warnings, "warning")
            ),
        }
    }

    fn count(&self, state: State) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }
}

/// A count with its noun, such as `2 errors`.
fn count_of(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_whatever_it_says() {
        let row = Row::failed("model", "it said:\n  <html>\t</html>");
        assert_eq!(row.line(), "failed   model     it said: <html> </html>");
        assert_eq!(row.json()["state"], "failed");
    }

    #[test]
    fn the_summary_counts_what_is_not_well() {
        let mut report = Report::new(true);
        assert_eq!(report.summary(), "\nNo problems found.");
        report.add(Row::ok("clock", "")).unwrap();
        report.add(Row::warning("disk", "")).unwrap();
        assert_eq!(report.summary(), "\nNo errors, 1 warning.");
        report.add(Row::failed("model", "")).unwrap();
        assert_eq!(report.summary(), "\n1 error, 1 warning.");
        report.add(Row::failed("dns", "")).unwrap();
        assert_eq!(report.summary(), "\n2 errors, 1 warning.");
    }
}

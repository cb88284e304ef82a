//! What was found, row by row.

use serde_json::{Value, json};

use crate::cli::terminal::print;
use crate::error::{Exit, Result};

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, or will; but it is worth a look.
    Warning,
    /// Something does not work before a person does something.
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

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is: a word.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found and, where it is not ok, what to do.
    pub text: String,
}

impl Row {
    /// It is as it should be.
    pub fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, State::Ok, text.into())
    }

    /// It is worth a look.
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

    /// One line, whatever other programs and servers have said.
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
        let shown = match self.json {
            true => Ok(()),
            false => print::line(&row.line()),
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
            (0, 0) => "\nAll is well.".to_owned(),
            (0, warnings) => format!("\nNothing failed; {warnings} to look at."),
            (failed, _) => format!("\n{failed} failed."),
        }
    }

    fn count(&self, state: State) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
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
        assert_eq!(report.summary(), "\nAll is well.");
        report.add(Row::ok("clock", "")).unwrap();
        report.add(Row::warning("disk", "")).unwrap();
        assert_eq!(report.summary(), "\nNothing failed; 1 to look at.");
        report.add(Row::failed("model", "")).unwrap();
        assert_eq!(report.summary(), "\n1 failed.");
    }
}

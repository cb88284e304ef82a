//! The output of one command in a shell: told as it comes, and kept as plain lines.

use std::borrow::Cow;

use crate::sandbox::confine::OUTPUT_BYTES;
use crate::sandbox::confine::run::{Captured, Collector, Output};
use crate::text::overstrike::Overstrike;

/// Collects the output of one command as plain text.
pub struct Follower<'a> {
    collector: Collector<'a>,
    screen: Overstrike,
    /// Bytes as they came.
    pub total: u64,
    is_binary: bool,
    plain: String,
}

impl<'a> Follower<'a> {
    /// Nothing yet.
    pub fn new(output: Output<'a>) -> Self {
        Self {
            collector: Collector::new(OUTPUT_BYTES, output),
            screen: Overstrike::default(),
            total: 0,
            is_binary: false,
            plain: String::new(),
        }
    }

    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.is_binary |= bytes.contains(&0);
        self.collector.tell(bytes);
        self.screen.feed(bytes, &mut self.plain);
        if !self.plain.is_empty() {
            self.collector.keep(without_eval(&self.plain).as_bytes());
            self.plain.clear();
        }
    }

    /// The output.
    pub fn finish(mut self) -> Captured {
        self.screen.finish(&mut self.plain);
        if self.is_binary {
            Captured::binary(self.total)
        } else {
            self.collector.keep(without_eval(&self.plain).as_bytes());
            self.collector.finish()
        }
    }
}

/// How a shell names itself in a complaint.
const NAMES: [&str; 6] = ["sh", "dash", "ash", "bash", "/bin/sh", "/bin/bash"];

/// An output without the `eval` in which each command runs: `sh: 7: eval: x: not found` is `sh: x: not found`, and so is
/// `sh: eval: line 7: x: not found`.
fn without_eval(text: &str) -> Cow<'_, str> {
    if !text.contains("eval: ") {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let cut = line.split_once(": ").and_then(|(name, rest)| {
            let complaint = match rest.strip_prefix("eval: ") {
                Some(rest) => behind_number(rest.strip_prefix("line ")?)?,
                None => behind_number(rest)?.strip_prefix("eval: ")?,
            };
            NAMES
                .contains(&name)
                .then(|| format!("{name}: {complaint}"))
        });
        cut.map_or(Cow::Borrowed(line), Cow::Owned)
    });
    Cow::Owned(lines.collect())
}

/// What follows a number of a line and a colon.
fn behind_number(text: &str) -> Option<&str> {
    let (number, rest) = text.split_once(": ")?;
    number.parse::<u64>().is_ok().then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::confine::run::OutputChunk;

    #[test]
    fn a_complaint_is_about_the_command_and_not_about_the_line_that_runs_it() {
        for (written, kept) in [
            ("sh: 7: eval: x: not found\n", "sh: x: not found\n"),
            ("sh: eval: line 7: x: not found", "sh: x: not found"),
            (
                "a\n/bin/sh: 1: eval: Syntax error: \"fi\" unexpected\nb",
                "a\n/bin/sh: Syntax error: \"fi\" unexpected\nb",
            ),
            ("medieval: 1: eval: x\n", "medieval: 1: eval: x\n"),
            ("sh: 2: cd: can't cd to /x\n", "sh: 2: cd: can't cd to /x\n"),
        ] {
            let mut untold = |_: OutputChunk<'_>| {};
            let mut follower = Follower::new(&mut untold);
            follower.push(written.as_bytes());
            assert_eq!(follower.finish().text(), kept);
        }
    }
}

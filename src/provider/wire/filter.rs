//! Keeps back text that may be a written tool call until it is known whether it is one.

use super::written::{self, Written};
use crate::chat::ToolSpec;

/// How a written call begins and ends. An empty end is the end of the answer.
const MARKS: [(&str, &str); 7] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("<function=", "</function>"),
    ("```json", "```"),
    ("```tool_call", "```"),
    ("[TOOL_CALLS]", ""),
    ("<|python_tag|>", ""),
];

/// Takes an answer's text in pieces, and parts the written calls from it.
#[derive(Debug)]
pub struct Filter<'a> {
    tools: &'a [ToolSpec],
    /// Text that is not let through yet.
    held: String,
    /// The mark that `held` begins with.
    mark: Option<usize>,
    /// Bytes of `held` in which the mark's end does not begin: a long text that comes in many small
    /// pieces is searched once.
    searched: usize,
    /// Whether the first letter that is not white space has come.
    begun: bool,
    /// Whether the answer begins with a brace: then it may be a call without any marks.
    bare: bool,
    /// The calls found.
    pub calls: Vec<Written>,
}

impl<'a> Filter<'a> {
    /// Looks for calls of the given tools only.
    pub fn new(tools: &'a [ToolSpec]) -> Self {
        Self {
            tools,
            held: String::new(),
            mark: None,
            searched: 0,
            begun: false,
            bare: false,
            calls: Vec::new(),
        }
    }

    /// Takes a piece and returns what is certainly text for the person. Without tools all of it is.
    pub fn push(&mut self, piece: &str) -> String {
        if self.tools.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if !self.begun {
            match self.held.trim_start().bytes().next() {
                None => return String::new(),
                first => {
                    self.begun = true;
                    self.bare = first == Some(b'{');
                }
            }
        }
        if self.bare {
            return String::new();
        }
        let mut text = String::new();
        while self.step(&mut text) {}
        text
    }

    /// The answer is over: what is held back is a call or text after all.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        let inside = match self.mark {
            Some(mark) => inside(&rest, mark),
            None if self.bare => rest.as_str(),
            None => return rest,
        };
        match self.read(inside) {
            Some(calls) => {
                self.calls.extend(calls);
                String::new()
            }
            None => rest,
        }
    }

    /// Decides about the beginning of what is held; false when more has to come first.
    fn step(&mut self, text: &mut String) -> bool {
        let Some(mark) = self.mark else {
            return self.find_mark(text);
        };
        let (open, close) = MARKS[mark];
        let from = self.searched.max(open.len());
        let found = self.held[from..].find(close);
        let Some(end) = found.filter(|_| !close.is_empty()) else {
            let last = self.held.len().saturating_sub(close.len());
            self.searched = self.held.floor_char_boundary(last).max(open.len());
            return false;
        };
        let whole: String = self.held.drain(..from + end + close.len()).collect();
        (self.mark, self.searched) = (None, 0);
        match self.read(inside(&whole, mark)) {
            Some(calls) => self.calls.extend(calls),
            None => text.push_str(&whole),
        }
        true
    }

    fn read(&self, text: &str) -> Option<Vec<Written>> {
        written::read(text, &|name| {
            self.tools.iter().any(|tool| tool.name == name)
        })
    }

    /// Lets through what stands before a mark, or before what may become one.
    fn find_mark(&mut self, text: &mut String) -> bool {
        let found = MARKS
            .iter()
            .enumerate()
            .filter_map(|(mark, (open, _))| Some((self.held.find(open)?, mark)))
            .min();
        let safe = match found {
            Some((start, _)) => start,
            None => self.held.len() - self.unfinished_mark(),
        };
        text.extend(self.held.drain(..safe));
        self.mark = found.map(|(_, mark)| mark);
        found.is_some()
    }

    /// How many bytes at the end may be the beginning of a mark.
    fn unfinished_mark(&self) -> usize {
        let held = self.held.as_str();
        let longest = |open: &str| {
            let lengths = (1..open.len()).rev();
            lengths
                .into_iter()
                .find(|length| held.ends_with(&open[..*length]))
        };
        MARKS
            .iter()
            .filter_map(|(open, _)| longest(open))
            .max()
            .unwrap_or(0)
    }
}

/// What stands between a mark and its end; for Qwen's tags with them.
fn inside(whole: &str, mark: usize) -> &str {
    let (open, close) = MARKS[mark];
    if open.ends_with('=') {
        return whole;
    }
    let rest = whole.strip_prefix(open).unwrap_or(whole);
    rest.strip_suffix(close).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static TOOLS: [ToolSpec; 1] = [ToolSpec::fixed("ls", "", "{}")];

    fn part(pieces: &[&str]) -> (String, Vec<String>) {
        let mut filter = Filter::new(&TOOLS);
        let mut text: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        text += &filter.finish();
        let calls = filter.calls.iter();
        (
            text,
            calls
                .map(|call| call.name.clone() + &call.arguments)
                .collect(),
        )
    }

    #[test]
    fn written_calls_are_taken_out_and_everything_else_stays() {
        for (answer, text, calls) in [
            ("plain `code` <b>", "plain `code` <b>", 0),
            (
                r#"I look. <tool_call>{"name":"ls","arguments":{}}</tool_call> So."#,
                "I look.  So.",
                1,
            ),
            (
                r#"<tool_call>{"name":"ls"}</tool_call><tool_call>{"name":"ls"}"#,
                "",
                2,
            ),
            ("```json\n{\"name\":\"ls\"}\n```", "", 1),
            (
                "See:\n```json\n{\"a\":1}\n```\nDone.",
                "See:\n```json\n{\"a\":1}\n```\nDone.",
                0,
            ),
            (
                "```rust\nfn main() {}\n```",
                "```rust\nfn main() {}\n```",
                0,
            ),
            (r#"[TOOL_CALLS][{"name":"ls","arguments":{}}]"#, "", 1),
            ("<function=ls>\n</function>", "", 1),
            (
                "<tool_call>\n<function=ls>\n</function>\n</tool_call>",
                "",
                1,
            ),
            (r#"{"name":"ls","parameters":{}}"#, "", 1),
            (
                r#"{"name":"Ada","age":36}"#,
                r#"{"name":"Ada","age":36}"#,
                0,
            ),
            ("a <tool_call> tag", "a <tool_call> tag", 0),
            ("a < b", "a < b", 0),
            ("", "", 0),
        ] {
            let (found_text, found_calls) = part(&[answer]);
            assert_eq!(
                (found_text.as_str(), found_calls.len()),
                (text, calls),
                "{answer}"
            );
        }
    }

    #[test]
    fn text_is_let_through_as_soon_as_it_can_be_no_call() {
        let mut filter = Filter::new(&TOOLS);
        assert_eq!(filter.push("Hello <to"), "Hello ");
        assert_eq!(filter.push("mato"), "<tomato");
        assert_eq!(Filter::new(&[]).push("{\"a\""), "{\"a\"");
    }

    proptest! {
        #[test]
        fn the_cuts_between_pieces_do_not_matter(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<tool_call>"), Just("</tool_call>"), Just(r#"{"name":"ls"}"#),
                    Just("```json"), Just("```"), Just("<function=ls>"), Just("</function>"),
                    Just("é "), Just("<"), Just("[TOOL_"), Just("CALLS]"), Just("\n"),
                ],
                0..10,
            ),
            cut in 0_usize..120,
        ) {
            let answer = parts.concat();
            let mut cut = cut.min(answer.len());
            while !answer.is_char_boundary(cut) {
                cut -= 1;
            }
            let (left, right) = answer.split_at(cut);
            prop_assert_eq!(part(&[left, right]), part(&[&answer]));
        }
    }
}

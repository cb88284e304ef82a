//! What to do next in a turn, as values. Pure: no I/O, no clock.
//!
//! `run` asks, uses tools and journals; this decides when to continue, when to tell the model that it
//! is going in circles, and when to end with an account of what was done.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::chat::{Reply, StopReason, ToolCall};
use crate::base::json;
use crate::base::language::Language;

use super::texts;

/// Failures of one call with the same arguments, in a row, until the model is told.
const FAILURES_IN_A_ROW: u32 = 3;
/// Times one call with the same arguments is made until the model is told.
const REPEATS: u32 = 5;
/// Different calls remembered within a turn to see repetitions; a circle is shorter.
const CALLS_REMEMBERED: usize = 32;
/// Hints that the account of a turn at its bound names.
const ACCOUNT_HINTS: usize = 12;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Ask the model; a note is added to the conversation first.
    Ask {
        /// A note from the runtime to the model.
        note: Option<String>,
    },
    /// Run the calls of the reply.
    Use,
    /// End the turn.
    End(Ending),
}

/// Why a turn ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model has answered.
    Answered,
    /// The answer stayed cut off at the model's longest length.
    Cut,
    /// The reply was empty, twice.
    Empty,
    /// The reply had its most tokens before it said anything, twice.
    NoRoom,
    /// The provider's filter refused.
    Filtered,
    /// The limit of steps was reached.
    StepLimit,
    /// The tokens of the turn were used up.
    TokenLimit,
    /// The model repeated a call despite a warning; the tool's name.
    Circles(String),
}

impl Ending {
    /// What the person reads when a turn ends without an answer; empty for [`Ending::Answered`].
    /// `tools` are the hints of the calls that were made.
    pub fn format_account(&self, steps: u32, tools: &[String], language: Language) -> String {
        let done = match list_hints(tools, language) {
            hints if hints.is_empty() => String::new(),
            hints => texts::done_so_far(language, &hints),
        };
        match self {
            Ending::StepLimit => texts::step_limit(language, &steps, &done),
            Ending::TokenLimit => texts::token_limit(language, &steps, &done),
            Ending::Circles(tool) => texts::circles(language, tool, &done),
            Ending::Empty => texts::empty_answer(language).to_owned(),
            Ending::NoRoom => texts::thought_too_long(language).to_owned(),
            Ending::Filtered => texts::filtered(language).to_owned(),
            Ending::Cut => texts::cut_answer(language).to_owned(),
            Ending::Answered => String::new(),
        }
    }
}

/// The hints for the account: repeated ones counted, not too many.
fn list_hints(hints: &[String], language: Language) -> String {
    let mut runs = hints.chunk_by(|first, second| first == second);
    let mut listed: Vec<String> = runs
        .by_ref()
        .take(ACCOUNT_HINTS)
        .map(|run| match run {
            [hint] => hint.clone(),
            _ => texts::repeated(language, &run[0], &run.len()),
        })
        .collect();
    let left: usize = runs.map(<[String]>::len).sum();
    if left > 0 {
        listed.push(texts::more_hints(language, &left));
    }
    listed.join(texts::comma(language))
}

/// A finished call.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Whether it failed.
    pub failed: bool,
    /// Whether its tool only reads.
    pub read_only: bool,
}

/// The state of one turn.
#[derive(Debug)]
pub struct Turn {
    max_steps: u32,
    steps: u32,
    asked_again: bool,
    seen: heapless::Vec<Seen, CALLS_REMEMBERED>,
    warned: bool,
}

/// How often one call, with the same arguments, was made.
#[derive(Clone, Copy, Debug)]
struct Seen {
    fingerprint: u64,
    times: u32,
    failures: u32,
    read_only: bool,
}

impl Turn {
    /// A turn of at most `max_steps` questions to the model.
    pub fn new(max_steps: u32) -> Self {
        Self {
            max_steps: max_steps.max(1),
            steps: 0,
            asked_again: false,
            seen: heapless::Vec::new(),
            warned: false,
        }
    }

    /// How many questions the model was asked.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The first step.
    pub fn begin(&mut self) -> Decision {
        self.ask(None)
    }

    /// The model has replied.
    pub fn replied(&mut self, reply: &Reply) -> Decision {
        match (
            reply.stop,
            reply.tool_calls.is_empty(),
            reply.text.trim().is_empty(),
        ) {
            // The last call's arguments are cut off, and running half a call can do harm.
            (StopReason::Length, false, _) => self.ask_again(CUT_CALL, Ending::Cut),
            (_, false, _) => Decision::Use,
            (StopReason::Filtered, true, _) => Decision::End(Ending::Filtered),
            (StopReason::Length, true, true) => self.ask_again(EMPTY, Ending::NoRoom),
            (_, true, true) => self.ask_again(EMPTY, Ending::Empty),
            (StopReason::Length, true, false) => self.ask_again(CUT_TEXT, Ending::Cut),
            (StopReason::Done, true, false) => Decision::End(Ending::Answered),
        }
    }

    /// Another model is asked instead of one that had nothing to say.
    pub fn ask_another(&mut self) -> Decision {
        self.asked_again = false;
        self.ask(None)
    }

    /// Whether the model may be asked once more.
    pub fn has_steps(&self) -> bool {
        self.steps < self.max_steps
    }

    /// The answer does not go out; the note says why.
    pub fn send_back(&mut self, note: String) -> Decision {
        self.ask(Some(note))
    }

    /// The calls of the last reply have been run.
    pub fn used(&mut self, done: &[Done<'_>]) -> Decision {
        let mut circles = None;
        for call in done {
            if self.remember(call) {
                circles = Some(call.call.name.clone());
            }
        }
        match circles {
            None => self.ask(None),
            Some(tool) if self.warned => Decision::End(Ending::Circles(tool)),
            Some(tool) => {
                self.warned = true;
                let note = format!(
                    "You have made the same call of {tool} with the same arguments several times. The outcome will \
                     not change: try another way, or say what prevents you. One more such call ends the turn."
                );
                self.ask(Some(note))
            }
        }
    }

    fn ask(&mut self, note: Option<String>) -> Decision {
        if !self.has_steps() {
            return Decision::End(Ending::StepLimit);
        }
        self.steps += 1;
        Decision::Ask { note }
    }

    /// Asks once more in a turn, and then ends it.
    fn ask_again(&mut self, note: &str, otherwise: Ending) -> Decision {
        if std::mem::replace(&mut self.asked_again, true) {
            return Decision::End(otherwise);
        }
        self.ask(Some(note.to_owned()))
    }

    /// Counts a call; true when it has been made too often.
    fn remember(&mut self, done: &Done<'_>) -> bool {
        let fingerprint = fingerprint(done.call);
        let mut seen = Seen {
            fingerprint,
            times: 0,
            failures: 0,
            read_only: done.read_only,
        };
        if let Some(index) = self
            .seen
            .iter()
            .position(|earlier| earlier.fingerprint == fingerprint)
        {
            seen = self.seen.remove(index);
        } else if self.seen.is_full() {
            self.seen.remove(0);
        }
        seen.times += 1;
        seen.failures = if done.failed { seen.failures + 1 } else { 0 };
        // Room was made above.
        let _ = self.seen.push(seen);
        if !done.failed && !done.read_only {
            self.world_changed();
        }
        seen.failures >= FAILURES_IN_A_ROW || seen.times >= REPEATS
    }

    /// After a write, reading again is not a repetition.
    fn world_changed(&mut self) {
        self.seen.retain(|seen| !seen.read_only);
    }
}

const EMPTY: &str = "Your reply was empty. Answer the person now, in words.";
const CUT_TEXT: &str = "Your reply was cut off at its longest length. Go on exactly where it stopped, without repeating, and be brief.";
const CUT_CALL: &str = "Your tool call was cut off at the longest length of a reply and was not run. Make it in smaller parts.";

/// The same call with its arguments in another order or spacing counts as the same.
fn fingerprint(call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    match json::from_str::<serde_json::Value>(&call.arguments) {
        Ok(value) => value.to_string().hash(&mut hasher),
        Err(_) => call.arguments.trim().hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
            signature: None,
        }
    }

    fn says(text: &str, stop: StopReason) -> Reply {
        Reply {
            text: text.into(),
            stop,
            ..Reply::default()
        }
    }

    fn calls(stop: StopReason) -> Reply {
        Reply {
            tool_calls: vec![call("t", "{}")],
            stop,
            ..Reply::default()
        }
    }

    /// What one reply leads to at the first and at the second time within a turn.
    #[test]
    fn a_reply_leads_to() {
        use StopReason::{Done, Filtered, Length};
        let table = [
            (
                "an answer",
                says("hi", Done),
                "end Answered",
                "end Answered",
            ),
            ("calls", calls(Done), "use", "use"),
            ("nothing", says(" \n", Done), "ask", "end Empty"),
            ("a cut answer", says("once upon", Length), "ask", "end Cut"),
            ("a cut call", calls(Length), "ask", "end Cut"),
            (
                "thinking up to the limit",
                says("", Length),
                "ask",
                "end NoRoom",
            ),
            (
                "a filter",
                says("", Filtered),
                "end Filtered",
                "end Filtered",
            ),
            ("calls and then a filter", calls(Filtered), "use", "use"),
        ];
        let word = |decision: Decision| match decision {
            Decision::Ask { note: Some(_) } => "ask".to_owned(),
            Decision::Ask { note: None } => "ask without a word".to_owned(),
            Decision::Use => "use".to_owned(),
            Decision::End(ending) => format!("end {ending:?}"),
        };
        for (what, reply, first, second) in table {
            let mut turn = Turn::new(40);
            assert_eq!(turn.begin(), Decision::Ask { note: None });
            assert_eq!(word(turn.replied(&reply)), first, "{what}");
            assert_eq!(word(turn.replied(&reply)), second, "{what}, again");
        }
    }

    #[test]
    fn the_bound_of_steps_ends_a_turn_that_would_go_on_for_ever() {
        let mut turn = Turn::new(40);
        turn.begin();
        for step in 1.. {
            assert_eq!(turn.replied(&calls(StopReason::Done)), Decision::Use);
            let different = call("t", &step.to_string());
            match turn.used(&[Done {
                call: &different,
                failed: false,
                read_only: true,
            }]) {
                Decision::End(ending) => {
                    assert_eq!((ending, step), (Ending::StepLimit, 40));
                    break;
                }
                decision => assert_eq!(decision, Decision::Ask { note: None }),
            }
        }
        assert_eq!(turn.steps(), 40);
    }

    fn use_until_the_end(calls: &[(ToolCall, bool)]) -> Vec<&'static str> {
        let mut turn = Turn::new(40);
        turn.begin();
        let decisions = calls.iter().map(|(call, failed)| {
            match turn.used(&[Done {
                call,
                failed: *failed,
                read_only: true,
            }]) {
                Decision::Ask { note: None } => "goes on",
                Decision::Ask { note: Some(_) } => "is warned",
                Decision::End(Ending::Circles(_)) => "ends",
                _ => "?",
            }
        });
        decisions.collect()
    }

    #[test]
    fn three_failures_in_a_row_are_told_and_the_next_ends_the_turn() {
        let failing = (call("t", r#"{"a":1, "b":2}"#), true);
        let reordered = (call("t", r#"{"b":2,"a":1}"#), true);
        assert_eq!(
            use_until_the_end(&[failing.clone(), failing.clone(), reordered, failing.clone()]),
            ["goes on", "goes on", "is warned", "ends"]
        );
        let other = (call("t", r#"{"a":2}"#), true);
        assert_eq!(
            use_until_the_end(&[failing.clone(), failing.clone(), other, (failing.0, false)]),
            ["goes on", "goes on", "goes on", "goes on"]
        );
    }

    #[test]
    fn five_of_the_same_are_told_even_when_they_succeed() {
        let same = (call("t", "{}"), false);
        assert_eq!(
            use_until_the_end(&std::array::from_fn::<_, 6, _>(|_| same.clone())),
            [
                "goes on",
                "goes on",
                "goes on",
                "goes on",
                "is warned",
                "ends"
            ]
        );
    }

    #[test]
    fn looking_again_after_writing_is_no_repetition() {
        let mut turn = Turn::new(100);
        turn.begin();
        let read = call("read_file", r#"{"path":"a"}"#);
        for version in 0..10 {
            let write = call("write_file", &version.to_string());
            let both = [
                Done {
                    call: &write,
                    failed: false,
                    read_only: false,
                },
                Done {
                    call: &read,
                    failed: false,
                    read_only: true,
                },
            ];
            assert_eq!(turn.used(&both), Decision::Ask { note: None });
        }
    }

    #[test]
    fn the_account_counts_what_was_done_again_and_again() {
        let hints = ["a()", "a()", "b()"].map(str::to_owned);
        assert_eq!(list_hints(&hints, Language::English), "a() 2 times, b()");
        let many: Vec<String> = (0..ACCOUNT_HINTS + 3)
            .map(|each| each.to_string())
            .collect();
        assert!(
            list_hints(&many, Language::English).ends_with("11, and 3 more"),
            "{}",
            list_hints(&many, Language::English)
        );
        assert_eq!(list_hints(&[], Language::English), "");
    }
}

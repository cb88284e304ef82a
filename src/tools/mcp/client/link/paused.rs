//! A call that waits for an answer of a person or a model.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Exchange, Resume, Step};
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputRequest};
use crate::base::error::Result;
use crate::base::json;
use crate::text::one_line;
use crate::tools::mcp::client::input;

/// Characters of a report of progress.
const PROGRESS_CHARS: usize = 120;

/// A call that waits for an answer.
pub struct Paused {
    pub(super) exchange: Exchange,
    /// What the server calls the question: for `Respond` the id of its request, as JSON.
    pub(super) key: String,
    pub(super) request: InputRequest,
    /// Further questions.
    pub(super) waiting: VecDeque<(String, InputRequest)>,
    pub(super) answers: Map<String, Value>,
    pub(super) resume: Resume,
}

impl Paused {
    /// What is to be asked.
    pub fn request(&self) -> &InputRequest {
        &self.request
    }

    /// Goes on with the answer.
    pub fn answer(
        mut self: Box<Self>,
        answer: &InputAnswer,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Step> {
        let value = input::write(&self.request, answer);
        match &self.resume {
            Resume::Respond => {
                let value = value.map_err(|why| (-1, why));
                let link = &self.exchange.link;
                link.respond(&self.key, value, cancel)?;
                self.exchange.follow(cancel, progress)
            }
            Resume::Retry(_) => {
                let value = value.map_err(|why| self.exchange.link.fault(why))?;
                self.answers.insert(self.key, value);
                if let Some((key, request)) = self.waiting.pop_front() {
                    (self.key, self.request) = (key, request);
                    return Ok(Step::Asked(self));
                }
                self.exchange
                    .retry(self.answers, self.resume, cancel, progress)
            }
        }
    }

    /// Ends the call without an answer, and says so to a server that waits for one.
    pub fn give_up(self: Box<Self>) {
        if let Resume::Respond = self.resume {
            let link = &self.exchange.link;
            let value = input::write(&self.request, &InputAnswer::Cancelled);
            // The call's own token may be raised already.
            let sent = link.respond(&self.key, value.map_err(|why| (-1, why)), &Cancel::new());
            if let Err(error) = sent {
                tracing::debug!(server = %link.options.name, "failed to cancel a question: {error}");
            }
        }
        self.exchange.say_cancelled("there is no answer");
    }
}

/// What a report of progress says to people, which may be nothing; `None` when it is not about the request
/// with this id.
pub fn progress_text(params: Option<&RawValue>, id: u64) -> Option<String> {
    let params: Map<String, Value> = json::from_str(params?.get()).ok()?;
    let of = params.get("progressToken")?;
    if json::to_number(of) != Some(id) {
        return None;
    }
    let number = |name: &str| params.get(name).and_then(Value::as_f64);
    let mut text = match (number("progress"), number("total")) {
        (Some(done), Some(total)) if total > 0.0 => format!("{done}/{total}"),
        (Some(done), _) => format!("{done}"),
        _ => String::new(),
    };
    if let Some(said) = params.get("message").and_then(Value::as_str) {
        let said = one_line(said, PROGRESS_CHARS);
        text = if text.is_empty() {
            said
        } else {
            format!("{text} {said}")
        };
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_progress_of_the_call_counts() {
        let text = |params: &str| progress_text(Some(json::borrowed_from_str(params).unwrap()), 7);
        let half = r#"{"progressToken":7,"progress":1,"total":2}"#;
        assert_eq!(text(half).as_deref(), Some("1/2"));
        assert_eq!(text(r#"{"progressToken":"7"}"#).as_deref(), Some(""));
        for other in [r#"{"progressToken":8,"progress":1}"#, r#"{"progress":1}"#] {
            assert_eq!(text(other), None);
        }
        assert_eq!(progress_text(None, 7), None);
    }
}

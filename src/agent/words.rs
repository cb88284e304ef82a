//! What is said where no model says it: to the person at a turn's end, and to the model of a message.
//! Pure.

use super::turn::Ending;
use crate::chat::ToolResult;
use crate::limits::agent::ACCOUNT_HINTS;
use crate::message::{Attachment, Envelope, Media};

/// What the person is told when a turn ends without an answer.
pub fn account(ending: &Ending, steps: u32, tools: &[String]) -> String {
    let done = match said(tools) {
        tools if tools.is_empty() => String::new(),
        tools => format!(" Done so far: {tools}."),
    };
    match ending {
        Ending::StepLimit => format!(
            "I stopped at the limit of {steps} steps (agents.defaults.maxToolIterations).{done} Tell me to go on, or \
             cut the task into smaller parts."
        ),
        Ending::Circles(tool) => format!(
            "I stopped because I was going in circles: the same call of {tool} again and again, without anything \
             new.{done} Tell me what to do differently."
        ),
        Ending::Empty => {
            "The model gave no answer, twice. Ask again, or in other words.".to_owned()
        }
        Ending::Filtered => {
            "The provider's content filter refused the answer. Ask in other words, or another \
                             model."
                .to_owned()
        }
        Ending::Cut => {
            "[The answer was cut off twice at the longest length, agents.defaults.maxTokens.]"
                .to_owned()
        }
        Ending::Answered => String::new(),
    }
}

/// The hints for the account: repeated ones counted, not too many.
fn said(hints: &[String]) -> String {
    let mut runs = hints.chunk_by(|first, second| first == second);
    let mut said: Vec<String> = runs
        .by_ref()
        .take(ACCOUNT_HINTS)
        .map(|run| match run.len() {
            1 => run[0].clone(),
            times => format!("{} {times} times", run[0]),
        })
        .collect();
    let left: usize = runs.map(<[String]>::len).sum();
    if left > 0 {
        said.push(format!("and {left} more"));
    }
    said.join(", ")
}

/// A message as the model reads it: in a group it says who speaks, and files stand by their paths.
pub fn of_message(message: &Envelope) -> String {
    let mut words = match message.is_group {
        true => {
            let name = message.sender().map_or("", |sender| &sender.name);
            format!("[{name}] {}", message.text)
        }
        false => message.text.clone(),
    };
    for Attachment { media, path } in &message.attachments {
        let what = match media {
            Media::Photo => "photo",
            Media::Voice => "voice message",
            Media::Audio => "audio",
            Media::Video => "video",
            Media::Document => "file",
        };
        let gap = if words.is_empty() { "" } else { "\n" };
        words.push_str(&format!("{gap}[{what}: {path}]"));
    }
    words
}

/// A call that was not run, and what the model reads of it.
pub fn failed(text: &str) -> ToolResult {
    ToolResult {
        text: text.to_owned(),
        failed: true,
        ..ToolResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_counts_what_was_done_again_and_again() {
        let hints = ["a()", "a()", "b()"].map(str::to_owned);
        assert_eq!(said(&hints), "a() 2 times, b()");
        let many: Vec<String> = (0..ACCOUNT_HINTS + 3)
            .map(|each| each.to_string())
            .collect();
        assert!(said(&many).ends_with("11, and 3 more"), "{}", said(&many));
        assert_eq!(said(&[]), "");
    }
}

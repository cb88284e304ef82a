//! What people read when they are asked for an approval. Pure.

use crate::approval::{Answer, Question};
use crate::limits::agent::ANSWER_TIME;
use crate::markup;

/// The question as Markdown: the exact command, where it runs, and why it is asked.
pub(super) fn ask(number: u64, question: &Question) -> String {
    let minutes = ANSWER_TIME.as_secs() / 60;
    format!(
        "{}\n\nExpires in {minutes} minutes. You can also type /approve {number} or /deny {number}.",
        describe(question)
    )
}

/// The same once it is over, with the outcome below it.
pub(super) fn settled(question: &Question, outcome: &str) -> String {
    format!("{}\n\n**{outcome}**", describe(question))
}

/// An answer as it stands below its question.
pub fn render_outcome(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "✓ Allowed once",
        Answer::Always | Answer::Standing => "✓ Always allowed",
        Answer::Deny => "✗ Denied",
        Answer::Late => "✗ Denied: no answer in time",
        Answer::Nobody => "✗ Denied: nobody to ask",
    }
}

fn describe(question: &Question) -> String {
    let Question {
        command,
        folder,
        reason,
        rule,
        lifted,
        ..
    } = question;
    let title = match (lifted, rustix::process::geteuid().is_root()) {
        (true, true) => "Run this **outside the sandbox**, as root?",
        (true, false) => "Run this **outside the sandbox**, with all rights of this account?",
        (false, _) => "Run this in the sandbox?",
    };
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!("\nReason: {}", markup::inline_code(reason)),
    };
    // The model wrote command and reason: as code, none of it can pose as a text of ours.
    format!(
        "{title}\n{}\nFolder: {}{reason}\nWhy I'm asking: {}.",
        markup::code_block(command, "sh"),
        markup::inline_code(folder),
        rule.trim_end_matches('.'),
    )
}

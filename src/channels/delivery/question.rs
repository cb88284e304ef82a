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
        unsandboxed,
        ..
    } = question;
    let title = match (unsandboxed, rustix::process::geteuid().is_root()) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::markup::Plain;
    use crate::markup::split::{Limit, Unit};

    fn question(command: &str, unsandboxed: bool) -> Question {
        Question {
            command: command.to_owned(),
            folder: "/w".to_owned(),
            reason: "to *tidy* up".to_owned(),
            rule: "it runs outside the sandbox".to_owned(),
            unsandboxed,
            ..Question::default()
        }
    }

    #[test]
    fn a_question_that_is_over_no_longer_says_how_to_answer() {
        let question = question("reboot", true);
        let asked = ask(554_137, &question);
        assert!(
            asked.ends_with(
                "\nReason: `to *tidy* up`\nWhy I'm asking: it runs outside the sandbox.\n\n\
                 Expires in 10 minutes. You can also type /approve 554137 or /deny 554137."
            ),
            "{asked}"
        );
        let settled = settled(&question, render_outcome(Answer::Once));
        assert!(
            settled.ends_with("it runs outside the sandbox.\n\n**✓ Allowed once**"),
            "{settled}"
        );
        assert!(
            asked.starts_with("Run this **outside the sandbox**, "),
            "{asked}"
        );
    }

    proptest! {
        #[test]
        fn a_command_is_shown_whole_and_cannot_pose_as_a_text_of_ours(
            command in "[a-z`\\n*<&>~]{1,200}",
        ) {
            let limit = Limit { units: 4096, unit: Unit::Utf16 };
            let pieces = markup::render(&ask(1, &question(&command, true)), &Plain(limit));
            let shown: String = pieces.into_iter().map(|piece| piece.plain + "\n").collect();
            let visible = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert!(visible(&shown).contains(&visible(&command)), "{shown}");
        }
    }
}

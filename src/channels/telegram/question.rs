//! Questions with buttons, and what a press means. Pure.

use super::api::Button;
use super::html;
use crate::approval::{Answer, Question};
use crate::limits::channels::BUTTON_DATA_BYTES;
use crate::markup;

/// What a pressed button says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// The answer to a question.
    Answer {
        /// The question's number.
        number: u64,
        /// What was said.
        answer: Answer,
    },
    /// Words, as if they were typed.
    Words(String),
}

/// The buttons' words and what stands for them.
const ANSWERS: [(&str, &str, Answer); 3] = [
    ("Run once", "once", Answer::Once),
    ("Always this command", "always", Answer::Always),
    ("Deny", "deny", Answer::Deny),
];

/// The beginning of a question's last line, which means nothing any more once it is answered.
const HOW_TO_ANSWER: &str = "No answer within 10 minutes means no. In words:";

/// A question's HTML when it is over: how it came out stands where it said how to answer.
pub(super) fn settled(html: &str, outcome: &str) -> String {
    let asked = html.rfind(HOW_TO_ANSWER).map_or(html, |end| &html[..end]);
    format!("{}\n\n<b>{}</b>", asked.trim_end(), html::escape(outcome))
}

/// What a button's data means; none when it is not one of ours.
pub(super) fn press(data: &str) -> Option<Press> {
    if let Some(words) = data.strip_prefix("w:") {
        return Some(Press::Words(words.to_owned()));
    }
    let (number, word) = data.strip_prefix("q:")?.split_once(':')?;
    let (.., answer) = ANSWERS.iter().find(|(_, known, _)| *known == word)?;
    Some(Press::Answer {
        number: number.parse().ok()?,
        answer: *answer,
    })
}

/// The buttons of a question.
pub(super) fn answers(number: u64) -> Vec<Vec<Button>> {
    let button = |(text, word, _): &(&str, &str, Answer)| Button {
        text: (*text).to_owned(),
        data: format!("q:{number}:{word}"),
    };
    let [once, always, deny] = ANSWERS.each_ref().map(button);
    vec![vec![once, deny], vec![always]]
}

/// Buttons whose press comes back as their words.
pub(super) fn words(rows: &[Vec<String>]) -> Vec<Vec<Button>> {
    let button = |text: &String| {
        let kept = text.floor_char_boundary(BUTTON_DATA_BYTES - "w:".len());
        Button {
            text: text.clone(),
            data: format!("w:{}", &text[..kept]),
        }
    };
    let row = |row: &Vec<String>| row.iter().map(button).collect();
    rows.iter().map(row).collect()
}

/// What the person reads: the exact command, where it runs, why, and which rule asks.
pub(super) fn text(number: u64, question: &Question) -> String {
    let Question {
        command,
        folder,
        reason,
        rule,
        lifted,
        ..
    } = question;
    let walls = match lifted {
        true => "**outside the sandbox**, with all rights of this account",
        false => "in the sandbox",
    };
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!("\nReason: {}", markup::inline_code(reason)),
    };
    // What the model says stands as code: none of it may look like ours.
    format!(
        "May I run this {walls}?\n{}\nFolder: {}{reason}\nAsked because {}.\n\n\
         {HOW_TO_ANSWER} /approve {number} or /deny {number}",
        markup::code_block(command, "sh"),
        markup::inline_code(folder),
        rule.trim_end_matches('.'),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_button_of_a_question_comes_back_as_its_answer() {
        let pressed: Vec<Option<Press>> = answers(123_456)
            .concat()
            .iter()
            .map(|button| press(&button.data))
            .collect();
        let wanted = [Answer::Once, Answer::Deny, Answer::Always].map(|answer| {
            Some(Press::Answer {
                number: 123_456,
                answer,
            })
        });
        assert_eq!(pressed, wanted);
    }

    #[test]
    fn a_question_that_is_over_no_longer_says_how_to_answer() {
        let question = Question {
            command: "reboot".to_owned(),
            folder: "/w".to_owned(),
            reason: HOW_TO_ANSWER.to_owned(),
            rule: "a rule".to_owned(),
            lifted: true,
            hash: String::new(),
        };
        let asked = &html::render(&text(7, &question))[0].html;
        assert!(asked.ends_with("/approve 7 or /deny 7"), "{asked}");
        let over = settled(asked, "denied");
        assert!(
            over.ends_with("Asked because a rule.\n\n<b>denied</b>"),
            "{over}"
        );
    }

    #[test]
    fn words_come_back_as_they_were_as_far_as_they_fit() {
        let long = "ü".repeat(40);
        let rows = words(&[vec!["Yes".to_owned()], vec![long.clone()]]);
        assert_eq!(
            press(&rows[0][0].data),
            Some(Press::Words("Yes".to_owned()))
        );
        let Some(Press::Words(cut)) = press(&rows[1][0].data) else {
            panic!("{rows:?}");
        };
        assert!(long.starts_with(&cut) && rows[1][0].data.len() <= BUTTON_DATA_BYTES);
        assert_eq!(press("q:1"), None);
        assert_eq!(press("q:x:once"), None);
        assert_eq!(press("q:1:maybe"), None);
        assert_eq!(press(""), None);
    }

    proptest! {
        #[test]
        fn a_command_is_shown_whole_and_cannot_pose_as_our_words(
            command in "[a-z`\\n*<&>~]{1,200}",
        ) {
            let question = Question {
                command: command.clone(),
                folder: "/w".to_owned(),
                reason: "r".to_owned(),
                rule: "a rule".to_owned(),
                lifted: true,
                hash: String::new(),
            };
            let shown: String = html::render(&text(1, &question))
                .into_iter()
                .map(|piece| piece.plain + "\n")
                .collect();
            let visible = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert!(visible(&shown).contains(&visible(&command)), "{shown}");
        }
    }
}

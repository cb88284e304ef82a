//! What a button carries while it is in a chat, and what it means when it is pressed. Pure.

use super::adapter::Button;
use super::texts::answers::label;
use crate::base::approval::{AlwaysOption, Answer, Cause, Question};
use crate::base::language::Language;
use crate::base::message::CommandButton;

/// What a pressed button means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Press {
    /// The answer to a question.
    Answer {
        /// The question's number.
        question: u64,
        /// The answer.
        answer: Answer,
    },
    /// The label of a button that the model made: a text for the model, never a command.
    Text(String),
    /// A slash command, on a button that the program made.
    Command(String),
}

/// The answers to a question, and the words that stand for them in a button's data.
const ANSWERS: [(&str, Answer); 4] = [
    ("once", Answer::Once),
    ("always", Answer::Always),
    ("deny", Answer::Deny),
    ("all", Answer::Everything),
];

/// The buttons of a question.
pub fn for_question(number: u64, question: &Question, language: Language) -> Vec<Vec<Button>> {
    let [once, always, deny, everything] = ANSWERS.map(|(word, answer)| Button {
        label: label(language, answer, &question.cause).to_owned(),
        data: format!("q:{number}:{word}"),
    });
    let mut rows = vec![vec![once, deny]];
    if question.always == AlwaysOption::Offered {
        rows.push(vec![always]);
    }
    if question.can_allow_all {
        rows.push(vec![everything]);
    }
    rows
}

/// The labels that the button of a question with this label and these data has in the other languages.
pub fn in_other_words(data: &str, written: &str) -> Vec<&'static str> {
    let Some(Press::Answer { answer, .. }) = read(data) else {
        return Vec::new();
    };
    let tool = Cause::Tool {
        name: String::new(),
        description: String::new(),
        is_changed: false,
    };
    let input = Cause::Input {
        session: 0,
        command: String::new(),
    };
    let labels_for = |cause: &Cause| Language::ALL.map(|language| label(language, answer, cause));
    let mut all = [Cause::Unsandboxed, tool, input].into_iter();
    let found = all.find_map(|cause| Some(labels_for(&cause)).filter(|it| it.contains(&written)));
    found.map_or_else(Vec::new, |labels| labels.into())
}

/// Buttons whose press comes back as their label, or as much of it as fits into `data_bytes`.
pub fn for_labels(rows: &[Vec<String>], data_bytes: usize) -> Vec<Vec<Button>> {
    let button = |label: &String| {
        let kept = label.floor_char_boundary(data_bytes.saturating_sub("w:".len()));
        Button {
            label: label.clone(),
            data: format!("w:{}", &label[..kept]),
        }
    };
    let row = |row: &Vec<String>| row.iter().map(button).collect();
    rows.iter().map(row).collect()
}

/// Buttons that type a command. A command that does not fit into `data_bytes` gets no button.
pub fn for_commands(rows: &[Vec<CommandButton>], data_bytes: usize) -> Vec<Vec<Button>> {
    let button = |button: &CommandButton| {
        let data = format!("c:{}", button.command);
        let label = button.label.clone();
        (data.len() <= data_bytes).then_some(Button { label, data })
    };
    let row = |row: &Vec<CommandButton>| row.iter().filter_map(button).collect();
    let rows = rows.iter().map(row);
    rows.filter(|row: &Vec<Button>| !row.is_empty()).collect()
}

/// What the data of a pressed button means; `None` when it is not one of ours.
pub fn read(data: &str) -> Option<Press> {
    if let Some(text) = data.strip_prefix("w:") {
        return Some(Press::Text(text.to_owned()));
    }
    if let Some(command) = data.strip_prefix("c:").filter(|text| text.starts_with('/')) {
        return Some(Press::Command(command.to_owned()));
    }
    let (number, word) = data.strip_prefix("q:")?.split_once(':')?;
    let (_, answer) = ANSWERS.iter().find(|(known, _)| *known == word)?;
    Some(Press::Answer {
        question: number.parse().ok()?,
        answer: *answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::approval::Risk;

    #[test]
    fn each_button_of_a_question_comes_back_as_its_answer() {
        let question = Question {
            can_allow_all: true,
            ..Question::default()
        };
        let buttons = for_question(123_456, &question, Language::English).concat();
        let pressed: Vec<_> = buttons.iter().map(|button| read(&button.data)).collect();
        let expected = [
            Answer::Once,
            Answer::Deny,
            Answer::Always,
            Answer::Everything,
        ]
        .map(|answer| {
            Some(Press::Answer {
                question: 123_456,
                answer,
            })
        });
        assert_eq!(pressed, expected);
        let risky = Question {
            always: AlwaysOption::TooRisky(Risk::Power),
            can_allow_all: false,
            ..question
        };
        let buttons = for_question(123_456, &risky, Language::Chinese).concat();
        let labels: Vec<&str> = buttons.iter().map(|button| &*button.label).collect();
        assert_eq!(labels, ["运行一次", "拒绝"]);
    }

    #[test]
    fn a_label_comes_back_as_far_as_it_fits() {
        let long = "ü".repeat(40);
        let rows = for_labels(&[vec!["Yes".to_owned()], vec![long.clone()]], 64);
        assert_eq!(read(&rows[0][0].data), Some(Press::Text("Yes".to_owned())));
        let Some(Press::Text(cut)) = read(&rows[1][0].data) else {
            panic!("{rows:?}");
        };
        assert!(long.starts_with(&cut) && rows[1][0].data.len() <= 64);
    }

    #[test]
    fn a_button_of_ours_types_its_command_and_one_of_the_models_never_does() {
        let button = |command: &str| CommandButton {
            label: "large".to_owned(),
            command: command.to_owned(),
        };
        let long = format!("/model {}", "x".repeat(64));
        let rows = for_commands(&[vec![button("/model large")], vec![button(&long)]], 64);
        assert_eq!(rows.len(), 1, "the long one does not fit");
        let command = Press::Command("/model large".to_owned());
        assert_eq!(read(&rows[0][0].data), Some(command));
        let label = "c:/model large".to_owned();
        let of_model = for_labels(&[vec![label.clone()]], 64);
        assert_eq!(read(&of_model[0][0].data), Some(Press::Text(label)));
        assert_eq!(read("c:model large"), None);
    }

    #[test]
    fn what_is_not_ours_means_nothing() {
        for data in ["", "q:1", "q:x:once", "q:1:maybe", "yes"] {
            assert_eq!(read(data), None, "{data}");
        }
    }
}

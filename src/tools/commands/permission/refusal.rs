//! Why a command is not run: for the audit log, for the model, and for the person who typed it.

use super::risk::Objection;
use crate::base::approval::Answer;
use crate::base::language::Language;
use crate::text::markup::inline_code;
use crate::text::reveal_name;
use crate::tools::commands::texts;

/// Characters of a refused command that a person is shown again as what to send; a longer one they have.
const TYPED_AGAIN_CHARS: usize = 60;

/// Why a command is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools::commands) enum Refusal {
    /// A pattern speaks against it. `can_be_asked` tells whether a person could still allow it.
    Objection {
        objection: Objection,
        can_be_asked: bool,
    },
    /// `tools.exec.approval` is `never`.
    Never,
    /// The person's answer, or that there is none.
    Denied(Answer),
    /// Something is not what the person was shown: this file, or the command or its folder. `has_ended` tells whether
    /// commands of people who are not owners, which may have changed it, were ended for an owner.
    Changed {
        file: Option<String>,
        has_ended: bool,
    },
}

impl Refusal {
    /// For the audit log.
    pub fn decision(&self) -> String {
        match self {
            Self::Objection { objection, .. } => format!("refused: {}", objection.rule()),
            Self::Never => "refused: tools.exec.approval".to_owned(),
            Self::Denied(answer) => answer.to_string(),
            Self::Changed { file: None, .. } => {
                "denied: the command or its folder changed since it was approved".to_owned()
            }
            Self::Changed {
                file: Some(file), ..
            } => {
                format!(
                    "denied: {} changed since it was approved",
                    reveal_name(file)
                )
            }
        }
    }

    /// For the model, with what it can do instead.
    pub fn for_model(&self) -> String {
        let (why, advice) = match self {
            Self::Denied(Answer::ShuttingDown) => (
                "Peacrab stopped before the person answered".to_owned(),
                ". If it is still needed, call exec again in a later step, and the person is asked again",
            ),
            Self::Objection {
                objection,
                can_be_asked,
            } => {
                let advice = match (objection, can_be_asked) {
                    (Objection::Risk(_), false) => "",
                    (_, true) => "With escalate and a reason the person can be asked to allow it.",
                    _ => "Only a change of the configuration would allow it.",
                };
                (objection.for_model(), advice)
            }
            Self::Never => (texts::never(Language::English).to_owned(), ""),
            Self::Changed { .. } => (
                self.decision(),
                "If it is still needed, call exec again, and the person is asked about it as it is now. Until then change no \
                 files.",
            ),
            Self::Denied(_) => (
                self.decision(),
                "Do it within the sandbox, or tell the person what you would need.",
            ),
        };
        // The first line is also shown to the person.
        match advice {
            "" => format!("the command was not run: {why}"),
            advice => format!("the command was not run: {why}\n\n{advice}"),
        }
    }

    /// For the person who typed the command, with what they can do instead.
    pub fn for_person(&self, language: Language, command: &str) -> String {
        let why = match self {
            Self::Objection { objection, .. } => texts::describe_objection(language, objection),
            Self::Never => texts::never(language).to_owned(),
            Self::Denied(Answer::TimedOut | Answer::Unattended) => {
                texts::timed_out(language).to_owned()
            }
            Self::Denied(Answer::Stopped) => texts::stopped(language).to_owned(),
            Self::Denied(Answer::ShuttingDown) => texts::shutting_down(language).to_owned(),
            Self::Denied(_) => texts::denied(language).to_owned(),
            Self::Changed { file: None, .. } => texts::changed(language).to_owned(),
            Self::Changed {
                file: Some(file), ..
            } => texts::changed_file(language, &inline_code(&reveal_name(file))),
        };
        let text = texts::not_run(language, &why);
        match self {
            Self::Changed {
                has_ended: true, ..
            } => format!("{text} {}", texts::others_ended(language)),
            Self::Objection {
                can_be_asked: true, ..
            } => {
                let is_short = command.chars().count() <= TYPED_AGAIN_CHARS;
                let again = match is_short && !command.contains('\n') {
                    true => format!("/sh !{command}"),
                    false => "/sh !…".to_owned(),
                };
                let how = texts::ask_with(language, &inline_code(&again));
                format!("{text}{}{how}", language.sentence_space())
            }
            _ => text,
        }
    }
}

//! `/skills`: lists the skills with what keeps them from being used, and shows one.

use std::fmt::Write;

use super::{Agent, CommandAnswer, Invocation, Surface, texts};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::skills::{LISTED_CHARS, NAME_CHARS};
use crate::base::message::CommandButton;
use crate::text::markup::inline_code;
use crate::text::{ellipsize_chars, one_line, reveal, truncate_chars};
use crate::tools::skills::{Missing, Place, Skill};

/// Skills that get a button below the list in a chat, two in a row: Discord takes five rows.
const BUTTONS_MAX: usize = 10;
/// Characters of a skill that a chat shows: a message of Telegram's.
const SHOWN_CHARS: usize = 3500;

impl Agent {
    /// Answers `/skills`: the list, or the one that the command names.
    pub fn answer_skills(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
        Ok(match invocation.argument.trim_start_matches('$') {
            "" => self.list_skills(invocation.surface, language),
            name => self.show_skill(name, language).into(),
        })
    }

    fn list_skills(&self, surface: Surface, language: Language) -> CommandAnswer {
        let skills = self.toolbox.skills().list();
        let mut text = String::new();
        for skill in &skills {
            let description = ellipsize_chars(&skill.description, LISTED_CHARS);
            let description = self.toolbox.cleaned(&description).into_owned();
            let _ = write!(text, "- {}", inline_code(&skill.name));
            if skill.place == Place::Workspace {
                let _ = write!(text, " ({})", texts::skill_own(language));
            }
            let _ = writeln!(text, ": {}", reveal(&description));
            if !skill.missing.is_empty() {
                let reasons = reasons(skill, language);
                let _ = writeln!(text, "  {}", texts::skill_unavailable(language, &reasons));
            }
        }
        let example = skills.iter().find(|skill| skill.missing.is_empty());
        if let Some(example) = example.or(skills.first()) {
            let _ = write!(text, "\n{}", texts::skills_usage(language, &example.name));
        }
        let button = |skill: &Skill| CommandButton {
            label: skill.name.clone(),
            command: format!("/skills {}", skill.name),
        };
        let buttons: Vec<CommandButton> = match surface {
            Surface::Terminal => Vec::new(),
            _ => skills.iter().take(BUTTONS_MAX).map(button).collect(),
        };
        CommandAnswer {
            text,
            buttons: buttons.chunks(2).map(<[_]>::to_vec).collect(),
            is_private: false,
        }
    }

    fn show_skill(&self, name: &str, language: Language) -> String {
        let Ok(found) = self.toolbox.skills().find(name) else {
            return texts::unknown_skill(language, &inline_code(&one_line(name, NAME_CHARS)));
        };
        let skill = &found.skill;
        let mut text = format!("**{}** ({})\n", skill.name, inline_code(&skill.path));
        if !skill.missing.is_empty() {
            let reasons = reasons(skill, language);
            let _ = writeln!(text, "{}", texts::skill_unavailable(language, &reasons));
        }
        let body = self.toolbox.cleaned(&found.body);
        let kept = truncate_chars(&body, SHOWN_CHARS);
        let _ = write!(text, "\n{}", reveal(kept));
        if kept.len() < body.len() {
            let _ = write!(
                text,
                "…\n\n{}",
                texts::skill_rest(language, &inline_code(&skill.path))
            );
        }
        text
    }
}

/// Why a skill cannot be used, for people.
fn reasons(skill: &Skill, language: Language) -> String {
    let reason = |missing: &Missing| match missing {
        Missing::Program(name) => texts::skill_program(language, &inline_code(name)),
        Missing::AnyProgram(names) => {
            let names = names.join(texts::comma(language));
            texts::skill_any_program(language, &inline_code(&names))
        }
        Missing::Variable(name) => texts::skill_variable(language, &inline_code(name)),
        Missing::System(names) => {
            let names = names.join(texts::comma(language));
            texts::skill_system(language, &inline_code(&names))
        }
        Missing::Commands => texts::skill_commands(language).to_owned(),
        Missing::Unreadable(error) => texts::skill_unreadable(language, &reveal(error)),
    };
    let reasons: Vec<String> = skill.missing.iter().map(reason).collect();
    reasons.join(texts::comma(language))
}

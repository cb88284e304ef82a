//! `/approvals`: the standing approvals of a chat, for its people.

use super::texts;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::limits::tools::STANDING_CHARS;
use crate::markup::{inline_code, inline_text};
use crate::state::Approvals;
use crate::state::approvals::StandingApproval;
use crate::text::ellipsize_chars;
use crate::tools::Toolbox;

impl Toolbox {
    /// Answers `/approvals ARGUMENT` in a chat, which is a session key.
    pub fn answer_approvals(
        &self,
        chat: &str,
        argument: &str,
        language: Language,
    ) -> Result<String> {
        match &self.commands {
            Some(commands) => answer(&commands.approvals, chat, argument, language),
            None => Ok(texts::standing_none(language).to_owned()),
        }
    }
}

fn answer(approvals: &Approvals, chat: &str, argument: &str, language: Language) -> Result<String> {
    let mut words = argument.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None | Some("list"), None, None) => {
            Ok(format_list(&approvals.list(Some(chat))?, language))
        }
        (Some("remove"), Some(number), None) => {
            let usage = |_| Error::Usage(texts::standing_usage(language).to_owned());
            let parsed = number.trim_start_matches('#').parse().map_err(usage)?;
            Ok(match approvals.remove(parsed, Some(chat))? {
                Some(removed) => texts::standing_removed(language, &short(&removed.command)),
                None => texts::standing_unknown(language, &short(number)),
            })
        }
        _ => Err(Error::Usage(texts::standing_usage(language).to_owned())),
    }
}

fn format_list(list: &[StandingApproval], language: Language) -> String {
    let Some(last) = list.last() else {
        return texts::standing_none(language).to_owned();
    };
    let mut text = texts::standing_heading(language).to_owned();
    for one in list {
        let describe = match one.unsandboxed {
            true => texts::standing_unsandboxed,
            false => texts::standing_sandboxed,
        };
        let (command, folder) = (short(&one.command), short(&one.folder));
        let since = one.since.split('T').next().unwrap_or_default();
        text.push_str("\n- ");
        text.push_str(&describe(language, &one.number, &command, &folder, &since));
    }
    format!("{text}\n\n{}", texts::standing_how(language, &last.number))
}

/// What the model chose, as code on one line.
fn short(text: &str) -> String {
    inline_code(&ellipsize_chars(&inline_text(text), STANDING_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Question;

    #[test]
    fn a_chat_lists_and_removes_its_own_only() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        let add = |command: &str, chat: &str| {
            let question = Question {
                command: command.to_owned(),
                folder: "/w".to_owned(),
                unsandboxed: true,
                hash: command.to_owned(),
                ..Question::default()
            };
            let since = "2026-11-22T15:00:00+00:00".to_owned();
            approvals.add(&question, chat, since).unwrap();
        };
        add("echo `a`\nb", "telegram:1");
        add("reboot", "telegram:2");
        let english =
            |argument: &str| answer(&approvals, "telegram:1", argument, Language::English).unwrap();
        assert_eq!(
            english(""),
            "Always allowed here:\n- 1: `` echo `a` b `` in `/w`, outside the sandbox (since 2026-11-22)\n\n\
             To remove one: /approvals remove 1"
        );
        assert_eq!(
            english("remove 2"),
            "There is no number `2` here. /approvals lists them."
        );
        let chinese = answer(&approvals, "telegram:1", "remove 1", Language::Chinese).unwrap();
        assert!(chinese.starts_with("已移除："), "{chinese}");
        assert_eq!(english(""), "No command is always allowed here.");
        for wrong in ["x", "remove all"] {
            assert!(answer(&approvals, "telegram:1", wrong, Language::English).is_err());
        }
    }
}

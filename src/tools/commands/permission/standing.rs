//! `/approvals`: the standing approvals of a chat, for its people.

use super::folders::Folders;
use super::risk::find_any_risk;
use crate::base::approval::pattern::{self, Fault};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::tools::ALLOWED_WORDS_MAX;
use crate::store::state::Approvals;
use crate::store::state::approvals::StandingApproval;
use crate::text::markup::{inline_code, inline_text};
use crate::text::{ellipsize_chars, reveal};
use crate::tools::Toolbox;
use crate::tools::commands::bound;
use crate::tools::commands::texts;

/// Characters of a command and of a folder in a list of standing approvals.
const STANDING_CHARS: usize = 80;

impl Toolbox {
    /// Answers `/approvals ARGUMENT` in a chat, which is a session key.
    pub fn answer_approvals(
        &self,
        chat: &str,
        argument: &str,
        language: Language,
    ) -> Result<String> {
        match &self.commands {
            Some(commands) => {
                let since = commands.clock.now().to_rfc3339();
                let text = answer(&commands.approvals, chat, (argument, since), language)?;
                Ok(match commands.allowances.left(chat) {
                    Some(left) if argument.is_empty() => {
                        let minutes = left.as_secs().div_ceil(60);
                        format!(
                            "{}\n\n{text}",
                            texts::standing_everything(language, &minutes)
                        )
                    }
                    _ => text,
                })
            }
            None => Ok(texts::standing_none(language).to_owned()),
        }
    }
}

/// A pattern as it is kept, for the one who has typed it.
pub fn parse_pattern(text: &str, language: Language) -> Result<String> {
    let pattern = pattern::parse(text).map_err(|fault| {
        Error::Usage(match fault {
            Fault::Size => texts::pattern_size(language, &ALLOWED_WORDS_MAX),
            Fault::Character(char) => {
                texts::pattern_character(language, &inline_code(&reveal(&char.to_string())))
            }
            Fault::Program => texts::pattern_program(language).to_owned(),
            Fault::Part => texts::pattern_part(language).to_owned(),
            Fault::Open(program) => texts::pattern_open(language, &inline_code(&program)),
        })
    })?;
    if !bound::can_be_simple(&pattern) {
        return Err(Error::Usage(texts::pattern_not_simple(language).to_owned()));
    }
    match find_any_risk(&pattern, Folders::default()) {
        Some(risk) => {
            let why = texts::describe_risk(language, risk);
            Err(Error::Usage(texts::pattern_risky(language, &why)))
        }
        None => Ok(pattern),
    }
}

fn answer(
    approvals: &Approvals,
    chat: &str,
    (argument, since): (&str, String),
    language: Language,
) -> Result<String> {
    if let Some(rest) = argument.strip_prefix("add")
        && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    {
        if rest.trim().is_empty() {
            return Err(Error::Usage(texts::standing_usage(language).to_owned()));
        }
        let pattern = parse_pattern(rest, language)?;
        let number = approvals.add_pattern(&pattern, chat, since)?;
        return Ok(texts::standing_added(
            language,
            &number,
            &inline_code(&pattern),
        ));
    }
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
        if one.is_pattern {
            let since = one.since.split('T').next().unwrap_or_default();
            text.push_str("\n- ");
            let command = inline_code(&one.command);
            text.push_str(&texts::standing_pattern(
                language,
                &one.number,
                &command,
                &since,
            ));
            continue;
        }
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
    use crate::base::approval::Question;

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
        let english = |argument: &str| {
            answer(
                &approvals,
                "telegram:1",
                (argument, "2026-11-23T".to_owned()),
                Language::English,
            )
            .unwrap()
        };
        assert_eq!(
            english(""),
            "Always allowed here:\n- 1: `` echo `a` b `` in `/w`, outside the sandbox (since 2026-11-22)\n\n\
             To remove one: /approvals remove 1"
        );
        assert_eq!(
            english("remove 2"),
            "There is no number `2` here. /approvals lists them."
        );
        let now = || "2026-11-23T".to_owned();
        let chinese = answer(
            &approvals,
            "telegram:1",
            ("remove 1", now()),
            Language::Chinese,
        )
        .unwrap();
        assert!(chinese.starts_with("已移除："), "{chinese}");
        assert_eq!(english(""), "No command is always allowed here.");
        assert!(english("add systemctl  restart *").contains("as number"));
        assert!(
            english("")
                .contains("`systemctl restart *`, outside the sandbox too (since 2026-11-23)")
        );
        for (wrong, why) in [
            ("x", "Use `/approvals`"),
            ("remove all", "Use `/approvals`"),
            ("add", "Use `/approvals`"),
            ("add echo $HOME", "must not contain `$`"),
            ("add *", "begins with the program"),
            ("add reboot", "down or restart it"),
        ] {
            let error = answer(&approvals, "telegram:1", (wrong, now()), Language::English);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}

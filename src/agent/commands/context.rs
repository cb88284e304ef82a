//! `/context`: what of the model's window is used, part by part; and what `/compact` answers.

use crate::agent::context;
use crate::agent::context::account::{Account, Weight};
use crate::agent::texts;
use crate::base::language::Language;
use crate::text::markup::inline_text;
use crate::text::{format_tokens, grouped};

/// The account as Markdown, for a phone.
pub fn format_account(account: &Account, language: Language) -> String {
    let used = grouped(account.used().tokens);
    let mut lines = vec![
        texts::context_used(language, &used, &grouped(account.window)),
        texts::context_left(language, &grouped(account.left()), &grouped(account.answer)),
    ];
    let colon = texts::colon(language);
    let mut row = |name: &str, weight: Weight| {
        lines.push(format!("- {name}{colon}{}", grouped(weight.tokens)));
    };
    for part in &account.prompt.parts {
        row(&name_part(&part.name, language), Weight::of(&part.text));
    }
    let tools = texts::context_tools(language, &account.tools);
    row(&tools, account.tools_weight);
    let turns = match account.turns {
        1 => texts::context_turn(language).to_owned(),
        turns => texts::context_turns(language, &turns),
    };
    row(&turns, account.history);
    row(texts::context_facts(language), account.facts);
    let cuts = account.prompt.cuts();
    lines.extend(cuts.map(|(name, bytes)| {
        texts::context_cut(language, &name_part(name, language), &grouped(bytes))
    }));
    lines.join("\n")
}

/// What a part of the prompt is called: files by their paths.
fn name_part(name: &str, language: Language) -> String {
    match name {
        context::IDENTITY => texts::context_identity(language).to_owned(),
        context::INTRODUCTION => texts::context_introduction(language).to_owned(),
        context::SKILLS => texts::context_skills(language).to_owned(),
        path => inline_text(path),
    }
}

/// How many turns have become a summary, and the tokens of the conversation before and after that.
pub fn describe_compacted(
    turns: usize,
    (before, after): (usize, usize),
    language: Language,
) -> String {
    let tokens = |count: usize| format_tokens(count as u64);
    texts::compacted(language, &turns, &tokens(before), &tokens(after))
}

/// The answer where all that could be a summary is one.
pub fn nothing_to_compact(language: Language) -> String {
    texts::nothing_to_compact(language).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::context::prompt::{Part, Prompt};

    #[test]
    fn each_part_has_a_line_and_what_was_cut_is_named() {
        let parts = [
            Some(Part::new("identity", "You are Peacrab.", 100)),
            Part::of_file("USER.md", "Ada likes short answers.", 3_210, 100),
        ];
        let account = Account {
            model: "m".to_owned(),
            prompt: Prompt {
                parts: parts.into_iter().flatten().collect(),
            },
            tools: 9,
            tools_weight: Weight {
                bytes: 4_000,
                tokens: 1_000,
            },
            turns: 2,
            entries: 4,
            history: Weight {
                bytes: 400,
                tokens: 100,
            },
            facts: Weight {
                bytes: 100,
                tokens: 30,
            },
            window: 128_000,
            answer: 8_192,
        };
        let text = format_account(&account, Language::English);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8, "{text}");
        assert!(lines[0].ends_with("of 128,000 tokens."), "{text}");
        let left = 128_000 - 8_192 - account.used().tokens;
        assert!(lines[1].starts_with(&grouped(left)), "{text}");
        assert!(lines[3].starts_with("- USER.md: "));
        assert_eq!(lines[4], "- 9 tools: 1,000");
        assert_eq!(lines[5], "- conversation, 2 turns: 100");
        assert_eq!(
            lines[7],
            "3,210 bytes of USER.md do not fit and are left out."
        );
        let chinese = format_account(&account, Language::Chinese);
        assert_eq!(chinese.lines().count(), 8);
        assert!(
            chinese.contains("- 身份与运行环境：") && chinese.contains("- 9 个工具：1,000"),
            "{chinese}"
        );
    }
}

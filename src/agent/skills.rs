//! `$NAME` in a message: that skill's instructions go to the model with it.

use crate::base::chat::EntryKind;
use crate::base::message::Envelope;
use crate::store::session::Session;
use crate::text::truncate_bytes;
use crate::tools::Toolbox;
use crate::tools::skills::{Details, is_folder_name};

/// Words with a `$` in a message that are looked up: prices and variables among the skills.
const NAMED_MAX: usize = 12;
/// Skills that one message can load with `$NAME`.
const LOADED_MAX: usize = 3;
/// Bytes of the instructions of each of them; the model reads the rest with `read_file`.
const LOADED_BYTES: usize = 24 * 1024;

/// The notes with the skills that a message names and that its turn does not have yet. Without a message,
/// those of the message that the interrupted turn is about. A forwarded message loads none.
pub(super) fn named(
    toolbox: &Toolbox,
    session: &Session,
    message: Option<&Envelope>,
) -> Vec<String> {
    let entries = || session.conversation().entries().rev();
    let text = match message {
        Some(message) if message.is_relayed => "",
        Some(message) => message.text.as_str(),
        None => {
            let mut people = entries().filter(|held| held.entry.kind == EntryKind::Person);
            people.next().map_or("", |held| held.entry.content.as_str())
        }
    };
    let mut notes = Vec::new();
    for name in names(text) {
        if notes.len() == LOADED_MAX {
            break;
        }
        let heading = format!("[Skill {name}: ");
        let mut in_turn = entries().scan(true, |goes_on, held| {
            let is_in = *goes_on;
            *goes_on &= !held.begins_turn;
            is_in.then_some(&held.entry)
        });
        if in_turn.any(|entry| entry.kind == EntryKind::Note && entry.content.starts_with(&heading))
        {
            continue;
        }
        // Other words, such as a price, stay words.
        if let Ok(details) = toolbox.skills().find(name) {
            notes.push(toolbox.cleaned(&note(&heading, &details)).into_owned());
        }
    }
    notes
}

fn note(heading: &str, details: &Details) -> String {
    let Details { skill, body, .. } = details;
    let (name, path) = (&skill.name, &skill.path);
    let kept = truncate_bytes(body, LOADED_BYTES);
    let mut text = format!(
        "{heading}instructions from {path}, loaded because the message says ${name}]\n\n{kept}"
    );
    if kept.len() < body.len() {
        text.push_str(&format!("\n\n[cut here; read_file shows all of {path}]"));
    }
    if !skill.missing.is_empty() {
        text.push_str(&format!(
            "\n\n[This skill is not available here: it {}]",
            skill.reasons()
        ));
    }
    text
}

/// The names behind a `$` that may be those of skills, each once. The `$` begins a word, or follows a
/// sign or a script without spaces, such as Chinese.
fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (at, sign) in text.match_indices('$') {
        let before = text[..at].chars().next_back();
        let begins = before.is_none_or(|char| {
            char.is_whitespace() || matches!(char, '(' | '"' | '\'') || !char.is_ascii()
        });
        if !begins {
            continue;
        }
        let rest = &text[at + sign.len()..];
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        let name = rest.split(|char| !is_name(char)).next().unwrap_or_default();
        let name = name.trim_end_matches(['.', '-']);
        if is_folder_name(name) && !names.contains(&name) && names.len() < NAMED_MAX {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_begins_with_a_dollar_may_name_a_skill() {
        assert_eq!(
            names("use $weather, and ($skill-creator)."),
            ["weather", "skill-creator"]
        );
        assert_eq!(names("$board。 “$network” $board"), ["board", "network"]);
        assert_eq!(
            names("it costs 5$ or $ 5, a$b $$x ${HOME} $(ls) $../x"),
            [""; 0]
        );
        assert_eq!(
            names("请用$weather看看，再用“$board”"),
            ["weather", "board"]
        );
        let many: String = (0..2 * NAMED_MAX)
            .map(|number| format!("$s{number} "))
            .collect();
        assert_eq!(names(&many).len(), NAMED_MAX);
        assert_eq!(names("$5.50"), ["5.50"]);
    }
}

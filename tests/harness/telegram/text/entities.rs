//! The commands and mentions that Telegram finds in texts, counted in UTF-16 units.
//! <https://core.telegram.org/bots/api#messageentity>

use serde_json::{Value, json};

use super::utf16_length;

/// The commands and mentions in a text.
pub(in super::super) fn of(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let starts = !before.is_alphanumeric() && !matches!(before, '_' | '/' | '@');
        before = character;
        if !starts || !matches!(character, '/' | '@') {
            continue;
        }
        let rest = &text[at + 1..];
        let name = &rest[..name_length(rest)];
        let kind = match (character, name.len()) {
            ('/', 1..=64) => "bot_command",
            ('@', 3..=32) => "mention",
            _ => continue,
        };
        let mut length = name.len();
        // A command may name its bot.
        if character == '/'
            && let Some(bot) = rest[length..].strip_prefix('@')
        {
            length += name_length(bot).checked_sub(1).map_or(0, |rest| rest + 2);
        }
        found.push(json!({
            "type": kind, "offset": utf16_length(&text[..at]), "length": length + 1,
        }));
    }
    found
}

fn name_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn commands_and_mentions_are_found_where_words_begin() {
        let found = |text: &str| {
            let entities = of(text);
            let place = |entity: &serde_json::Value| {
                let kind = entity["type"].as_str().unwrap().to_owned();
                (
                    kind,
                    entity["offset"].as_u64().unwrap(),
                    entity["length"].as_u64().unwrap(),
                )
            };
            entities.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(
            found("/stop@peacrab_bot now"),
            [("bot_command".to_owned(), 0, 17)]
        );
        assert_eq!(
            found("🦀 hey @peacrab_bot!"),
            [("mention".to_owned(), 7, 12)]
        );
        assert_eq!(found("a/b x@y.org and/or @me"), []);
    }
}

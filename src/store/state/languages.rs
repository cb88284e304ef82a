//! The languages of chats, `state/languages.json`: what the app of a person has said, for what is said to a private chat
//! when no message of theirs is at hand, such as after a restart; and what was chosen with `/lang`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::base::message::Address;
use crate::base::sync::Mutex;

use super::file::{Damaged, Policy, StateFile};

/// Chats whose app's language is remembered, and chats whose language was chosen; those that have access are fewer.
const LANGUAGES_MAX: usize = 256;
/// Bytes of the file of languages that are read; what we write is a quarter of it.
const LANGUAGES_FILE_BYTES_MAX: usize = 128 * 1024;
/// What is before the address of a chat whose language was chosen. An earlier version takes it for a chat that it does
/// not know.
const CHOSEN: &str = "chosen ";

texts! {
    fn too_many(count) {
        "{count} chats have chosen a language already, as many as possible.",
        "已有 {count} 个聊天选择了语言，达到上限。",
    }
}

/// The file of one home, read once. A chat that is not in it has the default language.
#[derive(Debug)]
pub struct Languages {
    file: StateFile<BTreeMap<String, Language>>,
    known: Mutex<BTreeMap<String, Language>>,
}

impl Languages {
    /// The languages below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: LANGUAGES_FILE_BYTES_MAX,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        let file = StateFile::new(state.join("languages.json"), policy);
        let known = Mutex::new(file.read().unwrap_or_default());
        Self { file, known }
    }

    /// The language of a chat: what was chosen, else that of the person's app.
    pub fn get(&self, chat: &Address) -> Language {
        let known = self.known.lock();
        let chosen = known.get(&key_of_choice(chat));
        let language = chosen.or_else(|| known.get(&chat.to_string()));
        language.copied().unwrap_or_default()
    }

    /// The language that the app of the person in a private chat has said, unless it is the default.
    pub fn said(&self, chat: &Address) -> Option<Language> {
        self.known.lock().get(&chat.to_string()).copied()
    }

    /// The language that was chosen for a chat, with all of its threads.
    pub fn chosen(&self, chat: &Address) -> Option<Language> {
        self.known.lock().get(&key_of_choice(chat)).copied()
    }

    /// Chooses the language of a chat, with all of its threads; `None` goes back to that of the app. Fails where too many
    /// chats have chosen one.
    pub fn choose(&self, chat: &Address, language: Option<Language>) -> Result<()> {
        let mut known = self.known.lock();
        let key = key_of_choice(chat);
        if known.get(&key).copied() == language {
            return Ok(());
        }
        match language {
            None => known.remove(&key),
            Some(new) if known.contains_key(&key) || count(&known, true) < LANGUAGES_MAX => {
                known.insert(key, new)
            }
            Some(new) => return Err(Error::Usage(too_many(new, &LANGUAGES_MAX))),
        };
        self.write(&known)
    }

    /// Notes the language of the app in a private chat. Writes only when it is another one than before. A chat
    /// too many is not noted.
    pub fn note(&self, chat: &Address, language: Language) -> Result<()> {
        let mut known = self.known.lock();
        let key = chat.to_string();
        let is_new = known.get(&key).copied().unwrap_or_default() != language;
        let is_full = || !known.contains_key(&key) && count(&known, false) >= LANGUAGES_MAX;
        if !is_new || !language.is_default() && is_full() {
            return Ok(());
        }
        if language.is_default() {
            known.remove(&key)
        } else {
            known.insert(key, language)
        };
        self.write(&known)
    }

    fn write(&self, known: &BTreeMap<String, Language>) -> Result<()> {
        self.file.update(|stored| {
            stored.clone_from(known);
            Ok(())
        })
    }
}

fn key_of_choice(chat: &Address) -> String {
    let whole = Address {
        thread: None,
        ..chat.clone()
    };
    format!("{CHOSEN}{whole}")
}

/// Chats whose language was chosen, or the others.
fn count(known: &BTreeMap<String, Language>, is_chosen: bool) -> usize {
    let is_counted = |key: &&String| key.starts_with(CHOSEN) == is_chosen;
    known.keys().filter(is_counted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_chat_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let chat = |id: usize| Address::new("telegram", &id.to_string());
        let languages = Languages::new(folder.path());
        assert_eq!(languages.get(&chat(1)), Language::English);
        for number in 0..LANGUAGES_MAX + 1 {
            languages.note(&chat(number), Language::Chinese).unwrap();
        }
        let again = Languages::new(folder.path());
        assert_eq!(again.get(&chat(1)), Language::Chinese);
        assert_eq!(
            again.get(&chat(LANGUAGES_MAX)),
            Language::English,
            "one too many"
        );
        again.note(&chat(1), Language::English).unwrap();
        assert_eq!(
            Languages::new(folder.path()).get(&chat(1)),
            Language::English
        );
    }

    #[test]
    fn a_chosen_language_is_not_overridden_and_old_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let chat = Address::new("telegram", "1");
        let topic = Address {
            thread: Some("7".to_owned()),
            ..chat.clone()
        };
        let file = folder.path().join("languages.json");
        std::fs::write(&file, r#"{"telegram:1": "zh", "telegram:2": "tlh"}"#).unwrap();
        let read = || Languages::new(folder.path());
        assert_eq!(read().get(&chat), Language::Chinese);
        assert_eq!(
            read().get(&Address::new("telegram", "2")),
            Language::English,
            "an unknown one"
        );

        read().choose(&topic, Some(Language::Japanese)).unwrap();
        read().note(&chat, Language::German).unwrap();
        for place in [&chat, &topic] {
            assert_eq!(read().get(place), Language::Japanese);
            assert_eq!(read().chosen(place), Some(Language::Japanese));
        }
        read().choose(&chat, None).unwrap();
        assert_eq!(read().get(&chat), Language::German, "as the app has said");
        read().choose(&chat, Some(Language::English)).unwrap();
        assert_eq!(
            read().get(&chat),
            Language::English,
            "the default can be chosen"
        );
    }

    #[test]
    fn there_is_a_bound_of_chosen_languages() {
        let folder = tempfile::tempdir().unwrap();
        let languages = Languages::new(folder.path());
        let chat = |id: usize| Address::new("telegram", &id.to_string());
        for number in 0..LANGUAGES_MAX {
            languages
                .choose(&chat(number), Some(Language::French))
                .unwrap();
        }
        let more = languages.choose(&chat(LANGUAGES_MAX), Some(Language::French));
        assert!(more.is_err());
        languages
            .choose(&chat(1), Some(Language::German))
            .expect("it has one already");
        languages
            .note(&chat(LANGUAGES_MAX), Language::Chinese)
            .unwrap();
        assert_eq!(languages.get(&chat(LANGUAGES_MAX)), Language::Chinese);
    }

    #[test]
    fn every_text_is_in_each_language() {
        crate::base::language::check_table(TABLE);
    }
}

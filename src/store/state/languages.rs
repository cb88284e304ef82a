//! The languages of private chats, `state/languages.json`: for what is said to a chat when no message of
//! the person is at hand, such as after a restart.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::Address;
use crate::base::sync::Mutex;

use super::file::{Damaged, Policy, StateFile};

/// Chats whose language is remembered; those who have access are fewer.
const LANGUAGES_MAX: usize = 256;
/// Bytes of the file of languages that are read; what we write is a quarter of it.
const LANGUAGES_FILE_BYTES_MAX: usize = 64 * 1024;

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

    /// The language of a chat.
    pub fn get(&self, chat: &Address) -> Language {
        let known = self.known.lock();
        known.get(&chat.to_string()).copied().unwrap_or_default()
    }

    /// Notes the language of a private chat. Writes only when it is another one than before. A chat
    /// too many is not noted.
    pub fn note(&self, chat: &Address, language: Language) -> Result<()> {
        let mut known = self.known.lock();
        let key = chat.to_string();
        let is_new = known.get(&key).copied().unwrap_or_default() != language;
        if !is_new || !language.is_default() && known.len() >= LANGUAGES_MAX {
            return Ok(());
        }
        if language.is_default() {
            known.remove(&key)
        } else {
            known.insert(key, language)
        };
        self.file.update(|stored| {
            stored.clone_from(&known);
            Ok(())
        })
    }
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
}

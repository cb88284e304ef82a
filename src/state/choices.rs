//! Which model each conversation has chosen: `state/models.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::limits::state::{CHOICES, CHOICES_FILE_BYTES};
use crate::sync::Mutex;
use crate::sys;

#[derive(Debug, Serialize, Deserialize)]
struct Choice {
    session: String,
    model: String,
}

/// The file of one home, for all threads.
#[derive(Debug)]
pub struct Choices {
    path: PathBuf,
    writing: Mutex<()>,
}

impl Choices {
    /// The choices below the folder `state`.
    pub fn new(state: &Path) -> Self {
        Self {
            path: state.join("models.json"),
            writing: Mutex::default(),
        }
    }

    /// The model that a session has chosen, by its key such as `telegram:12`; none when it has not.
    pub fn get(&self, session: &str) -> Option<String> {
        let mut list = self.read().into_iter();
        Some(list.find(|choice| choice.session == session)?.model)
    }

    /// Keeps a session's choice, or forgets it. The oldest choice makes room for a new one.
    pub fn set(&self, session: &str, model: Option<&str>) -> Result<()> {
        let _writing = self.writing.lock();
        let mut list = self.read();
        let before = list.len();
        list.retain(|choice| choice.session != session);
        if model.is_none() && list.len() == before {
            return Ok(());
        }
        list.extend(model.map(|model| Choice {
            session: session.to_owned(),
            model: model.to_owned(),
        }));
        let over = list.len().saturating_sub(CHOICES);
        list.drain(..over);
        super::write(&self.path, &list)
    }

    /// The choices, oldest first. A file that cannot be read is begun anew: each session then has the
    /// configured model.
    fn read(&self) -> Vec<Choice> {
        let content = sys::file::read_at_most(&self.path, CHOICES_FILE_BYTES).unwrap_or_default();
        serde_json::from_slice(&content).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_kept_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let choices = Choices::new(&state);
        choices.set("cli:a", None).unwrap();
        assert!(!state.exists(), "nothing to write");
        choices.set("cli:a", Some("large")).unwrap();
        choices.set("cli:a", Some("small")).unwrap();
        choices.set("cli:b", Some("other")).unwrap();
        let again = Choices::new(&state);
        assert_eq!(again.get("cli:a").as_deref(), Some("small"));
        again.set("cli:a", None).unwrap();
        assert_eq!(choices.get("cli:a"), None);
        assert_eq!(choices.get("cli:b").as_deref(), Some("other"));
    }

    #[test]
    fn the_oldest_goes_and_a_broken_file_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let choices = Choices::new(folder.path());
        for number in 0..=CHOICES {
            choices.set(&format!("cli:{number}"), Some("m")).unwrap();
        }
        assert_eq!(choices.get("cli:0"), None);
        assert!(choices.get("cli:1").is_some());
        std::fs::write(folder.path().join("models.json"), "[{").unwrap();
        assert_eq!(choices.get("cli:1"), None);
        choices.set("cli:1", Some("m")).unwrap();
        assert!(choices.get("cli:1").is_some());
    }
}

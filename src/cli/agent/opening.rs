//! Which conversation a command opens.

use std::path::Path;

use super::texts;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::message::SessionKey;
use crate::cli::terminal::print;
use crate::store::session::{Session, Settings, store};

/// Conversations of single questions that are kept, for `--resume` and `sessions show`.
const QUESTIONS_KEPT: usize = 50;
/// Windows on one conversation, each with its own: `default`, `default-2`, …
const WINDOWS: usize = 20;

/// The conversation of a window without `--session`.
const DEFAULT: &str = "default";

/// Opens the conversation of a window. When another window has it open, this one gets another
/// conversation, and the person is told.
pub fn open_window(folder: &Path, name: Option<&str>, settings: Settings) -> Result<Session> {
    let name = name.unwrap_or(DEFAULT);
    let key = SessionKey::parse(name);
    if let Some(session) = Session::open_if_free(folder, &key, settings.clone())? {
        return Ok(session);
    }
    if key.parts().0 != "cli" {
        return Err(texts::in_use(name));
    }
    let (_, name) = key.parts();
    for number in 2..=WINDOWS {
        let other = format!("{name}-{number}");
        let key = SessionKey::parse(&format!("cli:{other}"));
        if let Some(session) = Session::open_if_free(folder, &key, settings.clone())? {
            let is_new = session.conversation().is_empty();
            print::notice(&texts::other_window(name, other, is_new));
            return Ok(session);
        }
    }
    Err(texts::in_use(name))
}

/// Opens the conversation of a single question: the one that was named, else a new one. The oldest of
/// those are deleted.
pub fn open_question(folder: &Path, name: Option<&str>, settings: Settings) -> Result<Session> {
    if let Some(name) = name {
        let session = Session::open_if_free(folder, &SessionKey::parse(name), settings)?;
        return session.ok_or_else(|| texts::in_use(name));
    }
    let time = Clock::System.now().format("%Y%m%d-%H%M%S").to_string();
    let keys = (1..).map(|number| match number {
        1 => SessionKey::of_question(&time),
        _ => SessionKey::of_question(&format!("{time}-{number}")),
    });
    for key in keys {
        let opened = Session::open_if_free(folder, &key, settings.clone())?;
        // Another question of the same second has its own.
        if let Some(session) = opened.filter(|session| session.length() == 0) {
            let prefix = store::path_of(folder, &SessionKey::of_question(""));
            let prefix = prefix.file_stem().unwrap_or_default().to_string_lossy();
            if let Err(error) = store::delete_oldest(folder, &prefix, QUESTIONS_KEPT) {
                tracing::warn!("failed to delete old conversations: {error}");
            }
            return Ok(session);
        }
    }
    Err(texts::in_use(time))
}

/// The name of the conversation at the command line whose interrupted turn was written last.
pub fn find_interrupted(folder: &Path) -> Result<Option<String>> {
    let keys = store::unfinished(folder)?.into_iter();
    let ours = keys.filter(|key| key.parts().0 == "cli");
    let changed = |key: &SessionKey| {
        let metadata = store::path_of(folder, key).metadata();
        metadata.and_then(|found| found.modified()).ok()
    };
    let last = ours.max_by_key(changed);
    Ok(last.map(|key| key.to_string()))
}

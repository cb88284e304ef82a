//! What is remembered of chats: the model and the thinking that each has chosen, `state/models.json`,
//! in which an owner wrote last, `state/owner.json`, and which have asked for a restart, `state/restart.json`.

pub mod asked;
pub mod shells;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::access::{Person, Role};
use crate::base::chat::ReasoningEffort;
use crate::base::clock::Stopwatch;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::{Address, Author};
use crate::base::sync::Mutex;
use crate::config::agents::MAIN;
use crate::config::channels::Channels;

use super::Pairing;
use super::file::{Damaged, Policy, StateFile};
use std::time::Duration;

/// How often another last active chat is written at most: with two people who take turns, each
/// message would write it.
const LAST_CHAT_INTERVAL: Duration = Duration::from_mins(1);
/// Chats whose request for a restart is answered after it.
const RESTARTS: usize = 10;
/// Bytes of the file with these chats that are read; an address has about 60.
const RESTARTS_FILE_BYTES: usize = 4 * 1024;
/// Conversations whose choice of a model is kept; the one that chose first goes.
const CHOICES: usize = 256;
/// Models without tools of which a conversation remembers that it was told.
const TOLD: usize = 4;
/// Bytes of the file of choices that are read; what we write is a quarter of it.
const CHOICES_FILE_BYTES: usize = 256 * 1024;
/// Bytes of the file that counts the turns of the first conversation.
const INTRODUCTION_FILE_BYTES: usize = 64;
/// Bytes of the file that names the last active chat.
const RECENT_FILE_BYTES: usize = 4 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Choice {
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effort: Option<ReasoningEffort>,
    /// The models of which the person was told that they cannot use tools, the last at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    without_tools: Vec<String>,
    /// Whether the chat does not want to see what was heard in voice messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    quiet: bool,
    /// Who listens to voice messages, as the chat was told; empty for nobody.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    listener: String,
    /// Whether its answers are spoken.
    #[serde(default, skip_serializing_if = "Voice::is_off")]
    voice: Voice,
}

/// Whether the answers of a chat are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Voice {
    /// They are not.
    #[default]
    Off,
    /// They are.
    On,
    /// They are, but the last one could not be, and the chat was told.
    Failing,
}

impl Voice {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// The models, and how much they think, that conversations have chosen. With a damaged file each has
/// what is configured.
#[derive(Debug)]
pub struct ModelChoices(StateFile<Vec<Choice>>, AgentPrefix);

/// What comes before the session keys of an agent in files that all agents share; empty for `main`.
#[derive(Clone, Debug, Default)]
pub struct AgentPrefix(String);

impl AgentPrefix {
    /// That of an agent, by its id. No channel's name contains a slash.
    pub fn new(agent: &str) -> Self {
        match agent {
            MAIN => Self::default(),
            id => Self(format!("{id}/")),
        }
    }

    /// The key under which something of a conversation is kept.
    pub fn key(&self, session: &str) -> String {
        format!("{}{session}", self.0)
    }
}

impl ModelChoices {
    /// The choices below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: CHOICES_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(
            StateFile::new(state.join("models.json"), policy),
            AgentPrefix::default(),
        )
    }

    /// Those of an agent: its conversations choose for themselves.
    #[must_use]
    pub fn of_agent(self, agent: &str) -> Self {
        Self(self.0, AgentPrefix::new(agent))
    }

    /// The model that a session has chosen, by its key such as `telegram:12`; `None` if it has not.
    pub fn get(&self, session: &str) -> Option<String> {
        self.choice(session)?.model
    }

    /// How much the model thinks in a session; `None` if it has not chosen.
    pub fn effort(&self, session: &str) -> Option<ReasoningEffort> {
        self.choice(session)?.effort
    }

    fn choice(&self, session: &str) -> Option<Choice> {
        let session = self.1.key(session);
        let mut list = self.0.read().ok()?.into_iter();
        list.find(|choice| choice.session == session)
    }

    /// Keeps a session's choice of a model, or forgets it. A new choice displaces the oldest.
    pub fn set(&self, session: &str, model: Option<&str>) -> Result<()> {
        self.change(session, |choice| choice.model = model.map(str::to_owned))
    }

    /// Keeps how much the model thinks in a session, or forgets it.
    pub fn set_effort(&self, session: &str, effort: Option<ReasoningEffort>) -> Result<()> {
        self.change(session, |choice| choice.effort = effort)
    }

    /// Notes that a session is told that a model cannot use tools. Returns whether it was not told before.
    pub fn note_without_tools(&self, session: &str, model: &str) -> Result<bool> {
        let told = self.choice(session).unwrap_or_default().without_tools;
        if told.iter().any(|told| told == model) {
            return Ok(false);
        }
        self.change(session, |choice| {
            choice.without_tools.push(model.to_owned());
            let over = choice.without_tools.len().saturating_sub(TOLD);
            choice.without_tools.drain(..over);
        })?;
        Ok(true)
    }

    /// Whether a session does not want to see what was heard.
    pub fn is_quiet(&self, session: &str) -> bool {
        self.choice(session).is_some_and(|choice| choice.quiet)
    }

    /// Keeps whether a session wants to see what was heard.
    pub fn set_quiet(&self, session: &str, quiet: bool) -> Result<()> {
        self.change(session, |choice| choice.quiet = quiet)
    }

    /// Whether a session's answers are spoken.
    pub fn voice(&self, session: &str) -> Voice {
        self.choice(session).unwrap_or_default().voice
    }

    /// Keeps whether a session's answers are spoken.
    pub fn set_voice(&self, session: &str, voice: Voice) -> Result<()> {
        self.change(session, |choice| choice.voice = voice)
    }

    /// Notes that a session is told who listens. Returns whether it was not told before.
    pub fn note_listener(&self, session: &str, name: &str) -> Result<bool> {
        let known = self.choice(session);
        if known.is_some_and(|choice| choice.listener == name) {
            return Ok(false);
        }
        self.change(session, |choice| name.clone_into(&mut choice.listener))?;
        Ok(true)
    }

    fn change(&self, session: &str, change: impl FnOnce(&mut Choice)) -> Result<()> {
        let session = self.1.key(session);
        self.0.update(|list| {
            let known = list.iter().position(|choice| choice.session == session);
            let mut choice = match known {
                Some(index) => list.remove(index),
                None => Choice {
                    session,
                    ..Choice::default()
                },
            };
            change(&mut choice);
            let is_told = !choice.without_tools.is_empty() || !choice.listener.is_empty();
            let has_voice = choice.quiet || !choice.voice.is_off();
            if choice.model.is_some() || choice.effort.is_some() || is_told || has_voice {
                list.push(choice);
            }
            let over = list.len().saturating_sub(CHOICES);
            list.drain(..over);
            Ok(())
        })
    }
}

/// An owner's private chat, and whose it is: they may be no owner any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OwnersChatInFile")]
struct OwnersChat {
    chat: Address,
    owner: Author,
}

/// The content of the file. Earlier versions wrote the address alone, which on Telegram says whose it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum OwnersChatInFile {
    Whose { chat: Address, owner: Author },
    Chat(Address),
}

impl From<OwnersChatInFile> for OwnersChat {
    fn from(file: OwnersChatInFile) -> Self {
        match file {
            OwnersChatInFile::Whose { chat, owner } => Self { chat, owner },
            OwnersChatInFile::Chat(chat) => {
                let owner = Author {
                    id: chat.chat.clone(),
                    username: String::new(),
                };
                Self { chat, owner }
            }
        }
    }
}

/// The private chat in which an owner wrote last, where messages without an address go. The file is read once.
#[derive(Debug)]
pub struct LastChat {
    file: StateFile<Option<OwnersChat>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    last: Option<OwnersChat>,
    /// Runs since the file was written.
    written: Option<Stopwatch>,
    /// Whether the file names an earlier chat.
    is_unsaved: bool,
}

impl LastChat {
    /// The chat that the file below the folder `state` names.
    pub fn of_owner(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: RECENT_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        let file = StateFile::new(state.join("owner.json"), policy);
        let known = Known {
            last: file.read().unwrap_or_default(),
            ..Known::default()
        };
        Self {
            file,
            known: Mutex::new(known),
        }
    }

    /// The chat; none before an owner has written, and while who wrote there is no owner any more.
    pub fn get(&self, channels: &Channels, pairing: &Pairing) -> Option<Address> {
        let OwnersChat { chat, owner } = self.known.lock().last.clone()?;
        let person = Person {
            id: &owner.id,
            username: &owner.username,
            ..Person::default()
        };
        let rules = channels.named(&chat.channel)?.rules();
        let role = rules.role_now(&person, || pairing.role_of(&chat.channel, &owner.id));
        (role == Some(Role::Owner)).then_some(chat)
    }

    /// Notes that a chat is active. Returns whether that is to be [saved](LastChat::save) now: when it is another one
    /// than before, and at most once a `LAST_CHAT_INTERVAL`.
    pub fn note(&self, chat: &Address, owner: Author) -> bool {
        let mut known = self.known.lock();
        let last = Some(OwnersChat {
            chat: chat.clone(),
            owner,
        });
        if known.last != last {
            known.last = last;
            known.is_unsaved = true;
        }
        let is_soon = |written: Stopwatch| written.elapsed() < LAST_CHAT_INTERVAL;
        known.is_unsaved && !known.written.is_some_and(is_soon)
    }

    /// Writes what has not been written. Others see the chat meanwhile.
    pub fn save(&self) -> Result<()> {
        let mut known = self.known.lock();
        if !std::mem::replace(&mut known.is_unsaved, false) {
            return Ok(());
        }
        known.written = Some(Stopwatch::start());
        let newest = known.last.clone();
        drop(known);
        let written = self.file.update(|last| {
            last.clone_from(&newest);
            Ok(())
        });
        self.known.lock().is_unsaved |= written.is_err();
        written
    }
}

/// How many turns the first conversation in an agent's workspace has had: `state/introduction.json`, or
/// `state/introduction_ID.json`. With a damaged file it has had none.
#[derive(Debug)]
pub struct FirstTurns(StateFile<u32>);

impl FirstTurns {
    /// The count of an agent, by its id, below the folder `state`.
    pub fn new(state: &Path, agent: &str) -> Self {
        let name = match agent {
            MAIN => "introduction.json".to_owned(),
            id => format!("introduction_{id}.json"),
        };
        let policy = Policy {
            bytes_max: INTRODUCTION_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        Self(StateFile::new(state.join(name), policy))
    }

    /// The turns so far.
    pub fn get(&self) -> u32 {
        self.0.read().unwrap_or_default()
    }

    /// Counts another one, and returns how many there are.
    pub fn count(&self) -> Result<u32> {
        self.0.update(|turns| {
            *turns = turns.saturating_add(1);
            Ok(*turns)
        })
    }

    /// Begins again with none.
    pub fn clear(&self) -> Result<()> {
        match self.get() {
            0 => Ok(()),
            _ => self.0.update(|turns| {
                *turns = 0;
                Ok(())
            }),
        }
    }
}

/// The chats that have asked for a restart, until the next start has answered them. With a damaged
/// file none has.
#[derive(Debug)]
pub struct RestartRequests(StateFile<Vec<RestartRequest>>);

#[derive(Debug, Serialize, Deserialize)]
struct RestartRequest {
    chat: Address,
    #[serde(default)]
    language: Language,
}

impl RestartRequests {
    /// The requests below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: RESTARTS_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(StateFile::new(state.join("restart.json"), policy))
    }

    /// Adds a chat, and the language of the person who asked there.
    pub fn add(&self, chat: &Address, language: Language) -> Result<()> {
        self.0.update(|list| {
            list.retain(|request| request.chat != *chat);
            list.push(RestartRequest {
                chat: chat.clone(),
                language,
            });
            let over = list.len().saturating_sub(RESTARTS);
            list.drain(..over);
            Ok(())
        })
    }

    /// The chats and their languages, the oldest request first.
    pub fn list(&self) -> Vec<(Address, Language)> {
        let list = self.0.read().unwrap_or_default().into_iter();
        list.map(|request| (request.chat, request.language))
            .collect()
    }

    /// Forgets all of them.
    pub fn clear(&self) -> Result<()> {
        if self.list().is_empty() {
            Ok(())
        } else {
            self.0.update(|list| {
                list.clear();
                Ok(())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Clock;
    use crate::config::load::load_text;
    use crate::sys::environment::Environment;

    #[test]
    fn who_asked_for_a_restart_is_kept_until_they_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let requests = RestartRequests::new(folder.path());
        requests.clear().unwrap();
        assert!(!folder.path().join("restart.json").exists());
        let chat = Address::parse("telegram:1");
        requests.add(&chat, Language::English).unwrap();
        requests.add(&chat, Language::Chinese).unwrap();
        let again = RestartRequests::new(folder.path());
        assert_eq!(again.list(), [(chat, Language::Chinese)]);
        again.clear().unwrap();
        assert!(requests.list().is_empty());
    }

    #[test]
    fn a_choice_is_kept_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let choices = ModelChoices::new(&state);
        choices.set("cli:a", None).unwrap();
        assert!(!state.join("models.json").exists(), "nothing to write");
        choices.set("cli:a", Some("large")).unwrap();
        choices.set("cli:a", Some("small")).unwrap();
        choices.set("cli:b", Some("other")).unwrap();
        let again = ModelChoices::new(&state);
        assert_eq!(again.get("cli:a").as_deref(), Some("small"));
        again.set("cli:a", None).unwrap();
        assert_eq!(choices.get("cli:a"), None);
        assert_eq!(choices.get("cli:b").as_deref(), Some("other"));
    }

    #[test]
    fn model_and_thinking_are_chosen_apart() {
        let folder = tempfile::tempdir().unwrap();
        let choices = ModelChoices::new(folder.path());
        let old = r#"[{"session": "cli:a", "model": "large"}]"#;
        std::fs::write(folder.path().join("models.json"), old).unwrap();
        choices
            .set_effort("cli:a", Some(ReasoningEffort::Off))
            .unwrap();
        assert_eq!(choices.get("cli:a").as_deref(), Some("large"));
        choices.set("cli:a", None).unwrap();
        assert_eq!(choices.effort("cli:a"), Some(ReasoningEffort::Off));
        choices.set_effort("cli:a", None).unwrap();
        assert_eq!(choices.effort("cli:a"), None);
    }

    #[test]
    fn a_conversation_is_told_once_of_a_model_without_tools() {
        let folder = tempfile::tempdir().unwrap();
        let choices = ModelChoices::new(folder.path());
        let note = |session, model| choices.note_without_tools(session, model).unwrap();
        assert!(note("cli:a", "gemma"));
        assert!(!note("cli:a", "gemma"));
        assert!(note("cli:a", "other") && note("cli:b", "gemma"));
        choices.set("cli:a", Some("gemma")).unwrap();
        choices.set("cli:a", None).unwrap();
        assert!(!note("cli:a", "gemma"));
    }

    #[test]
    fn a_conversation_chooses_for_each_agent() {
        let folder = tempfile::tempdir().unwrap();
        let of_agent = |id| ModelChoices::new(folder.path()).of_agent(id);
        of_agent("work").set("telegram:1", Some("large")).unwrap();
        assert_eq!(of_agent("main").get("telegram:1"), None);
        of_agent("main").set("telegram:1", Some("small")).unwrap();
        let work = of_agent("work").get("telegram:1");
        assert_eq!(work.as_deref(), Some("large"));
    }

    #[test]
    fn the_oldest_goes_and_a_broken_file_counts_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let choices = ModelChoices::new(folder.path());
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

    #[test]
    fn it_is_kept_and_written_only_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let recent = LastChat::of_owner(folder.path());
        let pairing = Pairing::new(folder.path(), Clock::System);
        let channels = |allowed: &[&str]| {
            let text = serde_json::json!({"channels": {"telegram": {"allowFrom": allowed}}});
            let file = Path::new("config.json");
            let loaded = load_text(Some(&text.to_string()), file, &Environment::default());
            loaded.unwrap().config.channels
        };
        let both = channels(&["1", "2"]);
        let get = |recent: &LastChat| recent.get(&both, &pairing);
        let again = || get(&LastChat::of_owner(folder.path()));
        let owner = |id: &str| Author {
            id: id.to_owned(),
            username: String::new(),
        };
        assert_eq!(get(&recent), None);
        let (one, two) = (Address::parse("telegram:1"), Address::parse("telegram:2"));
        assert!(recent.note(&one, owner("1")));
        recent.save().unwrap();
        assert_eq!(again(), Some(one.clone()));
        let path = folder.path().join("owner.json");
        std::fs::remove_file(&path).unwrap();
        assert!(!recent.note(&one, owner("1")));
        recent.save().unwrap();
        assert!(!path.exists());
        assert!(
            !recent.note(&two, owner("2")),
            "it was written a moment ago"
        );
        assert_eq!(get(&recent), Some(two.clone()));
        recent.save().unwrap();
        assert_eq!(again(), Some(two));
        assert_eq!(
            recent.get(&channels(&["1"]), &pairing),
            None,
            "no owner any more"
        );
        std::fs::write(&path, r#""telegram:1""#).unwrap();
        assert_eq!(again(), Some(one));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(again(), None);
    }
}

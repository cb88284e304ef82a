//! Which models answer in which conversation.

use std::sync::Arc;

use crate::base::chat::ReasoningEffort;
use crate::base::error::Result;
use crate::base::sync::Mutex;
use crate::models::Models;
use crate::models::hearing::Hearing;
use crate::models::speaking::Speaking;
use crate::models::table::OFFLINE;
use crate::store::state::ModelChoices;
use crate::store::state::chats::Voice;

/// Models that are kept ready over all conversations; a household has no more.
const MODELS_HELD: usize = 4;

/// Chooses the models for the name of one, or as the configuration says.
pub type ModelsFor = Box<dyn Fn(Option<&str>) -> Result<Models> + Send + Sync>;

/// Chooses who listens to voice messages, as the configuration says; `None` where they are not listened to.
pub type HearingFor = Box<dyn Fn() -> Result<Option<Hearing>> + Send + Sync>;

/// Chooses what speaks answers, as the configuration says; `None` where nothing is set.
pub type SpeakingFor = Box<dyn Fn() -> Result<Option<Speaking>> + Send + Sync>;

/// The models of every conversation: those of the configuration, unless it chose another.
pub struct Selection {
    models_for: ModelsFor,
    /// Named on the command line: used in place of any earlier choice, until another is chosen.
    named: Mutex<Option<String>>,
    choices: ModelChoices,
    /// Those that were asked last, the newest at the end: what was learned about a model (that it
    /// fails, that it refuses a parameter) is worth keeping.
    held: Mutex<Vec<(Option<String>, Arc<Models>)>>,
}

impl Selection {
    /// Starts with the models of the configuration. Fails when they do not exist.
    pub fn new(
        models_for: ModelsFor,
        named: Option<String>,
        choices: ModelChoices,
    ) -> Result<Self> {
        let selection = Self {
            models_for,
            named: Mutex::new(named.clone()),
            choices,
            held: Mutex::default(),
        };
        selection.models(named)?;
        Ok(selection)
    }

    /// The models that answer in a session.
    pub fn models_of(&self, session: &str) -> Result<Arc<Models>> {
        let named = self.named.lock().clone();
        self.models(named.or_else(|| self.choices.get(session)))
    }

    /// The models for a name, or those of the configuration. Fails when they do not exist.
    pub fn preview(&self, name: Option<&str>) -> Result<Arc<Models>> {
        self.models(name.map(str::to_owned))
    }

    /// Uses another model for a session from the next turn on; `None` for that of the configuration.
    pub fn choose(&self, session: &str, name: Option<&str>) -> Result<()> {
        self.preview(name)?;
        *self.named.lock() = None;
        self.choices.set(session, name)
    }

    /// How much the model thinks in a session, if the session has chosen.
    pub fn effort(&self, session: &str) -> Option<ReasoningEffort> {
        self.choices.effort(session)
    }

    /// Lets the model think so much in a session from the next turn on; `None` for the configuration's.
    pub fn choose_effort(&self, session: &str, effort: Option<ReasoningEffort>) -> Result<()> {
        self.choices.set_effort(session, effort)
    }

    /// Notes that a session is told that a model cannot use tools. Returns whether it was not told before; it is told
    /// again where that cannot be noted.
    pub fn note_without_tools(&self, session: &str, model: &str) -> bool {
        let noted = self.choices.note_without_tools(session, model);
        noted.unwrap_or_else(|error| {
            tracing::warn!("failed to note what a conversation was told: {error}");
            true
        })
    }

    /// Whether a session does not want to see what was heard.
    pub fn is_quiet(&self, session: &str) -> bool {
        self.choices.is_quiet(session)
    }

    /// Has a session see what was heard, or not.
    pub fn choose_quiet(&self, session: &str, is_quiet: bool) -> Result<()> {
        self.choices.set_quiet(session, is_quiet)
    }

    /// Whether a session's answers are spoken.
    pub fn voice(&self, session: &str) -> Voice {
        self.choices.voice(session)
    }

    /// Has a session's answers spoken, or not.
    pub fn choose_voice(&self, session: &str, voice: Voice) -> Result<()> {
        self.choices.set_voice(session, voice)
    }

    /// Notes that a session is told who listens. Returns whether it was not told before; it is told again where that
    /// cannot be noted.
    pub fn note_listener(&self, session: &str, name: &str) -> bool {
        let noted = self.choices.note_listener(session, name);
        noted.unwrap_or_else(|error| {
            tracing::warn!("failed to note what a conversation was told: {error}");
            true
        })
    }

    fn models(&self, name: Option<String>) -> Result<Arc<Models>> {
        let mut held = self.held.lock();
        let known = held.iter().position(|(held, _)| *held == name);
        let models = match known {
            Some(index) => held.remove(index).1,
            None => Arc::new((self.models_for)(name.as_deref())?),
        };
        // Without a model that is held, one may have been connected when it is looked for again.
        if models.names() != [OFFLINE] {
            held.push((name, Arc::clone(&models)));
        }
        let over = held.len().saturating_sub(MODELS_HELD);
        held.drain(..over);
        Ok(models)
    }
}

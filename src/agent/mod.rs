//! Floor 8: the agent. `turn` decides, `run` performs, `context` writes the texts for the model.

mod budget;
pub mod commands;
pub mod consolidate;
pub mod context;
pub mod host;
pub mod interview;
pub mod introduction;
pub mod run;
mod selection;
mod skills;
pub mod subagent;
mod texts;
pub mod turn;

use std::time::Duration;

use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, SessionKey};
use crate::config::schema::{AgentDefaults, Limits};
use crate::models::table::OFFLINE;
use crate::net::http::Pool;
use crate::store::session::Session;
use crate::store::state::usage::{ByModel, Day};
use crate::store::state::{FirstTurns, Learned, ModelChoices, PromptChanges, TokenUsage};
use crate::tools::Toolbox;

use context::HostInfo;
use host::TurnHost;
pub use run::speaking::Spoken;
pub use run::{Outcome, Report, describe_failure};
use selection::Selection;
pub use selection::{HearingFor, ModelsFor, SpeakingFor};

/// What an agent is made of.
pub struct Parts {
    /// Chooses the models, for a name or without one.
    pub models: ModelsFor,
    /// Chooses who listens to voice messages.
    pub hearing: HearingFor,
    /// Chooses what speaks answers.
    pub speaking: SpeakingFor,
    /// The connections to them, which stay open for a while between turns.
    pub connections: Pool,
    /// The model that was named, if any.
    pub model: Option<String>,
    /// The model that each conversation has chosen.
    pub choices: ModelChoices,
    /// What the model may use.
    pub toolbox: Toolbox,
    /// Where tokens are counted.
    pub ledger: TokenUsage,
    /// How many turns the first conversation has had.
    pub first_turns: FirstTurns,
    /// What is known about how models count tokens, and how many they take.
    pub learned: Learned,
    /// Where the time comes from.
    pub clock: Clock,
    /// The machine and the folders.
    pub host_info: HostInfo,
    /// Its settings.
    pub settings: AgentDefaults,
    /// Its limits.
    pub limits: Limits,
    /// Whether answers should come in pieces.
    pub stream: bool,
    /// What tells it from the other agents, for people; `None` where there are no others.
    pub label: Option<String>,
}

/// An agent: runs turns in sessions, several at a time if they belong to different sessions.
pub struct Agent {
    selection: Selection,
    hearing: HearingFor,
    speaking: SpeakingFor,
    connections: Pool,
    toolbox: Toolbox,
    ledger: TokenUsage,
    first_turns: FirstTurns,
    learned: Learned,
    clock: Clock,
    host_info: HostInfo,
    settings: AgentDefaults,
    limits: Limits,
    stream: bool,
    label: Option<String>,
    /// Keeps the files of the prompt as they were before a change.
    changes: Option<PromptChanges>,
}

impl Agent {
    /// Puts an agent together. Fails when the models of the configuration do not exist.
    pub fn new(parts: Parts) -> Result<Self> {
        Ok(Self {
            selection: Selection::new(parts.models, parts.model, parts.choices)?,
            hearing: parts.hearing,
            speaking: parts.speaking,
            connections: parts.connections,
            toolbox: parts.toolbox,
            ledger: parts.ledger,
            first_turns: parts.first_turns,
            learned: parts.learned,
            clock: parts.clock,
            host_info: parts.host_info,
            settings: parts.settings,
            limits: parts.limits,
            stream: parts.stream,
            label: parts.label,
            changes: None,
        })
    }

    /// Keeps the files of the prompt as they were before a change, and names what a turn has changed.
    #[must_use]
    pub fn with_changes(mut self, changes: PromptChanges) -> Self {
        self.changes = Some(changes.hiding(self.toolbox.eraser().clone()));
        self
    }

    /// Has the program itself write a file, which is no change.
    fn write_unchanged<T>(&self, path: &str, write: impl FnOnce() -> Result<T>) -> Result<T> {
        match &self.changes {
            Some(changes) => changes.write(self.toolbox.workspace(), path, write),
            None => write(),
        }
    }

    /// Takes a file that the program itself has written as known.
    fn pass_change(&self, path: &str) {
        let changes = self.changes.as_ref();
        let passed = changes.map(|changes| changes.pass(self.toolbox.workspace(), path));
        if let Some(Err(error)) = passed {
            tracing::warn!("failed to note that {path} was changed: {error}");
        }
    }

    /// Begins to look for changes in a turn of an owner: others make none.
    fn watch_changes(
        &self,
        session: &Session,
        message: Option<&Envelope>,
        host: &mut dyn TurnHost,
    ) -> Option<&PromptChanges> {
        let role = session.role_with(message.map(|message| message.role));
        let goes_on = session.is_unfinished();
        let changes = self.changes.as_ref().filter(|_| role == Role::Owner)?;
        self.tell_changes(changes.begin_turn(self.toolbox.workspace(), goes_on), host);
        Some(changes)
    }

    /// Has what could change the changed files ended, and the person told.
    fn tell_changes(&self, changed: Result<Vec<String>>, host: &mut dyn TurnHost) {
        match changed {
            Ok(paths) if paths.is_empty() => {}
            Ok(paths) => {
                self.toolbox.prompt_changed(&paths);
                host.prompt_changed(&paths);
            }
            Err(error) => {
                tracing::warn!("failed to look for changes of the prompt's files: {error}");
            }
        }
    }

    /// Whether the offline helper answers in a chat because no model is connected, rather than because
    /// the configuration says so.
    pub fn lacks_model(&self, chat: &SessionKey) -> bool {
        let names = self.model_names(chat);
        self.settings.provider != OFFLINE && names.is_ok_and(|names| names == [OFFLINE])
    }

    /// The models of a chat by name, the fallbacks behind the first, as a line for people.
    pub fn model_line(&self, chat: &SessionKey, language: Language) -> String {
        match self.model_names(chat).as_deref() {
            Ok([first]) if first == OFFLINE => texts::no_model(language).to_owned(),
            Ok([first]) => texts::model(language, first),
            Ok([first, others @ ..]) => {
                let others = others.join(texts::comma(language));
                texts::model_with_fallbacks(language, first, &others)
            }
            Ok([]) => String::new(),
            Err(error) => texts::model_error(language, &error),
        }
    }

    /// The name of the model that answers in a chat first.
    pub fn model_name(&self, chat: &SessionKey) -> Result<String> {
        Ok(self
            .model_names(chat)?
            .into_iter()
            .next()
            .unwrap_or_default())
    }

    fn model_names(&self, chat: &SessionKey) -> Result<Vec<String>> {
        Ok(self.selection.models_of(chat.as_str())?.names())
    }

    /// Closes connections to models that have been idle for too long, and gives the time after which
    /// this should be called again; `None` when nothing is left. Call it when a turn has ended.
    pub fn close_idle_connections(&self) -> Option<Duration> {
        self.connections.close_idle()
    }

    /// Ends the background commands of a conversation, and returns them. Blocks until they are gone.
    pub fn end_background(&self, chat: &SessionKey) -> Vec<String> {
        self.end_background_for(chat, Role::Owner)
    }

    /// The same for a person: what was started for someone who may do more goes on.
    pub fn end_background_for(&self, chat: &SessionKey, role: Role) -> Vec<String> {
        self.toolbox.end_of(chat.as_str(), role)
    }

    /// The tools of the model; people may use some of them without it.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Runs one turn: with a message, or the one that was interrupted.
    ///
    /// Events and effects go to `host`. Fails only when nothing was begun, or when something cannot be
    /// written and the host has given up: the turn is unfinished then and can continue later, and an
    /// answer that was stored must stay held. Everything else is an [`Outcome`].
    pub fn run(
        &self,
        session: &mut Session,
        message: Option<&Envelope>,
        host: &mut dyn TurnHost,
        cancel: &Cancel,
    ) -> Result<Report> {
        let options = host.options();
        let own_model = &self.settings.subagents.model;
        let own_model = Some(own_model).filter(|name| options.is_subagent && !name.is_empty());
        let models = match options.model.as_ref().or(own_model) {
            Some(name) => self.selection.preview(Some(name))?,
            None => self.selection.models_of(session.chat().as_str())?,
        };
        let is_talk = !options.is_subagent;
        if is_talk && !models.primary().is_offline() {
            self.count_introduction();
        }
        // Before any of it is read.
        self.toolbox.prompt_changed(&[]);
        let watched = self.watch_changes(session, message, host);
        let run = run::Run::new(self, &models, session, (message, &options), (host, cancel));
        let report = run.drive(message);
        if let (Ok(report), true) = (&report, is_talk) {
            self.note_turn(session.chat(), report);
        }
        if is_talk {
            self.finish_introduction();
        }
        if let Some(changes) = watched {
            self.tell_changes(changes.end_turn(self.toolbox.workspace()), host);
        }
        self.ledger.sync();
        report
    }

    /// Tokens and cost since midnight, of all agents that share the account.
    pub fn usage_today(&self) -> ByModel {
        self.ledger.counts().models
    }

    /// The same by day, of all days that are known.
    pub fn usage_days(&self) -> Vec<Day> {
        self.ledger.days()
    }

    /// Ends an interrupted turn as stopped by the person, without asking the model. Does nothing when no
    /// turn is unfinished.
    ///
    /// Fails when the journal cannot be written and the host has given up.
    pub fn abandon(
        &self,
        session: &mut Session,
        host: &mut dyn TurnHost,
        cancel: &Cancel,
    ) -> Result<()> {
        if !session.is_unfinished() {
            return Ok(());
        }
        let mut retry = |error: &Error| host.retry_write(error, cancel);
        run::end_stopped(session, String::new(), &mut retry)
    }

    fn runtime_facts(&self, session: &SessionKey, reply: Option<&Address>) -> String {
        let time = self.clock.is_set().then(|| self.clock.now());
        context::runtime_facts(time, &self.clock.zone_name(), session, reply)
    }
}

#[cfg(test)]
mod tests;

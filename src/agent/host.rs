//! What a turn needs from its host: a terminal, or the gateway for a chat.

use std::sync::Arc;

use super::{Agent, texts};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputRequest, SendRequest, SpawnRequest, Usage};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::Envelope;
use crate::text::markup::inline_code;

/// What happens during a turn. Events are for display only and may be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEvent<'a> {
    /// A model of this name is asked.
    Asking(&'a str),
    /// A piece of the model's text, as it streams.
    Delta(&'a str),
    /// The pieces so far are no part of the reply: it broke off, and begins again.
    Retracted,
    /// The text of one reply is complete (the pieces, or the whole where nothing streamed).
    Said(&'a str),
    /// Tools are about to run, such as `read_file("src/main.py")`.
    ToolHint(&'a str),
    /// A command runs outside the sandbox by a standing approval: the call, as in a hint.
    Unsandboxed(&'a str),
    /// How far a running call is, in its own words.
    Progress(&'a str),
    /// A tool failed, or a review sent the answer back; the model has been told.
    ToolFailed(&'a str),
    /// The turn ends without a whole answer, or with a doubtful one, and why: the account follows what was said.
    Bounded(&'a str),
    /// What the person has to know of the conversation from now on; it is told once, and stays.
    Lasting(&'a str),
    /// News for the person: a retry, a fallback, a repaired journal.
    Notice(&'a str),
}

/// What a turn is to be run with, beside its message.
#[derive(Clone, Debug, Default)]
pub struct TurnOptions {
    /// The model, by its name; `None` for that of the conversation.
    pub model: Option<String>,
    /// Lines to add to the runtime's facts; may be empty.
    pub facts: String,
    /// Whether it is the turn of a subagent: with a short prompt, without the tools that reach people, and
    /// with bounds of its own.
    pub is_subagent: bool,
    /// The role of the person for whom it is, for the limits of a day; `None` for that of the turn.
    pub payer: Option<Role>,
}

/// The host of a running turn: it shows events, performs effects and passes on messages.
pub trait TurnHost {
    /// What the turn is to be run with. Asked once, at its beginning.
    fn options(&self) -> TurnOptions {
        TurnOptions::default()
    }

    /// Whether pieces of a reply that breaks off can be taken back, or are not shown: then the reply is asked
    /// for again.
    fn takes_back(&self) -> bool {
        true
    }

    /// Shows an event.
    fn on_event(&mut self, event: TurnEvent<'_>);

    /// Asks a person whether a command may run. Blocks until there is an answer, `cancel` is raised or
    /// [`ANSWER_TIME`](crate::base::limits::agent::ANSWER_TIME) is over.
    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer;

    /// Whether the turn that goes on was cut off while it [asked](Self::ask): nothing of its open calls was done.
    fn was_asking(&mut self) -> bool {
        false
    }

    /// Asks a person what a server of tools wants to know, in a turn of this role: only people who may do as much
    /// answer. Blocks as [`ask`](Self::ask) does.
    fn input(&mut self, _request: &InputRequest, _role: Role, _cancel: &Cancel) -> InputAnswer {
        InputAnswer::Cancelled
    }

    /// Takes the messages that arrived since the turn began. Called between two steps.
    fn interjections(&mut self) -> Vec<Envelope> {
        Vec::new()
    }

    /// Takes what the last requests took. Returns whether the turn may ask again.
    fn spent(&mut self, _usage: Usage) -> bool {
        true
    }

    /// A message of the turn with the words that its person has given it meanwhile; `None` where they are the same.
    fn edited(&self, _message: &Envelope) -> Option<Envelope> {
        None
    }

    /// The message with this id is in the journal: it need not be kept elsewhere any longer.
    fn journalled(&mut self, _id: &str) {}

    /// Takes the closing answer before the journal records the end of the turn. When this returns, the
    /// answer is stored for delivery but not released: the caller of
    /// [`Agent::run`](super::Agent::run) releases it once that has returned. `journal` is the journal's length in bytes, by
    /// which the turn is recognised after a kill; `None` for an error.
    fn close(&mut self, _text: &str, _journal: Option<u64>) -> Result<()> {
        Ok(())
    }

    /// The turn, which was an owner's, has changed files that stand in prompts: their paths.
    fn prompt_changed(&mut self, paths: &[String]) {
        let text = describe_changed(paths, Language::English);
        self.on_event(TurnEvent::Notice(&text));
    }

    /// Takes what the model had said of an answer that a person has stopped. It is for display only.
    fn stopped(&mut self, _text: &str) {}

    /// A write failed, of the journal or of [`close`](Self::close), for example because the disk is
    /// full. Returns true after a wait to retry the write, false when the turn must give up. `cancel` is
    /// raised already when the end of a stopped turn is written.
    fn retry_write(&mut self, _error: &Error, _cancel: &Cancel) -> bool {
        false
    }

    /// Sends a message for a tool. When this returns it is stored for delivery.
    fn send(&mut self, _request: SendRequest) -> Result<()> {
        Err(Error::Failed(
            "nothing can be sent from here: answer instead, the person reads it".to_owned(),
        ))
    }

    /// Starts a subagent beside this conversation. Returns what the model reads; `None` where nothing runs
    /// beside it: the task is then done within the call.
    fn spawn(&mut self, _request: &SpawnRequest) -> Result<Option<String>> {
        Ok(None)
    }

    /// Begins a plan for this conversation, whose person is shown its steps. Returns what the model reads.
    fn begin_plan(&mut self, _goal: &str) -> Result<String> {
        Err(Error::Failed(
            "plans begin in a chat, in a turn that its person has begun: do the steps yourself"
                .to_owned(),
        ))
    }

    /// Whether there is an agent with this id, which may be given tasks from here or not.
    fn has_agent(&self, _id: &str) -> bool {
        false
    }

    /// Another agent that may be given tasks from here, by its id.
    fn colleague(&self, id: &str) -> Result<Arc<Agent>> {
        Err(Error::Failed(format!(
            "there is no agent {id:?} here that may be given tasks: leave `agent` out"
        )))
    }
}

/// What a chat is told of files of the prompt that a turn has changed.
pub fn describe_changed(paths: &[String], language: Language) -> String {
    let files: Vec<String> = paths.iter().map(|path| inline_code(path)).collect();
    texts::prompt_changed(language, &files.join(texts::comma(language)))
}

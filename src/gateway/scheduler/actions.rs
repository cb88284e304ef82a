//! The inputs and actions of the scheduler.

use crate::base::message::{Envelope, SessionKey};
use crate::gateway::commands::ParsedMessage;

/// The id of a piece of work: a turn or a command.
pub type WorkId = u64;

/// An input of the scheduler.
#[derive(Debug)]
pub enum Input {
    /// A message arrived. It waits while it has files to fetch.
    Arrived(ParsedMessage),
    /// A message's files were fetched.
    Fetched(Envelope),
    /// A message has another text now.
    Edited {
        /// The conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
        /// The new text.
        text: String,
    },
    /// A session's turn was interrupted by the end of the process and can be resumed.
    Interrupted(SessionKey),
    /// A consolidation's result waits for the session's journal.
    Consolidated(SessionKey),
    /// A turn is between two steps and takes what has arrived for its session.
    Step(WorkId),
    /// A turn or a command waits for a person's answer: a turn needs no slot meanwhile, and other commands need not wait.
    Waits(WorkId),
    /// A turn or a command has its answer; a turn wants to continue.
    Answered(WorkId),
    /// A piece of work has ended. `unread` are messages that were handed to it and that it has not
    /// put into its journal.
    Finished {
        /// Its id.
        work: WorkId,
        /// In their order.
        unread: Vec<Envelope>,
    },
    /// A command has run for so long that the next one of its chat runs beside it.
    Long(WorkId),
    /// Start nothing new.
    Stopping,
}

/// An action for the loop to perform.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Start a turn on a thread.
    StartTurn {
        /// Its id.
        work: WorkId,
        /// The message that it answers.
        message: Box<Envelope>,
    },
    /// Resume an interrupted turn on a thread.
    ResumeTurn {
        /// Its id.
        work: WorkId,
        /// Its session.
        session: SessionKey,
    },
    /// Record the end of an interrupted turn that is not resumed.
    AbandonTurn {
        /// Its id.
        work: WorkId,
        /// Its session.
        session: SessionKey,
    },
    /// Note a consolidation's result in a session's journal, on a thread.
    ApplyConsolidation {
        /// Its id.
        work: WorkId,
        /// Its session.
        session: SessionKey,
    },
    /// Tell the person that this command waits for another one.
    TellWaiting {
        /// The command that waits.
        message: Box<Envelope>,
        /// The one that it waits for.
        other: WorkId,
        /// Whether that waits for an answer itself.
        is_asking: bool,
    },
    /// Run a slash command on a thread. If it uses a session, no other work has that session open.
    StartCommand {
        /// Its id.
        work: WorkId,
        /// The command.
        message: Box<ParsedMessage>,
    },
    /// Answer a slash command at once.
    Command(Box<ParsedMessage>),
    /// Hand messages to a turn that asked for them by [`Input::Step`].
    Interject {
        /// The turn.
        work: WorkId,
        /// In their order; may be empty.
        messages: Vec<Envelope>,
    },
    /// Let a turn continue that asked to by [`Input::Answered`].
    Continue(WorkId),
    /// Raise the cancellation token of a piece of work.
    Cancel(WorkId),
    /// Tell the person that messages were not accepted, and forget them.
    Refuse {
        /// The messages; never empty, all of one chat.
        messages: Vec<Envelope>,
        /// How many more there were: see [`Action::Forget`].
        more: usize,
        /// Why.
        reason: RefusalReason,
    },
    /// Forget a message that the next refusal in its chat counts and does not name.
    Forget(Box<Envelope>),
    /// Forget messages that a `/stop` has dropped.
    Drop(Vec<Envelope>),
    /// Answer a `/stop`.
    Stopped {
        /// The command.
        message: Box<Envelope>,
        /// What it stopped.
        count: Stopped,
    },
}

/// Why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// Too many messages are waiting in its conversation.
    QueueFull,
    /// Too many commands are waiting in its conversation.
    TooManyCommands,
    /// An edit turned it into an answer to a question.
    Edited,
}

/// What a `/stop` stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Turns that were running or about to be resumed.
    pub turns: usize,
    /// Commands.
    pub commands: usize,
    /// Commands that had not begun: their questions were open.
    pub questions: usize,
    /// Tasks of subagents.
    pub tasks: usize,
    /// Messages that waited.
    pub messages: usize,
}

/// How much is running and waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Turns and commands.
    pub running: usize,
    /// Messages.
    pub waiting: usize,
}

//! What the scheduler is told, and what it wants done.

use crate::message::{Envelope, SessionKey};

/// Names a piece of work: a turn or a command.
pub type WorkId = u64;

/// What the scheduler is told.
#[derive(Debug)]
pub enum Input {
    /// A message arrived. It waits while it has files to be fetched.
    Arrived(Envelope),
    /// A message's files are here.
    Fetched(Envelope),
    /// A message has another text now.
    Edited {
        /// Whose conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
        /// The new text.
        text: String,
    },
    /// A session's turn was interrupted by the end of the process and goes on.
    Interrupted(SessionKey),
    /// A turn is between two steps and takes what has arrived for its session.
    Step(WorkId),
    /// A turn waits for a person's answer and needs no slot meanwhile.
    Waits(WorkId),
    /// A turn has its answer and wants to go on.
    Answered(WorkId),
    /// A piece of work has ended. `unread` are messages that were handed to it and that it has not
    /// put into its journal.
    Finished {
        /// Which one.
        work: WorkId,
        /// In their order.
        unread: Vec<Envelope>,
    },
    /// Nothing new is to be started.
    Stopping,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Start a turn on a thread.
    StartTurn {
        /// Its name.
        work: WorkId,
        /// The message that it is about.
        message: Box<Envelope>,
    },
    /// Go on with an interrupted turn, on a thread.
    ResumeTurn {
        /// Its name.
        work: WorkId,
        /// Whose.
        session: SessionKey,
    },
    /// Record the end of an interrupted turn that is not to go on.
    AbandonTurn {
        /// Its name.
        work: WorkId,
        /// Whose.
        session: SessionKey,
    },
    /// Run a slash command on a thread. If it touches a session, nothing else has that session open.
    StartCommand {
        /// Its name.
        work: WorkId,
        /// The command.
        message: Box<Envelope>,
    },
    /// Answer a slash command here and now.
    Command(Box<Envelope>),
    /// Hand messages to a turn that asked for them by [`Input::Step`].
    Interject {
        /// Which turn.
        work: WorkId,
        /// In their order; may be empty.
        messages: Vec<Envelope>,
    },
    /// Let a turn go on that asked to by [`Input::Answered`].
    Continue(WorkId),
    /// Raise the cancellation token of a piece of work.
    Cancel(WorkId),
    /// Tell the person that messages were not accepted, and forget them.
    Refuse {
        /// Which ones; never empty, all of one chat.
        messages: Vec<Envelope>,
        /// How many more there were: see [`Action::Forget`].
        more: usize,
        /// Why.
        reason: Reason,
    },
    /// Forget a message that the next refusal in its chat counts and does not name.
    Forget(Box<Envelope>),
    /// Forget messages, because the person said `/stop` or because they are empty of meaning now.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// So many messages wait in its conversation already.
    QueueFull,
    /// So many commands run already.
    TooManyCommands,
    /// An edit made it an answer to a question.
    Edited,
}

/// What a `/stop` stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Turns that were running or about to be resumed.
    pub turns: usize,
    /// Commands.
    pub commands: usize,
    /// Messages that waited.
    pub messages: usize,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Turns and commands.
    pub running: usize,
    /// Messages.
    pub waiting: usize,
}

//! What the terminal says to the person beside the conversation.

use std::fmt::Display;
use std::time::Duration;

use crate::error::Error;

/// The line that shows what a turn waits for, and for how long.
pub fn waiting(what: &str, time: Duration) -> String {
    let seconds = time.as_secs();
    let time = match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    };
    format!("{what}… {time} · Ctrl-C stops")
}

/// A model is being asked.
pub fn asking(model: &str) -> String {
    format!("asking {model}")
}

/// A tool is running.
pub fn running(tool: &str) -> String {
    format!("running {tool}")
}

/// The prompt cannot be shown.
pub fn no_terminal(error: impl Display) -> Error {
    Error::Failed(format!(
        "This terminal cannot be used for a conversation ({error}). Ask a single question instead: \
         peacrab agent -m TEXT"
    ))
}

/// There is no thread for the turn.
pub fn no_thread(error: impl Display) -> Error {
    Error::Failed(format!(
        "The system has no threads left ({error}). Close some programs and try again."
    ))
}

/// The turn's thread is gone.
pub fn no_result() -> Error {
    Error::Failed("The turn ended unexpectedly, without a result.".to_owned())
}

/// The signals cannot be handled.
pub fn no_runtime(error: impl Display) -> Error {
    Error::Failed(format!("The program cannot start: {error}"))
}

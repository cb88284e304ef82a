//! What the terminal says to the person beside the conversation.

use std::fmt::Display;
use std::time::Duration;

use crate::base::error::Error;
use crate::text::count_of;

/// The line that shows what a turn waits for, and for how long.
pub fn waiting(what: &str, time: Duration) -> String {
    let seconds = time.as_secs();
    let time = match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    };
    format!("{what}… {time} · Ctrl-C stops")
}

/// A turn or the program was stopped.
pub const STOPPED: &str = "stopped";

/// A model is being asked.
pub fn asking(model: &str) -> String {
    format!("asking {model}")
}

/// A tool is running.
pub fn running(tool: &str) -> String {
    format!("running {tool}")
}

/// Above the question of a server of tools.
pub fn server_asks(server: &str) -> String {
    format!("The tool server {server} asks:")
}

/// What to do at the end of a login.
pub const PASTE_ADDRESS: &str =
    "Then copy the address that the browser shows at the end and paste it here";

/// Where a command would run, and as whom.
pub fn outside(account: &str) -> String {
    format!(" outside the sandbox, as {account}")
}

/// The account, where it has no name.
pub const THIS_ACCOUNT: &str = "this account";

/// There are no conversations to list.
pub const NO_SESSIONS: &str = "No conversations yet. `peacrab agent` starts one.";

/// Over a note that the runtime wrote to the model.
pub const RUNTIME_NOTE: &str = "runtime note";

/// Over the runtime's summary of older messages.
pub const RUNTIME_SUMMARY: &str = "summary of earlier messages";

/// Below a reply that was stopped.
pub const WAS_STOPPED: &str = "· stopped";

/// Asks before a conversation is deleted.
pub fn ask_to_delete(chat: impl Display, title: &str, size: &str) -> String {
    let title = match title {
        "" => String::new(),
        title => format!(" \"{title}\""),
    };
    format!("Delete {chat}{title} ({size})? This cannot be undone. [y/N] ")
}

/// A conversation was deleted.
pub fn deleted(chat: impl Display) -> String {
    format!("Deleted {chat}.")
}

/// The person did not want it deleted.
pub const KEPT: &str = "Not deleted.";

/// Lines of a journal were not readable.
pub fn skipped(lines: usize) -> String {
    format!(
        "skipped {}",
        count_of(lines, "unreadable line", "unreadable lines")
    )
}

/// A long tool result was cut.
pub fn more(left: &str) -> String {
    format!("… {left} more; --full shows all")
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

/// What the browser shows at the end of a login.
pub const PAGE: &str =
    "Go back to the terminal, which says how the login ended. You can close this page.";

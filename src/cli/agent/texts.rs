//! What `peacrab agent` says to the person, apart from what the agent answers.

use std::fmt::Display;
use std::path::Path;

use chrono::{DateTime, FixedOffset};

use crate::base::error::Error;
use crate::text::count_of;

/// There is no question, and nothing that a question could be read from.
pub fn no_message() -> Error {
    Error::Usage("No message given. Use -m TEXT or pipe text in.".to_owned())
}

/// `--session` without a name.
pub fn no_session_name() -> Error {
    Error::Usage("A session needs a name: -s NAME".to_owned())
}

/// The conversation named with `-s` is open in another window.
pub fn in_use(name: impl Display) -> Error {
    Error::Failed(format!(
        "Another peacrab has the conversation \"{name}\" open. Use `-s NAME` for a separate one."
    ))
}

/// The conversation is open in another window, and this window has got another one.
pub fn other_window(taken: impl Display, name: impl Display, is_new: bool) -> String {
    if is_new {
        format!("\"{taken}\" is open in another window; this is a new conversation, \"{name}\".")
    } else {
        format!("\"{taken}\" is open in another window; this one continues \"{name}\".")
    }
}

/// `--resume` without an interrupted turn.
pub const NOTHING_TO_RESUME: &str = "Nothing to resume: no turn was interrupted.";

/// The conversation begins with the turn that was interrupted.
pub const RESUMING: &str = "The last turn was interrupted; continuing with it. Ctrl-C stops it.";

/// After Ctrl-C at an empty prompt.
pub const HOW_TO_QUIT: &str = "(press Ctrl-C again, Ctrl-D or type /exit to quit)";

/// The answer to `/stop`.
pub const HOW_TO_STOP: &str = "Nothing is running. While something is, Ctrl-C stops it.";

/// Behind the answer to a command that is not known here, where the program has one of this name.
pub fn in_the_shell(word: &str) -> String {
    format!("In the shell there is `peacrab {word}`.")
}

/// Below the first line, when only the offline helper answers.
pub const HOW_TO_CONNECT: &str =
    "To connect a model: peacrab onboard, or set a key such as ANTHROPIC_API_KEY";

/// No provider has the model that was named.
pub fn no_provider(model: &str) -> String {
    format!(
        "No provider is connected for the model {model}; the offline helper answers. \
         `peacrab onboard` connects one."
    )
}

/// Standard input is a pipe from which nothing comes.
pub const WAITING_FOR_INPUT: &str =
    "Reading standard input; press Ctrl-D at its end, or start with `< /dev/null` to skip it.";

/// A text was too long for a message.
pub fn shortened(name: &str, size: &str, kept: &str) -> String {
    format!("note: {name} is too long ({size}); only its first and last {kept} are sent")
}

/// Standard input is no text.
pub fn not_text(kind: &str) -> Error {
    Error::Usage(format!(
        "Standard input is not text ({kind}). Attach it as a file instead: --file PATH"
    ))
}

/// A file cannot be attached.
pub fn unreadable(path: &Path, why: impl Display) -> Error {
    Error::Usage(format!("Cannot attach {}: {why}", path.display()))
}

/// A word such as `@nots.txt` names no file.
pub fn no_such_file(name: &str) -> String {
    format!("There is no file {name}, so @{name} is sent as text.")
}

/// The path of an attachment is a folder.
pub const IS_FOLDER: &str = "it is a folder";

/// The path of an attachment is a device, a socket or a pipe.
pub const IS_NO_FILE: &str = "it is not a regular file";

/// An attachment is larger than its bound.
pub fn too_large(size: &str, limit: &str) -> String {
    format!("it is too large ({size}; the limit is {limit})")
}

/// The conversation goes on: how much there is, and since when. `last` is when something was said last.
pub fn goes_on(
    messages: usize,
    last: Option<DateTime<FixedOffset>>,
    now: DateTime<FixedOffset>,
) -> String {
    let count = count_of(messages, "message", "messages");
    let when = last.map_or_else(String::new, |last| format!(", {}", day_of(last, now)));
    format!("Continuing: {count}{when} · /new starts over")
}

fn day_of(time: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
    let time = time.with_timezone(now.offset());
    match (now.date_naive() - time.date_naive()).num_days() {
        0 => format!("today at {}", time.format("%H:%M")),
        1 => "yesterday".to_owned(),
        days @ 2..=6 => format!("{days} days ago"),
        _ => time.format("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_says_how_long_it_has_rested() {
        let time = |text| DateTime::parse_from_rfc3339(text).unwrap();
        let now = time("2026-11-22T15:00:00+01:00");
        for (last, expected) in [
            ("2026-11-22T08:05:00+00:00", "today at 09:05"),
            ("2026-11-21T23:30:00+00:00", "today at 00:30"),
            ("2026-11-21T10:00:00+01:00", "yesterday"),
            ("2026-11-18T10:00:00+01:00", "4 days ago"),
            ("2025-11-18T10:00:00+01:00", "2025-11-18"),
        ] {
            let text = goes_on(12, Some(time(last)), now);
            let expected = format!("Continuing: 12 messages, {expected} · /new starts over");
            assert_eq!(text, expected);
        }
        assert_eq!(
            goes_on(1, None, now),
            "Continuing: 1 message · /new starts over"
        );
    }
}

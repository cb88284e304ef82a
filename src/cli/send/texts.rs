//! What `peacrab send` says.

use std::fmt::Display;

use crate::base::error::Error;
use crate::config::channels;
use crate::text::one_line;

/// The gateway has stored the message, or nothing runs that could send it.
pub const QUEUED: &str = "Queued: no gateway is running. It will be sent when one starts.";
/// Below the end of a long text.
pub const SHORTENED: &str = "The beginning is left out here; the file has all of it.";

/// Neither a text nor a file.
pub fn nothing_to_send() -> Error {
    Error::Usage(
        "Nothing to send. Add a message, pipe one in, or attach a file with -f.".to_owned(),
    )
}

/// A text that is not UTF-8 or has control characters.
pub fn binary_input() -> Error {
    Error::Usage("The input is not text. Save it to a file and attach that with -f.".to_owned())
}

/// A channel that exists but is not in use.
pub fn disabled_channel(name: &str) -> Error {
    Error::Usage(format!(
        "The channel {name} is not enabled. Set it up with `peacrab onboard`, or set channels.{name}.enabled to true."
    ))
}

/// `--channel` and the channel in `--chat` differ.
pub fn two_channels(channel: &str, chat: &str) -> Error {
    Error::Usage(format!("--channel {channel} does not match --chat {chat}."))
}

/// A chat that cannot exist.
pub fn invalid_chat(chat: &str) -> Error {
    Error::Usage(format!(
        "{chat:?} is not a chat ID. Send /id in the chat to see its ID."
    ))
}

/// Nobody has written to the bot.
pub fn no_chat() -> Error {
    Error::Usage("No chat yet. Message the bot first, or use --chat ID.".to_owned())
}

/// Too many `--file`.
pub fn too_many_files(limit: impl Display) -> Error {
    Error::Usage(format!("At most {limit} files can be sent at a time."))
}

/// Something has the home's lock and does not answer.
pub fn no_answer() -> Error {
    Error::Failed("The gateway is not answering. Try again.".to_owned())
}

/// A channel that there is not.
pub fn unknown_channel(name: &str) -> String {
    let known: Vec<&str> = channels::names().collect();
    if known.contains(&name) {
        return format!("This program was built without {name}.");
    }
    format!(
        "Unknown channel {:?}.{} Known channels: {}.",
        one_line(name, usize::MAX),
        channels::did_you_mean(name),
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_channel_leads_to_the_one_that_was_meant() {
        for (typed, meant) in [
            ("discrod", "discord"),
            ("Telegram", "telegram"),
            ("telgram", "telegram"),
            ("whatsap", "whatsapp"),
        ] {
            let text = unknown_channel(typed);
            assert!(
                text.contains(&format!("Did you mean {meant}? Known")),
                "{text}"
            );
        }
        assert!(!unknown_channel("pigeon").contains("Did you mean"));
    }
}

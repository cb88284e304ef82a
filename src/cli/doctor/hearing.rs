//! Who turns voice messages into text, and what speaks answers. Nothing is sent there.

use super::report::Row;
use crate::cli::Context;
use crate::cli::compose::{hearing_of, speaking_of};
use crate::config::Loaded;
use crate::models::hearing::Way;
use crate::models::speaking;

/// The server or command, and what it lacks; nothing where voice messages are not transcribed.
pub fn hearing(context: &Context, loaded: &Loaded) -> Option<Row> {
    let hearing = match hearing_of(context, loaded) {
        Ok(hearing) => hearing?,
        Err(error) => return Some(Row::failed("voice", error.to_string())),
    };
    Some(match hearing.way {
        None => Row::ok(
            "voice",
            "no one listens to voice messages; set transcription.provider, .apiBase or .command",
        ),
        Some(Way::Command(_)) if !loaded.config.tools.exec.enabled => Row::warning(
            "voice",
            "transcription.command cannot run, because tools.exec.enabled is false",
        ),
        Some(Way::Command(line)) => Row::ok("voice", format!("the command {line}")),
        Some(Way::Server(listener)) if listener.lacks_key() => {
            let (provider, _) = listener.parts();
            let text = format!("{provider} has no API key; set providers.{provider}.apiKey");
            Row::failed("voice", text)
        }
        Some(Way::Server(listener)) => Row::ok("voice", listener.name()),
    })
}

/// The server or command that speaks, and what it lacks; nothing where none is set.
pub fn speaking(context: &Context, loaded: &Loaded) -> Option<Row> {
    let speaking = match speaking_of(context, loaded) {
        Ok(speaking) => speaking?,
        Err(error) => return Some(Row::failed("speech", error.to_string())),
    };
    Some(match speaking.way {
        speaking::Way::Command(_) if !loaded.config.tools.exec.enabled => Row::warning(
            "speech",
            "speech.command cannot run, because tools.exec.enabled is false",
        ),
        speaking::Way::Command(line) => Row::ok("speech", format!("the command {line}")),
        speaking::Way::Server(speaker) => match speaker.lacks_key() {
            Some(name) => {
                let text = format!("{name} has no API key; set providers.{name}.apiKey");
                Row::failed("speech", text)
            }
            None => Row::ok("speech", speaker.name()),
        },
    })
}

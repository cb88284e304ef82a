//! `/voice`: whether a chat sees what was heard in its voice messages.

use super::{CommandAnswer, Invocation};
use crate::agent::Agent;
use crate::agent::run::hearing::nobody_listens;
use crate::base::error::{Error, Result};
use crate::base::language::texts;
use crate::models::hearing::Way;
use crate::text::markup::inline_code;

impl Agent {
    /// Shows or changes it, and says who listens.
    pub fn answer_voice(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let (language, chat) = (invocation.language, invocation.key.as_str());
        match invocation.argument.to_ascii_lowercase().as_str() {
            "" => {}
            "quiet" => self.selection.choose_quiet(chat, true)?,
            "show" => self.selection.choose_quiet(chat, false)?,
            _ => return Err(Error::Usage(voice_unknown(language).to_owned())),
        }
        let shown = match self.selection.is_quiet(chat) {
            true => voice_is_quiet(language),
            false => voice_is_shown(language),
        };
        let who = match self.hearing()? {
            None => voice_is_off(language).to_owned(),
            Some(hearing) => match hearing.way {
                None => nobody_listens(language).to_owned(),
                Some(Way::Command(_)) => voice_by(language, &inline_code("transcription.command")),
                Some(Way::Server(listener)) => voice_by(language, &inline_code(&listener.name())),
            },
        };
        Ok([who.as_str(), shown].join(language.sentence_space()).into())
    }
}

texts! {
    fn voice_by(who) { "Voice messages are turned into text by {who}.", "语音消息由 {who} 转成文字。" }
    fn voice_is_off() {
        "Voice messages are not turned into text (`transcription.enabled`).",
        "语音消息不会转成文字（`transcription.enabled`）。",
    }
    fn voice_is_shown() {
        "This chat sees what was heard; `/voice quiet` hides it.",
        "本聊天会显示听到的内容；`/voice quiet` 可隐藏。",
    }
    fn voice_is_quiet() {
        "This chat does not see what was heard; `/voice show` shows it.",
        "本聊天不显示听到的内容；`/voice show` 可显示。",
    }
    fn voice_unknown() { "Use /voice, /voice quiet or /voice show.", "请使用 /voice、/voice quiet 或 /voice show。" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_whole() {
        crate::base::language::check_table(super::TABLE);
    }
}

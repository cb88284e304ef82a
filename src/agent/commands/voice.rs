//! `/voice`: whether a chat sees what was heard in its voice messages, and whether its answers are spoken.

use super::{CommandAnswer, Invocation, Surface};
use crate::agent::Agent;
use crate::agent::run::hearing::nobody_listens;
use crate::agent::run::speaking::nobody_speaks;
use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::models::hearing::Way;
use crate::models::speaking;
use crate::store::state::chats::Voice;
use crate::text::markup::inline_code;

impl Agent {
    /// Shows or changes it, and says who listens and what speaks.
    pub fn answer_voice(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let (language, chat) = (invocation.language, invocation.key.as_str());
        match invocation.argument.to_ascii_lowercase().as_str() {
            "" => {}
            "quiet" => self.selection.choose_quiet(chat, true)?,
            "show" => self.selection.choose_quiet(chat, false)?,
            "off" => {
                self.selection.choose_voice(chat, Voice::Off)?;
                return Ok(self.describe_spoken(chat, language)?.into());
            }
            "on" if invocation.surface == Surface::Chat => {
                if self.speaking()?.is_none() {
                    return Err(Error::Usage(nobody_speaks(language).to_owned()));
                }
                self.selection.choose_voice(chat, Voice::On)?;
                return Ok(self.describe_spoken(chat, language)?.into());
            }
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
        let spoken = self.describe_spoken(chat, language)?;
        let sentences = [who.as_str(), shown, &spoken];
        Ok(sentences.join(language.sentence_space()).into())
    }

    fn describe_spoken(&self, chat: &str, language: Language) -> Result<String> {
        if self.selection.voice(chat) == Voice::Off {
            return Ok(voice_is_silent(language).to_owned());
        }
        Ok(match self.speaking()?.map(|speaking| speaking.way) {
            None => nobody_speaks(language).to_owned(),
            Some(speaking::Way::Command(_)) => {
                voice_speaks(language, &inline_code("speech.command"))
            }
            Some(speaking::Way::Server(speaker)) => {
                voice_speaks(language, &inline_code(&speaker.name()))
            }
        })
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
    fn voice_is_silent() {
        "Answers are not spoken; `/voice on` has them spoken as well.",
        "回答不会朗读；`/voice on` 可同时朗读。",
    }
    fn voice_speaks(by) {
        "Answers come as text and are spoken by {by}; `/voice off` ends that.",
        "回答以文字发送，并由 {by} 朗读；`/voice off` 可关闭。",
    }
    fn voice_unknown() {
        "Use /voice, /voice on, /voice off, /voice quiet or /voice show.",
        "请使用 /voice、/voice on、/voice off、/voice quiet 或 /voice show。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_whole() {
        crate::base::language::check_table(super::TABLE);
    }
}

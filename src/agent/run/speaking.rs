//! Spoken answers: the words of a text as a recording, which goes along with the text and never in place of it.

use std::fs::File;

use crate::agent::Agent;
use crate::base::access::Role;
use crate::base::chat::Usage;
use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::base::message::SessionKey;
use crate::models::hearing::Recording;
use crate::models::speaking::{SPEECH_BYTES, Speaker, Speaking, Way};
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::chats::Voice;
use crate::text::markup::spoken;
use crate::tools::Caller;

/// The name of a recording, which its ending follows.
const NAME: &str = "voice";
/// The ending of what channels have as a voice message: Ogg.
const VOICE_ENDING: &str = "ogg";

/// A spoken text.
#[derive(Debug)]
pub struct Spoken {
    /// The recording, among the files for messages.
    pub path: String,
    /// Its length, where it can be a voice message.
    pub seconds: Option<u64>,
}

impl Agent {
    /// What speaks answers; `None` where nothing is set.
    pub(in crate::agent) fn speaking(&self) -> Result<Option<Speaking>> {
        let speaking = &self.speaking;
        speaking()
    }

    /// Whether the answers of a chat are spoken.
    pub fn has_voice(&self, chat: &SessionKey) -> bool {
        self.selection.voice(chat.as_str()) != Voice::Off
    }

    /// Notes whether the last answer of a chat that wants them spoken could be. Returns what the chat is told about the
    /// first one that could not.
    pub fn note_spoken(
        &self,
        (chat, role): (&SessionKey, Role),
        failure: Option<&Error>,
        language: Language,
    ) -> Option<String> {
        let chat = chat.as_str();
        let (before, now) = (
            self.selection.voice(chat),
            failure.map_or(Voice::On, |_| Voice::Failing),
        );
        if before == Voice::Off || before == now {
            return None;
        }
        if let Err(error) = self.selection.choose_voice(chat, now) {
            tracing::warn!("failed to note what a conversation was told: {error}");
        }
        Some(match (failure?, role) {
            (error, Role::Owner) => not_spoken(language, error),
            _ => not_spoken_tell_owner(language).to_owned(),
        })
    }

    /// Speaks the words of a text in Markdown into a file for a message; `None` where it has none. Blocks until they are
    /// spoken or the caller is stopped.
    pub fn speak(
        &self,
        markdown: &str,
        files: &OutgoingFiles,
        caller: &Caller<'_>,
        language: Language,
    ) -> Result<Option<Spoken>> {
        let nobody = || Error::Config(nobody_speaks(language).to_owned());
        let speaking = self.speaking()?.ok_or_else(nobody)?;
        let words = spoken(&self.toolbox.cleaned(markdown), speaking.max_chars);
        if words.is_empty() {
            return Ok(None);
        }
        let (path, mut file) = files.create(NAME)?;
        let spoken = match &speaking.way {
            Way::Server(speaker) => {
                self.ask_speaker(speaker, &words, &mut file, (caller, language))
            }
            Way::Command(line) => {
                let to = (&mut file, SPEECH_BYTES as u64);
                self.toolbox.speak((line, &words), language, to, caller)
            }
        };
        let named = spoken.and_then(|()| name(&path, file));
        named.map(Some).inspect_err(|_| files.remove(&path))
    }

    /// Has a server speak, and counts what it took.
    fn ask_speaker(
        &self,
        speaker: &Speaker,
        words: &str,
        file: &mut File,
        (caller, language): (&Caller<'_>, Language),
    ) -> Result<()> {
        self.check_spending(caller.role, language)?;
        let mut spent = Usage::default();
        let of = (self.connections.tls(), caller.cancel);
        let spoken = speaker.speak(words, file, of, &mut spent);
        if spent.requests > 0 {
            self.ledger.add(&speaker.name(), spent, caller.role);
        }
        spoken
    }
}

/// Gives a recording the ending of its kind.
fn name(path: &str, file: File) -> Result<Spoken> {
    let recording = Recording::open(file)?;
    let ending = recording.ending();
    let ending = ending.ok_or_else(|| Error::Failed("the command wrote no audio".to_owned()))?;
    let named = format!("{path}.{ending}");
    std::fs::rename(path, &named).map_err(Error::io("rename", path))?;
    let seconds = Some(recording.seconds()).filter(|_| ending == VOICE_ENDING);
    Ok(Spoken {
        path: named,
        seconds,
    })
}

texts! {
    pub(in crate::agent) fn nobody_speaks() {
        "I cannot speak yet. Set `speech.provider` to `openai` with its API key, `speech.apiBase` to a server of your \
         own, or `speech.command` to a program.",
        "我还不会说话。请将 `speech.provider` 设为 `openai`（需要 API 密钥），或设置 `speech.apiBase`（自己的服务器）或 \
         `speech.command`（程序）。",
    }
    fn not_spoken(error) {
        "I could not speak this answer: {error}\n\nI keep trying; `/voice off` ends that.",
        "无法朗读这条回答：{error}\n\n之后仍会尝试；`/voice off` 可关闭。",
    }
    fn not_spoken_tell_owner() {
        "I could not speak this answer. Please tell my owner; `/voice off` ends my trying.",
        "我没能朗读这条回答。请告诉我的主人；`/voice off` 可关闭。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_whole() {
        crate::base::language::check_table(super::TABLE);
    }
}

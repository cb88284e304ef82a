//! Voice messages: what is said in them goes to the model with the message, marked as heard.
//!
//! Heard words exist only here, behind everything that reads what a person typed: they are never a slash command,
//! an answer, an approval or a pairing code.

use super::Run;
use crate::agent::context::Content;
use crate::agent::host::TurnEvent;
use crate::agent::{Agent, HearingFor};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::Usage;
use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::base::limits::agent::MESSAGE_BYTES;
use crate::base::message::{Attachment, Envelope, Media};
use crate::models::hearing::{Hearing, Listener, Recording, Way};
use crate::text::markup::{inline_code, plain};
use crate::text::one_line;
use crate::tools::Caller;
use std::path::Path;

/// Characters that the person is shown of what was heard: a few lines on a phone.
const SHOWN_CHARS: usize = 400;
/// Seconds of a minute. The chat shows how long a recording is of which there is more.
const MINUTE: u64 = 60;

/// Why the words of a recording are not known.
enum Unheard {
    /// Nobody listens.
    Nobody,
    /// It has so many minutes, and only so many are allowed.
    TooLong(u64),
    /// How long it is cannot be told, and its person is no owner: it may be as long and as dear as they like.
    OfUnknownLength,
    /// No words were heard.
    NoWords,
    /// The person stopped it.
    Stopped,
    /// It failed.
    Failed(Error),
}

impl From<Error> for Unheard {
    fn from(error: Error) -> Self {
        match error {
            Error::Stopped => Self::Stopped,
            error => Self::Failed(error),
        }
    }
}

/// What a message may still have of minutes and of words.
struct Left {
    seconds: u64,
    bytes: usize,
}

impl Run<'_> {
    /// Listens to what is spoken in a message. Returns that, and what the person is to be told. Blocks until all is
    /// heard or the turn is stopped; nothing here fails the turn.
    pub(super) fn listen(&mut self, message: &Envelope) -> (Vec<Content>, Vec<String>) {
        let spoken: Vec<&Attachment> = message
            .attachments
            .iter()
            .filter(|one| one.media.is_spoken())
            .collect();
        if spoken.is_empty() {
            return Default::default();
        }
        let hearing = match self.agent.hearing() {
            Ok(Some(hearing)) => Ok(hearing),
            Ok(None) => return Default::default(),
            Err(error) => Err(error.to_string()),
        };
        let language = message.language();
        let (mut heard, mut told) = (Vec::new(), Vec::new());
        let mut left = Left {
            seconds: hearing
                .as_ref()
                .map_or(0, |hearing| hearing.max_minutes * MINUTE),
            bytes: MESSAGE_BYTES,
        };
        for one in spoken {
            let words = match &hearing {
                Ok(hearing) => self.listen_to(&one.path, hearing, &mut left, language),
                Err(error) => Err(Unheard::Failed(Error::Config(error.clone()))),
            };
            match (&words, &hearing) {
                (Ok(words), Ok(hearing)) => {
                    told.extend(self.describe_heard(words, hearing, language))
                }
                // It may be music, and is still a file.
                (Err(Unheard::Nobody), _) if one.media == Media::Audio => continue,
                (Err(unheard), _) => {
                    let minutes = hearing.as_ref().map_or(0, |hearing| hearing.max_minutes);
                    told.extend(unheard.describe(message.role, minutes, language));
                }
                _ => {}
            }
            heard.push(Content::heard(&one.path, words.ok()));
        }
        told.dedup();
        (heard, told)
    }

    fn listen_to(
        &mut self,
        path: &str,
        hearing: &Hearing,
        left: &mut Left,
        language: Language,
    ) -> Result<String, Unheard> {
        let way = hearing.way.as_ref().ok_or(Unheard::Nobody)?;
        if self.cancel.is_cancelled() {
            return Err(Unheard::Stopped);
        }
        let file = self.agent.toolbox.workspace().open_read(Path::new(path))?;
        let recording = Recording::open(file)?;
        let seconds = recording.seconds();
        left.seconds = left
            .seconds
            .checked_sub(seconds)
            .ok_or_else(|| Unheard::TooLong(seconds.div_ceil(MINUTE)))?;
        if seconds >= MINUTE {
            let text = listening(language, &seconds.div_ceil(MINUTE));
            self.host.on_event(TurnEvent::Progress(&text));
        }
        let words = match way {
            Way::Server(listener) => {
                if self.role < Role::Owner && !recording.is_counted() {
                    return Err(Unheard::OfUnknownLength);
                }
                self.agent.check_spending(self.payer, language)?;
                let of = (&recording, self.payer);
                self.agent.ask_listener(listener, of, self.cancel)?
            }
            Way::Command(line) => {
                let session = self.session.chat().to_string();
                let caller = self.caller(&session);
                let of = (line.as_str(), path);
                self.agent
                    .toolbox
                    .read_out(of, language, MESSAGE_BYTES, &caller)?
            }
        };
        let words = words.trim();
        if words.is_empty() {
            return Err(Unheard::NoWords);
        }
        left.bytes = left.bytes.checked_sub(words.len()).ok_or_else(|| {
            Unheard::Failed(Error::TooLarge {
                what: "what was heard".to_owned(),
                limit: MESSAGE_BYTES,
            })
        })?;
        Ok(words.to_owned())
    }

    /// The caller of what is run for a file of a message.
    pub(super) fn caller<'c>(&'c self, session: &'c str) -> Caller<'c> {
        Caller {
            session,
            role: self.role,
            message: "",
            cancel: self.cancel,
            answer: None,
            progress: None,
            input: None,
            without: self.without,
            author: self.author.as_ref(),
            is_asked: self.is_asked,
        }
    }

    /// What the person sees of what was heard, and who listens, where that was not said in this chat yet.
    fn describe_heard(&self, words: &str, hearing: &Hearing, language: Language) -> Option<String> {
        let (selection, chat) = (&self.agent.selection, self.session.chat().as_str());
        let mut text = String::new();
        if !selection.is_quiet(chat) {
            text = format!("> 🎤 {}", plain(&one_line(words, SHOWN_CHARS)));
        }
        if let Some(Way::Server(listener)) = hearing.way.as_ref().filter(|_| hearing.is_assumed)
            && selection.note_listener(chat, &listener.name())
        {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let (provider, model) = listener.parts();
            text.push_str(&who_listens(
                language,
                &inline_code(provider),
                &inline_code(model),
            ));
        }
        (!text.is_empty()).then_some(text)
    }
}

impl Agent {
    /// Who listens to voice messages; `None` where they are not listened to.
    pub(in crate::agent) fn hearing(&self) -> Result<Option<Hearing>> {
        let hearing: &HearingFor = &self.hearing;
        hearing()
    }

    /// Has a server listen, and counts what it took.
    fn ask_listener(
        &self,
        listener: &Listener,
        (recording, role): (&Recording, Role),
        cancel: &Cancel,
    ) -> Result<String> {
        let mut spent = Usage::default();
        let of = (self.connections.tls(), cancel);
        let words = listener.hear(recording, of, &mut spent);
        if spent.requests > 0 {
            self.ledger.add(&listener.name(), spent, role);
        }
        words
    }
}

impl Unheard {
    /// What the sender is told, who may be an owner; `minutes` is the limit. `None` where there is nothing to say.
    fn describe(&self, role: Role, minutes: u64, language: Language) -> Option<String> {
        let is_owner = role == Role::Owner;
        Some(match self {
            Self::Nobody if is_owner => nobody_listens(language).to_owned(),
            Self::Failed(error) if is_owner => not_heard(language, &error),
            Self::Nobody | Self::Failed(_) => not_heard_tell_owner(language).to_owned(),
            Self::TooLong(has) => too_long(language, has, &minutes),
            Self::OfUnknownLength => unknown_length(language).to_owned(),
            Self::NoWords => no_words(language).to_owned(),
            Self::Stopped => return None,
        })
    }
}

texts! {
    pub(in crate::agent) fn who_listens(provider, model) {
        "Voice messages are turned into text by {provider} ({model}), with the API key that it has for answers. \
         The settings under `transcription` change that or turn it off.",
        "语音消息由 {provider}（{model}）转成文字，使用已有的 API 密钥。可在 `transcription` 设置中更改或关闭。",
    }
    pub(in crate::agent) fn nobody_listens() {
        "I cannot hear voice messages yet. Set `transcription.provider` to `openai`, `groq`, `gemini` or `mistral` with \
         its API key, `transcription.apiBase` to a server of your own, or `transcription.command` to a program.",
        "我还听不了语音消息。请将 `transcription.provider` 设为 `openai`、`groq`、`gemini` 或 `mistral`（需要 API 密钥），或设置 \
         `transcription.apiBase`（自己的服务器）或 `transcription.command`（程序）。",
    }
    fn listening(minutes) { "listening to {minutes} minutes", "正在听 {minutes} 分钟的录音" }
    fn not_heard(error) {
        "I could not hear this voice message: {error}",
        "无法听取这条语音消息：{error}",
    }
    fn not_heard_tell_owner() {
        "I could not hear this voice message. Please tell my owner, or write instead.",
        "我没能听取这条语音消息。请告诉我的主人，或改用文字。",
    }
    fn too_long(minutes, limit) {
        "This recording is too long: {minutes} minutes. I listen to at most {limit} in one message \
         (`transcription.maxMinutes`).",
        "录音太长：{minutes} 分钟。一条消息我最多听 {limit} 分钟（`transcription.maxMinutes`）。",
    }
    fn unknown_length() {
        "I listen to voice messages, MP4 and WAV. How long this recording is cannot be told.",
        "我能听语音消息、MP4 和 WAV。这段录音有多长无法得知。",
    }
    fn no_words() { "I heard no words in this voice message.", "这条语音消息里没有听到话语。" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_whole() {
        crate::base::language::check_table(super::TABLE);
    }
}

//! How voice messages become text.

use serde::Deserialize;

/// `transcription`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Transcription {
    /// Whether voice messages are transcribed.
    pub enabled: bool,
    /// A provider's name, or `auto`.
    pub provider: String,
    /// The model; empty: the provider's usual one.
    pub model: String,
    /// A server of one's own that speaks OpenAI's format, which gets no key; empty: the provider.
    pub api_base: String,
    /// A line of the shell that prints what it hears in the file `$1`; empty: a server is asked.
    pub command: String,
    /// Minutes of audio that one message may have.
    pub max_minutes: u64,
}

impl Default for Transcription {
    fn default() -> Self {
        Self {
            enabled: true,
            provider: "auto".to_owned(),
            model: String::new(),
            api_base: String::new(),
            command: String::new(),
            max_minutes: 10,
        }
    }
}

//! How answers are spoken.

use serde::Deserialize;

/// `speech`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Speech {
    /// A provider's name; empty: none speaks.
    pub provider: String,
    /// The model; empty: the usual one.
    pub model: String,
    /// The voice that a server speaks with.
    pub voice: String,
    /// A server of one's own that speaks OpenAI's format, which gets no key; empty: the provider.
    pub api_base: String,
    /// A line of the shell that reads the text and writes a WAV to the file `$1`; empty: a server is asked.
    pub command: String,
    /// Characters of an answer that are spoken.
    pub max_chars: usize,
}

impl Default for Speech {
    fn default() -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            voice: "alloy".to_owned(),
            api_base: String::new(),
            command: String::new(),
            max_chars: 1_500,
        }
    }
}

impl Speech {
    /// Whether there is a way to speak.
    pub fn is_set(&self) -> bool {
        [&self.provider, &self.api_base, &self.command]
            .iter()
            .any(|way| !way.is_empty())
    }
}

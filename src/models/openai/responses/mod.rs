//! OpenAI's Responses API, which has tools with reasoning where chat completions have not. Nothing is kept
//! at the server: what it thought comes back encrypted, and goes along with the calls it led to.

pub mod decode;
pub mod encode;

#[cfg(test)]
mod tests;

/// The name of a model in what is sealed for it.
fn full_name(provider: &str, model: &str) -> String {
    format!("{provider}/{model}")
}

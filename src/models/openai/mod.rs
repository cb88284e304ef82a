//! OpenAI chat completions (<https://platform.openai.com/docs/api-reference/chat>), as the many
//! servers that are compatible with them understand and write them. Pure.

pub mod decode;
pub mod encode;
pub mod responses;

#[cfg(test)]
mod tests;

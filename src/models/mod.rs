//! Floor 7: the models: which to ask, what they are sent, and what their answers mean.
//!
//! [`Models`] knows from the configuration which models to ask, in which order. For one turn,
//! [`Turn::ask`] puts a [`Request`](crate::base::chat::Request) to them: retries, then the fallback
//! models, then the offline helper. Most modules are pure: `table` and `route` choose, `quirks` knows
//! how APIs differ, `openai` and `anthropic` translate, `wire` has what both share, `classify`
//! distinguishes failures, `retry` decides about waiting. Only `call`, `offers`, which lists a
//! server's models, `quirks::window`, which asks for the window of one, and
//! `hearing` and `speaking`, which have recordings transcribed and answers spoken, touch the network.

pub mod anthropic;
pub mod call;
pub mod classify;
pub mod hearing;
pub mod offers;
pub mod offline;
pub mod openai;
pub mod prices;
pub mod quirks;
pub mod retry;
pub mod route;
pub mod signin;
pub mod speaking;
pub mod table;
pub mod turn;
pub mod wire;

pub use quirks::window::Window;
pub use turn::models::{Models, ask_window};
pub use turn::{Answer, Progress, Turn};

#[cfg(test)]
mod fitted;

//! What the questions need from outside: the person, and the servers with which answers are tried.

use std::path::Path;

use crate::base::error::Result;
use crate::channels::kit::service::Service;
use crate::config::schema::{Bot, Provider};
use crate::models::Window;
use crate::models::offers::Offers;

/// A question at the terminal.
pub struct Question {
    /// One line or more; the answer is typed behind the last one.
    pub text: String,
    /// What Enter stands for.
    pub hint: String,
    /// Whether the answer is a secret.
    pub is_hidden: bool,
}

impl Question {
    /// A question whose answer can be seen.
    pub fn new(text: String, hint: &str) -> Self {
        Self {
            text,
            hint: hint.to_owned(),
            is_hidden: false,
        }
    }

    /// The same, for a secret.
    pub fn hidden(self) -> Self {
        Self {
            is_hidden: true,
            ..self
        }
    }
}

/// How trying an answer out has ended.
pub enum Trial<T> {
    /// It works.
    Works(T),
    /// The server refuses the key or token; says what it answered.
    Refused(String),
    /// There is no connection; says why.
    Unreachable(String),
    /// The server answers something else; says what.
    Unclear(String),
}

/// The person who answers, and the servers with which answers are tried.
pub trait Outside {
    /// Whether there is a person to ask.
    fn can_ask(&self) -> bool;
    /// Asks, and returns the answer without the white space around it. [`Error::Stopped`] when the
    /// person stops.
    fn ask(&mut self, question: &Question) -> Result<String>;
    /// Tells the person something. Nothing happens where there is none.
    fn say(&mut self, text: &str) -> Result<()>;
    /// Warns, also in a script's log.
    fn warn(&mut self, text: &str) -> Result<()>;
    /// Lists the models of a provider with these settings.
    fn list_models(&mut self, provider: &str, settings: &Provider) -> Result<Trial<Offers>>;
    /// The window of a model on the server that was asked for its models last, where that is one of one's own.
    fn find_window(&mut self, _model: &str) -> Result<Option<Window>> {
        Ok(None)
    }
    /// The username of a Telegram bot.
    fn find_bot(&mut self, bot: &Bot) -> Result<Trial<String>>;
    /// The name of the bot on a channel with these settings.
    fn find_channel(&mut self, service: &'static Service, bot: &Bot) -> Result<Trial<String>>;
    /// Whether tools may use the folder as their workspace; the error says why not.
    fn check_workspace(&self, folder: &Path) -> Result<()>;
}

//! A kind of channel: its name, its needs, and how it is made.

use std::path::PathBuf;
use std::sync::Arc;

use super::adapter::Adapter;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::config::channels::Bot;
use crate::net::http::Tls;

/// A kind of channel.
pub struct Service {
    /// Its name in addresses and in the configuration.
    pub name: &'static str,
    /// The name by which people know it.
    pub title: &'static str,
    /// The settings without which it cannot start; the first one is what it is recognised by.
    pub needs: &'static [Need],
    /// What is wrong with settings that are there: the shape alone, so that a slip is found before anything is
    /// sent.
    pub check: fn(&Bot) -> Option<&'static str>,
    /// Makes it. Nothing is connected yet.
    pub make: fn(Making) -> Arc<dyn Adapter>,
    /// Logs in, where a person has to do something for that at the time.
    pub login: Option<fn(&mut Login<'_>) -> Result<()>>,
}

/// A setting that a channel needs.
pub struct Need {
    /// Its name within the channel's section, such as `token`.
    pub key: &'static str,
    /// What to do to get it, in a sentence or two.
    pub how: &'static str,
}

/// What a channel is made of.
pub struct Making {
    /// Its settings.
    pub bot: Bot,
    /// Whom to trust.
    pub tls: Tls,
    /// Tells the time.
    pub clock: Clock,
    /// The folder for what it has to remember.
    pub state: PathBuf,
}

/// What a login works with.
pub struct Login<'a> {
    /// The channel's settings.
    pub bot: Bot,
    /// Whom to trust.
    pub tls: Tls,
    /// Ends it.
    pub cancel: Cancel,
    /// Whether the terminal shows only ASCII.
    pub is_ascii: bool,
    /// Shows a person something, on lines of its own.
    pub show: &'a mut dyn FnMut(&str) -> Result<()>,
}

impl Service {
    /// The first setting that it needs and that is empty.
    pub fn lacks(&self, bot: &Bot) -> Option<&'static Need> {
        self.needs.iter().find(|need| !bot.has(need.key))
    }

    /// Whether it was set up at least in part.
    pub fn is_set_up(&self, bot: &Bot) -> bool {
        bot.enabled || self.needs.iter().any(|need| bot.is_given(need.key))
    }

    /// Makes the channel.
    pub fn adapter(&self, bot: Bot, tls: &Tls, state: PathBuf) -> Arc<dyn Adapter> {
        (self.make)(Making {
            bot,
            tls: tls.clone(),
            clock: Clock::System,
            state,
        })
    }
}

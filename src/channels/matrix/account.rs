//! The account and its settings, as the configuration has them. Pure.

use crate::base::limits::channels::DOWNLOAD_BYTES;
use crate::base::secret::Secret;
use crate::config::channels::{Bot, GroupPolicy};

/// An account at a homeserver.
#[derive(Debug)]
pub struct Account {
    /// The homeserver's URL, without a slash at its end.
    pub base: String,
    /// What calls are made with.
    pub token: Secret,
    /// The account's id; empty where the configuration does not name it.
    pub user: String,
    /// A proxy's URL; `None`: from the environment.
    pub proxy: Option<Secret>,
    /// Bytes of the largest file that is fetched.
    pub media_bytes: usize,
    /// Whether anyone may bring the bot into a room.
    pub joins_anyone: bool,
    /// Which messages in rooms with several people are for us.
    pub policy: GroupPolicy,
    /// The rooms with several people in which messages are read; all where it is empty.
    pub groups: Vec<String>,
}

impl Account {
    /// Reads the settings of `channels.matrix`.
    pub fn of(bot: &Bot) -> Self {
        let media_bytes = usize::try_from(bot.number("maxMediaBytes")).unwrap_or(usize::MAX);
        Self {
            base: bot.text("homeserver").trim_end_matches('/').to_owned(),
            token: bot.secret("accessToken"),
            user: bot.text("userId").trim().to_owned(),
            proxy: bot.proxy.clone(),
            media_bytes: media_bytes.min(DOWNLOAD_BYTES),
            joins_anyone: bot.flag("joinOnInvite"),
            policy: bot.group_policy,
            groups: bot.texts("groupAllowFrom"),
        }
    }

    /// Whether messages are read in a room with several people.
    pub fn reads_group(&self, room: &str) -> bool {
        let is_named = || self.groups.iter().any(|known| known == room);
        self.policy != GroupPolicy::Off && (self.groups.is_empty() || is_named())
    }
}

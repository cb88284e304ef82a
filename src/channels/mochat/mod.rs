//! MoChat, a chat service for people and agents. Its API is known by nanobot's client only:
//! <https://github.com/HKUDS/nanobot/blob/v0.1.4/nanobot/channels/mochat.py>
//!
//! Everything is polled over HTTP: sessions (private chats) by requests that wait for news, panels (channels of groups)
//! every few seconds. What was read is remembered on the disk.

mod api;
mod connection;
pub mod event;
pub mod places;
mod receive;

use std::sync::Arc;

pub use connection::MoChat;

use super::kit::service::{Need, Service};
use crate::config::schema::Bot;

/// Messages that are asked for at once.
const MESSAGES: usize = 100;
/// Sessions and panels that are followed, each.
const TARGETS: usize = 64;

/// The channel's name in addresses.
pub const NAME: &str = "mochat";

/// What the program knows of the channel before it is used.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "MoChat",
    needs: &[
        Need {
            key: "clawToken",
            how: "Register an agent at https://mochat.io and copy its token (it begins with claw_).",
        },
        Need {
            key: "agentUserId",
            how: "Copy the user id of the agent from the same page. By it the agent knows its own messages, which MoChat sends back.",
        },
    ],
    check,
    make: |making| Arc::new(MoChat::new(making)),
    login: None,
};

/// What cannot be right in a configuration.
fn check(bot: &Bot) -> Option<&'static str> {
    let follows = |name: &str| bot.texts(name).iter().any(|id| !id.trim().is_empty());
    (!follows("sessions") && !follows("panels")).then_some(
        "channels.mochat.sessions and channels.mochat.panels are empty, so nothing is read; [\"*\"] follows all",
    )
}

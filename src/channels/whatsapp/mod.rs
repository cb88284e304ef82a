//! WhatsApp, by way of the bridge of nanobot v0.1.4: a program of Node's on the same machine that is linked to an account
//! as another device, and speaks with us over a websocket.
//! <https://github.com/HKUDS/nanobot/tree/v0.1.4/bridge>
//!
//! The bridge is the measure of what works: texts in both directions. It does not deliver files, edits, reactions or
//! who wrote in a group, and sends nothing but texts.

mod connection;
pub mod event;
pub mod frame;
pub mod login;
pub mod markdown;
mod receive;
mod socket;

use std::sync::Arc;

pub use connection::WhatsApp;

use super::kit::service::{Need, Service};
use crate::base::access::Role;
use crate::config::schema::Bot;

/// Bytes of the text of a QR code; WhatsApp's has about 240.
const QR_BYTES: usize = 1024;

/// The channel's name in addresses.
pub const NAME: &str = "whatsapp";

/// What the program knows of the channel before it is used.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "WhatsApp",
    needs: &[Need {
        key: "bridgeUrl",
        how: "Start the WhatsApp bridge of nanobot on this machine (it needs Node.js; BRIDGE_TOKEN is a password of your \
              choice, which goes into bridgeToken). Its address is ws://localhost:3001 unless BRIDGE_PORT says otherwise.",
    }],
    make: |making| Arc::new(WhatsApp::new(making)),
    check,
    login: Some(login::login),
};

/// What cannot be right in a configuration.
pub fn check(bot: &Bot) -> Option<&'static str> {
    let url = bot.text("bridgeUrl");
    if !url.starts_with("ws://") && !url.starts_with("wss://") {
        return Some("channels.whatsapp.bridgeUrl must begin with ws:// or wss://");
    }
    let folder = bot.text("mediaDir");
    if !folder.is_empty() && !folder.starts_with('/') {
        return Some("channels.whatsapp.mediaDir must be a path that begins with /");
    }
    let is_group = |entry: &str| entry.trim().ends_with(frame::GROUP);
    let is_owner = |(entry, role): (&String, &Role)| is_group(entry) && *role == Role::Owner;
    if bot.allow_from.iter().any(|entry| is_group(entry)) || bot.roles.iter().any(is_owner) {
        return Some(
            "the WhatsApp bridge does not tell who writes in a group, so a group cannot be an owner: give it the role user or guest in channels.whatsapp.roles",
        );
    }
    let has_plus = |entry: &str| entry.trim().starts_with('+');
    let mut people = bot.allow_from.iter().chain(bot.roles.keys());
    people
        .any(|entry| has_plus(entry))
        .then_some("write phone numbers in channels.whatsapp with the country code and without +, such as 41791234567")
}

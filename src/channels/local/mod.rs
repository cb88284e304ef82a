//! Programs on this machine as a channel: a Unix socket with lines of JSON both ways. `wire` is PURE.
//!
//! A program connects, subscribes to chats, and passes on what people write there, under ids of its own. A line is
//! acknowledged once it is on the disk, so a program sends one again that was not; the same id is the same message. What a
//! chat is owed waits in the outbox until a program has subscribed to it. Only this account and root may connect
//! (`SO_PEERCRED`, unix(7)): the programs say who speaks, and are believed.

mod connection;
mod hub;
mod receive;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use connection::Local;

use super::kit::service::Service;
use crate::config::channels::Bot;
use std::time::Duration;

/// Chats that a program is subscribed to; one that has more subscribes to all.
const CHATS: usize = 64;
/// How long a program may take to read a line before it is disconnected: what is sent to others waits meanwhile.
const WRITE_TIME: Duration = Duration::from_secs(5);

/// The channel's name in addresses.
pub const NAME: &str = "local";

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Local",
    needs: &[],
    check,
    make: |making| Arc::new(Local::new(making.bot, making.clock, &making.state)),
    login: None,
};

/// Bytes of a socket's path, with the zero at its end (unix(7)).
const PATH_BYTES: usize = 108;

fn check(bot: &Bot) -> Option<&'static str> {
    let path = bot.text("socket");
    (path.len() >= PATH_BYTES)
        .then_some("channels.local.socket is too long: a socket's path has at most 107 bytes")
}

/// Where the socket is.
fn socket_path(bot: &Bot, state: &Path) -> PathBuf {
    match bot.text("socket") {
        "" => state.join("local.sock"),
        path => PathBuf::from(path),
    }
}

//! IRC: one connection, lines both ways. <https://modern.ircdocs.horse/>
//!
//! Anyone can take a nick, so a person is their services account, or a mask that the configuration names: see [`person`].
//! The address of a private chat is that id (`irc:ana`), and it is found out who has a nick before something is sent
//! there; the address of a channel is its name (`irc:#crab`). The receiving thread has the connection, and the delivering
//! ones hand it what is to be sent. A message counts as sent when the server has answered the PING behind its lines.

mod connection;
pub mod format;
pub mod incoming;
mod link;
pub mod person;
mod receive;
pub mod session;
pub mod settings;
pub mod texts;

use std::sync::Arc;

pub use connection::Irc;

use super::kit::service::{Need, Service};
use std::time::Duration;

/// Bytes of the text of one line of ours; with the longest usual prefix and target it is within [`WIRE_BYTES`].
const TEXT_BYTES: usize = 400;
/// Time in which a server has to let us in; some look up the host and the user name for half a minute.
const REGISTER_TIME: Duration = Duration::from_secs(90);
/// Silence after which the server is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(90);
/// Bytes of a person's id or of a channel's name that are accepted.
const ID_BYTES: usize = 256;
/// Channels to join.
const CHANNELS: usize = 32;

/// The channel's name in addresses.
pub const NAME: &str = "irc";

/// What the program knows of the channel before it is used.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "IRC",
    needs: &[
        Need {
            key: "server",
            how: "The server of your network, such as irc.libera.chat. It is reached with TLS at port 6697 unless channels.irc.port \
                  and channels.irc.tls say otherwise.",
        },
        Need {
            key: "nick",
            how: "A nick for the bot. Where the network has services, register an account for it, and set channels.irc.saslUser and \
                  channels.irc.saslPassword.",
        },
    ],
    check: settings::check,
    make: |making| Arc::new(Irc::new(making)),
    login: None,
};

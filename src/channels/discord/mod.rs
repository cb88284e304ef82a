//! Discord, as a bot: its REST API for what goes out (<https://discord.com/developers/docs/reference>),
//! its gateway, a websocket, for what comes in.

pub mod api;
mod connection;
pub mod event;
mod limits;
pub mod markdown;
mod receive;
pub mod session;
pub mod types;

pub use connection::Discord;
pub(super) use limits::RateLimits;

/// The channel's name in addresses.
pub const NAME: &str = "discord";

/// What to do when there is no token.
pub const HOW_TO_GET_A_TOKEN: &str = "Create an application at https://discord.com/developers/applications, copy the token from its page \"Bot\", \
     and set channels.discord.token to it.";

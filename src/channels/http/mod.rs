//! The HTTP server for programs and browsers: a small HTTP server, off until `http.enabled`.
//!
//! A client is a person of the channel `http`, whose name is that of its token; what it asks goes through the same intake,
//! inbox, journal and turn as a message in a chat. `wire` is PURE, `server` has the connections, all on one thread,
//! `guard` decides who may connect and how often, `routes` answers.
//!
//! Without the feature `http` nothing of it is compiled but [`Slot`], and `http.enabled` is refused at the start.

#[cfg(not(feature = "http"))]
mod disabled;
#[cfg(feature = "http")]
mod enabled;
#[cfg(feature = "http")]
pub mod guard;
pub mod hook;
mod host;
#[cfg(feature = "http")]
mod hub;
#[cfg(feature = "http")]
mod routes;
#[cfg(feature = "http")]
mod server;
mod site;
#[cfg(feature = "http")]
mod web;
#[cfg(feature = "http")]
pub mod wire;

#[cfg(not(feature = "http"))]
pub use disabled::{check, open};
#[cfg(feature = "http")]
pub use enabled::{check, open};
pub use host::{Figure, FigureKind, Host, Part, Said, Slot};
pub use site::Reach;

/// The channel's name in addresses.
pub use crate::store::state::pairing::tokens::CHANNEL as NAME;
/// The channel of the web page.
pub const PAGE: &str = "web";

/// The channels of a server, and the place of the gateway that they belong to.
pub type Opened = (
    Vec<std::sync::Arc<dyn crate::channels::kit::adapter::Adapter>>,
    Slot,
);

/// Whether the clients of a channel hear of something only while they ask: alarms do not go there.
pub fn is_client(channel: &str) -> bool {
    channel == NAME || channel == PAGE
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_of_the_channel_is_no_other_channels() {
        for name in [super::NAME, super::PAGE] {
            assert!(crate::channels::table::find(name).is_none());
        }
    }

    #[test]
    fn a_binding_can_name_its_channels() {
        for name in [super::NAME, super::PAGE] {
            assert!(crate::config::channels::SOURCES.contains(&name));
        }
    }
}

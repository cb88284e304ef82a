//! Matrix, as an account at any homeserver: <https://spec.matrix.org/latest/client-server-api/>.
//!
//! Rooms without end-to-end encryption. In an encrypted one the bot says once what to do; a proxy that decrypts, such
//! as pantalaimon, can stand between the program and the homeserver.

mod account;
pub mod address;
mod api;
mod connection;
pub mod event;
pub mod html;
mod kept;
mod receive;
pub mod sync;
mod texts;

use std::sync::Arc;

pub use connection::Matrix;

use super::kit::service::{Need, Service};
use crate::config::channels::Bot;

/// Bytes of a file that goes to Matrix: Synapse's usual bound.
const UPLOAD_BYTES: u64 = 50 * 1024 * 1024;

/// The channel's name in addresses.
pub const NAME: &str = "matrix";

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Matrix",
    needs: &[
        Need {
            key: "homeserver",
            how: "Create an account for the bot at a homeserver. Its URL is often https:// and what follows the colon in the bot's user id.",
        },
        Need {
            key: "accessToken",
            how: "Log the bot's account in with Element and copy the token from All settings > Help & About > Access Token. Then close the window without signing out.",
        },
    ],
    check,
    make: |making| {
        Arc::new(Matrix::new(
            &making.bot,
            making.tls,
            making.clock,
            making.state,
        ))
    },
    login: None,
};

/// Whether the homeserver, the account or its token cannot be one.
fn check(bot: &Bot) -> Option<&'static str> {
    let homeserver = bot.text("homeserver");
    let is_url = homeserver.starts_with("https://") || homeserver.starts_with("http://");
    let token = bot.secret("accessToken");
    let user = bot.text("userId").trim();
    if !is_url || homeserver.contains("/_matrix") {
        return Some(
            "channels.matrix.homeserver must be the homeserver's URL without a path, such as https://matrix.org",
        );
    }
    if !user.is_empty() && !address::is_user(user) {
        return Some("channels.matrix.userId must look like @name:example.org");
    }
    let is_token = |byte: u8| byte.is_ascii_graphic();
    (!token.expose().bytes().all(is_token)).then_some(
        "channels.matrix.accessToken does not look like an access token. In Element it is below All settings > Help & About",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::channels::Channels;

    #[test]
    fn settings_of_the_wrong_shape_are_found() {
        let wrong = |homeserver: &str, user: &str, token: &str| {
            let section = json!({"homeserver": homeserver, "userId": user, "accessToken": token});
            let channels = serde_json::from_value::<Channels>(json!({"matrix": section}));
            check(&channels.unwrap().of(NAME)).unwrap_or_default()
        };
        assert_eq!(wrong("https://x.org", "@a:x.org", "syt_a_b"), "");
        assert_eq!(wrong("http://127.0.0.1:8008", "", "syt_a_b"), "");
        for homeserver in ["x.org", "", "https://x.org/_matrix/client"] {
            assert!(
                wrong(homeserver, "", "t").contains("homeserver"),
                "{homeserver}"
            );
        }
        assert!(wrong("https://x.org", "ana", "t").contains("userId"));
        assert!(wrong("https://x.org", "", "a b").contains("accessToken"));
    }
}

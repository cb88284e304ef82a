//! What a tool server says about logins is read, or is nothing.

use peacrab::net::http::address;
use peacrab::tools::mcp::client::oauth::challenge::Challenge;
use peacrab::tools::mcp::client::oauth::metadata::{
    Issuer, Resource, covers, is_same_issuer, is_usable, issuer_places, resource_places,
};

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    Challenge::read(text.lines());
    Issuer::read(bytes);
    Resource::read(bytes);
    if is_usable(text, false) {
        assert!(is_same_issuer(text, text) && covers(text, text), "{text:?}");
        for place in [issuer_places(text), resource_places(text)].concat() {
            assert!(address::parse(&place).is_ok(), "{place:?}");
        }
    }
}

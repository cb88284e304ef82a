//! The names of servers' tools for the model. Pure.
//!
//! A name is found again by itself: each tool always answers to its plain name, unless an earlier one has
//! it, and to the same name with its hash.

use ring::digest::{SHA256, digest};

use crate::base::hex::hex;
use crate::base::limits::tools::TOOL_NAME_BYTES_MAX;

/// How all of them begin.
pub const PREFIX: &str = "mcp_";

/// Hexadecimal digits of the hash in a name.
const HASH_DIGITS: usize = 6;

/// How the names of a server's tools begin.
pub fn prefix(server: &str) -> String {
    format!("{PREFIX}{server}_")
}

/// A tool's plain name; `None` when it is too long.
pub fn plain(server: &str, tool: &str) -> Option<String> {
    let name = clean(server, tool);
    (name.len() <= TOOL_NAME_BYTES_MAX).then_some(name)
}

/// A tool's name with the hash of what the server calls it.
pub fn hashed(server: &str, tool: &str) -> String {
    let mut name = clean(server, tool);
    name.truncate(TOOL_NAME_BYTES_MAX - HASH_DIGITS - 1);
    let hash = digest(&SHA256, format!("{server}/{tool}").as_bytes());
    name.push('_');
    name.push_str(&hex(hash.as_ref().iter().take(HASH_DIGITS / 2)));
    name
}

/// Whether every provider takes this as the name of a tool.
pub fn is_plain(name: &str) -> bool {
    (1..=TOOL_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Only what every provider takes in a name, so that a byte is a character.
fn clean(server: &str, tool: &str) -> String {
    let plain = |c: char| if is_plain_char(c) { c } else { '_' };
    prefix(server)
        .chars()
        .chain(tool.chars())
        .map(plain)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plain_name_stays_and_a_long_one_is_cut_with_its_hash() {
        assert_eq!(plain("lamp", "turn_on").unwrap(), "mcp_lamp_turn_on");
        assert_eq!(plain("a-b", "c.d/e f").unwrap(), "mcp_a-b_c_d_e_f");
        let long = "x".repeat(80);
        assert_eq!(plain("lamp", &long), None);
        let name = hashed("lamp", &long);
        assert_eq!(name.len(), TOOL_NAME_BYTES_MAX);
        assert_ne!(name, hashed("lamp", &"x".repeat(81)));
        assert_ne!(hashed("lamp", "a.b"), hashed("lamp", "a_b"));
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_providers_take(tool in any::<String>(), server in "[a-zA-Z0-9_-]{1,32}") {
            for name in plain(&server, &tool).into_iter().chain([hashed(&server, &tool)]) {
                prop_assert!(is_plain(&name));
                prop_assert!(name.starts_with(&prefix(&server)));
            }
        }
    }
}

//! The address of a sender. PURE.
//!
//! This decides who wrote a mail, so it is narrower than RFC 5322: one address, plain or after a name, of
//! ordinary characters. Whatever two programs might read differently is refused.

use super::words::decode_words;
use crate::limits::channels::email::{ADDRESS_BYTES, LOCAL_BYTES};

/// A person's name and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    /// The name, which may be anything.
    pub name: String,
    /// The address in lower case.
    pub address: String,
}

/// Reads the value of a From field; `None` when it is not exactly one plain address.
pub fn mailbox(value: &str) -> Option<Mailbox> {
    let value = value.trim();
    let is_odd = |char: char| char.is_control() && char != '\t';
    if value.contains(is_odd) {
        return None;
    }
    let Some(at) = bracket(value)? else {
        let address = address(value)?;
        return Some(Mailbox {
            name: String::new(),
            address,
        });
    };
    let (name, rest) = value.split_at_checked(at)?;
    let inner = rest.strip_prefix('<')?.strip_suffix('>')?;
    Some(Mailbox {
        name: unquoted(name),
        address: address(inner)?,
    })
}

/// Where the address's bracket is; `Some(None)` where there is only an address. `None` for a list, a group,
/// a comment, and other things that need not be there.
fn bracket(value: &str) -> Option<Option<usize>> {
    let mut found = None;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, char) in value.char_indices() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match char {
            '\\' if is_quoted => is_escaped = true,
            '"' if found.is_none() => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '<' if found.is_none() => found = Some(at),
            '<' | ',' | ';' | ':' | '(' | ')' | '"' | '\\' => return None,
            '>' if found.is_none() || at + 1 != value.len() => return None,
            _ => {}
        }
    }
    (!is_quoted).then_some(found)
}

fn unquoted(name: &str) -> String {
    let name = name.trim();
    let inner = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) => decode_words(&inner.replace("\\\"", "\"").replace("\\\\", "\\")),
        None => decode_words(name),
    }
}

/// An address in lower case; `None` for what is not `name@domain` of ordinary characters.
pub fn address(text: &str) -> Option<String> {
    let text = text.trim();
    let (local, domain) = text.split_once('@')?;
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+/=^_`{|}~-%?".contains(&byte);
    let are_atoms = |local: &str| {
        let mut atoms = local.split('.');
        atoms.all(|atom| !atom.is_empty() && atom.bytes().all(is_atom))
    };
    let is_usable = text.len() <= ADDRESS_BYTES
        && local.len() <= LOCAL_BYTES
        && are_atoms(local)
        // An encoded word is a name, and some programs would show what is in it.
        && !local.contains("=?")
        && is_domain(domain);
    is_usable.then(|| text.to_ascii_lowercase())
}

/// Whether a text is the name of a domain.
pub fn is_domain(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    text.split('.').all(|label| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// The domain of an address.
pub fn domain(address: &str) -> &str {
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}

//! Whether the receiving server confirms a mail's sender: Authentication-Results (RFC 8601). PURE.
//!
//! Anyone can write such a field into a mail. The receiving server adds its own above all others, and removes
//! those that pretend to be its own. So only the topmost one with its name counts, and that whole or not at all.

use super::address::{domain, is_domain};
use super::headers::Headers;
use super::results::{self, Method, Results};
use crate::text::html::link::name_in_ascii;

/// The servers whose word counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    /// The one that the configuration names.
    Named(String),
    /// Those that belong to the IMAP server: its name, the domain around it, and what is in that.
    Around(String),
}

/// Well-known providers: the end of the IMAP server's name, and the domain of what receives mails for it.
const PROVIDERS: [(&str, &str); 6] = [
    ("gmail.com", "mx.google.com"),
    ("googlemail.com", "mx.google.com"),
    ("fastmail.com", "messagingengine.com"),
    // Each check has a field and a server of its own, and that of BIMI is above the others.
    ("mail.me.com", ICLOUD.0),
    ("aol.com", "yahoo.com"),
    ("yahoo.com", "yahoo.com"),
];

/// The server that decides at iCloud, and those of the other checks.
const ICLOUD: (&str, [&str; 2]) = (
    "dmarc.icloud.com",
    ["spf.icloud.com", "dkim-verifier.icloud.com"],
);

impl Servers {
    /// The servers by a setting, which may be empty, and the IMAP server's name.
    pub fn new(named: &str, imap_host: &str) -> Self {
        match named.trim() {
            "" => Self::Around(canonical(imap_host)),
            named => Self::Named(canonical(named)),
        }
    }

    /// Whether the word of a server with this name counts.
    fn include(&self, server: &str) -> bool {
        let server = canonical(server);
        let host = match self {
            Self::Named(named) => return server == *named,
            Self::Around(host) => host,
        };
        let provider = PROVIDERS.iter().find(|(end, _)| is_within(host, end));
        let around = match (provider, host.split_once('.')) {
            (Some((_, domain)), _) => domain,
            (None, Some((_, domain))) if domain.contains('.') => domain,
            (None, _) => host.as_str(),
        };
        server == *host || is_within(&server, around)
    }
}

/// A server's name in lower case, and in ASCII if it is one of the network.
fn canonical(server: &str) -> String {
    name_in_ascii(server).unwrap_or_else(|| server.to_lowercase())
}

/// Whether a name is a domain or within it.
pub(super) fn is_within(name: &str, domain: &str) -> bool {
    let rest = name.strip_suffix(domain);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// What is known about the sender of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The server confirms that the address's domain sent it.
    Confirmed,
    /// The server says something else.
    Denied,
    /// What the server says cannot be read, or a field above that, which may be the server's too.
    Unreadable,
    /// The server says nothing. The one that says something first, if any.
    Unknown(Option<String>),
}

/// Decides whether the sender of a mail is who it says: the topmost field of our server does. One above it whose server
/// cannot be read may be ours, and is not passed over.
pub fn judge(headers: &Headers, servers: &Servers, from: &str) -> Trust {
    let mut first = None;
    for value in headers.all("authentication-results") {
        let Some(server) = results::server(value) else {
            return Trust::Unreadable;
        };
        if servers.include(&server) {
            return match Results::parse(value) {
                Some(results) if confirms(&results, domain(from)) => Trust::Confirmed,
                Some(_) => Trust::Denied,
                None => Trust::Unreadable,
            };
        }
        first.get_or_insert(server);
    }
    Trust::Unknown(first)
}

/// Results of DMARC that say nothing: the domain has no record, or it was not checked.
const NO_RESULT: [&str; 3] = ["none", "unknown", "skipped"];

/// Whether a field says that the domain of the From field sent the mail. DMARC decides where it came to a result about
/// that; else a signature or the envelope's sender has to be of the same domain.
fn confirms(results: &Results, from: &str) -> bool {
    if results.methods.iter().any(echoes_a_field) {
        return false;
    }
    let is_result =
        |method: &&Method| method.name == "dmarc" && !NO_RESULT.contains(&method.result.as_str());
    let dmarc: Vec<&Method> = results.methods.iter().filter(is_result).collect();
    if !dmarc.iter().all(|method| has_passed(method)) {
        return false;
    }
    let mut about_from = dmarc
        .iter()
        .filter(|method| has_property(method, "header.from"))
        .peekable();
    if about_from.peek().is_some() {
        return about_from.all(|method| {
            property(method, "header.from")
                .and_then(domain_of)
                .is_some_and(|domain| is_aligned(from, &domain))
        });
    }
    let mut passed = results.methods.iter().filter(|method| has_passed(method));
    passed.any(|method| match method.name.as_str() {
        "dkim" => signer(method).is_some_and(|domain| is_aligned(from, &domain)),
        _ => sent_by(method).is_some_and(|domain| is_aligned(from, &domain)),
    })
}

/// What our servers say beyond doubt: in the field that decides, in those above the Received field with which they have
/// taken the mail, and at iCloud in those of the other checks.
pub(super) fn said(headers: &Headers, servers: &Servers) -> Vec<Results> {
    const FIELD: &str = "authentication-results";
    let is_ours =
        |value: &&str| results::server(value).is_some_and(|server| servers.include(&server));
    let deciding = headers.all(FIELD).find(is_ours);
    let above = headers.above(|name, value| name == "received" && !is_within_server(value));
    let above = above.filter_map(|(name, value)| (name == FIELD).then_some(value));
    let is_icloud = servers.include(ICLOUD.0);
    let others = ICLOUD.1.into_iter().filter(|_| is_icloud);
    let others = others.filter_map(|name| {
        let is_it = |value: &&str| results::server(value).is_some_and(|server| server == name);
        headers.all(FIELD).find(is_it)
    });
    above
        .chain(deciding)
        .chain(others)
        .filter_map(Results::parse)
        .filter(|results| !results.methods.iter().any(echoes_a_field))
        .collect()
}

/// Whether a Received field is of the way from a server to its own mailboxes. What a client says of itself is in such a
/// field, too, beside how it was spoken with.
fn is_within_server(received: &str) -> bool {
    let received = received.to_ascii_lowercase();
    received.contains(" with lmtp") && !received.contains("smtp")
}

/// The domain whose server has delivered a mail, where that is what a check has found.
pub(super) fn sent_by(method: &Method) -> Option<String> {
    let is_it = method.name == "spf" && has_passed(method);
    property(method, "smtp.mailfrom")
        .filter(|_| is_it)
        .and_then(domain_of)
}

/// The local part of the envelope's sender, where a check names one.
pub(super) fn mailbox_of(method: &Method) -> Option<&str> {
    let sender = property(method, "smtp.mailfrom")?;
    let sender = sender.trim_matches(['<', '>', '"']);
    sender
        .rsplit_once('@')
        .map(|(local, _)| local)
        .filter(|local| !local.is_empty())
}

/// The domain whose signature is valid, and how that begins as far as it is named, where that is what a check has found.
pub(super) fn signer_of(method: &Method) -> Option<(String, &str)> {
    let is_it = method.name == "dkim" && has_passed(method);
    let begin = property(method, "header.b").unwrap_or_default();
    signer(method)
        .filter(|_| is_it)
        .map(|domain| (domain, begin))
}

/// Whether a value could end a comment or a method: the server may have written the same words where they do.
fn echoes_a_field(method: &Method) -> bool {
    let mut values = method.properties.iter();
    values.any(|(name, value)| name != "reason" && value.contains(['(', ')', ';']))
}

fn has_passed(method: &Method) -> bool {
    method.result == "pass" && method.version == 1
}

fn has_property(method: &Method, name: &str) -> bool {
    method.properties.iter().any(|(known, _)| known == name)
}

/// The value of a property; `None` also for one that is there twice: neither is for us to choose.
fn property<'a>(method: &'a Method, name: &str) -> Option<&'a str> {
    let mut all = method.properties.iter().filter(|(known, _)| known == name);
    match (all.next(), all.next()) {
        (Some((_, value)), None) => Some(value),
        _ => None,
    }
}

/// The domain that signed a mail. That of the identity has to be within it (RFC 6376, section 3.5).
fn signer(method: &Method) -> Option<String> {
    let has = |name: &str| has_property(method, name);
    let read = |name: &str| property(method, name).and_then(domain_of);
    match (has("header.d"), has("header.i")) {
        (true, true) => {
            let (domain, identity) = (read("header.d")?, read("header.i")?);
            is_within(&identity, &domain).then_some(domain)
        }
        (true, false) => read("header.d"),
        (false, _) => read("header.i"),
    }
}

/// The domain of an address or of a domain, in lower case and ASCII.
fn domain_of(value: &str) -> Option<String> {
    let bare = value
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    let value = bare.unwrap_or(value);
    let domain = value.rsplit_once('@').map_or(value, |(_, domain)| domain);
    let domain = name_in_ascii(domain)?;
    is_domain(&domain).then_some(domain)
}

/// Whether the sender's domain is the one that was confirmed, or a part of it.
pub(super) fn is_aligned(from: &str, confirmed: &str) -> bool {
    from == confirmed || confirmed.contains('.') && is_within(from, confirmed)
}

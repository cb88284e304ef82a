//! What the receiving server says about a mail's sender: Authentication-Results (RFC 8601). PURE.
//!
//! Anyone can write such a field into a mail. The receiving server adds its own above all others, and removes
//! those that pretend to be its own. So only the topmost one with its name counts.

use super::address::domain;
use super::headers::Headers;

/// The servers whose word counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    /// The one that the configuration names.
    Named(String),
    /// Those that belong to the IMAP server: its name, the domain around it, and what is in that.
    Around(String),
}

/// Well-known providers: the end of the IMAP server's name, and the domain of what receives mails for it.
const PROVIDERS: [(&str, &str); 5] = [
    ("gmail.com", "mx.google.com"),
    ("googlemail.com", "mx.google.com"),
    ("fastmail.com", "messagingengine.com"),
    ("mail.me.com", "icloud.com"),
    ("aol.com", "yahoo.com"),
];

impl Servers {
    /// The servers by a setting, which may be empty, and the IMAP server's name.
    pub fn new(named: &str, imap_host: &str) -> Self {
        match named.trim() {
            "" => Self::Around(imap_host.to_ascii_lowercase()),
            named => Self::Named(named.to_ascii_lowercase()),
        }
    }

    /// Whether the word of a server with this name counts.
    fn include(&self, server: &str) -> bool {
        let host = match self {
            Self::Named(named) => return server == named,
            Self::Around(host) => host,
        };
        let provider = PROVIDERS.iter().find(|(end, _)| is_within(host, end));
        let around = match (provider, host.split_once('.')) {
            (Some((_, domain)), _) => domain,
            (None, Some((_, domain))) if domain.contains('.') => domain,
            (None, _) => host.as_str(),
        };
        server == host || is_within(server, around)
    }
}

/// Whether a name is a domain or within it.
fn is_within(name: &str, domain: &str) -> bool {
    let rest = name.strip_suffix(domain);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// What one field says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// The server that says it, in lower case.
    pub server: String,
    methods: Vec<Method>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Method {
    name: String,
    result: String,
    properties: Vec<(String, String)>,
}

/// What is known about the sender of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The server confirms that the address's domain sent it.
    Confirmed,
    /// The server says something else.
    Denied,
    /// The server says nothing. The one that says something first, if any.
    Unknown(Option<String>),
}

/// Decides whether the sender of a mail is who it says.
pub fn judge(headers: &Headers, servers: &Servers, from: &str) -> Trust {
    let mut first = None;
    for value in headers.all("authentication-results") {
        let Some(results) = Results::parse(value) else {
            continue;
        };
        if servers.include(&results.server) {
            return match results.confirm(domain(from)) {
                true => Trust::Confirmed,
                false => Trust::Denied,
            };
        }
        first.get_or_insert(results.server);
    }
    Trust::Unknown(first)
}

impl Results {
    /// Reads a field; `None` for what is not one.
    pub fn parse(value: &str) -> Option<Self> {
        let value = without_comments(value)?;
        let mut parts = split(&value, ';').into_iter();
        let server = parts.next()?;
        let server = server.split_whitespace().next()?.trim_matches('"');
        // Without a name it begins with a result at once: then no one says it.
        if server.is_empty() || server.contains('=') {
            return None;
        }
        Some(Self {
            server: server.to_ascii_lowercase(),
            methods: parts.filter_map(|part| Method::parse(&part)).collect(),
        })
    }

    /// Whether this says that the domain of the From field sent the mail: its DMARC check passed, or a
    /// signature or the envelope's sender of the same domain was confirmed.
    pub fn confirm(&self, from: &str) -> bool {
        let from = from.to_ascii_lowercase();
        self.methods.iter().any(|method| {
            let is = |name: &str, test: &dyn Fn(&str) -> bool| {
                let mut all = method.properties.iter().filter(|(known, _)| known == name);
                // Twice the same property is not for us to choose from.
                match (all.next(), all.next()) {
                    (Some((_, value)), None) => test(value),
                    _ => false,
                }
            };
            let is_aligned = |value: &str| is_aligned(&from, value);
            method.result == "pass"
                && match method.name.as_str() {
                    "dmarc" => is("header.from", &|value| domain_of(value) == from),
                    "dkim" => is("header.d", &is_aligned) || is("header.i", &is_aligned),
                    "spf" => is("smtp.mailfrom", &is_aligned),
                    _ => false,
                }
        })
    }
}

/// The domain of an address or of a domain.
fn domain_of(value: &str) -> &str {
    value.rsplit_once('@').map_or(value, |(_, domain)| domain)
}

/// Whether the sender's domain is the one that was confirmed, or a part of it.
fn is_aligned(from: &str, confirmed: &str) -> bool {
    let confirmed = domain_of(confirmed);
    from == confirmed || confirmed.contains('.') && is_within(from, confirmed)
}

impl Method {
    fn parse(text: &str) -> Option<Self> {
        let mut properties = Vec::new();
        let mut words = split(&joined(text), ' ').into_iter();
        let first = words.find(|word| !word.is_empty())?.to_ascii_lowercase();
        let (name, result) = first.split_once('=')?;
        for word in words {
            if let Some((name, value)) = word.split_once('=') {
                let value = value.trim_matches('"').to_ascii_lowercase();
                properties.push((name.to_ascii_lowercase(), value));
            }
        }
        // A version may follow the name.
        let name = name.split('/').next().unwrap_or_default();
        Some(Self {
            name: name.to_owned(),
            result: result.to_owned(),
            properties,
        })
    }
}

/// The text without the white space around equals signs, and with single spaces elsewhere.
fn joined(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(" =", "=").replace("= ", "=")
}

/// The parts between separators that are not in quotation marks.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    for char in text.chars() {
        if char == separator && !is_quoted {
            parts.push(String::new());
            continue;
        }
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(char);
        }
    }
    parts
}

/// The text with a space for each comment; `None` when one does not end.
fn without_comments(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_u32;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for char in text.chars() {
        let is_taken = std::mem::take(&mut is_escaped);
        match char {
            '\\' if !is_taken && (is_quoted || depth > 0) => is_escaped = true,
            '"' if !is_taken && depth == 0 => is_quoted = !is_quoted,
            '(' if !is_taken && !is_quoted => {
                depth = depth.saturating_add(1);
                continue;
            }
            ')' if !is_taken && !is_quoted && depth > 0 => {
                depth -= 1;
                out.push(' ');
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            out.push(char);
        }
    }
    (depth == 0 && !is_quoted).then_some(out)
}

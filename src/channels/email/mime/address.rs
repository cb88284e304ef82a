//! The address of a sender, in each form that RFC 5322 (section 3.4) and RFC 6532 have for one mailbox. PURE.
//!
//! This decides who wrote a mail: a list, or what is not whole, is nobody. An address is known in one form only, in which it
//! is compared and written: lower case, the domain in ASCII, and quotation marks only where they are needed.

use super::words::decode_words;
use crate::text::html::link::name_in_ascii;

/// Bytes of an address (RFC 5321, section 4.5.3.1.3).
const ADDRESS_BYTES: usize = 254;
/// Bytes of the part before the @ (RFC 5321, section 4.5.3.1.1).
const LOCAL_BYTES: usize = 64;

/// A person's name and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    /// The name, which may be anything.
    pub name: String,
    /// The address in lower case.
    pub address: String,
}

/// A piece of a field.
#[derive(Debug, PartialEq)]
enum Token {
    /// An atom or a text in quotation marks, and whether white space or a comment is before it.
    Word(String, bool),
    /// What is in brackets.
    Literal(String),
    Special(char),
}

/// The pieces of a field, and its last comment.
struct Tokens {
    all: Vec<Token>,
    comment: String,
}

/// Reads the value of a From field; `None` when it is not exactly one mailbox.
pub fn mailbox(value: &str) -> Option<Mailbox> {
    let Tokens { all, comment } = Tokens::read(value)?;
    match listed(&all)?.as_slice() {
        [one] => one_mailbox(one, &comment),
        _ => None,
    }
}

/// Reads the value of a To or Cc field: the mailboxes that it names, as far as it can be read.
pub fn mailboxes(value: &str) -> Vec<Mailbox> {
    let tokens = Tokens::read(value);
    let all = tokens.as_ref().and_then(|tokens| listed(&tokens.all));
    let all = all.unwrap_or_default().into_iter();
    all.filter_map(|one| one_mailbox(one, "")).collect()
}

/// The pieces of each mailbox of a field.
fn listed(all: &[Token]) -> Option<Vec<&[Token]>> {
    let is = |char| move |token: &Token| *token == Token::Special(char);
    let angle = all.iter().position(is('<')).unwrap_or(all.len());
    // A group has a name and ends with a semicolon.
    let colon = all.iter().take(angle).position(is(':'));
    let members = match colon {
        Some(at) => {
            let (Token::Special(';'), rest) = all.split_last()? else {
                return None;
            };
            rest.get(at + 1..)?
        }
        None => all,
    };
    let mut is_inside = false;
    let split = members.split(|token| {
        match token {
            Token::Special('<') => is_inside = true,
            Token::Special('>') => is_inside = false,
            _ => {}
        }
        *token == Token::Special(',') && !is_inside
    });
    // Lists may have empty places (RFC 5322, section 4.4).
    Some(split.filter(|tokens| !tokens.is_empty()).collect())
}

fn one_mailbox(tokens: &[Token], comment: &str) -> Option<Mailbox> {
    let angle = tokens
        .iter()
        .position(|token| *token == Token::Special('<'));
    let Some(at) = angle else {
        return Some(Mailbox {
            name: decode_words(comment.trim()),
            address: addr_spec(tokens)?,
        });
    };
    let (name, rest) = tokens.split_at_checked(at)?;
    let (Token::Special('>'), inner) = rest.get(1..)?.split_last()? else {
        return None;
    };
    // A route before the address means nothing any more (RFC 5322, section 4.4).
    let inner = match inner.first() {
        Some(Token::Special('@' | ',')) => {
            let end = inner
                .iter()
                .position(|token| *token == Token::Special(':'))?;
            inner.get(end + 1..)?
        }
        _ => inner,
    };
    let name = match display_name(name)? {
        name if name.is_empty() => comment.trim().to_owned(),
        name => name,
    };
    Some(Mailbox {
        name: decode_words(&name),
        address: addr_spec(inner)?,
    })
}

fn display_name(tokens: &[Token]) -> Option<String> {
    let mut name = String::new();
    for token in tokens {
        match token {
            Token::Word(text, is_apart) => {
                if *is_apart && !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(text);
            }
            Token::Literal(text) => name.push_str(&format!("[{text}]")),
            Token::Special(char @ ('.' | '@')) => name.push(*char),
            Token::Special(_) => return None,
        }
    }
    Some(name)
}

/// An address in the form in which it is known; `None` for what is not an address alone.
pub fn address(text: &str) -> Option<String> {
    addr_spec(&Tokens::read(text)?.all)
}

fn addr_spec(tokens: &[Token]) -> Option<String> {
    let at = tokens
        .iter()
        .position(|token| *token == Token::Special('@'))?;
    let (local, domain) = (tokens.get(..at)?, tokens.get(at + 1..)?);
    let local = dotted(local)?.join(".").to_lowercase();
    let domain = match domain {
        [Token::Literal(text)] => format!("[{}]", literal(text)?),
        _ => {
            let name = dotted(domain)?.join(".");
            let name = if name.is_ascii() {
                name
            } else {
                name_in_ascii(&name)?
            };
            name.to_ascii_lowercase()
        }
    };
    let is_usable = !local.is_empty()
        && local.len() <= LOCAL_BYTES
        && (domain.starts_with('[') || is_domain(&domain))
        // An encoded word is a name, and some programs would show what is in it.
        && !local.contains("=?")
        // In quotes there can be anything.
        && local.chars().all(crate::text::is_prose)
        // The channel's own addresses have it between their parts.
        && !local.contains(':');
    let are_atoms = local
        .split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(is_atom));
    let local = if are_atoms {
        local
    } else {
        format!("\"{}\"", local.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let address = format!("{local}@{domain}");
    (is_usable && address.len() <= ADDRESS_BYTES).then_some(address)
}

/// The words between full stops.
fn dotted(tokens: &[Token]) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match (index % 2, token) {
            (0, Token::Word(text, _)) => words.push(text.as_str()),
            (1, Token::Special('.')) => {}
            _ => return None,
        }
    }
    (tokens.len() % 2 == 1).then_some(words)
}

/// An address of the network in the place of a domain; version 6 has colons, which are the channel's own.
fn literal(text: &str) -> Option<String> {
    let address = text.trim().parse::<std::net::Ipv4Addr>().ok()?;
    Some(address.to_string())
}

/// Whether an atom has this character (RFC 5322, section 3.2.3; RFC 6532, section 3.2).
fn is_atom(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_alphanumeric() || "!#$&'*+/=^_`{|}~-%?".contains(char)
    } else {
        crate::text::is_prose(char) && !char.is_whitespace()
    }
}

impl Tokens {
    /// Takes a value apart; `None` where something does not end, or has a character that no field has.
    fn read(value: &str) -> Option<Self> {
        let mut tokens = Self {
            all: Vec::new(),
            comment: String::new(),
        };
        let mut is_apart = false;
        let mut rest = value;
        while let Some(char) = rest.chars().next() {
            let was_apart = std::mem::take(&mut is_apart);
            let after = rest.get(char.len_utf8()..)?;
            rest = match char {
                ' ' | '\t' => {
                    is_apart = true;
                    after
                }
                '(' => {
                    is_apart = true;
                    let (comment, after) = enclosed(after, '(', ')')?;
                    tokens.comment = comment;
                    after
                }
                '"' => {
                    let (text, after) = enclosed(after, '"', '"')?;
                    tokens.all.push(Token::Word(text, was_apart));
                    after
                }
                '[' => {
                    let (text, after) = enclosed(after, ']', ']')?;
                    tokens.all.push(Token::Literal(text));
                    after
                }
                '<' | '>' | ',' | ';' | ':' | '@' | '.' => {
                    tokens.all.push(Token::Special(char));
                    after
                }
                _ => {
                    let end = encoded_word(rest);
                    let end = end.or_else(|| rest.find(|char| !is_atom(char)));
                    let (atom, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
                    if atom.is_empty() {
                        return None;
                    }
                    tokens.all.push(Token::Word(atom.to_owned(), was_apart));
                    after
                }
            };
        }
        Some(tokens)
    }
}

/// The length of an encoded word (RFC 2047), which may have what is special elsewhere.
fn encoded_word(text: &str) -> Option<usize> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (content, _) = rest.split_once("?=")?;
    let is_word = matches!(encoding, "B" | "b" | "Q" | "q")
        && !content.contains([' ', '\t', '<', '>', '"'])
        && charset.chars().all(is_atom);
    is_word.then(|| "=??".len() * 2 + charset.len() + encoding.len() + content.len())
}

/// The text up to its end without backslashes, and what follows. Comments may have others in them.
fn enclosed(text: &str, begin: char, end: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut depth = 1_u32;
    let mut is_escaped = false;
    for (at, char) in text.char_indices() {
        if char.is_control() && char != '\t' {
            return None;
        }
        if std::mem::take(&mut is_escaped) {
            out.push(char);
            continue;
        }
        match char {
            '\\' => {
                is_escaped = true;
                continue;
            }
            _ if char == end => {
                depth -= 1;
                if depth == 0 {
                    return Some((out, text.get(at + char.len_utf8()..)?));
                }
            }
            _ if char == begin => depth = depth.saturating_add(1),
            _ => {}
        }
        out.push(char);
    }
    None
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

#[cfg(test)]
mod tests;

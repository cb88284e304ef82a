//! Capabilities, and the login by SASL. <https://ircv3.net/specs/extensions/capability-negotiation>,
//! <https://ircv3.net/specs/extensions/sasl-3.1>

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{Action, failed, fatal};
use crate::base::secret::Secret;
use crate::channels::irc::session::line::{Line, write};
use crate::channels::irc::settings::Settings;

/// Bytes of a piece of a SASL response (IRCv3 sasl).
const SASL_PIECE_BYTES: usize = 400;
/// Capabilities of a server that are remembered while they are listed.
const CAPABILITIES: usize = 128;

/// What is of use where a server has it: who is logged in, when and under which id a message was written, and what is
/// told again.
const WANTED: [&str; 4] = ["account-tag", "message-tags", "server-time", "batch"];
const SASL: &str = "sasl";

/// Where the negotiation is.
#[derive(Debug)]
pub struct Login {
    sasl: Option<(String, Secret)>,
    /// What the server has offered.
    offered: Vec<String>,
    /// What was agreed on.
    agreed: Vec<String>,
    is_logged_in: bool,
    is_over: bool,
}

impl Login {
    pub fn new(settings: &Settings) -> Self {
        let sasl = (settings.sasl_user.clone(), settings.sasl_password.clone());
        Self {
            sasl: Some(sasl).filter(|(user, _)| !user.is_empty()),
            offered: Vec::new(),
            agreed: Vec::new(),
            is_logged_in: false,
            is_over: false,
        }
    }

    pub fn has(&self, capability: &str) -> bool {
        self.agreed.iter().any(|agreed| agreed == capability)
    }

    /// Whether a login was asked for and has not taken place.
    pub fn is_required_and_missing(&self) -> bool {
        self.sasl.is_some() && !self.is_logged_in
    }

    pub fn receive(&mut self, line: &Line) -> Vec<Action> {
        if line.command == "AUTHENTICATE" {
            return match (line.parameter(0), &self.sasl, self.is_over) {
                ("+", Some((user, password)), false) => respond(user, password),
                _ => Vec::new(),
            };
        }
        let more = line.parameters.len() > 3 && line.parameter(2) == "*";
        let names = line.last().split_whitespace();
        match line.parameter(1).to_ascii_uppercase().as_str() {
            "LS" => {
                let room = CAPABILITIES.saturating_sub(self.offered.len());
                self.offered.extend(names.take(room).map(str::to_owned));
                if more || self.is_over {
                    Vec::new()
                } else {
                    self.request()
                }
            }
            "ACK" => {
                for name in names {
                    match name.strip_prefix('-') {
                        Some(gone) => self.agreed.retain(|agreed| agreed != gone),
                        None if !self.has(name) => self.agreed.push(name.to_owned()),
                        None => {}
                    }
                }
                match (self.is_over, self.has(SASL)) {
                    (true, _) => Vec::new(),
                    (false, true) => vec![Action::Send(write("AUTHENTICATE", &["PLAIN"], None))],
                    (false, false) => self.end(),
                }
            }
            "NAK" if !self.is_over => self.end(),
            // Such as account-tag, when the services are gone: then nobody is logged in any more.
            "DEL" => {
                for name in names {
                    self.agreed.retain(|agreed| agreed != name);
                }
                Vec::new()
            }
            "NEW" if self.is_over => {
                let new: Vec<&str> = names
                    .map(bare)
                    .filter(|name| WANTED.contains(name) && !self.has(name))
                    .collect();
                if new.is_empty() {
                    Vec::new()
                } else {
                    vec![Action::Send(write("CAP", &["REQ"], Some(&new.join(" "))))]
                }
            }
            _ => Vec::new(),
        }
    }

    fn request(&mut self) -> Vec<Action> {
        let offers = |wanted: &&str| self.offered.iter().any(|offer| bare(offer) == *wanted);
        let mut wanted: Vec<&str> = WANTED.iter().copied().filter(|it| offers(it)).collect();
        if self.sasl.is_some() {
            if !self.offers_plain() {
                return vec![fatal(
                    "the server offers no login by SASL PLAIN, which channels.irc.saslUser asks for",
                )];
            }
            wanted.push(SASL);
        }
        if wanted.is_empty() {
            self.end()
        } else {
            vec![Action::Send(write(
                "CAP",
                &["REQ"],
                Some(&wanted.join(" ")),
            ))]
        }
    }

    /// Whether the server takes a user and a password. An old one does not list the ways.
    fn offers_plain(&self) -> bool {
        let mut offers = self.offered.iter().filter(|offer| bare(offer) == SASL);
        offers.any(|offer| match offer.split_once('=') {
            Some((_, ways)) => ways.split(',').any(|way| way.eq_ignore_ascii_case("PLAIN")),
            None => true,
        })
    }

    fn end(&mut self) -> Vec<Action> {
        self.is_over = true;
        self.offered = Vec::new();
        if self.is_required_and_missing() {
            return vec![failed("the server refused its own capabilities")];
        }
        vec![Action::Send(write("CAP", &["END"], None))]
    }

    /// The outcome of the login.
    pub fn numeric(&mut self, number: u16, words: &str) -> Vec<Action> {
        if self.is_over {
            return Vec::new();
        }
        match number {
            903 | 907 => {
                self.is_logged_in = true;
                self.end()
            }
            902 | 904 | 905 | 908 => vec![fatal(&format!(
                "the login failed ({words}): check channels.irc.saslUser and channels.irc.saslPassword"
            ))],
            906 => vec![failed("the login was aborted")],
            _ => Vec::new(),
        }
    }
}

/// A capability without its value.
fn bare(offer: &str) -> &str {
    offer.split('=').next().unwrap_or_default()
}

/// The user and the password in pieces: the server waits for more after a whole one, so that a last whole one is followed
/// by an empty one.
fn respond(user: &str, password: &Secret) -> Vec<Action> {
    let response = BASE64_STANDARD.encode(format!("{user}\0{user}\0{}", password.expose()));
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = response.as_str();
    while rest.len() >= SASL_PIECE_BYTES {
        let (piece, after) = rest.split_at(SASL_PIECE_BYTES);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(if rest.is_empty() { "+" } else { rest });
    let lines = pieces.into_iter();
    lines
        .map(|piece| Action::Send(write("AUTHENTICATE", &[piece], None)))
        .collect()
}

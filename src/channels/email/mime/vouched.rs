//! Whether a mail is its sender's own word: written to this mailbox, of these days, and of the form that they gave it. PURE.
//!
//! A signature (RFC 6376) stays valid to whomever a mail is sent on, and speaks only for the fields that it names: others
//! can be added, and exchanged. So it has to name all that decides what a mail says and to whom, unless the sender's own
//! server has delivered the mail, as SPF says.

use chrono::{DateTime, FixedOffset, TimeDelta};

use super::address::{address, domain, mailboxes};
use super::headers::Headers;
use super::trust::{Servers, is_aligned, is_within, mailbox_of, said, sent_by, signer_of};

/// How old a mail may be: it may have waited for the bot.
const AGE: TimeDelta = TimeDelta::days(7);
/// How far a sender's clock may be ahead.
const AHEAD: TimeDelta = TimeDelta::days(1);

/// Fields of which a signature has to name those that a mail has.
const SIGNED: [&str; 8] = [
    "from",
    "to",
    "cc",
    "subject",
    "date",
    "message-id",
    "content-type",
    "content-transfer-encoding",
];
/// Fields that say which mail is answered.
const ANSWERS: [&str; 2] = ["in-reply-to", "references"];
/// The field beside those that a mail has once at most, too (RFC 5322, section 3.6; RFC 2045, section 3).
const VERSION: [&str; 1] = ["mime-version"];
/// Fields in which a server notes to whom it has delivered a mail.
const DELIVERED: [&str; 4] = [
    "delivered-to",
    "x-delivered-to",
    "x-original-to",
    "envelope-to",
];

/// Why a mail may not be its sender's own word to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A field is there twice, or not all fields were read.
    Unclear,
    /// It is addressed to others.
    Elsewhere,
    /// It is old, or of a time to come, or has no date.
    Dated,
    /// What it says may have been changed.
    Unsigned,
}

impl Doubt {
    /// The reason, for the model and the log.
    pub fn why(self) -> &'static str {
        match self {
            Self::Unclear => "its head has a field twice, or too many",
            Self::Elsewhere => "it is not addressed to this mailbox",
            Self::Dated => "its date is not of the last 7 days",
            Self::Unsigned => "neither SPF nor its signature vouches for all of it",
        }
    }
}

/// How far a mail is its sender's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Why it may not be; `None` where it is.
    pub doubt: Option<Doubt>,
    /// Whether it answers what it says that it answers.
    pub is_answer_vouched: bool,
}

/// What a mail is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Our own addresses, in lower case.
    pub own: &'a [String],
    /// Whose word about senders counts; `None` where none is asked for.
    pub servers: Option<&'a Servers>,
    /// The time; `None` while the clock is not set.
    pub now: Option<DateTime<FixedOffset>>,
}

/// Decides how far a mail, whose sender has this address and is confirmed, is their own word.
pub fn word(headers: &Headers, from: &str, expected: &Expected<'_>) -> Word {
    let vouched = expected
        .servers
        .map(|servers| Vouched::read(headers, servers, from));
    let vouches = |names: &[&str]| match &vouched {
        Some(vouched) => names.iter().all(|name| vouched.includes(name)),
        None => true,
    };
    let has = |name: &&str| headers.first(name).is_some();
    let needed: Vec<&str> = SIGNED.into_iter().filter(has).collect();
    let mut single = SIGNED.iter().chain(&ANSWERS).chain(&VERSION);
    let doubt = if headers.is_cut() || single.any(|name| headers.all(name).count() > 1) {
        Some(Doubt::Unclear)
    } else if !is_for(headers, expected.own) {
        Some(Doubt::Elsewhere)
    } else if !vouches(&needed) || !vouches(&["date", "message-id", "content-type"]) {
        Some(Doubt::Unsigned)
    } else if expected.now.is_some_and(|now| !is_recent(headers, now)) {
        Some(Doubt::Dated)
    } else {
        None
    };
    let answers: Vec<&str> = ANSWERS.into_iter().filter(has).collect();
    Word {
        doubt,
        is_answer_vouched: vouches(&answers),
    }
}

/// Whether a mail is addressed to one of our addresses, or to that to which our server has delivered it.
fn is_for(headers: &Headers, own: &[String]) -> bool {
    let delivered = headers
        .above(|name, _| name == "authentication-results")
        .filter(|(name, _)| DELIVERED.contains(name))
        .filter_map(|(_, value)| address(value.trim_matches(['<', '>'])));
    let ours: Vec<String> = own.iter().cloned().chain(delivered).collect();
    let ours: Vec<String> = ours.iter().map(|address| without_tag(address)).collect();
    let given = ["to", "cc"].into_iter().flat_map(|name| headers.all(name));
    given
        .flat_map(mailboxes)
        .any(|to| ours.contains(&without_tag(&to.address)))
}

/// An address without what follows a plus sign in it, which names the same mailbox.
fn without_tag(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((local, domain)) => {
            let bare = local.split('+').next().unwrap_or_default();
            format!("{bare}@{domain}")
        }
        None => address.to_owned(),
    }
}

fn is_recent(headers: &Headers, now: DateTime<FixedOffset>) -> bool {
    let date = headers.first("date").unwrap_or_default();
    DateTime::parse_from_rfc2822(date).is_ok_and(|date| {
        let age = now.signed_duration_since(date);
        age <= AGE && -age <= AHEAD
    })
}

/// The fields that are as the sender's server has sent them.
enum Vouched {
    All,
    /// Those that the signatures name, in lower case. Each may be the one that is valid, so all have to name a field.
    Signed(Vec<Vec<String>>),
}

impl Vouched {
    fn read(headers: &Headers, servers: &Servers, address: &str) -> Self {
        let results = said(headers, servers);
        let from = domain(address);
        let mut methods = results.iter().flat_map(|results| &results.methods);
        let is_direct = |method| {
            let sender = sent_by(method).filter(|it| is_aligned(from, it));
            sender.is_some() && mailbox_of(method).is_none_or(|local| is_same(local, address))
        };
        if methods.any(is_direct) {
            return Self::All;
        }
        let signatures: Vec<Signature<'_>> = headers.all("dkim-signature").map(Signature).collect();
        let passed: Vec<(String, &str)> = results
            .iter()
            .flat_map(|results| &results.methods)
            .filter_map(signer_of)
            .filter(|(domain, _)| is_aligned(from, domain))
            .collect();
        let named = |found: Vec<&Signature<'_>>| -> Vec<Vec<String>> {
            found.into_iter().map(Signature::fields).collect()
        };
        // Only DMARC may have been noted, which says nothing of signatures: any of them may be the valid one.
        if passed.is_empty() {
            return Self::Signed(named(signatures.iter().collect()));
        }
        let of = |(signer, begin): &(String, &str)| {
            let is_it = |it: &&Signature<'_>| {
                it.is_of(|domain| is_within(signer, domain)) && it.begins_with(begin)
            };
            named(signatures.iter().filter(is_it).collect())
        };
        // Each of these is valid: the one that names most speaks.
        let all = passed.iter().map(of);
        Self::Signed(all.max_by_key(|named| common(named)).unwrap_or_default())
    }

    fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Signed(named) => {
                let mut each = named.iter();
                !named.is_empty() && each.all(|fields| fields.iter().any(|field| field == name))
            }
        }
    }
}

/// Whether the local part of an envelope's sender is that of an address, without a `+tag` and without the mark of BATV
/// (`prvs=…=`). A provider forwards the mails of another customer under an address of theirs.
fn is_same(local: &str, address: &str) -> bool {
    let local = match local.strip_prefix("prvs=") {
        Some(marked) => marked.split_once('=').map_or(marked, |(_, local)| local),
        None => local,
    };
    let bare = |local: &str| {
        let local = local.split('+').next().unwrap_or_default();
        local.to_ascii_lowercase()
    };
    let own = address.rsplit_once('@').map_or("", |(own, _)| own);
    bare(local) == bare(own)
}

/// How many of the fields that count are named by all of some signatures.
fn common(named: &[Vec<String>]) -> usize {
    let is_common = |name: &&&str| {
        let mut each = named.iter();
        !named.is_empty() && each.all(|fields| fields.iter().any(|field| field == **name))
    };
    SIGNED.iter().chain(&ANSWERS).filter(is_common).count()
}

/// The value of a DKIM-Signature field (RFC 6376, section 3.5).
struct Signature<'a>(&'a str);

impl Signature<'_> {
    /// The values of a tag, without white space.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let tags = self.0.split(';').filter_map(|tag| tag.split_once('='));
        tags.filter(move |(known, _)| known.trim() == name)
            .map(|(_, value)| value.split_whitespace().collect())
    }

    /// Whether it may be of such a domain.
    fn is_of(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.all("d")
            .any(|domain| is_meant(&domain.to_ascii_lowercase()))
    }

    fn begins_with(&self, begin: &str) -> bool {
        self.all("b").any(|data| data.starts_with(begin))
    }

    /// The fields that it names; none where it leaves out the end of the text.
    fn fields(&self) -> Vec<String> {
        let mut lists = self.all("h");
        match (lists.next(), lists.next(), self.all("l").next()) {
            (Some(list), None, None) => {
                let names = list.split(':');
                names.map(str::to_ascii_lowercase).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;

//! What `peacrab channels` and the gateway's greeting say.

use chrono::DateTime;

use crate::base::access::{Role, Rules};
use crate::base::error::Error;
use crate::base::message::Address;
use crate::channels::kit::service::Need;
use crate::channels::table::title;
use crate::store::state::pairing::{Offer, Paired};
use crate::text::{count_of, one_line};

pub(super) const NO_GATEWAY: &str = "No gateway is running. Start one with `peacrab gateway`, or install it as a service with \
                              `peacrab service install`.";
pub(super) const WHICH_CHANNEL: &str =
    "Name the channel of that chat: `peacrab channels test discord --chat ID`";
pub(super) const TEST_MESSAGE: &str = "This is a test message from Peacrab.";

/// Whether a channel is enabled, and the setting that it lacks.
pub(super) fn channel_state(name: &str, is_enabled: bool, lacks: Option<&str>) -> String {
    match (is_enabled, lacks) {
        (true, None) => "enabled".to_owned(),
        (true, Some(key)) => format!("enabled, but channels.{name}.{key} is empty"),
        (false, None) => format!("disabled (channels.{name}.enabled), set up"),
        (false, Some(key)) => format!("disabled (channels.{name}.enabled), no {key}"),
    }
}

/// The channels that are not used.
pub(super) fn unused_channels(names: &[&str]) -> String {
    format!("not set up: {}", names.join(", "))
}

/// A setting that a channel needs is empty.
pub fn lacks(name: &str, need: &Need) -> String {
    format!("channels.{name}.{} is empty. {}", need.key, need.how)
}

/// A channel whose settings are all it takes.
pub(super) fn needs_no_login(title: &str, name: &str) -> String {
    format!("{title} needs no login. Set it up with `peacrab onboard --channel {name}`.")
}

/// The address of a chat that is named with or without its channel.
pub(super) fn address(channel: &str, chat: &str) -> Address {
    let rest = chat.strip_prefix(channel);
    let chat = rest.and_then(|rest| rest.strip_prefix(':')).unwrap_or(chat);
    Address::parse(&format!("{channel}:{chat}"))
}

/// Who has access to a channel.
pub(super) fn access(rules: &Rules, paired: usize) -> String {
    let named: Vec<String> = rules.named().map(|who| named(rules, who)).collect();
    let allowed = match named.as_slice() {
        [] => "nobody in allowFrom".to_owned(),
        _ if rules.is_open() => format!("everyone (allowFrom is *), as a {}", rules.default_role),
        list => list.join(", "),
    };
    format!("access: {allowed}, {paired} paired")
}

/// Someone who is named in the configuration, with a role that is not the usual one.
pub fn named(rules: &Rules, who: &str) -> String {
    match rules.roles.get(who) {
        Some(role) if *role < Role::Owner => format!("{who} ({role})"),
        _ => who.to_owned(),
    }
}

/// A person by the name that they chose and by the id that never changes.
pub fn person(name: &str, id: &str) -> String {
    match one_line(name, usize::MAX) {
        name if name.is_empty() => id.to_owned(),
        name => format!("{name} ({id})"),
    }
}

/// Everyone who is paired, and everyone who waits. `command` is the command that pairs, without the
/// code; `now` is in seconds since 1970.
pub(super) fn pairings(paired: &[Paired], waiting: &[Offer], command: &str, now: i64) -> String {
    let mut lines = Vec::new();
    if !paired.is_empty() {
        lines.push("Paired:".to_owned());
    }
    for one in paired {
        let person = person(&one.sender.name, &one.sender.id);
        // Another program may have written the time.
        let since = match DateTime::parse_from_rfc3339(&one.since) {
            Ok(since) => since.format("%Y-%m-%d").to_string(),
            Err(_) => one_line(&one.since, usize::MAX),
        };
        lines.push(format!(
            "  {person} on {}, since {since}{}",
            title(&one.channel),
            match one.role {
                Role::Owner => String::new(),
                role => format!(", as a {role}"),
            }
        ));
    }
    if !waiting.is_empty() {
        lines.push("Waiting for approval:".to_owned());
    }
    for one in waiting {
        let person = person(&one.sender.name, &one.sender.id);
        let minutes = usize::try_from((one.seconds_left(now) + 59).max(60) / 60).unwrap_or(1);
        let valid = count_of(minutes, "minute", "minutes");
        lines.push(format!(
            "  {person} on {}, code {}, valid for {valid}",
            title(&one.channel),
            one.code
        ));
    }
    lines.push(match (paired, waiting) {
        ([], []) => {
            "No one is paired. Send the bot a message; it replies with the command that pairs you."
                .to_owned()
        }
        (_, [first, ..]) => format!("To give access: {command} {}", first.code),
        (_, []) => format!("To remove someone: {command} --remove ID"),
    });
    lines.join("\n")
}

/// A person who was paired is not told so.
pub(super) fn welcome_failed(error: &Error) -> String {
    format!("warning: the bot does not welcome them: {error}")
}

pub(super) fn removed(id: &str) -> String {
    format!("Removed {id}.")
}

pub(super) fn not_paired(id: &str) -> String {
    format!("No one with the id {id} is paired. `peacrab channels pair` lists who is.")
}

pub(super) fn invitation(code: &str, minutes: i64) -> String {
    format!("Anyone who sends this to the bot within {minutes} minutes gets access: /pair {code}")
}

pub(super) fn bot_works(channel: &str, name: &str) -> String {
    format!("{channel} works: the bot is {name}")
}

pub(super) fn test_sent(chat: &str) -> String {
    format!("Sent a message to {chat}.")
}

/// The gateway's greeting on a terminal: which bots listen, who has access and what to do next.
/// `bots` are lines about each channel, such as `Listening as @crabby_bot on Telegram.`, or why it does not.
pub fn greeting(bots: &[Result<String, String>], people: &[String], lacks_model: bool) -> String {
    let mut lines: Vec<String> = bots
        .iter()
        .map(|bot| match bot {
            Ok(text) | Err(text) => text.clone(),
        })
        .collect();
    lines.push(match people {
        _ if bots.is_empty() => "No chat is connected. To connect one: peacrab onboard".to_owned(),
        [] => {
            "No one has access yet: send the bot a message, then run the command it replies with."
                .to_owned()
        }
        people => format!("Access: {}.", people.join(", ")),
    });
    if lacks_model {
        lines.push(
            "No model is connected, so only the offline helper answers. To connect one: peacrab onboard"
                .to_owned(),
        );
    }
    lines.push("Press Ctrl-C to stop.".to_owned());
    lines.join("\n")
}

//! The table of the members of `agents.list` and `agents.bindings`.

use crate::config::channels::SOURCES;
use crate::config::key::{Key, Kind, key};
use crate::config::table::keys;

/// The settings of `agents.defaults` that an entry of `agents.list` may have too.
pub const INHERITED: [&str; 13] = [
    "provider",
    "model",
    "fallbackModels",
    "maxTokens",
    "contextWindowTokens",
    "temperature",
    "reasoningEffort",
    "maxToolIterations",
    "memoryWindow",
    "maxToolResultChars",
    "skills",
    "review",
    "reviewModel",
];

/// The members of an agent that `agents.defaults` does not have, or that mean something else there.
#[rustfmt::skip]
static AGENT: &[Key] = &[
    key("id", Kind::Text, r#""""#, "Required. 1 to 32 lower-case letters, digits and hyphens."),
    key("name", Kind::Text, r#""""#, "A name for people."),
    key("default", Kind::Flag, "false", "Whether this agent answers where no binding applies, in place of main."),
    key("workspace", Kind::Path, r#""""#, "Empty: agents/ID/workspace in the home folder (for main: agents.defaults.workspace)."),
];

#[rustfmt::skip]
static BINDING: &[Key] = &[
    key("agent", Kind::Text, r#""""#, "Required. The id of the agent that answers."),
    key("channel", Kind::Choice(&SOURCES), r#""""#, "Only messages on this channel; http: of programs, web: of the web page."),
    key("chat", Kind::Text, r#""""#, "Only messages in the chat with this id (/id shows it; for http: the token's name), or in one of its threads: CHAT:THREAD."),
    key("sender", Kind::Text, r#""""#, "Only messages in the private chat with the person with this id."),
];

/// The members that the entries of a list may have, in the order of `peacrab config explain`; none for
/// any other type.
pub fn members(kind: Kind) -> impl Iterator<Item = (&'static str, &'static Key)> {
    let own = match kind {
        Kind::Agents => AGENT,
        Kind::Bindings => BINDING,
        _ => &[],
    };
    let inherited = keys().filter_map(move |key| {
        let name = key.path.strip_prefix("agents.defaults.")?;
        (kind == Kind::Agents && INHERITED.contains(&name)).then_some((name, key))
    });
    own.iter().map(|key| (key.path, key)).chain(inherited)
}

/// The member of this name.
pub fn member(kind: Kind, name: &str) -> Option<&'static Key> {
    members(kind).find_map(|(known, key)| (known == name).then_some(key))
}

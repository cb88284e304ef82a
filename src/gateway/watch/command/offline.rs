//! Watches on the command line, without a gateway: what can be known of them all the same.

use std::fmt::Write;
use std::path::Path;

use super::ON_COMMAND_LINE;
use super::describe::with_pause;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::watch::{HOST_TIMEOUT, WATCHES_MAX};
use crate::base::message::Address;
use crate::board::reading::Reading;
use crate::board::watch::store::Added;
use crate::board::watch::{Blind, Cause, Quantity, Store, What, parse};
use crate::gateway::watch::{journal, root, system, texts, usage};
use crate::net::Dialer;
use crate::text::markup::{self, inline_code};

/// That there are no rules yet, and how to add one on the command line.
pub(super) fn no_rules(language: Language) -> String {
    let example = parse::on_command_line("temperature > 75 for 5m");
    texts::no_rules(language, &inline_code(&example))
}

/// The watches of the file as lines, for where no gateway runs; empty without any.
pub fn describe_offline(store: &Store) -> Result<String> {
    let read = store.read()?;
    let mut text = String::new();
    for watch in &read.watches {
        let _ = write!(text, "{}. {}", watch.id, watch.rule);
        let blind = match watch.is_paused {
            true => None,
            false => look_offline(&watch.rule.what, false),
        };
        match (watch.is_paused, blind) {
            (true, _) => text += ": paused",
            (false, Some(why)) => {
                let why = markup::parse(&why.describe(Language::English), &|_| false);
                let _ = write!(text, ": {}", why.text());
            }
            (false, None) => {}
        }
        text.push('\n');
    }
    for fault in &read.faults {
        let _ = writeln!(text, "not usable: {fault}");
    }
    Ok(text)
}

/// What became of a rule that was added on the command line.
pub struct AddedToFile {
    /// Its number, if it is new.
    pub id: Option<u32>,
    /// What people read, as Markdown.
    pub text: String,
}

/// Adds a watch to the file, after the checks that a chat makes. What cannot be seen is said, by what this account sees.
pub fn add_to_file(
    store: &Store,
    text: &str,
    chat: Option<&Address>,
    language: Language,
) -> Result<AddedToFile> {
    let rule = parse::parse_spelled(text, parse::on_command_line, language).map_err(usage)?;
    check_rule(&rule.what, &root(), language)?;
    check_file(&rule.what, store, language)?;
    let shown = inline_code(&rule.to_string());
    let what = rule.what.clone();
    match store.insert(rule, Cause::typed(chat))? {
        Added::New(id) => {
            let text = match look_offline(&what, true) {
                Some(why) => texts::added(language, &id, &shown, &why.describe(language)),
                None => texts::added_later(language, &id, &shown),
            };
            let text = with_pause(text, &what, language);
            Ok(AddedToFile { id: Some(id), text })
        }
        Added::Known(id) => Ok(AddedToFile {
            id: None,
            text: texts::exists(language, &id, &shown),
        }),
        Added::NoProcess(pid) => Err(usage(texts::no_process(language, &pid))),
        Added::NoFile => Err(usage(texts::no_file(language).to_owned())),
        Added::TooMany => Err(usage(texts::too_many(
            language,
            &WATCHES_MAX,
            &ON_COMMAND_LINE,
        ))),
    }
}

/// Fails for a rule that can never see anything on this board, or never be an alarm.
pub(super) fn check_rule(what: &What, root: &Path, language: Language) -> Result<()> {
    match what {
        What::Service(_) if system::services(root).is_none() => {
            Err(usage(texts::no_systemd(language).to_owned()))
        }
        What::Value {
            quantity,
            is_over,
            threshold,
            ..
        } => {
            let is_beyond = match is_over {
                true => *threshold >= 100.0,
                false => *threshold <= 0.0,
            };
            if is_beyond && quantity.unit() == " %" {
                let name = inline_code(quantity.name());
                return Err(usage(texts::never(language, &name)));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Fails for a file in the home that is of no workspace: lines of it would be sent with the secrets in them.
pub(super) fn check_file(what: &What, store: &Store, language: Language) -> Result<()> {
    let What::File { path, .. } = what else {
        return Ok(());
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = real(Path::new(path));
    let below = file.strip_prefix(real(store.folder())).ok();
    let is_of_agent = |below: &Path| {
        let mut parts = below.components();
        parts.any(|part| part.as_os_str() == "workspace")
    };
    match below {
        Some(below) if !is_of_agent(below) => Err(usage(texts::own_file(language).to_owned())),
        _ => Ok(()),
    }
}

/// Why a rule sees nothing, as far as that is known without a gateway; with `all`, names are resolved too.
fn look_offline(what: &What, all: bool) -> Option<Blind> {
    match what {
        What::File { path, .. } => {
            let opened = crate::sys::file::open_to_read(Path::new(path));
            opened.err().map(|error| Blind::of_file(&error))
        }
        What::Service(name) => system::blind_service(&root(), name),
        What::Log { .. } => journal::complain(),
        What::Value { quantity, .. } => match quantity.path() {
            Some(path) => {
                let path = root().join(path.trim_start_matches('/'));
                (!path.exists()).then_some(Blind::NoFolder)
            }
            None if *quantity == Quantity::Temperature => {
                let board = Reading::take(&root(), Path::new("/"));
                board.temperatures.is_empty().then_some(Blind::NotReported)
            }
            None => None,
        },
        What::Host { host, port } if all => {
            let cancel = Cancel::new();
            let dialer = Dialer::new(&cancel);
            let resolved = dialer.resolve(host, port.unwrap_or_default(), HOST_TIMEOUT);
            resolved.err().map(|_| Blind::NoName)
        }
        What::Host { .. } | What::Port(_) | What::Pid(_) | What::Command { .. } => None,
    }
}

//! `/watch`: lists, adds and changes watches. So do the buttons below their messages, the command line and the model's
//! tool, over the file.

mod describe;
mod offline;

use std::fmt::Write;
use std::sync::Arc;

use super::FIRST_LOOK_TIME;
use super::{Item, Look, texts, usage};
use crate::agent::commands::CommandAnswer;
use crate::base::access::Role;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::cancel::POLL;
use crate::base::limits::watch::{SECONDS_MAX, WATCHES_MAX};
use crate::base::message::{Address, Author, CommandButton};
use crate::board::watch::notice::format_span;
use crate::board::watch::rule::millis;
use crate::board::watch::store::{self, Added};
use crate::board::watch::texts as words;
use crate::board::watch::{Cause, Entry, Mute, Rule, Subject, Then, Watch, What, parse};
use crate::gateway::Gateway;
use crate::gateway::commands::Call;
use crate::gateway::commands::texts::{format_error, list_comma};
use crate::text::markup::{inline_code, plain};
use crate::text::one_line;
use describe::{describe_look, describe_state, is_reported, is_well, with_pause};
use offline::no_rules;

pub use offline::{AddedToFile, add_to_file, describe_offline};

/// How long `/watch mute` mutes, in seconds.
const MUTE_SECONDS: u64 = 3600;
/// Characters of a detail in a list.
const NOTE_CHARS: usize = 120;

/// The words that begin no rule.
const VERBS: [&str; 13] = [
    "", "list", "ls", "help", "test", "pause", "resume", "remove", "rm", "mute", "unmute", "on",
    "off",
];

/// The command that lists the watches on the command line.
const ON_COMMAND_LINE: &str = "`peacrab watch`";

/// Who changes watches: a chat sees its own and the built-in ones, the command line all.
#[derive(Clone, Copy)]
struct Asker<'a> {
    chat: Option<&'a Address>,
    language: Language,
    role: Role,
    author: Option<&'a Author>,
    /// Whether others read the answer.
    is_group: bool,
}

impl Asker<'_> {
    /// The command that lists the watches.
    fn command(self) -> &'static str {
        match self.chat {
            Some(_) => "/watch",
            None => ON_COMMAND_LINE,
        }
    }
}

impl Gateway {
    /// Answers `/watch` of a chat, on a thread.
    pub(in crate::gateway) fn watch_command(self: &Arc<Self>, call: &Call<'_>) {
        let (message, argument, language) = (call.message, call.argument, call.language);
        let chat = message.address();
        let author = message.author();
        let asker = Asker {
            chat: Some(&chat),
            language,
            role: message.role,
            author: author.as_ref(),
            is_group: message.is_group,
        };
        let is_addition = !VERBS.contains(&verb_of(argument).0.as_str());
        let held = is_addition.then(|| self.parts.watches.hold(&chat));
        let answer = self.answer_watch(asker, argument);
        let answer = answer.unwrap_or_else(|error| format_error(&error, language).into());
        self.finish_command(message, answer);
        drop(held);
    }

    /// The list of watches for the person of a call.
    pub(in crate::gateway) fn report_watches(
        self: &Arc<Self>,
        call: &Call<'_>,
    ) -> Result<CommandAnswer> {
        let (chat, author) = (call.message.address(), call.message.author());
        let asker = Asker {
            chat: Some(&chat),
            language: call.language,
            role: call.message.role,
            author: author.as_ref(),
            is_group: false,
        };
        self.answer_watch(asker, "list")
    }

    /// Answers what the command line asks, in plain text.
    pub(in crate::gateway) fn watch_control(self: &Arc<Self>, argument: &str) -> Result<String> {
        let asker = Asker {
            chat: None,
            language: Language::English,
            role: Role::Owner,
            author: None,
            is_group: false,
        };
        if argument == "list" {
            // A list that cannot be read is no list.
            self.parts.watches.store.read()?;
        }
        self.answer_watch(asker, argument).map(|answer| answer.text)
    }

    fn answer_watch(self: &Arc<Self>, asker: Asker<'_>, argument: &str) -> Result<CommandAnswer> {
        let language = asker.language;
        if !self.live().watch.enabled {
            return Err(usage(texts::turned_off(language).to_owned()));
        }
        let (verb, rest) = verb_of(argument);
        let (name, rest) = rest
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((rest.trim(), ""));
        let text = match verb.as_str() {
            "" | "list" | "ls" => {
                self.settle_watches();
                self.list_watches(asker, verb.is_empty() && asker.chat.is_some())
            }
            "help" => format!(
                "{}\n\n{}",
                texts::usage(language),
                parse::examples(parse::in_chat)
            ),
            // From the command line, which has added it to the file.
            "added" if asker.chat.is_none() => {
                self.settle_watches();
                self.describe_added(&*self.find_watch(asker, name)?, language)
            }
            verb if VERBS.contains(&verb) => {
                self.settle_watches();
                if name.is_empty() {
                    let name = self.example_for(asker, verb);
                    return Err(usage(texts::which(language, &verb, &name)));
                }
                let item = self.find_watch(asker, name)?;
                self.change_watch(asker, &item, verb, rest.trim())?
            }
            _ => return self.add_watch(asker, argument),
        };
        Ok(text.into())
    }

    /// Whether someone may see and change an item: an owner also those that others cannot remove themselves, and those
    /// of the board's own terminal, unless others read the answer.
    fn is_visible(&self, asker: Asker<'_>, item: &Item) -> bool {
        let is_typed = item.author.is_none() && !item.by_model;
        let is_private = asker.role == Role::Owner && !asker.is_group;
        let is_own =
            asker.chat.is_none() || item.chat.as_ref() == asker.chat || is_typed && is_private;
        item.is_built_in || is_own || item.role < Role::Owner || self.has_no_access(item)
    }

    /// The number or name of a watch that a verb could be for.
    fn example_for(&self, asker: Asker<'_>, verb: &str) -> String {
        let shared = self.parts.watches.shared.lock();
        let is_off = |item: &Item| shared.entries.get(&item.key).is_some_and(|it| it.is_off);
        let (built_in, own): (Vec<_>, Vec<_>) = shared
            .items
            .iter()
            .filter(|item| self.is_visible(asker, item))
            .partition(|item| item.is_built_in);
        let found = match verb {
            "on" => built_in.iter().find(|item| is_off(item)),
            "off" => built_in.iter().find(|item| !is_off(item)),
            "resume" => own.iter().find(|item| item.is_paused),
            _ => own.iter().find(|item| !item.is_paused),
        };
        let any = match verb {
            "on" | "off" => &built_in,
            _ => &own,
        };
        let found = found.or_else(|| any.first());
        found.map_or_else(|| "1".to_owned(), |item| item.key.clone())
    }

    /// The watch with a number or a built-in name that a chat may change.
    fn find_watch(&self, asker: Asker<'_>, name: &str) -> Result<Arc<Item>> {
        let name = name.to_lowercase();
        let name = name.trim_start_matches('#').trim_end_matches('.');
        let item = self
            .watch_item(name)
            .filter(|item| self.is_visible(asker, item));
        item.ok_or_else(|| unknown(asker, name))
    }

    fn change_watch(
        self: &Arc<Self>,
        asker: Asker<'_>,
        item: &Item,
        verb: &str,
        rest: &str,
    ) -> Result<String> {
        let (watches, language) = (&self.parts.watches, asker.language);
        let is_built_in = item.is_built_in;
        let rule = inline_code(if is_built_in { &item.key } else { &item.rule });
        let set_paused = |is_paused: bool| {
            self.change_file(asker, item, |list, index| {
                if let Some(watch) = list.get_mut(index) {
                    watch.is_paused = is_paused;
                }
            })
        };
        let set_off = |is_off: bool| {
            self.change_entry(asker, item, |entry| {
                entry.is_off = is_off;
                if is_off {
                    entry.tracker = Default::default();
                    entry.notice = None;
                }
            })
        };
        let mute = |ms: Option<i64>| {
            let since = watches.now(self.clock());
            self.change_entry(asker, item, |entry| {
                // Without any time left it ends as a mute does: what is still an alarm is told.
                entry.muted = match (ms, entry.muted) {
                    (None, None) => None,
                    (ms, _) => Some(Mute {
                        since,
                        ms: ms.unwrap_or_default(),
                    }),
                };
                entry.notice = None;
            })
        };
        Ok(match (verb, item.is_built_in) {
            ("test", _) => {
                let look = self.look_fresh(item);
                let state = texts::now(language, &rule, &describe_look(item, &look, language));
                self.with_unseen(state, item, language)
            }
            ("pause", false) => {
                set_paused(true)?;
                texts::paused(language, &rule)
            }
            ("resume", false) => {
                set_paused(false)?;
                texts::resumed(language, &rule)
            }
            ("remove" | "rm", false) => {
                self.change_file(asker, item, |list, index| drop(list.remove(index)))?;
                texts::removed(language, &rule)
            }
            ("off" | "pause", true) => {
                set_off(true)?;
                texts::off(language, &item.key)
            }
            ("on" | "resume", true) => {
                set_off(false)?;
                texts::on(language, &item.key)
            }
            ("mute", _) => {
                let seconds = match rest {
                    "" => Some(MUTE_SECONDS),
                    time => {
                        parse::seconds(time).filter(|seconds| (1..=SECONDS_MAX).contains(seconds))
                    }
                };
                let wrong = || usage(texts::wrong_time(language, &item.key));
                let ms = millis(seconds.ok_or_else(wrong)?);
                mute(Some(ms))?;
                texts::muted(language, &rule, &format_span(ms, language))
            }
            ("unmute", _) => {
                mute(None)?;
                texts::unmuted(language, &rule)
            }
            ("on" | "off", false) => {
                return Err(usage(texts::not_built_in(language, &item.key)));
            }
            _ => return Err(usage(texts::only_off(language, &item.key))),
        })
    }

    /// Changes what is known of a watch.
    fn change_entry(
        &self,
        asker: Asker<'_>,
        item: &Item,
        change: impl FnOnce(&mut Entry),
    ) -> Result<()> {
        let is_there = self.parts.watches.change_entry(&item.key, change);
        is_there
            .then_some(())
            .ok_or_else(|| unknown(asker, &item.key))
    }

    /// Changes the list in the file, where the watch is at an index.
    fn change_file(
        &self,
        asker: Asker<'_>,
        item: &Item,
        change: impl FnOnce(&mut Vec<Watch>, usize),
    ) -> Result<()> {
        self.parts.watches.store.change(|list| {
            let mut ids = list.iter().map(|watch| watch.id.to_string());
            let index = ids.position(|id| id == item.key);
            change(list, index.ok_or_else(|| unknown(asker, &item.key))?);
            Ok(())
        })?;
        self.parts.watches.look_again();
        Ok(())
    }

    fn add_watch(self: &Arc<Self>, asker: Asker<'_>, text: &str) -> Result<CommandAnswer> {
        let language = asker.language;
        let rule = parse::parse(text, language).map_err(usage)?;
        let watches = &self.parts.watches;
        offline::check_rule(&rule.what, &watches.root, language)?;
        offline::check_file(&rule.what, &watches.store, language)?;
        let cause = Cause {
            chat: asker.chat,
            role: asker.role,
            author: asker.author,
            by_model: false,
        };
        let remove = |id: &dyn std::fmt::Display| CommandButton {
            label: words::remove_button(language).to_owned(),
            command: format!("/watch remove {id}"),
        };
        let shown = inline_code(&rule.to_string());
        if let Some(same) = self.typed_for(asker, &rule) {
            return Ok(CommandAnswer {
                text: texts::exists(language, &same.key, &shown),
                buttons: vec![vec![remove(&same.key)]],
                ..CommandAnswer::default()
            });
        }
        let (id, is_new) = match watches.store.insert(rule.clone(), cause)? {
            Added::New(id) => (id, true),
            Added::Known(id) => (id, false),
            Added::NoProcess(pid) => return Err(usage(texts::no_process(language, &pid))),
            Added::NoFile => return Err(usage(texts::no_file(language).to_owned())),
            Added::TooMany if asker.role < Role::Owner => {
                let most = asker.role.places(WATCHES_MAX);
                return Err(usage(texts::too_many_of_others(language, &most)));
            }
            Added::TooMany => {
                return Err(usage(texts::too_many(
                    language,
                    &WATCHES_MAX,
                    &asker.command(),
                )));
            }
        };
        watches.look_again();
        self.settle_watches();
        let text = match (is_new, self.watch_item(&id.to_string())) {
            (false, _) => texts::exists(language, &id, &shown),
            (true, Some(item)) => self.describe_added(&item, language),
            (true, None) => texts::added_later(language, &id, &shown),
        };
        Ok(CommandAnswer {
            text,
            buttons: vec![vec![remove(&id)]],
            ..CommandAnswer::default()
        })
    }

    /// The watch of the command line with this rule that tells the chat already.
    fn typed_for(&self, asker: Asker<'_>, rule: &Rule) -> Option<Arc<Item>> {
        self.read_watches();
        let home = self.parts.watches.store.folder();
        let items = self.parts.watches.shared.lock().items.clone();
        items.into_iter().find(|item| {
            // A built-in one has a name, and may be turned off.
            item.key.parse::<u32>().is_ok()
                && item.chat.is_none()
                && item.rule().is_some_and(|it| store::is_same(it, rule, home))
                && self.chat_of_watch(item).as_ref() == asker.chat
        })
    }

    /// That a new item is watched, and what the first look has found.
    fn describe_added(self: &Arc<Self>, item: &Item, language: Language) -> String {
        let look = self.look_first(item);
        let (rule, state) = (
            inline_code(&item.rule),
            describe_look(item, &look, language),
        );
        let added = texts::added(language, &item.key, &rule, &state);
        let added = match item.rule() {
            Some(rule) => with_pause(added, &rule.what, language),
            None => added,
        };
        self.with_unseen(added, item, language)
    }

    /// A text about an item, with a line about what the commands of its rule will not see of the board.
    fn with_unseen(self: &Arc<Self>, text: String, item: &Item, language: Language) -> String {
        let watched = item.rule().and_then(|rule| match &rule.what {
            What::Command { line, .. } => Some(line),
            _ => None,
        });
        let then = item.rule().and_then(|rule| match &rule.then {
            Then::Run(line) => Some(line),
            _ => None,
        });
        let agent = self.agent_of_watch(item);
        let unseen = agent.ok().and_then(|agent| {
            let mut lines = watched.into_iter().chain(then);
            lines.find_map(|line| agent.toolbox().unseen_by(line, language))
        });
        match unseen {
            Some(unseen) => format!("{text}\n{unseen}"),
            None => text,
        }
    }

    /// Looks at an item now. What only a series of looks can tell is as it was found last.
    fn look_fresh(self: &Arc<Self>, item: &Item) -> Look {
        let watches = &self.parts.watches;
        let is_kept = match &item.subject {
            Subject::Rule(rule) => matches!(rule.what, What::File { .. } | What::Log { .. }),
            Subject::BuiltIn(_) => true,
        };
        if is_kept {
            let shared = watches.shared.lock();
            return shared.found.get(&item.key).cloned().unwrap_or_default();
        }
        self.probe(item, &watches.tick(watches.now(self.clock())))
    }

    /// What the first look at a new item finds. What takes long is looked at once, by the thread that watches, and not
    /// waited for.
    fn look_first(self: &Arc<Self>, item: &Item) -> Look {
        let watches = &self.parts.watches;
        let what = item.rule().map(|rule| &rule.what);
        let takes_long = |what: &What| {
            matches!(
                what,
                What::Host { .. } | What::Log { .. } | What::Command { .. }
            )
        };
        if !what.is_some_and(takes_long) {
            return self.look_fresh(item);
        }
        let begun = Stopwatch::start();
        loop {
            let found = watches.shared.lock().found.get(&item.key).cloned();
            let is_late = begun.elapsed() >= FIRST_LOOK_TIME || watches.cancel.wait(POLL);
            if found.is_some() || is_late {
                return found.unwrap_or_default();
            }
        }
    }

    /// The watches as a list; where it `is_brief`, the built-in ones that are well are one line.
    fn list_watches(&self, asker: Asker<'_>, is_brief: bool) -> String {
        let (watches, language) = (&self.parts.watches, asker.language);
        let now = watches.now(self.clock());
        let shared = watches.shared.lock();
        let mut own = String::new();
        let mut built_in = String::new();
        let mut fine: Vec<&str> = Vec::new();
        let mut others = String::new();
        for item in shared
            .items
            .iter()
            .filter(|item| self.is_visible(asker, item))
        {
            let state = describe_state(item, &shared, now, language);
            if item.is_built_in && is_brief && is_well(item, &shared) {
                fine.extend(is_reported(item, &shared).then_some(item.key.as_str()));
            } else if item.is_built_in {
                let _ = write!(
                    built_in,
                    "\n{}",
                    texts::built_in_line(language, &item.key, &state)
                );
            } else if let Some(chat) = item
                .chat
                .as_ref()
                .filter(|chat| asker.chat.is_some_and(|own| own != *chat))
            {
                let rule = inline_code(&item.rule);
                let chat = inline_code(&chat.to_string());
                if !asker.is_group {
                    let _ = write!(
                        others,
                        "\n{}",
                        texts::other_line(language, &item.key, &rule, &chat)
                    );
                }
            } else {
                let rule = inline_code(&item.rule);
                let _ = write!(own, "\n{}", texts::line(language, &item.key, &rule, &state));
            }
        }
        let mut text = match own.is_empty() {
            true if asker.chat.is_none() => no_rules(language),
            true => texts::none(language).to_owned(),
            false => format!("{}{own}", texts::heading(language)),
        };
        if !others.is_empty() {
            let _ = write!(text, "\n\n{}{others}", texts::others(language));
        }
        if !built_in.is_empty() {
            let _ = write!(text, "\n\n{}{built_in}", texts::built_in(language));
        }
        if !fine.is_empty() {
            let names = fine.join(list_comma(language));
            let _ = write!(text, "\n\n{}", texts::built_in_well(language, &names));
        }
        if !shared.faults.is_empty() {
            let path = inline_code(&watches.store.path().display().to_string());
            let _ = write!(text, "\n\n{}", texts::faults(language, &path));
            for fault in &shared.faults {
                let _ = write!(text, "\n- {}", plain(fault));
            }
        }
        if asker.chat.is_some() && own.is_empty() {
            let _ = write!(text, "\n\n{}", texts::usage(language));
        }
        text
    }
}

/// The first word of an argument in lower case, and the rest.
fn verb_of(argument: &str) -> (String, &str) {
    let (verb, rest) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    (verb.to_lowercase(), rest)
}

/// That a chat has no watch of this name, or none any more.
fn unknown(asker: Asker<'_>, name: &str) -> Error {
    let name = inline_code(&one_line(name, NOTE_CHARS));
    usage(texts::unknown(asker.language, &name, &asker.command()))
}

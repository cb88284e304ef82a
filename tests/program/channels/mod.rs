//! What people are promised on every channel: one conversation and a table of stories, told for each of them.
//!
//! A channel implements [`Service`] over its fake and has one line of `table!` below. A story that it cannot tell
//! stands in [`Service::lacks`], with the reason.

mod conversation;
mod dingtalk;
mod discord;
mod email;
mod feishu;
mod irc;
mod local;
mod matrix;
mod mochat;
mod qq;
mod slack;
mod stories;
mod telegram;
mod together;
mod whatsapp;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Step};
use crate::harness::wait_until;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// An owner, by the configuration.
    Ana,
    /// Somebody whom the program does not know.
    Stranger,
}

/// Where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The private chat of this person with the bot.
    Private(Who),
    /// A group with both people and the bot.
    Group,
}

/// Ana's private chat.
pub const HERE: Place = Place::Private(Who::Ana);

/// A message of the bot's, as it is in the chat now.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Its id.
    pub id: String,
    /// Its text as people read it.
    pub text: String,
    /// The same as it was sent, with the markup.
    pub written: String,
    /// The labels of its buttons.
    pub buttons: Vec<String>,
    /// Its files: names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A channel: its fake server, with the people and the group.
pub trait Service: Sized {
    /// Its name in the configuration.
    const NAME: &'static str;
    /// The most that one message holds, as [`Service::length`] counts.
    const LENGTH_MAX: usize;
    /// Whether its messages have buttons, and whether they can be edited.
    const BUTTONS: bool = true;
    /// See [`Service::BUTTONS`].
    const EDITS: bool = true;
    /// Whether a file has a text beside it.
    const CAPTIONS: bool = true;
    /// Whether a file of `peacrab send` and its text are one message.
    const ONE_MESSAGE: bool = true;
    /// The words with which a person hears that no file can be sent, where that is so.
    const NO_FILES: Option<&'static str> = None;

    /// The stories, and the parts of the conversation, that it cannot tell, each with the reason.
    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// A server with Ana, a stranger and a group.
    fn start() -> Self;

    /// Its section of the configuration: with Ana in `allowFrom`.
    fn section(&self) -> Value;

    /// Further settings of the whole configuration, by JSON pointers.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// What waits until a gateway that is started after this call is connected.
    fn connecting(&self) -> Box<dyn FnOnce() + '_>;

    /// Starts a gateway; returns when it is connected.
    fn connect(&self, home: &Home) -> Gateway {
        let connected = self.connecting();
        let gateway = Gateway::start(home);
        connected();
        gateway
    }

    /// Somebody writes; in a group without naming the bot. Returns the message's id.
    fn says(&self, who: Who, place: Place, text: &str) -> String;

    /// The same, naming the bot.
    fn mentions(&self, who: Who, place: Place, text: &str) -> String;

    /// Somebody passes on in private what somebody else has written.
    fn forwards(&self, who: Who, place: Place, text: &str);

    /// Somebody sends a file with a text; an empty one where it has none.
    fn sends_file(&self, who: Who, place: Place, text: &str, file: (&str, &[u8]));

    /// Somebody edits their message.
    fn edits(&self, who: Who, place: Place, message: &str, text: &str);

    /// Somebody presses the newest button with this label, as soon as it is there. Where there are no buttons, they
    /// reply with its number.
    fn presses(&self, who: Who, place: Place, label: &str) {
        let mut number = None;
        wait_until(&format!("a choice {label:?}"), || {
            let newest_first = self.shown(place).into_iter().rev();
            number = newest_first
                .filter_map(|shown| number_of(&shown.text, label))
                .next();
            number.is_some()
        });
        self.says(who, place, &number.unwrap().to_string());
    }

    /// What is in a place from the bot, oldest first.
    fn shown(&self, place: Place) -> Vec<Shown>;

    /// How long a text is, in the channel's unit.
    fn length(text: &str) -> usize;

    /// Whether a message shows a text as code.
    fn is_code(shown: &Shown, text: &str) -> bool;

    /// Breaks the connection, without a word. The client may connect again at once.
    fn disconnect(&self);

    /// Refuses the bot's next message because of a rate limit, for less than a second.
    fn limit_next(&self);

    /// Refuses the next question for what people have written, because of a limit of 40 s. Returns whether it was.
    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_>;

    /// Allows messages that come faster than the service takes them: a program that was killed cannot know when it
    /// sent its last ones.
    fn forgives_haste(&self) {}

    /// Whether messages come by themselves, besides those that are asked for after an interruption.
    const PUSHES: bool = false;

    /// Makes everything unreachable, or reachable again. What people write meanwhile is there afterwards.
    fn outage(&self, is_on: bool);
}

/// The number of a choice in a text such as `Reply with a number: 1 Run once · 2 Deny`.
fn number_of(text: &str, label: &str) -> Option<usize> {
    let (before, _) = text
        .split_once("Reply with a number:")
        .map(|(_, rest)| rest)?
        .split_once(label)?;
    let word = before.split_whitespace().last()?;
    word.trim_matches(|char: char| !char.is_ascii_digit())
        .parse()
        .ok()
}

/// A scripted model, a channel, and a home that knows both.
pub struct Scene<S> {
    pub model: Model,
    pub service: S,
    pub home: Home,
}

impl<S: Service> Scene<S> {
    /// The model plays a script. Without a step it must not be asked.
    pub fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(Model::playing(script))
    }

    /// See [`Model::counting`].
    pub fn counting() -> Self {
        Self::with(Model::counting())
    }

    /// Any model.
    pub fn with(model: Model) -> Self {
        let service = S::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({S::NAME: service.section()}));
        for (pointer, value) in service.settings() {
            home.set(pointer, value);
        }
        Self {
            model,
            service,
            home,
        }
    }

    /// A gateway that is connected.
    pub fn start(&self) -> Gateway {
        self.service.connect(&self.home)
    }

    /// What is in a place from the bot.
    pub fn texts(&self, place: Place) -> Vec<String> {
        let shown = self.service.shown(place).into_iter();
        shown.map(|shown| shown.text).collect()
    }

    /// Waits for a message in a place that contains these words; returns the oldest.
    #[track_caller]
    pub fn wait_for(&self, place: Place, words: &str) -> Shown {
        self.wait_for_any(place, words, |shown| shown.text.contains(words))
    }

    /// Waits for a message that fulfils a condition; returns the oldest.
    #[track_caller]
    pub fn wait_for_any(&self, place: Place, what: &str, holds: impl Fn(&Shown) -> bool) -> Shown {
        let mut found = None;
        wait_until(what, || {
            found = self.service.shown(place).into_iter().find(&holds);
            found.is_some()
        });
        found.unwrap()
    }

    /// The last words of a person in the model's request of that number, from 0.
    pub fn asked(&self, request: usize) -> String {
        let requests = self.model.requests();
        let messages = requests[request].messages();
        let person = messages.iter().rfind(|message| message["role"] == "user");
        person.unwrap()["content"].to_string()
    }
}

/// Runs a story, unless the channel has no such thing.
fn tell<S: Service>(name: &str, story: fn()) {
    match S::lacks().iter().find(|(lacking, _)| *lacking == name) {
        Some((_, why)) => eprintln!("{}: {name}: {why}", S::NAME),
        None => story(),
    }
}

/// What a channel lacks is a story that there is, with a reason, and not most of them.
fn check_lacks<S: Service>() {
    let names: BTreeSet<&str> = S::lacks().iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), S::lacks().len());
    let all = || stories::NAMES.iter().chain(&conversation::PARTS);
    for (name, why) in S::lacks() {
        assert!(all().any(|it| it == name), "no story is called {name}");
        assert!(why.len() > 20, "{name}: {why}");
    }
    assert!(names.len() * 2 < all().count(), "{names:?}");
}

macro_rules! table {
    ($($channel:ident: $service:ty),+ $(,)?) => {
        $(mod $channel {
            use super::{check_lacks, stories, tell};
            type Service = $service;

            #[test]
            fn what_it_lacks_is_known() {
                check_lacks::<Service>();
            }

            table!(@stories code_and_tables, sh, mention_in_group, edit, outage_of_ten_minutes, kills, stranger,
                a_forward_is_no_command, empty_answer, limited_catch_up);
        })+
    };
    (@stories $($story:ident),+) => {
        $(#[test]
        fn $story() {
            tell::<Service>(stringify!($story), stories::$story::<Service>);
        })+
    };
}

mod table {
    use super::{check_lacks, stories, tell};

    table! {
        telegram: crate::channels::telegram::Service,
        discord: crate::channels::discord::Service,
        slack: crate::channels::slack::Service,
        email: crate::channels::email::Service,
        matrix: crate::channels::matrix::Service,
        local: crate::channels::local::Service,
        feishu: crate::channels::feishu::Service,
        whatsapp: crate::channels::whatsapp::Service,
        qq: crate::channels::qq::Service,
        mochat: crate::channels::mochat::Service,
        dingtalk: crate::channels::dingtalk::Service,
        irc: crate::channels::irc::Service,
    }
}

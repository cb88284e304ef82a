//! What the chats of the web page show: the newest messages of each, what is being written, and who looks.
//!
//! The delivering threads change it; the thread of the connections reads what is new. It is memory alone: a chat that is
//! opened for the first time in a run begins with its journal.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::base::clock::Clock;
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::Button;

/// Messages that a chat shows: what people scroll back.
pub const MESSAGES: usize = 100;
/// Bytes of the texts of all chats together.
const BYTES: usize = 512 * 1024;
/// Chats that are shown; of more the one that changed first is forgotten.
const CHATS: usize = 64;
/// Pages of one person that look at a time, each a connection.
const LOOKS_OF_PERSON: usize = 8;
/// Pages that look at a time, of all people: half of the connections.
const LOOKS: usize = 32;

/// A message of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its id within the chat.
    pub id: String,
    /// Whether the person wrote it.
    pub is_own: bool,
    /// Its text.
    pub text: String,
    /// Whether the text is Markdown.
    pub is_marked: bool,
    /// Rows of buttons below it.
    pub buttons: Vec<Vec<Button>>,
    /// A file to it: its id and its name.
    pub file: Option<(String, String)>,
    /// When it came, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whether it was removed.
    pub is_gone: bool,
    /// When it changed last, as a version of the view.
    pub version: u64,
}

impl Message {
    fn as_json(&self) -> Value {
        if self.is_gone {
            return json!({"id": self.id, "gone": true});
        }
        let button = |button: &Button| json!({"label": button.label, "data": button.data});
        let row = |row: &Vec<Button>| row.iter().map(button).collect::<Vec<_>>();
        let rows: Vec<Vec<Value>> = self.buttons.iter().map(row).collect();
        let file = self.file.as_ref();
        let file = file.map(|(id, name)| json!({"id": id, "name": name}));
        json!({
            "id": self.id, "own": self.is_own, "text": self.text, "marked": self.is_marked, "buttons": rows,
            "file": file, "at": self.at_ms,
        })
    }

    fn bytes(&self) -> usize {
        // With its place in memory.
        self.text.len() + 200
    }
}

/// The chats.
pub struct View {
    inner: Mutex<Inner>,
    wake: Arc<OwnedFd>,
    looks: Arc<Mutex<BTreeMap<String, usize>>>,
}

#[derive(Default)]
struct Inner {
    chats: BTreeMap<String, Chat>,
    last_id: i64,
    version: u64,
}

#[derive(Default)]
struct Chat {
    messages: VecDeque<Message>,
    draft: String,
    draft_version: u64,
    /// When work was shown last, as a version.
    working: u64,
    /// When the last turn ended, as a version.
    rested: u64,
    version: u64,
    is_seeded: bool,
}

/// A page that looks, until this is dropped.
#[derive(Debug)]
pub struct Look {
    person: String,
    all: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Drop for Look {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&self.person) {
            *count = count.saturating_sub(1);
        }
        all.retain(|_, count| *count > 0);
    }
}

impl View {
    /// Nothing is shown. `wake` becomes writable news for the thread of the connections.
    pub fn new(wake: Arc<OwnedFd>) -> Self {
        Self {
            inner: Mutex::default(),
            wake,
            looks: Arc::default(),
        }
    }

    /// A page of a person begins to look; `None` when too many do.
    pub fn look(&self, person: &str) -> Option<Look> {
        let mut all = self.looks.lock();
        let own = all.get(person).copied().unwrap_or_default();
        if own >= LOOKS_OF_PERSON || all.values().sum::<usize>() >= LOOKS {
            return None;
        }
        all.insert(person.to_owned(), own + 1);
        Some(Look {
            person: person.to_owned(),
            all: Arc::clone(&self.looks),
        })
    }

    fn change<T>(&self, chat: &str, change: impl FnOnce(&mut Chat, &mut i64, u64) -> T) -> T {
        let mut inner = self.inner.lock();
        inner.version += 1;
        let version = inner.version;
        if !inner.chats.contains_key(chat) && inner.chats.len() >= CHATS {
            inner.forget_oldest();
        }
        let Inner { chats, last_id, .. } = &mut *inner;
        let this = chats.entry(chat.to_owned()).or_default();
        let changed = change(this, last_id, version);
        this.version = version;
        while this.messages.len() > MESSAGES {
            this.messages.pop_front();
        }
        inner.fit(chat);
        drop(inner);
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        changed
    }

    /// Adds a message; returns its id, which is made where it has none. What was being written is no longer shown: it has
    /// become the message, or is shown again below.
    pub fn add(&self, chat: &str, mut message: Message) -> String {
        let now_ms = Clock::System.now_ms();
        self.change(chat, |chat, last_id, version| {
            if message.id.is_empty() {
                // Never one of an earlier run.
                *last_id = now_ms.max(*last_id + 1);
                message.id = last_id.to_string();
            }
            if !message.is_own && !chat.draft.is_empty() {
                chat.draft.clear();
                chat.draft_version = version;
            }
            message.at_ms = now_ms;
            message.version = version;
            let id = message.id.clone();
            chat.messages.push_back(message);
            id
        })
    }

    /// Changes a message; false when it is not shown.
    pub fn edit(&self, chat: &str, id: &str, edit: impl FnOnce(&mut Message)) -> bool {
        self.change(chat, |chat, _, version| {
            let mut messages = chat.messages.iter_mut().rev();
            let found = messages.find(|one| one.id == id && !one.is_gone);
            found.is_some_and(|message| {
                edit(message);
                message.version = version;
                true
            })
        })
    }

    /// Removes a message; false when it is not shown.
    pub fn remove(&self, chat: &str, id: &str) -> bool {
        self.edit(chat, id, |message| {
            message.is_gone = true;
            message.text.clear();
            message.buttons.clear();
            message.file = None;
        })
    }

    /// Shows what is being written.
    pub fn draft(&self, chat: &str, text: &str) {
        self.change(chat, |chat, _, version| {
            text.clone_into(&mut chat.draft);
            (chat.draft_version, chat.working) = (version, version);
        });
    }

    /// Shows that something is at work.
    pub fn working(&self, chat: &str) {
        self.change(chat, |chat, _, version| chat.working = version);
    }

    /// A turn has ended.
    pub fn rested(&self, chat: &str) {
        self.change(chat, |chat, _, version| {
            chat.draft.clear();
            (chat.draft_version, chat.rested) = (version, version);
        });
    }

    /// Whether the chat begins with its journal.
    pub fn is_seeded(&self, chat: &str) -> bool {
        let inner = self.inner.lock();
        inner.chats.get(chat).is_some_and(|chat| chat.is_seeded)
    }

    /// Puts what was said earlier before what is shown.
    pub fn seed(&self, chat: &str, earlier: Vec<Message>) {
        self.change(chat, |chat, _, version| {
            if std::mem::replace(&mut chat.is_seeded, true) {
                return;
            }
            let is_shown = |one: &Message| {
                let mut shown = chat.messages.iter();
                shown.any(|other| other.is_own == one.is_own && other.text == one.text)
            };
            let mut all: VecDeque<Message> = earlier
                .into_iter()
                .filter(|one| !is_shown(one))
                .map(|one| Message { version, ..one })
                .collect();
            all.append(&mut chat.messages);
            chat.messages = all;
        });
    }

    /// Whether a message has a button with this data; returns the message's text.
    pub fn button(&self, chat: &str, id: &str, data: &str) -> Option<String> {
        let inner = self.inner.lock();
        let mut messages = inner.chats.get(chat)?.messages.iter();
        let message = messages.find(|one| one.id == id)?;
        let mut buttons = message.buttons.iter().flatten();
        buttons
            .any(|button| button.data == data)
            .then(|| message.text.clone())
    }

    /// The name of a file that a message of the chat has.
    pub fn file(&self, chat: &str, id: &str) -> Option<String> {
        let inner = self.inner.lock();
        let mut messages = inner.chats.get(chat)?.messages.iter();
        messages.find_map(|one| {
            let (file, name) = one.file.as_ref()?;
            (file == id).then(|| name.clone())
        })
    }

    /// The names of the chats of a person that are shown, without the person.
    pub fn chats_of(&self, person: &str) -> Vec<String> {
        let inner = self.inner.lock();
        let chats = inner.chats.keys();
        chats
            .filter_map(|chat| Some(chat.strip_prefix(person)?.strip_prefix(':')?.to_owned()))
            .collect()
    }

    /// What is new in a chat since a version, and the version now; 0 for all of it.
    pub fn since(&self, chat: &str, seen: u64) -> Option<(Value, u64)> {
        let inner = self.inner.lock();
        let chat = inner.chats.get(chat)?;
        if chat.version <= seen && seen > 0 {
            return None;
        }
        let is_new = |one: &&Message| one.version > seen && (seen > 0 || !one.is_gone);
        let messages = chat.messages.iter().filter(is_new).map(Message::as_json);
        let mut news = json!({"messages": messages.collect::<Vec<_>>()});
        if seen == 0 {
            news["reset"] = json!(true);
        }
        if chat.draft_version > seen {
            news["draft"] = json!(chat.draft);
        }
        if chat.working.max(chat.rested) > seen {
            news["working"] = json!(chat.working > chat.rested);
        }
        Some((news, chat.version))
    }
}

impl Inner {
    fn bytes(&self) -> usize {
        let messages = self.chats.values().flat_map(|chat| &chat.messages);
        messages.map(Message::bytes).sum()
    }

    fn forget_oldest(&mut self) {
        let oldest = self.chats.iter().min_by_key(|(_, chat)| chat.version);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            self.chats.remove(&oldest);
        }
    }

    /// Forgets other chats, and then the oldest messages of this one, until the texts fit.
    fn fit(&mut self, chat: &str) {
        while self.bytes() > BYTES {
            if self.chats.len() > 1 {
                self.forget_oldest();
                continue;
            }
            let Some(this) = self.chats.get_mut(chat) else {
                return;
            };
            if this.messages.len() <= 1 {
                return;
            }
            this.messages.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::http::hub::Hub;

    fn view() -> View {
        View::new(Arc::clone(Hub::new().unwrap().wake_fd()))
    }

    fn said(text: &str) -> Message {
        Message {
            text: text.to_owned(),
            ..Message::default()
        }
    }

    fn texts(news: &Value) -> Vec<&str> {
        let messages = news["messages"].as_array().unwrap().iter();
        messages.filter_map(|one| one["text"].as_str()).collect()
    }

    #[test]
    fn a_page_gets_all_of_it_first_and_then_what_changes() {
        let view = view();
        let first = view.add("a", said("one"));
        view.draft("a", "tw");
        let (all, seen) = view.since("a", 0).unwrap();
        assert_eq!((texts(&all), &all["draft"]), (vec!["one"], &json!("tw")));
        assert_eq!(all["working"], true);
        assert_eq!(view.since("a", seen), None);
        view.add("b", said("elsewhere"));
        assert_eq!(view.since("a", seen), None, "another chat");
        view.add("a", said("two"));
        view.rested("a");
        let (news, seen) = view.since("a", seen).unwrap();
        assert_eq!((texts(&news), &news["draft"]), (vec!["two"], &json!("")));
        assert_eq!(
            (&news["working"], &news["reset"]),
            (&json!(false), &Value::Null)
        );
        assert!(view.edit("a", &first, |one| one.text = "one!".to_owned()));
        assert_eq!(texts(&view.since("a", seen).unwrap().0), ["one!"]);
        assert!(view.remove("a", &first) && !view.remove("a", &first));
        assert_eq!(texts(&view.since("a", 0).unwrap().0), ["two"]);
        assert_eq!(
            view.since("a", seen).unwrap().0["messages"][0]["gone"],
            true
        );
    }

    #[test]
    fn a_chat_begins_with_its_journal_once_and_says_nothing_twice() {
        let view = view();
        view.add("a", said("answer"));
        let earlier = || vec![said("question"), said("answer")];
        view.seed("a", earlier());
        view.seed("a", earlier());
        assert!(view.is_seeded("a") && !view.is_seeded("b"));
        let (all, _) = view.since("a", 0).unwrap();
        assert_eq!(texts(&all), ["question", "answer"]);
    }

    #[test]
    fn memory_and_pages_that_look_are_bounded() {
        let view = view();
        for number in 0..2 * MESSAGES {
            view.add("a", said(&number.to_string()));
        }
        assert_eq!(view.inner.lock().chats["a"].messages.len(), MESSAGES);
        for number in 0..2 * CHATS {
            view.add(&format!("c{number}"), said("x"));
        }
        assert_eq!(view.inner.lock().chats.len(), CHATS);
        for _ in 0..30 {
            view.add("a", said(&"x".repeat(BYTES / 20)));
        }
        assert!(view.inner.lock().bytes() <= BYTES);
        let looks: Vec<_> = (0..LOOKS_OF_PERSON)
            .filter_map(|_| view.look("p"))
            .collect();
        assert_eq!(looks.len(), LOOKS_OF_PERSON);
        assert!(view.look("p").is_none() && view.look("q").is_some());
        drop(looks);
        assert!(view.look("p").is_some());
    }

    #[test]
    fn only_a_button_that_is_shown_can_be_pressed() {
        let view = view();
        let button = Button {
            label: "Deny".to_owned(),
            data: "q:1:deny".to_owned(),
        };
        let asked = Message {
            buttons: vec![vec![button]],
            ..said("May I?")
        };
        let id = view.add("a", asked);
        assert_eq!(view.button("a", &id, "q:1:deny").as_deref(), Some("May I?"));
        assert_eq!(view.button("b", &id, "q:1:deny"), None, "another chat");
        assert_eq!(view.button("a", &id, "q:1:once"), None, "another button");
        view.edit("a", &id, |one| one.buttons.clear());
        assert_eq!(view.button("a", &id, "q:1:deny"), None, "settled");
    }
}

//! What the chats of the web page show: the newest messages of each, what is being written, and who looks.
//!
//! The delivering threads change it; the thread of the connections reads what is new. It is memory alone: a chat that is
//! opened for the first time in a run begins with its journal.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde_json::{Value, json};

use super::looks::{Look, Looks};
use crate::base::clock::Clock;
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::Button;

/// Messages that a chat shows: what people scroll back.
pub const MESSAGES: usize = 100;
/// Bytes of the texts of all chats together.
const BYTES: usize = 512 * 1024;
/// The same of the chats of one person, so that others have room.
const BYTES_OF_PERSON: usize = BYTES / 2;
/// Chats that are shown; of more one of the person with most is forgotten.
const CHATS: usize = 64;
/// The same of one person.
const CHATS_OF_PERSON: usize = CHATS / 4;
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
    /// Whether its buttons are gone because one of them was pressed, or what it asks is over.
    pub is_answered: bool,
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

    /// What is to be forgotten first: what waits for no answer, then what is oldest.
    fn order(&self) -> (bool, i64) {
        (!self.buttons.is_empty(), self.at_ms)
    }

    fn bytes(&self) -> usize {
        // With its place in memory.
        self.text.len() + 200
    }
}

/// What pressing a button comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Pressable {
    /// It counts; with the message as it was.
    Yes(Box<Message>),
    /// The message was answered before.
    Answered,
    /// There is no such button.
    No,
}

/// The chats.
pub struct View {
    inner: Mutex<Inner>,
    wake: Arc<OwnedFd>,
    looks: Looks,
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

impl View {
    /// Nothing is shown. `wake` becomes writable news for the thread of the connections.
    pub fn new(wake: Arc<OwnedFd>) -> Self {
        Self {
            inner: Mutex::default(),
            wake,
            looks: Looks::default(),
        }
    }

    /// A page of a person begins to look; `None` when too many do.
    pub fn look(&self, person: &str) -> Option<Look> {
        let look = self.looks.add(person)?;
        // One may have to end.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        Some(look)
    }

    fn change<T>(&self, chat: &str, change: impl FnOnce(&mut Chat, &mut i64, u64) -> T) -> T {
        let mut inner = self.inner.lock();
        inner.version += 1;
        let version = inner.version;
        if !inner.chats.contains_key(chat) && inner.chats.len() >= CHATS {
            inner.forget_chat(None);
        }
        let person = person_of(chat);
        let own = inner.chats.keys().filter(|name| person_of(name) == person);
        if !inner.chats.contains_key(chat) && own.count() >= CHATS_OF_PERSON {
            inner.forget_chat(Some(person));
        }
        let Inner { chats, last_id, .. } = &mut *inner;
        let this = chats.entry(chat.to_owned()).or_default();
        let changed = change(this, last_id, version);
        this.version = version;
        while this.messages.len() > MESSAGES {
            this.forget_one(1);
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
                let had_buttons = !message.buttons.is_empty();
                edit(message);
                message.is_answered |= had_buttons && message.buttons.is_empty();
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

    /// Presses a button. Only the first press counts: where `shown` gives a line for the button, it takes the place of the
    /// buttons at once.
    pub fn press(
        &self,
        chat: &str,
        (id, data): (&str, &str),
        shown: impl FnOnce(&Button) -> Option<String>,
    ) -> Pressable {
        let mut pressed = Pressable::No;
        self.edit(chat, id, |message| {
            if message.is_answered && message.buttons.is_empty() {
                pressed = Pressable::Answered;
                return;
            }
            let mut buttons = message.buttons.iter().flatten();
            let Some(button) = buttons.find(|button| button.data == data) else {
                return;
            };
            let line = shown(button);
            pressed = Pressable::Yes(Box::new(message.clone()));
            if let Some(line) = line {
                message.text = format!("{}\n\n{line}", message.text);
                message.buttons.clear();
            }
        });
        pressed
    }

    /// Shows a message as it was before a press that could not be taken.
    pub fn unpress(&self, chat: &str, before: &Message) {
        self.edit(chat, &before.id, |message| {
            message.text.clone_from(&before.text);
            message.buttons.clone_from(&before.buttons);
        });
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

/// The person whose chat it is, by its name.
fn person_of(chat: &str) -> &str {
    chat.split_once(':').map_or(chat, |(person, _)| person)
}

impl Chat {
    /// The size of its texts, but for so many of the newest messages.
    fn bytes(&self, kept: usize) -> usize {
        let most = self.messages.len().saturating_sub(kept);
        self.messages.iter().take(most).map(Message::bytes).sum()
    }

    fn waits(&self) -> bool {
        self.messages.iter().any(|one| !one.buttons.is_empty())
    }

    /// The message to forget first, but for so many of the newest ones.
    fn first(&self, kept: usize) -> Option<(usize, (bool, i64))> {
        let most = self.messages.len().saturating_sub(kept);
        let orders = self.messages.iter().take(most).map(Message::order);
        orders.enumerate().min_by_key(|(_, order)| *order)
    }

    fn forget_one(&mut self, kept: usize) {
        if let Some((index, _)) = self.first(kept) {
            self.messages.remove(index);
        }
    }
}

impl Inner {
    /// The people, with how much of something they have.
    fn sums(&self, of: impl Fn(&String, &Chat) -> usize) -> BTreeMap<&str, usize> {
        let mut sums = BTreeMap::new();
        for (name, chat) in &self.chats {
            *sums.entry(person_of(name)).or_default() += of(name, chat);
        }
        sums
    }

    /// Forgets a chat of a person, else of the one who has most: one that waits for no answer, and changed first.
    fn forget_chat(&mut self, person: Option<&str>) {
        let sums = self.sums(|_, _| 1);
        let all = self.chats.iter().filter_map(|(name, chat)| {
            let own = person_of(name);
            let is_asked = person.is_none_or(|person| person == own);
            is_asked.then_some((Reverse(sums.get(own)), chat.waits(), chat.version, name))
        });
        if let Some(first) = all.min().map(|(.., name)| name.clone()) {
            self.chats.remove(&first);
        }
    }

    /// Forgets messages until the texts fit, each of the person who has most. The newest message of this chat stays, and
    /// does not count.
    fn fit(&mut self, chat: &str) {
        let kept = |name: &String| usize::from(name == chat);
        loop {
            let sums = self.sums(|name, one| one.bytes(kept(name)));
            let is_full = sums.values().sum::<usize>() > BYTES;
            let all = self.chats.iter().filter_map(|(name, one)| {
                let bytes = sums.get(person_of(name)).copied()?;
                let is_over = is_full || bytes > BYTES_OF_PERSON;
                let (_, order) = one.first(kept(name)).filter(|_| is_over)?;
                Some((Reverse(bytes), order, name))
            });
            let Some(name) = all.min().map(|(.., name)| name.clone()) else {
                return;
            };
            if let Some(one) = self.chats.get_mut(&name) {
                one.forget_one(kept(&name));
            }
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
    fn memory_is_bounded() {
        let view = view();
        for number in 0..2 * MESSAGES {
            view.add("a", said(&number.to_string()));
        }
        assert_eq!(view.inner.lock().chats["a"].messages.len(), MESSAGES);
        for number in 0..2 * CHATS {
            view.add(&format!("c{number}"), said("x"));
        }
        assert_eq!(view.inner.lock().chats.len(), CHATS);
        let (view, crowded) = (self::view(), view);
        for number in 0..2 * CHATS {
            view.add(&format!("p:{number}"), said("x"));
            crowded.add(&format!("p:{number}"), said("x"));
        }
        assert_eq!(view.chats_of("p").len(), CHATS_OF_PERSON);
        assert_eq!(crowded.inner.lock().chats.len(), CHATS);
        for _ in 0..30 {
            view.add("a", said(&"x".repeat(BYTES / 20)));
        }
        let all = |view: &View| {
            view.inner
                .lock()
                .chats
                .values()
                .map(|one| one.bytes(0))
                .sum::<usize>()
        };
        assert!(all(&view) <= BYTES);
    }

    fn asked() -> Message {
        let button = Button {
            label: "Deny".to_owned(),
            data: "q:1:deny".to_owned(),
        };
        Message {
            buttons: vec![vec![button]],
            ..said("May I?")
        }
    }

    #[test]
    fn a_person_who_fills_their_page_takes_nothing_from_others() {
        let view = view();
        let id = view.add("owner", asked());
        view.add("owner", said("and more"));
        for number in 0..3 * CHATS {
            view.add(&format!("guest:{number}"), said(&"x".repeat(BYTES / 3)));
            view.add("guest", said(&"x".repeat(BYTES)));
            view.add(&format!("other{number}"), said(&"x".repeat(BYTES / 3)));
        }
        assert_eq!(
            texts(&view.since("owner", 0).unwrap().0),
            ["May I?", "and more"]
        );
        // Of their own messages too what waits for an answer stays longest.
        for _ in 0..2 * MESSAGES {
            view.add("owner", said(&"y".repeat(BYTES / 20)));
        }
        let pressed = view.press("owner", (&id, "q:1:deny"), |_| None);
        assert!(matches!(pressed, Pressable::Yes(_)));
    }

    #[test]
    fn only_a_button_that_is_shown_can_be_pressed_and_once() {
        let view = view();
        let id = view.add("a", asked());
        let press =
            |chat: &str, data: &str| view.press(chat, (&id, data), |_| Some("✓ Deny".to_owned()));
        assert_eq!(press("b", "q:1:deny"), Pressable::No, "another chat");
        assert_eq!(press("a", "q:1:once"), Pressable::No, "another button");
        let Pressable::Yes(before) = press("a", "q:1:deny") else {
            panic!("not taken");
        };
        assert_eq!(press("a", "q:1:deny"), Pressable::Answered);
        assert_eq!(texts(&view.since("a", 0).unwrap().0), ["May I?\n\n✓ Deny"]);
        view.unpress("a", &before);
        let again = view.press("a", (&id, "q:1:deny"), |_| None);
        assert!(matches!(again, Pressable::Yes(_)), "{again:?}");
        view.edit("a", &id, |one| one.buttons.clear());
        assert_eq!(press("a", "q:1:deny"), Pressable::Answered, "settled");
    }
}

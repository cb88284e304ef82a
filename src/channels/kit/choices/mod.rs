//! Choices for channels without buttons: a message ends with its choices, and a reply with a number or a label counts as
//! a press. `book` decides (PURE); this keeps it in `state/choices-CHANNEL.json`, so that a reminder can be
//! answered after a restart.

mod book;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

pub use book::{Choice, Chosen, Offer, Reply};

use self::book::Book;
use super::adapter::{Adapter, Button};
use super::buttons::{self, Press};
use super::texts::choices as texts;
use crate::base::clock::Clock;
use crate::base::language::Language;
use crate::base::message::{Address, CommandButton};
use crate::base::sync::Mutex;
use crate::store::state::file::{Damaged, Policy, StateFile};
use crate::sys::random;
use crate::text::markup::plain;
use std::time::Duration;

/// Offers of choices that a channel without buttons remembers, and those of one chat: a few reminders, watches and
/// questions at a time.
const OFFERS: usize = 32;
/// See [`OFFERS`].
const OFFERS_IN_CHAT: usize = 6;
/// How long a question of the model's can be answered with a number or a word alone: until the next day at the same time.
const CHOICES_TIME: Duration = Duration::from_secs(24 * 3600);
/// The least time between a question about a command, or a plan, and a reply that answers it: less has not been read.
const READ_TIME: Duration = Duration::from_secs(2);
/// How far the clocks of channels may be ahead of the board's.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);
/// Replies that have answered questions and are known if the channel sends them again.
const CHOICES_USED: usize = 32;

/// Bytes of the file with a channel's offers.
const CHOICES_FILE_BYTES: usize = 512 * 1024;
/// Random numbers that are tried for the answers about a command, until none is in use.
const NUMBERS_TRIED: usize = 16;
/// Characters of all labels up to which choices stand on one line.
const CHOICES_LINE_CHARS: usize = 60;

/// The choices of one channel.
#[derive(Debug)]
pub struct Choices {
    file: StateFile<Book>,
    book: Mutex<Book>,
    clock: Clock,
}

impl Choices {
    /// The choices of a channel; `None` when it has buttons.
    pub fn of(adapter: &dyn Adapter, state: &Path) -> Option<Arc<Self>> {
        let has_buttons = adapter.capabilities().buttons;
        (!has_buttons).then(|| Arc::new(Self::new(state, adapter.name())))
    }

    /// The choices of a channel below the folder `state`.
    pub fn new(state: &Path, channel: &str) -> Self {
        let policy = Policy {
            bytes_max: CHOICES_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        let file = StateFile::<Book>::new(state.join(format!("choices-{channel}.json")), policy);
        let book = Mutex::new(file.read().unwrap_or_default().restored());
        Self {
            file,
            book,
            clock: Clock::System,
        }
    }

    /// Prepares an offer of these buttons, and what its message says about it, as Markdown. `None` without buttons.
    pub fn prepare(
        &self,
        chat: &Address,
        rows: &[Vec<Button>],
        language: Language,
    ) -> Option<(Offer, String)> {
        let choices: Vec<Choice> = rows.iter().flatten().map(choice).collect();
        if choices.is_empty() {
            return None;
        }
        // Where any number may be an answer, none is a choice.
        let first = match choices.iter().all(|choice| is_word_only(&choice.data)) {
            true => 0,
            false if choices.iter().any(|choice| is_answer(&choice.data)) => {
                self.random_number(chat)
            }
            false => self.book.lock().next_number(chat, self.now()),
        };
        let text = describe(first, &choices, language);
        let is_of_model =
            |choice: &Choice| matches!(buttons::read(&choice.data), Some(Press::Text(_)));
        let is_question = choices.iter().any(is_of_model);
        let offer = Offer::new(chat, first, choices);
        Some(if is_question {
            (offer.asked_at(self.now()), text)
        } else {
            (offer, text)
        })
    }

    /// The number of the first of some answers about a command; 0 where the system gives none.
    fn random_number(&self, chat: &Address) -> usize {
        const FIRST: usize = 1000;
        const STEP: usize = 10;
        let book = self.book.lock();
        for _ in 0..NUMBERS_TRIED {
            let Ok(bytes) = random::bytes::<2>() else {
                break;
            };
            let number = FIRST + usize::from(u16::from_le_bytes(bytes)) % 900 * STEP + 1;
            if !(number..number + STEP).any(|number| book.has_number(chat, number)) {
                return number;
            }
        }
        0
    }

    /// An offer is being sent. It counts from now on: a reply may be quicker than the channel's confirmation.
    pub fn add(&self, offer: Offer) {
        self.book.lock().add(offer);
    }

    /// It has come, as this message.
    pub fn sent(&self, chat: &Address, message: &str) {
        let now = self.now();
        self.change(|book| book.sent(chat, message, now));
    }

    /// It has not come.
    pub fn take_back(&self, chat: &Address) {
        self.book.lock().take_back(chat);
    }

    /// A message is edited: what it offered before is gone.
    pub fn replaced(&self, chat: &Address, message: &str) {
        self.book.lock().replaced(chat, message);
    }

    /// A question of the model's, which this message asked, has been answered.
    pub fn answered(&self, chat: &Address, message: &str) {
        let has_changed = self.book.lock().answered(chat, message);
        if has_changed {
            self.save();
        }
    }

    /// Something else was said in a chat, by the agent or by a person.
    pub fn moved_on(&self, chat: &Address, is_by_person: bool) {
        let has_changed = self.book.lock().moved_on(chat, is_by_person);
        if has_changed {
            self.save();
        }
    }

    /// A question is over.
    pub fn close(&self, question: u64) {
        let has_changed = self.book.lock().close(question);
        if has_changed {
            self.save();
        }
    }

    /// What a reply chooses in a chat.
    pub fn find(&self, chat: &Address, reply: &Reply<'_>) -> Option<Chosen> {
        self.book.lock().find(chat, reply, self.now())
    }

    /// Whether a reply would allow a command or begin a plan, had its writer been able to read what is offered.
    pub fn is_early(&self, chat: &Address, reply: &Reply<'_>) -> bool {
        self.book.lock().is_early(chat, reply, self.now())
    }

    fn now(&self) -> i64 {
        self.clock.now_ms() / 1000
    }

    /// Notes, on the disk, that a message has answered a question.
    pub fn note_used(&self, id: &str) {
        self.change(|book| book.note_used(id));
    }

    /// Whether a message has answered a question before.
    pub fn was_used(&self, id: &str) -> bool {
        self.book.lock().was_used(id)
    }

    fn change(&self, change: impl FnOnce(&mut Book)) {
        change(&mut self.book.lock());
        self.save();
    }

    fn save(&self) {
        let book = self.book.lock().clone();
        let saved = self.file.update(|stored| {
            *stored = book;
            Ok(())
        });
        if let Err(error) = saved {
            tracing::warn!("failed to save the choices of a channel: {error}");
        }
    }
}

fn choice(button: &Button) -> Choice {
    Choice {
        label: button.label.clone(),
        data: button.data.clone(),
    }
}

fn is_answer(data: &str) -> bool {
    matches!(buttons::read(data), Some(Press::Answer { .. }))
}

/// Whether a choice belongs to a question that may be answered with a number of its own.
fn is_word_only(data: &str) -> bool {
    match buttons::read(data) {
        Some(Press::Command(command)) => {
            let word = command
                .strip_prefix("/answer ")
                .and_then(|rest| rest.rsplit(' ').next());
            word.is_some_and(|word| word.parse::<u64>().is_err())
        }
        _ => false,
    }
}

/// What a message says about its choices, as Markdown.
fn describe(first: usize, choices: &[Choice], language: Language) -> String {
    let labels = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| match first {
            0 => format!("**{}**", plain(&choice.label)),
            first => format!("**{}** {}", first + index, plain(&choice.label)),
        });
    let labels: Vec<String> = labels.collect();
    let chars: usize = choices
        .iter()
        .map(|choice| choice.label.chars().count())
        .sum();
    let list = if chars > CHOICES_LINE_CHARS {
        format!("\n{}", labels.join("\n"))
    } else {
        labels.join(" · ")
    };
    match first {
        0 => texts::reply_with_word(language, &list),
        _ => texts::reply_with_number(language, &list),
    }
}

/// What stands below a live view instead of its buttons: the commands that they would type. As Markdown.
pub fn describe_commands(rows: &[Vec<CommandButton>], language: Language) -> String {
    let commands = || rows.iter().flatten().map(|button| button.command.as_str());
    let keys: Vec<&str> = commands()
        .filter_map(|command| command.strip_prefix("/key "))
        .collect();
    let others: Vec<String> = commands()
        .filter(|command| !command.starts_with("/key "))
        .map(|command| format!("`{command}`"))
        .collect();
    if keys.is_empty() {
        others.join(" · ")
    } else {
        texts::keys(language, &keys.join(", "), &others.join(" · "))
    }
}

//! The commands that run now, and what each shows.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::PROMPT_CHARS;
use crate::base::clock::Stopwatch;
use crate::base::limits::gateway::SHOWN_OUTPUT_BYTES;
use crate::base::message::{DraftKey, Envelope, SessionKey};
use crate::base::sync::Mutex;
use crate::sandbox::confine::ShellInput;
use crate::text::ellipsize_chars;
use crate::text::overstrike::Overstrike;
use crate::tools::commands::Watched;

/// How long a reply to a command that has ended is taken for a late input of it.
const ENDED_TIME: Duration = Duration::from_mins(1);
/// Ended commands that are known for this time, of all chats.
const ENDED_COMMANDS: usize = 16;

/// The commands that were typed and run now; as many as the scheduler lets run. And those that have just ended.
#[derive(Default)]
pub struct RunningCommands {
    running: Mutex<Vec<Arc<Running>>>,
    ended: Mutex<VecDeque<Ended>>,
}

/// A command that has just ended.
struct Ended {
    command: Arc<Running>,
    /// The messages that showed it.
    messages: Vec<String>,
    since: Stopwatch,
}

/// A command that runs.
pub struct Running {
    /// Its number in its chat.
    pub number: u32,
    session: SessionKey,
    /// The id of the person who started it.
    pub sender: String,
    /// The message that started it: its id, and that within the chat.
    id: String,
    pub reference: String,
    /// The command, once that is known.
    line: OnceLock<String>,
    /// The draft that shows it.
    pub draft: DraftKey,
    /// The way to its input.
    pub input: ShellInput,
    /// Since when it runs.
    pub since: Stopwatch,
    view: Mutex<View>,
}

/// What is shown of a command: the end of its output, as a terminal would show it.
struct View {
    prompt: String,
    screen: Overstrike,
    text: String,
    is_fresh: bool,
    shown: Stopwatch,
}

/// A running command in its list until this is dropped.
pub struct Begun<'a> {
    all: &'a RunningCommands,
    running: Arc<Running>,
}

impl std::ops::Deref for Begun<'_> {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut all = self.all.running.lock();
        all.retain(|other| !Arc::ptr_eq(other, &self.running));
    }
}

impl RunningCommands {
    /// Adds a command whose thread is about to start, with the lowest number that is free in its chat: what is written
    /// for it right behind it finds it.
    pub fn expect(&self, message: &Envelope) {
        let mut all = self.running.lock();
        if all.iter().any(|other| other.id == message.id) {
            return;
        }
        let is_taken = |number: u32| {
            let mut of_chat = all.iter().filter(|other| other.session == message.session);
            of_chat.any(|other| other.number == number)
        };
        let running = Arc::new(Running {
            number: (1..).find(|number| !is_taken(*number)).unwrap_or_default(),
            session: message.session.clone(),
            sender: message
                .sender()
                .map_or_else(String::new, |sender| sender.id.clone()),
            id: message.id.clone(),
            reference: message.reference.clone(),
            line: OnceLock::new(),
            draft: DraftKey::command(&message.id),
            input: ShellInput::default(),
            since: Stopwatch::start(),
            view: Mutex::new(View {
                prompt: String::new(),
                screen: Overstrike::default(),
                text: String::new(),
                is_fresh: false,
                shown: Stopwatch::start(),
            }),
        });
        all.push(running);
    }

    /// The command of a message, on its thread.
    pub fn begin(&self, message: &Envelope) -> Option<Begun<'_>> {
        self.expect(message);
        let running = self.find(&message.session, |running| running.id == message.id)?;
        Some(Begun { all: self, running })
    }

    /// The commands of a chat, the one that was started last at the end.
    pub fn all_in(&self, session: &SessionKey) -> Vec<Arc<Running>> {
        let all = self.running.lock();
        all.iter()
            .filter(|one| one.session == *session)
            .cloned()
            .collect()
    }

    /// Of the commands of a chat whose input is open, the one that was started last.
    pub fn reading_in(&self, session: &SessionKey) -> Option<Arc<Running>> {
        let mut all = self.all_in(session).into_iter().rev();
        all.find(|running| running.input.is_open())
    }

    /// A command has ended that these messages showed.
    pub fn ended(&self, command: &Begun<'_>, messages: Vec<String>) {
        let mut ended = self.ended.lock();
        ended.retain(|one| one.since.elapsed() < ENDED_TIME);
        if ended.len() >= ENDED_COMMANDS {
            ended.pop_front();
        }
        ended.push_back(Ended {
            command: Arc::clone(&command.running),
            messages,
            since: Stopwatch::start(),
        });
    }

    /// Whether a command that has just ended was begun by this person with this message, or was shown by it.
    pub fn has_just_ended(&self, session: &SessionKey, sender: &str, message: &str) -> bool {
        let ended = self.ended.lock();
        ended.iter().any(|one| {
            one.since.elapsed() < ENDED_TIME
                && one.command.session == *session
                && one.command.sender == sender
                && (one.command.reference == message
                    || one.messages.iter().any(|one| one == message))
        })
    }

    /// A command of a chat.
    pub fn find(
        &self,
        session: &SessionKey,
        is_it: impl Fn(&Running) -> bool,
    ) -> Option<Arc<Running>> {
        self.all_in(session)
            .into_iter()
            .find(|running| is_it(running))
    }
}

impl Running {
    /// The command; empty before that is known.
    pub fn line(&self) -> &str {
        self.line.get().map_or("", String::as_str)
    }

    /// The command is known.
    pub fn set_line(&self, line: &str) {
        let _ = self.line.set(line.to_owned());
    }

    /// Takes what the command does. Returns the text when it is time to show it again.
    pub fn watch(&self, watched: Watched<'_>, interval: Duration) -> Option<String> {
        let mut view = self.view.lock();
        match watched {
            Watched::Prompt(prompt) => {
                view.prompt = prompt_line(prompt, self.line());
                view.is_fresh = true;
            }
            Watched::Output(bytes) => view.push(bytes),
        }
        if !view.is_fresh || view.shown.elapsed() < interval {
            return None;
        }
        view.is_fresh = false;
        view.shown = Stopwatch::start();
        Some(view.text())
    }

    /// Whether it runs: before that it may wait for an approval.
    pub fn has_begun(&self) -> bool {
        !self.view.lock().prompt.is_empty()
    }

    /// What it shows now.
    pub fn shown(&self) -> String {
        self.view.lock().text()
    }
}

impl View {
    fn push(&mut self, bytes: &[u8]) {
        self.is_fresh |= !bytes.is_empty();
        self.screen.feed(bytes, &mut self.text);
        let over = self.text.len().saturating_sub(SHOWN_OUTPUT_BYTES);
        self.text.drain(..self.text.ceil_char_boundary(over));
    }

    fn text(&self) -> String {
        let open = self.screen.open_lines();
        let whole = [&self.text, open.trim_end()].concat();
        let from = whole.len().saturating_sub(SHOWN_OUTPUT_BYTES);
        let shown = whole
            .get(whole.ceil_char_boundary(from)..)
            .unwrap_or_default();
        if shown.is_empty() {
            self.prompt.clone()
        } else {
            format!("{}\n{shown}", self.prompt)
        }
    }
}

/// The prompt with the command behind it: one line, or the lines of a longer one as far as they are short.
pub fn prompt_line(prompt: &str, line: &str) -> String {
    match prompt {
        "" => String::new(),
        prompt => format!("{prompt} {}", ellipsize_chars(line, PROMPT_CHARS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Address;

    fn message(chat: &str, id: &str) -> Envelope {
        let written = Envelope::written(&Address::new("t", chat), Default::default(), "x");
        Envelope {
            id: id.to_owned(),
            ..written
        }
    }

    #[test]
    fn numbers_are_given_again_and_each_chat_has_its_own() {
        let all = RunningCommands::default();
        let (one, other) = (message("1", "a"), message("2", "c"));
        let begin = |message: &Envelope| all.begin(message).unwrap();
        let first = begin(&one);
        let second = begin(&message("1", "b"));
        assert_eq!((first.number, second.number), (1, 2));
        assert_eq!(begin(&other).number, 1);
        drop(first);
        assert_eq!(begin(&message("1", "d")).number, 1);
        assert_eq!(all.all_in(&one.session).len(), 1);
        assert!(!second.has_begun());
        let _ = second.watch(Watched::Prompt("~ $"), Duration::ZERO);
        assert!(second.has_begun());
        all.ended(&second, vec!["shown".to_owned()]);
        drop(second);
        assert!(all.all_in(&one.session).is_empty());
        let sender = one.sender().map_or("", |sender| &sender.id);
        assert!(all.has_just_ended(&one.session, sender, "shown"));
        assert!(!all.has_just_ended(&one.session, sender, "another"));
        assert!(!all.has_just_ended(&other.session, sender, "shown"));
        assert!(!all.has_just_ended(&one.session, "someone else", "shown"));
    }

    #[test]
    fn what_is_written_before_a_command_begins_is_kept_for_it() {
        let all = RunningCommands::default();
        let message = message("1", "a");
        assert!(all.reading_in(&message.session).is_none());
        all.expect(&message);
        let early = all.reading_in(&message.session).unwrap();
        assert!(early.input.send("Ann\n").unwrap() && early.input.is_unused());
        assert!(early.input.send(&"x".repeat(1 << 20)).is_err());
        let begun = all.begin(&message).unwrap();
        assert!(begun.input.is_unused(), "it is the same one");
        assert!(begun.input.close() && !begun.input.close());
        assert!(!begun.input.send("more").unwrap());
        drop(begun);
        assert!(all.all_in(&message.session).is_empty());
    }

    #[test]
    fn a_progress_bar_is_shown_as_one_line_below_the_prompt() {
        let all = RunningCommands::default();
        let running = all.begin(&message("1", "a")).unwrap();
        running.set_line("get");
        let now = Duration::ZERO;
        let prompt = running.watch(Watched::Prompt("~ $"), now);
        assert_eq!(prompt.as_deref(), Some("~ $ get"));
        let shown = running.watch(Watched::Output(b"begin\n10%\r20%"), now);
        assert_eq!(shown.as_deref(), Some("~ $ get\nbegin\n20%"));
        assert_eq!(running.watch(Watched::Output(b""), now), None);
        let shown = running.watch(Watched::Output(b"\r\x1b[32m100%"), now);
        assert_eq!(shown.as_deref(), Some("~ $ get\nbegin\n100%"));
        let many = running.watch(Watched::Output("ü\n".repeat(100_000).as_bytes()), now);
        assert!(many.unwrap().len() <= SHOWN_OUTPUT_BYTES + 20);
    }
}

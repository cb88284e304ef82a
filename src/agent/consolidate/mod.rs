//! Consolidation: one request to the model turns a part of a conversation into a paragraph for HISTORY.md
//! and a new MEMORY.md.
//!
//! It runs beside the conversation and holds no lock while the model thinks: the result is staged, the
//! memory saves it, and the thread that opens the session next notes in the journal that this part is
//! remembered. The result is on the disk before anything of it is applied, and a kill at any instant leaves
//! a state from which each step can be repeated.

pub(in crate::agent) mod lessons;
pub(in crate::agent) mod request;
mod staged;

use std::path::Path;
use std::time::Duration;

use super::Agent;
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{
    Entry, EntryKind, Fault, ReasoningEffort, Reply, Request, StopReason, Usage,
};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::agent::HISTORY_FLOOR_TOKENS;
use crate::base::message::SessionKey;
use crate::base::tokens;
use crate::models;
use crate::models::table::OFFLINE;
use crate::store::memory::{FACTS, Facts, LESSONS, Memory, Saved};
use crate::store::session::conversation::tokens_of;
use crate::store::session::{Range, Remembered, Session, UpTo, store};

use lessons::Pair;
use request::{Answer, Material, SYSTEM};
use staged::Staged;

/// Tokens of the conversation that one request turns into memory. With half a window of 100 turns
/// one request is usually enough.
const CHUNK_TOKENS: usize = 24_000;
/// The same for a model with a small window: what is left beside the memory, but at least this.
const CHUNK_TOKENS_MIN: usize = 1_000;
/// Bytes of a text that count as a token when a part is read; code and Chinese have three.
const BYTES_PER_TOKEN: usize = 3;
/// Tokens of the instructions, of the tool and of punctuation.
const FRAME_TOKENS: usize = 1_000;
/// Tokens of the answer beside those of the memory itself: the paragraph, and thoughts.
const ANSWER_TOKENS: u32 = 2_000;
/// The part of the model's window that an answer may have when the first one was cut off: a fourth.
const ANSWER_SHARE: usize = 4;
/// Bytes of the memory in the request that even the smallest window has room for.
const FACTS_BYTES_MIN: usize = 1024;
/// Times that the model is asked about one part of a conversation: once it may hear why its answer
/// cannot be used, once that it drops too much, and the memory may change meanwhile.
const ASKS_MAX: u32 = 6;
/// Times that a part which is too long for the model is halved.
const HALVINGS_MAX: u32 = 4;
/// Wait after the first failure; it doubles with each further one.
const BACKOFF_FIRST: Duration = Duration::from_mins(1);
/// Longest wait after a failure.
const BACKOFF_MAX: Duration = Duration::from_hours(6);
/// Percent of the model's window that a conversation may use before its older half becomes a
/// summary.
const WINDOW_PERCENT: usize = 60;
/// Turns that a resting conversation must have for that.
const IDLE_TURNS: usize = 5;

/// The error for people when the model was told what is wrong and did it again.
const UNUSABLE: &str =
    "the model answered twice in a way that cannot be saved. Another model may do better (/model)";

/// Why a conversation is consolidated, the least urgent reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Nothing was said for a long time.
    Idle,
    /// It fills the window: its older half becomes a summary.
    Window,
    /// A new one has begun.
    New,
    /// A person asked for it: its older turns become a summary.
    Asked,
}

/// What one request has made of a part of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consolidation {
    /// Turns that are remembered now.
    pub turns: usize,
    /// The tokens that it took.
    pub usage: Usage,
    /// Whether nothing is left to be consolidated for the same reason.
    pub is_all: bool,
}

impl Agent {
    /// Turns the next part of a conversation into memory. The journals are in the folder `sessions`.
    ///
    /// Takes no lock on the session and may run beside its turns; blocks while the model thinks. The result
    /// must then be applied with [`apply_consolidation`](Self::apply_consolidation), before the next part.
    /// `None` when there is nothing to do, or no model to do it.
    pub fn consolidate(
        &self,
        sessions: &Path,
        key: &SessionKey,
        why: Why,
        cancel: &Cancel,
    ) -> Result<Option<Consolidation>> {
        if let Some(staged) = find_staged(sessions, key)? {
            return Ok(Some(staged));
        }
        let models = self.selection.models_of(key.as_str())?;
        if models.names() == [OFFLINE] {
            return Ok(None);
        }
        let mut turn = models.for_turn(cancel).taking_back(true);
        self.learn_window(&mut turn);
        let mut work = Work {
            agent: self,
            sessions,
            key,
            why,
            models: turn,
            usage: Usage::default(),
            role: Role::Owner,
            asked: 0,
            pairs: Vec::new(),
            share: 1,
            was_cut_off: false,
        };
        let done = work.run();
        self.ledger.sync();
        done
    }

    /// Notes a consolidation's result in the journal of an open session, if there is one. Returns the number
    /// of turns that it is about. An unfinished turn ends first.
    pub fn apply_consolidation(
        &self,
        sessions: &Path,
        session: &mut Session,
    ) -> Result<Option<usize>> {
        let key = session.chat().clone();
        if session.is_unfinished() || !staged::exists(sessions, &key) {
            return Ok(None);
        }
        let _lock = staged::lock(sessions)?;
        let Some(staged) = staged::read(sessions, &key)? else {
            return Ok(None);
        };
        // A kill may have come before the memory had it.
        if !staged.is_saved {
            if self.memory().save(&staged.consolidated())? != Saved::Done {
                staged::remove(sessions, &key)?;
                return Ok(None);
            }
            self.learn(&staged);
        }
        self.pass_change(FACTS);
        session.remember(&staged.remembered)?;
        staged::reached("remembered");
        staged::remove(sessions, &key)?;
        Ok(Some(staged.turns))
    }

    /// Why an open session should be consolidated now; [`Why::Idle`]: once it has rested. `None` while a turn
    /// has not ended: a result could not be noted, and the end of the turn asks again.
    pub fn consolidation_due(&self, session: &Session) -> Option<Why> {
        // What a guest says is not for the memory.
        if session.is_unfinished() || session.last_role() == Role::Guest {
            return None;
        }
        let pending = session.pending();
        if pending.from < pending.to_window {
            return Some(Why::New);
        }
        let is_long = pending.window_turns > self.settings.memory_window;
        let (room, reply) = self.window_of_chat(session.chat());
        let room = room.saturating_sub(reply);
        let most = (room / 100 * WINDOW_PERCENT).max(HISTORY_FLOOR_TOKENS);
        // Old results are shortened before turns have to leave.
        let is_full = is_long || session.conversation().tokens_when_shortened() > most;
        // What is remembered already leaves the window without a summary.
        if is_full && pending.turns > pending.window_turns / 2 {
            return Some(Why::Window);
        }
        (pending.turns >= IDLE_TURNS).then_some(Why::Idle)
    }

    /// About how many tokens of a session go to the model.
    pub fn window_tokens(&self, session: &Session) -> usize {
        let conversation = session.conversation();
        let entries = conversation.entries().map(|held| tokens_of(&held.entry));
        let summary = conversation.summary_text().map_or(0, tokens::estimate);
        entries.sum::<usize>() + summary
    }

    /// Whether only the offline helper answers in a chat: it remembers nothing.
    pub fn is_offline(&self, key: &SessionKey) -> bool {
        self.model_names(key).is_ok_and(|names| names == [OFFLINE])
    }

    pub(super) fn memory(&self) -> Memory<'_> {
        Memory::new(self.toolbox.workspace(), &self.clock)
    }

    /// Adds the lessons of a result, which may be there already. Returns whether that could be written.
    fn learn(&self, staged: &Staged) -> bool {
        if staged.lessons.is_empty() {
            return true;
        }
        let learned = self.write_unchanged(LESSONS, || self.memory().learn(&staged.lessons));
        if let Err(error) = &learned {
            tracing::warn!("failed to write {LESSONS}: {error}");
        }
        learned.is_ok()
    }
}

/// The conversations of a folder of journals with a result that is not applied yet.
pub fn list_staged(sessions: &Path) -> Vec<SessionKey> {
    staged::list(sessions)
}

/// The result that waits to be applied to a conversation, which no model needs to be asked for.
fn find_staged(sessions: &Path, key: &SessionKey) -> Result<Option<Consolidation>> {
    let staged = staged::read(sessions, key)?;
    Ok(staged.map(|staged| Consolidation {
        turns: staged.turns,
        ..Consolidation::default()
    }))
}

/// Whether a conversation has a result that is not applied yet.
pub fn is_staged(sessions: &Path, key: &SessionKey) -> bool {
    staged::exists(sessions, key)
}

/// The wait after a failure, when there were so many others in a row before it.
pub fn backoff(failures: u32) -> Duration {
    BACKOFF_FIRST
        .saturating_mul(1 << failures.min(16))
        .min(BACKOFF_MAX)
}

/// Why a conversation that no one has open should be consolidated; for a look after a start.
pub fn find_pending(sessions: &Path, key: &SessionKey) -> Result<Option<Why>> {
    if store::read_pending(sessions, key, UpTo::Window, 1)?.is_some() {
        return Ok(Some(Why::New));
    }
    let bytes = CHUNK_TOKENS * BYTES_PER_TOKEN;
    let range = store::read_pending(sessions, key, UpTo::End, bytes)?;
    let turns = range.map_or(0, |range| count_turns(&range.entries));
    Ok((turns >= IDLE_TURNS).then_some(Why::Idle))
}

/// The consolidation of one part.
struct Work<'a> {
    agent: &'a Agent,
    sessions: &'a Path,
    key: &'a SessionKey,
    why: Why,
    models: models::Turn<'a>,
    usage: Usage,
    /// The least role in the part.
    role: Role,
    /// How often the model was asked.
    asked: u32,
    /// The calls of the part from which there is something to learn.
    pairs: Vec<Pair>,
    /// The part is so many times smaller than it could be: more was too long for the model.
    share: usize,
    /// Whether an answer was cut off: a model that thinks for long needs more room for the next one.
    was_cut_off: bool,
}

/// What came of asking about a part.
enum Asked {
    Done(Consolidation),
    /// The memory or the journal is another one by now.
    Outdated,
    TooLong(Error),
}

impl Work<'_> {
    fn run(&mut self) -> Result<Option<Consolidation>> {
        let mut halvings = 0;
        // A HISTORY.md that cannot be read would make each answer a failure that was paid for.
        self.agent.memory().last_logged()?;
        loop {
            let facts = self.agent.memory().facts_to_update(self.room_for_facts())?;
            let Some(range) = self.read_part(facts.as_ref())? else {
                return Ok(None);
            };
            let roles = range.entries.iter().map(|entry| entry.person);
            self.role = roles.min().unwrap_or_default();
            let asked = if range.entries.is_empty() {
                self.pass_over(&range)?
            } else {
                self.ask_about(facts.as_ref(), range)?
            };
            match asked {
                Asked::Done(done) => return Ok(Some(done)),
                Asked::Outdated => {
                    // It was another thread or process that has done this part: not asked again.
                    if let Some(staged) = find_staged(self.sessions, self.key)? {
                        return Ok(Some(staged));
                    }
                }
                Asked::TooLong(_) if halvings < HALVINGS_MAX => {
                    halvings += 1;
                    self.share *= 2;
                }
                Asked::TooLong(error) => return Err(error),
            }
        }
    }

    /// Tokens of the window of the model that is asked next.
    fn window(&self) -> usize {
        self.agent.window_of(&self.models.model_name()) as usize
    }

    /// Bytes of MEMORY.md that one request has room for. The memory goes there and comes back, with as much
    /// again for what is new.
    fn room_for_facts(&self) -> usize {
        let window = self.window();
        let used = FRAME_TOKENS + ANSWER_TOKENS as usize + CHUNK_TOKENS_MIN;
        (window.saturating_sub(used) / 3 * BYTES_PER_TOKEN / self.share).max(FACTS_BYTES_MIN)
    }

    /// The next part of the conversation; as much as one request has room for.
    fn read_part(&self, facts: Option<&Facts>) -> Result<Option<Range>> {
        let facts = facts.map_or(0, |facts| tokens::estimate(&facts.text));
        let window = self.window();
        // The memory goes there and comes back.
        let used = FRAME_TOKENS + ANSWER_TOKENS as usize + 2 * facts;
        let tokens = window.saturating_sub(used);
        let tokens = tokens.clamp(CHUNK_TOKENS_MIN, CHUNK_TOKENS);
        self.read_range(tokens * BYTES_PER_TOKEN / self.share)
    }

    fn read_range(&self, bytes: usize) -> Result<Option<Range>> {
        let up_to = match self.why {
            Why::Idle => UpTo::End,
            Why::New => UpTo::Window,
            Why::Window | Why::Asked => UpTo::HalfWindow,
        };
        store::read_pending(self.sessions, self.key, up_to, bytes)
    }

    /// Notes that a part is done of which nothing is for the memory: guests spoke.
    fn pass_over(&self, range: &Range) -> Result<Asked> {
        let nothing = Answer {
            paragraph: String::new(),
            facts: String::new(),
        };
        let mut staged = self.stage(nothing, None, range);
        staged.history_entry.clear();
        staged.remembered.summary = None;
        Ok(match self.save(staged)? {
            Some(Saved::Done) => Asked::Done(Consolidation {
                is_all: range.is_all,
                ..Consolidation::default()
            }),
            _ => Asked::Outdated,
        })
    }

    /// Asks the model until its answer can be used, and saves it. It hears once why an answer cannot be
    /// used, and once that much of the memory would be lost.
    fn ask_about(&mut self, facts: Option<&Facts>, range: Range) -> Result<Asked> {
        let agent = self.agent;
        let cleaned = |text: &str| agent.toolbox.cleaned(text).into_owned();
        let known = facts.map_or_else(String::new, |facts| cleaned(&facts.text));
        let material = Material {
            facts: &known,
            earlier: range.earlier_summary.as_deref(),
            entries: &range.entries,
        };
        self.pairs = lessons::find(&range.entries);
        let text = cleaned(&(material.format() + &lessons::format(&self.pairs)));
        let (mut is_refused, mut is_confirmed) = (false, false);
        let mut complaint: Option<String> = None;
        loop {
            let asked = match &complaint {
                None => self.ask(text.clone(), &known),
                Some(why) => self.ask(request::with_complaint(&text, why), &known),
            };
            let reply = match asked {
                Err(error) if is_overflow(&error) => return Ok(Asked::TooLong(error)),
                reply => reply?,
            };
            self.was_cut_off |= reply.stop == StopReason::Length;
            let answer = match request::read(&reply, &known) {
                Ok(answer) => answer,
                Err(why) if is_refused => {
                    // Written for the model.
                    tracing::debug!("the model's answer was refused twice: {why}");
                    return Err(Error::Failed(UNUSABLE.to_owned()));
                }
                Err(why) => {
                    complaint = Some(why);
                    is_refused = true;
                    continue;
                }
            };
            let mut learned = lessons::read(&reply, &self.pairs);
            for lesson in &mut learned {
                lesson.text = cleaned(&lesson.text);
            }
            let staged = Staged {
                is_confirmed,
                lessons: learned,
                ..self.stage(answer, facts, &range)
            };
            match self.save(staged)? {
                None => return Ok(Asked::Outdated),
                Some(Saved::Done) => {
                    return Ok(Asked::Done(Consolidation {
                        turns: count_turns(&range.entries),
                        usage: self.usage,
                        is_all: range.is_all,
                    }));
                }
                Some(Saved::Changed) => return Ok(Asked::Outdated),
                Some(Saved::Shrinks { from, to }) => {
                    complaint = Some(request::describe_shrink(from, to));
                    is_confirmed = true;
                }
            }
        }
    }

    /// Asks the model once. The tokens are counted whatever it says.
    fn ask(&mut self, text: String, facts: &str) -> Result<Reply> {
        if self.asked >= ASKS_MAX {
            return Err(Error::Failed(
                "the memory changes faster than the model can write it".to_owned(),
            ));
        }
        self.asked += 1;
        self.agent.check_spending(self.role, Language::English)?;
        let settings = &self.agent.settings;
        let entry = Entry::new(EntryKind::Person, text);
        let mut answer_tokens = ANSWER_TOKENS as usize + 2 * tokens::estimate(facts);
        if self.was_cut_off {
            let window = self.window();
            answer_tokens = answer_tokens.max(window / ANSWER_SHARE);
        }
        let request = Request {
            system: SYSTEM,
            entries: &[&entry],
            stable: 1,
            tools: &[lessons::tool(&self.pairs)],
            max_tokens: self
                .agent
                .reply_tokens(&self.models.model_name())
                .min(answer_tokens as u32),
            thoughts_max: self
                .agent
                .thoughts_max(&self.models.model_name(), tokens::estimate(&entry.content)),
            temperature: settings.temperature,
            // It is not worth long thoughts.
            reasoning_effort: settings.reasoning_effort.map(|_| ReasoningEffort::Low),
            stream: self.agent.stream,
            cache_key: None,
        };
        let asked = self.models.ask(&request, &mut |_| {});
        self.usage
            .add(self.agent.count(&mut self.models, self.role));
        let answer = asked?;
        if let Some(failure) = answer.failure {
            return Err(Error::Model(failure));
        }
        Ok(answer.reply)
    }

    /// The result of an answer. Secrets that the model has come up with are removed.
    fn stage(&self, answer: Answer, facts: Option<&Facts>, range: &Range) -> Staged {
        let cleaned = |text: &str| self.agent.toolbox.cleaned(text).into_owned();
        let paragraph = cleaned(&answer.paragraph);
        let is_same = facts.is_some_and(|facts| facts.text.trim() == answer.facts.trim());
        let replaces_turns = matches!(self.why, Why::Window | Why::Asked);
        Staged {
            session: self.key.to_string(),
            is_saved: false,
            history_entry: request::with_date(&paragraph, &range.entries),
            memory_update: if is_same {
                String::new()
            } else {
                cleaned(&answer.facts)
            },
            base: facts.map(|facts| facts.digest.clone()),
            is_confirmed: false,
            lessons: Vec::new(),
            remembered: Remembered {
                anchor: range.anchor,
                bytes: range.bytes,
                summary: replaces_turns.then_some(paragraph),
                forget: replaces_turns,
            },
            turns: count_turns(&range.entries),
        }
    }

    /// Puts a result on the disk and gives it to the memory. `None` when another thread or process has
    /// consolidated this part meanwhile.
    fn save(&self, mut staged: Staged) -> Result<Option<Saved>> {
        let _lock = staged::lock(self.sessions)?;
        let now = self.read_range(1)?.map(|range| range.anchor);
        if staged::exists(self.sessions, self.key)
            || now.as_ref() != Some(&staged.remembered.anchor)
        {
            return Ok(None);
        }
        staged.write(self.sessions, self.key)?;
        staged::reached("staged");
        let save = || self.agent.memory().save(&staged.consolidated());
        let saved = self.agent.write_unchanged(FACTS, save);
        if !matches!(saved, Ok(Saved::Done)) {
            staged::remove(self.sessions, self.key)?;
            return saved.map(Some);
        }
        staged::reached("saved");
        staged.is_saved = self.agent.learn(&staged);
        staged::reached("learned");
        if staged.is_saved {
            staged.write(self.sessions, self.key)?;
        }
        staged::reached("marked");
        Ok(Some(Saved::Done))
    }
}

fn is_overflow(error: &Error) -> bool {
    matches!(error, Error::Model(error) if error.fault == Fault::Overflow)
}

fn count_turns(entries: &[Entry]) -> usize {
    let is_person = |entry: &&Entry| entry.kind == EntryKind::Person;
    entries.iter().filter(is_person).count()
}

//! Drives one turn: does what `turn` decides and journals every step before the next one starts.

use crate::cancel::Cancel;
use crate::chat::{Effect, Entry, Letter, Reply, Request, Role, ToolCall, ToolResult, Usage};
use crate::error::{Error, Fault, Result};
use crate::limits::agent::MESSAGE_BYTES;
use crate::limits::chat::CALLS_PER_REPLY;
use crate::message::{Envelope, Media};
use crate::provider::{self, Answer, Models, Progress};
use crate::session::line::TurnEnd;
use crate::session::{Session, history};

use super::host::{TurnEvent, TurnHost};
use super::turn::{Decision, Done, Ending, Turn};
use super::{Agent, calls, words};
use crate::provider::table::OFFLINE;
use crate::tools::Caller;

/// How a turn came out.
#[derive(Debug)]
pub enum Outcome {
    /// The model answered.
    Answered,
    /// A bound of the turn ended it; the text says which.
    Bounded(Ending),
    /// The person or a signal stopped it.
    Stopped,
    /// It failed. Nothing of the error is in the journal.
    Failed(Error),
}

/// What a turn came to.
#[derive(Debug)]
pub struct Report {
    /// How it came out.
    pub outcome: Outcome,
    /// The answer for the person; empty when there is none.
    pub text: String,
    /// Questions that the model was asked.
    pub steps: u32,
    /// The tools that were used, in order, as hints.
    pub tools: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// The provider and the model that spoke last.
    pub spoke: Option<(String, String)>,
    /// Why no model answered, when the offline helper stood in for them.
    pub failure: Option<Error>,
}

/// Marks what the runtime tells the model in the person's place, so that nobody takes it for theirs.
const NOTE: &str = "[Note from the runtime, not from the person] ";

/// One turn, running.
pub(super) struct Run<'a> {
    agent: &'a Agent,
    session: &'a mut Session,
    host: &'a mut dyn TurnHost,
    cancel: &'a Cancel,
    turn: Turn,
    models: provider::Turn<'a>,
    report: Report,
    system: String,
    facts: String,
    /// Bytes that the history may have; halved when the model says that it is too long.
    budget: usize,
    /// What has been shown of a reply that is not complete.
    partial: String,
    /// The closing reply: it is journalled together with the turn's end.
    closing: Option<Entry>,
}

impl<'a> Run<'a> {
    pub fn new(
        agent: &'a Agent,
        models: &'a Models,
        session: &'a mut Session,
        (host, cancel): (&'a mut dyn TurnHost, &'a Cancel),
    ) -> Self {
        let system = agent.system_prompt();
        let facts = agent.runtime_facts(session.chat());
        let report = Report {
            outcome: Outcome::Answered,
            text: String::new(),
            steps: 0,
            tools: Vec::new(),
            usage: Usage::default(),
            spoke: None,
            failure: None,
        };
        Self {
            budget: agent.history_budget(system.len() + facts.len()),
            turn: Turn::new(agent.settings.max_tool_iterations),
            models: models.for_turn(cancel),
            partial: String::new(),
            closing: None,
            agent,
            session,
            host,
            cancel,
            report,
            system,
            facts,
        }
    }

    /// Runs the turn to its end. Fails only where nothing was begun, or the journal cannot be written.
    pub fn drive(mut self, message: Option<&Envelope>) -> Result<Report> {
        self.accept(message)?;
        let result = self.steps();
        self.report.steps = self.turn.steps();
        self.report.outcome = match result {
            Ok(ending) => self.end(ending)?,
            Err(_) if self.cancel.is_cancelled() => self.stop()?,
            Err(Error::Stopped) => self.stop()?,
            Err(error) => {
                // No journal keeps an error as if the model had said it, so no place is named for it.
                self.host.close(&error.to_string(), None)?;
                self.session.end_turn(None, TurnEnd::Failed)?;
                Outcome::Failed(error)
            }
        };
        Ok(self.report)
    }

    /// Journals the message. A turn that was killed goes on with it, its open calls answered as
    /// unknown: they are not run again.
    fn accept(&mut self, message: Option<&Envelope>) -> Result<()> {
        if message.is_none() && !self.session.is_unfinished() {
            return Err(Error::Usage(
                "there is no interrupted turn to go on with; say something with -m".to_owned(),
            ));
        }
        if message.is_some_and(|message| message.text.len() > MESSAGE_BYTES) {
            return Err(Error::TooLarge {
                what: "the message".to_owned(),
                limit: MESSAGE_BYTES,
            });
        }
        for call in self.session.unanswered() {
            self.append_result(&call, &words::failed(history::UNKNOWN_OUTCOME))?;
        }
        match message {
            Some(message) => self.journal(message),
            None => Ok(()),
        }
    }

    /// Journals what the person has said, once: a message that was accepted before a power cut may
    /// come again although the session has it.
    fn journal(&mut self, message: &Envelope) -> Result<()> {
        if !self.session.holds(&message.id) {
            let mut entry = Entry::new(Role::User, words::of_message(message));
            entry.origin = Some(message.id.clone()).filter(|id| !id.is_empty());
            let photos = message
                .attachments
                .iter()
                .filter(|attachment| attachment.media == Media::Photo);
            let toolbox = &self.agent.toolbox;
            entry.images = photos
                .filter_map(|photo| toolbox.image(&photo.path, self.cancel))
                .collect();
            self.session.append(entry)?;
        }
        self.host.journalled(&message.id);
        Ok(())
    }

    fn steps(&mut self) -> Result<Ending> {
        let mut decision = self.turn.begin();
        let mut reply = Reply::default();
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            decision = match decision {
                Decision::Ask { note } => {
                    for message in self.host.interjections() {
                        self.journal(&message)?;
                    }
                    if let Some(note) = note {
                        self.session
                            .append(Entry::new(Role::User, format!("{NOTE}{note}")))?;
                    }
                    reply = self.ask()?;
                    let decision = self.turn.replied(&reply);
                    self.keep(&reply, &decision)?;
                    decision
                }
                Decision::Use => self.use_tools(std::mem::take(&mut reply.tool_calls))?,
                Decision::End(ending) => return Ok(ending),
            };
        }
    }

    /// Asks the model; once more with half the history when that was too long.
    fn ask(&mut self) -> Result<Reply> {
        self.check_tokens()?;
        match self.ask_within_budget() {
            Err(Error::Model(error)) if error.fault == Fault::Overflow => {
                self.host.on_event(TurnEvent::Notice(
                    "the conversation is too long for the model; asking with half of it",
                ));
                self.budget /= 2;
                self.ask_within_budget()
            }
            result => result,
        }
    }

    fn ask_within_budget(&mut self) -> Result<Reply> {
        let settings = &self.agent.settings;
        let mut entries =
            history::select(self.session.entries(), settings.memory_window, self.budget);
        let person = |entry: &Entry| entry.role == Role::User && !entry.content.starts_with(NOTE);
        let place = entries.iter().rposition(person).unwrap_or(0);
        entries.insert(place, Entry::new(Role::User, self.facts.as_str()));
        let request = Request {
            system: &self.system,
            // The next turn has other facts; the next step of this one has the same.
            stable: if self.turn.steps() == 1 {
                place
            } else {
                entries.len()
            },
            entries: &entries,
            tools: self.agent.toolbox.specs(),
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            reasoning_effort: settings.reasoning_effort,
            stream: self.agent.stream,
        };
        self.partial.clear();
        let (host, partial) = (&mut *self.host, &mut self.partial);
        let mut heard = |progress: Progress<'_>| match progress {
            Progress::Delta(piece) => {
                partial.push_str(piece);
                host.on_event(TurnEvent::Delta(piece));
            }
            Progress::Notice(notice) => host.on_event(TurnEvent::Notice(notice)),
        };
        let answer = self.models.ask(&request, &mut heard)?;
        self.partial.clear();
        self.heard(answer)
    }

    fn heard(&mut self, answer: Answer) -> Result<Reply> {
        // Before anything that can fail: the tokens are spent.
        if answer.provider != OFFLINE {
            self.agent.ledger.add(&answer.model, answer.reply.usage);
        }
        if let Some(failure) = answer.failure {
            self.stand_in(Error::Model(failure), &answer.reply)?;
        }
        self.report.usage.add(answer.reply.usage);
        self.report.spoke = Some((answer.provider, answer.model));
        if !answer.reply.text.trim().is_empty() {
            self.host.on_event(TurnEvent::Said(&answer.reply.text));
        }
        Ok(answer.reply)
    }

    /// No model answered, and the offline helper stands in. It can do a plain request from its
    /// beginning to its end; it cannot go on with what a model had in mind, and where it has nothing
    /// to offer the failure itself is the better answer.
    fn stand_in(&mut self, failure: Error, reply: &Reply) -> Result<()> {
        let is_going_on = self.report.failure.is_some();
        let a_model_spoke = self.report.spoke.is_some() && !is_going_on;
        if a_model_spoke || (!is_going_on && reply.tool_calls.is_empty()) {
            return Err(failure);
        }
        if !is_going_on {
            self.host.on_event(TurnEvent::Notice(&failure.to_string()));
            self.host.on_event(TurnEvent::Notice(
                "until that is mended, the offline helper does what it understands",
            ));
            self.report.failure = Some(failure);
        }
        Ok(())
    }

    /// Journals a reply. The closing one waits, to be written together with the turn's end.
    fn keep(&mut self, reply: &Reply, decision: &Decision) -> Result<()> {
        if *decision == Decision::Use {
            // What is said beside calls is no part of the answer.
            self.report.text.clear();
            return self.session.append(Entry::of_reply(reply));
        }
        if reply.text.trim().is_empty() {
            return Ok(());
        }
        // Half a call is nothing; a cut-off text is the beginning of the answer.
        let entry = Entry {
            tool_calls: Vec::new(),
            ..Entry::of_reply(reply)
        };
        self.report.text.push_str(&reply.text);
        match decision {
            Decision::End(_) => self.closing = Some(entry),
            _ => self.session.append(entry)?,
        }
        Ok(())
    }

    fn use_tools(&mut self, mut wanted: Vec<ToolCall>) -> Result<Decision> {
        let excess = wanted.split_off(wanted.len().min(CALLS_PER_REPLY));
        let hints: Vec<String> = wanted
            .iter()
            .map(|call| self.agent.toolbox.hint(call))
            .collect();
        self.host.on_event(TurnEvent::ToolHint(&hints.join(", ")));
        self.report.tools.extend(hints);
        let mut outcomes = Vec::with_capacity(wanted.len());
        for group in calls::groups(&wanted, |call| self.agent.toolbox.is_read_only(&call.name)) {
            let results = self.run_group(group);
            for (call, result) in group.iter().zip(&results) {
                self.append_result(call, result)?;
            }
            outcomes.extend(results.iter().map(|result| result.failed));
        }
        for call in &excess {
            let text = format!(
                "Error: at most {CALLS_PER_REPLY} calls are taken from one reply; this one was not run."
            );
            self.append_result(call, &words::failed(&text))?;
        }
        let done: Vec<Done<'_>> = wanted
            .iter()
            .zip(outcomes)
            .map(|(call, failed)| Done {
                call,
                failed,
                read_only: self.agent.toolbox.is_read_only(&call.name),
            })
            .collect();
        Ok(self.turn.used(&done))
    }

    /// Runs calls, and does what their tools want and cannot do themselves.
    fn run_group(&mut self, group: &[ToolCall]) -> Vec<ToolResult> {
        if self.cancel.is_cancelled() {
            return group
                .iter()
                .map(|_| words::failed(history::STOPPED_OUTCOME))
                .collect();
        }
        let session = self.session.chat().to_string();
        let caller = Caller {
            session: &session,
            cancel: self.cancel,
            answer: None,
        };
        let mut results = calls::run(&self.agent.toolbox, group, &caller);
        for (call, result) in group.iter().zip(&mut results) {
            match result.effect.take() {
                Some(Effect::Ask(question)) => {
                    let answer = self.host.ask(&question, self.cancel);
                    let caller = Caller {
                        answer: Some((&question, answer)),
                        ..caller
                    };
                    *result = self.agent.toolbox.run(call, &caller);
                }
                Some(Effect::Send(letter)) => {
                    if let Err(error) = self.send(*letter) {
                        *result = words::failed(&format!("Error: {error}"));
                    }
                }
                None => {}
            }
        }
        results
    }

    fn send(&mut self, letter: Letter) -> Result<()> {
        self.host.send(letter)
    }

    fn append_result(&mut self, call: &ToolCall, result: &ToolResult) -> Result<()> {
        if result.failed {
            let first = result.text.lines().next().unwrap_or_default();
            let first = first.strip_prefix("Error: ").unwrap_or(first);
            self.host
                .on_event(TurnEvent::ToolFailed(&format!("{}: {first}", call.name)));
        }
        self.session.append(Entry::of_result(call, result))
    }

    /// Journals the end of a turn that came to one by itself.
    fn end(&mut self, ending: Ending) -> Result<Outcome> {
        let closing = self.closing.take();
        if ending == Ending::Answered {
            self.owe()?;
            self.session.end_turn(closing, TurnEnd::Answered)?;
            return Ok(Outcome::Answered);
        }
        let account = words::account(&ending, self.turn.steps(), &self.report.tools);
        let closing = match ending {
            // The model should know next time why it did not come to an end.
            Ending::StepLimit | Ending::Circles(_) => {
                Some(Entry::new(Role::Assistant, account.as_str()))
            }
            _ => closing,
        };
        if !self.report.text.is_empty() {
            self.report.text.push_str("\n\n");
        }
        self.report.text.push_str(&account);
        self.owe()?;
        self.session.end_turn(closing, TurnEnd::Bounded)?;
        self.host.on_event(TurnEvent::Delta(&account));
        self.host.on_event(TurnEvent::Said(&account));
        Ok(Outcome::Bounded(ending))
    }

    /// Gives the answer to whoever owes it to the person, before the journal says that it was given.
    fn owe(&mut self) -> Result<()> {
        let turn = Some(self.session.length());
        self.host.close(&self.report.text, turn)
    }

    /// Journals that the person stopped it, with what the model had said by then.
    fn stop(&mut self) -> Result<Outcome> {
        for call in self.session.unanswered() {
            self.session.append(Entry::of_result(
                &call,
                &words::failed(history::STOPPED_OUTCOME),
            ))?;
        }
        let mut said = std::mem::take(&mut self.partial);
        if !said.trim().is_empty() {
            said.push('\n');
        }
        // Also where nothing was said: else the next turn would do what was stopped.
        let last = Entry::new(Role::Assistant, said + "[stopped by the person]");
        self.session.end_turn(Some(last), TurnEnd::Stopped)?;
        Ok(Outcome::Stopped)
    }

    fn check_tokens(&self) -> Result<()> {
        let limit = self.agent.tokens_per_day;
        if limit == 0 {
            return Ok(());
        }
        let today = self.agent.ledger.counts().today();
        if today.input + today.output < limit {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "the day's limit of {limit} tokens (limits.tokensPerDay) is used up: {} so far. It begins anew at midnight; \
             `peacrab config set limits.tokensPerDay NUMBER` raises it",
            today.input + today.output
        )))
    }
}

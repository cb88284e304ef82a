//! Drives one turn: does what `turn` decides and journals every step before the next one starts.

mod attached;
mod calls;
mod effects;
pub(in crate::agent) mod hearing;
mod lessons;
mod models;
mod report;
mod review;
pub(in crate::agent) mod speaking;
mod tasks;

pub(super) use report::end_stopped;
pub use report::{Outcome, Report, describe_failure};

use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{
    Entry, EntryKind, ReasoningEffort, Reply, Request, ToolCall, ToolResult, ToolSpec, Usage,
};
use crate::base::error::{Error, Fault, Result};
use crate::base::language::Language;
use crate::base::limits::agent::MESSAGE_BYTES;
use crate::base::message::{Address, Author, Envelope};
use crate::models::turn::using_another;
use crate::models::{Answer, Models, Progress};
use crate::store::session::conversation::{NOT_ALLOWED_YET, STOPPED_OUTCOME, UNKNOWN_OUTCOME};
use crate::store::session::line::TurnEnd;
use crate::store::session::{Retry, Session};
use crate::text::markup;

use super::budget::Budget;
use super::context::message_text;
use super::host::{TurnEvent, TurnHost, TurnOptions};
use super::turn::{Decision, Done, Ending, Turn};
use super::{Agent, context, skills, subagent, texts};
use crate::tools::mcp::FIND_TOOLS;
use crate::tools::{Caller, NOT_FOR_SUBAGENTS, has_tool};

/// Times a question that is too long for the model is asked again, each time with half of it: from
/// 128,000 tokens to 8,000.
const OVERFLOW_RETRIES: u32 = 4;
/// Tool calls taken from one reply; what is beyond is answered with an error, not run.
const CALLS_PER_REPLY: usize = 32;
/// Tool calls of one reply that are kept at all; only a model that has lost its way makes more.
const CALLS_KEPT_PER_REPLY: usize = 128;

/// One turn, running.
pub(super) struct Run<'a> {
    agent: &'a Agent,
    session: &'a mut Session,
    host: &'a mut dyn TurnHost,
    cancel: &'a Cancel,
    turn: Turn,
    models: crate::models::Turn<'a>,
    report: Report,
    system: String,
    /// The tools that the model is told about, from the turn's beginning to its end.
    specs: Vec<ToolSpec>,
    /// The names of those that it does not have.
    without: &'static [&'static str],
    /// What the person may do for whom it is.
    role: Role,
    /// The same for the limits of the day: what others say meanwhile changes nothing.
    payer: Role,
    /// Tokens after which it is asked no more.
    tokens_max: u64,
    /// Tasks that it has given to subagents.
    tasks_given: u32,
    /// Messages that it has sent beside its answer.
    sends: u32,
    /// The models of which one is asked.
    candidates: &'a Models,
    /// The one that is asked next.
    model_name: String,
    /// How much the model thinks.
    effort: Option<ReasoningEffort>,
    /// The language of what the program itself says.
    language: Language,
    author: Option<Author>,
    /// Whether people alone have begun and joined it.
    is_asked: bool,
    /// The chat for which the turn is.
    reply: Option<Address>,
    /// The runtime's facts, which go along and are not saved.
    facts: Entry,
    /// Tokens that the conversation may have; fewer when the model says that it is too long.
    budget: Budget,
    /// The lessons that its results have.
    lessons: Vec<lessons::Shown>,
    /// Whether the person's pictures have come, and nothing was said of them.
    has_pictures: bool,
    /// The text of an incomplete reply that has been shown.
    partial: String,
    /// The closing reply: it is journalled together with the turn's end.
    closing: Option<Entry>,
    /// Whether something could not be written and the host has given up.
    has_given_up: bool,
}

impl<'a> Run<'a> {
    pub fn new(
        agent: &'a Agent,
        models: &'a Models,
        session: &'a mut Session,
        (message, options): (Option<&Envelope>, &TurnOptions),
        (host, cancel): (&'a mut dyn TurnHost, &'a Cancel),
    ) -> Self {
        let is_subagent = options.is_subagent;
        let role = session.role_with(message.map(|message| message.role));
        models.remember_calls(&|name| agent.learned.makes_calls(name));
        let language = message.map_or_else(Language::default, Envelope::language);
        let candidates = models;
        let models = models.for_turn(cancel).speaking(language);
        let mut models = models.taking_back(host.takes_back());
        agent.learn_window(&mut models);
        let model_name = models.model_name();
        let system = agent.system_prompt(&model_name, role, is_subagent);
        let mut specs = agent.toolbox.begin_turn(session.chat().as_str());
        let address = message.and_then(|message| message.reply.as_ref());
        let mut facts = agent.runtime_facts(session.chat(), address);
        facts.push_str(&options.facts);
        if role == Role::User
            && let Some(message) = message.filter(|message| message.sender().is_some())
        {
            facts.push_str(match message.attended {
                true => texts::FACT_USER,
                false => texts::FACT_UNATTENDED,
            });
        }
        let (without, steps_max, tokens_max): (&[&str], _, _) = if is_subagent {
            (&NOT_FOR_SUBAGENTS, subagent::STEPS, subagent::TOKENS)
        } else {
            (&[], u32::MAX, u64::MAX)
        };
        specs.retain(|spec| has_tool(role, &spec.name) && !without.contains(&&*spec.name));
        agent.fit_tools(&model_name, &mut specs);
        let report = Report {
            outcome: Outcome::Answered,
            text: String::new(),
            account: String::new(),
            steps: 0,
            tools: Vec::new(),
            usage: Usage::default(),
            context: 0,
            spoke: None,
            failure: None,
        };
        Self {
            budget: agent.budget(&model_name, &system, &facts, &specs),
            specs,
            without,
            role,
            payer: options.payer.unwrap_or(role),
            tokens_max,
            tasks_given: 0,
            sends: 0,
            turn: Turn::new(agent.settings.max_tool_iterations.min(steps_max)),
            models,
            candidates,
            effort: agent.effort_of(session.chat()),
            model_name,
            lessons: Vec::new(),
            has_pictures: false,
            partial: String::new(),
            closing: None,
            has_given_up: false,
            agent,
            session,
            host,
            cancel,
            language,
            author: message.and_then(Envelope::author),
            // Of a turn that goes on after a kill it is certain only where an owner's role does.
            is_asked: message.map_or(role == Role::Owner, Caller::is_asked_by),
            reply: address.cloned(),
            report,
            system,
            facts: Entry::new(EntryKind::Note, facts),
        }
    }

    /// Runs the turn to its end: journals the message, takes the steps, and ends.
    ///
    /// Fails only where nothing was begun, or where something could not be written and the host has
    /// given up. The journal then ends with the last step that was written, and the turn can go on.
    pub fn drive(mut self, message: Option<&Envelope>) -> Result<Report> {
        self.accept(message)?;
        let result = self.steps();
        self.report.steps = self.turn.steps();
        self.report.outcome = match result {
            Ok(ending) => self.end(ending)?,
            Err(error) if self.has_given_up => return Err(error),
            Err(Error::Stopped) => self.stop()?,
            Err(_) if self.cancel.is_cancelled() => self.stop()?,
            Err(error) => self.fail(error)?,
        };
        Ok(self.report)
    }

    /// Journals the message. A turn that was killed goes on with it, its open calls answered as
    /// unknown: they are not run again.
    fn accept(&mut self, message: Option<&Envelope>) -> Result<()> {
        if message.is_none() && !self.session.is_unfinished() {
            return Err(Error::Usage(
                "Nothing to resume: no turn was interrupted.".to_owned(),
            ));
        }
        if message.is_some_and(|message| message.text.len() > MESSAGE_BYTES) {
            return Err(Error::TooLarge {
                what: "the message".to_owned(),
                limit: MESSAGE_BYTES,
            });
        }
        let outcome = if self.host.was_asking() {
            NOT_ALLOWED_YET
        } else {
            UNKNOWN_OUTCOME
        };
        for call in self.session.unanswered() {
            self.append_result(&call, ToolResult::failed(outcome))?;
        }
        match message {
            Some(message) => self.journal(message),
            None => self.load_skills(None),
        }
    }

    /// Journals the message, once: one that was accepted before a power cut may come again although the
    /// session has it.
    fn journal(&mut self, message: &Envelope) -> Result<()> {
        self.is_asked &= Caller::is_asked_by(message);
        if message.role < self.role {
            // What the turn leaves behind is for the one who may do least.
            self.author = message.author().or(self.author.take());
            self.role = message.role;
        }
        if !self.session.holds(&message.id) {
            let (mut contents, told) = self.listen(message);
            contents.extend(self.read_documents(message));
            // That may have taken long.
            let edited = self.host.edited(message);
            let message = edited.as_ref().unwrap_or(message);
            let mut entry = Entry::new(EntryKind::Person, message_text(message, &contents));
            entry.origin = Some(message.id.clone()).filter(|id| !id.is_empty());
            entry.person = message.role;
            entry.author = message.author().map(Box::new);
            entry.images = self.read_pictures(message);
            self.note_unsent()?;
            self.append(entry)?;
            told.iter()
                .for_each(|text| self.host.on_event(TurnEvent::Lasting(text)));
        }
        self.load_skills(Some(message))?;
        self.host.journalled(&message.id);
        Ok(())
    }

    /// Journals the skills that a message names with `$NAME`, unless the turn has them already.
    fn load_skills(&mut self, message: Option<&Envelope>) -> Result<()> {
        // They are files of the workspace.
        if self.role == Role::Guest {
            return Ok(());
        }
        for note in skills::named(&self.agent.toolbox, self.session, message) {
            self.append(Entry::new(EntryKind::Note, note))?;
        }
        Ok(())
    }

    fn steps(&mut self) -> Result<Ending> {
        let mut reply = Reply::default();
        let mut decision = match self.take_proposed() {
            true => Decision::End(Ending::Answered),
            false => self.turn.begin(),
        };
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            decision = match decision {
                Decision::Ask { .. } if self.tokens_used() >= self.tokens_max => {
                    return Ok(Ending::TokenLimit);
                }
                Decision::Ask { note } => {
                    if let Some(note) = note {
                        self.append(Entry::new(EntryKind::Note, note))?;
                    }
                    for message in self.host.interjections() {
                        self.journal(&message)?;
                    }
                    reply = self.ask()?;
                    let decision = self.turn.replied(&reply);
                    self.keep(&reply, &decision)?;
                    decision
                }
                Decision::Use => self.use_tools(std::mem::take(&mut reply.tool_calls))?,
                Decision::End(Ending::Empty | Ending::NoRoom) if self.leave_silent() => {
                    self.turn.ask_another()
                }
                Decision::End(Ending::Answered) => match self.review()? {
                    Some(note) => self.turn.send_back(note),
                    None => return Ok(Ending::Answered),
                },
                Decision::End(ending) => return Ok(ending),
            };
        }
    }

    /// Asks the model; again with less when the conversation was too long, as often as it gets shorter.
    fn ask(&mut self) -> Result<Reply> {
        self.agent.check_spending(self.payer, self.language)?;
        self.follow_model();
        let mut tries = 0;
        loop {
            let mut tokens = 0;
            let mut error = match self.ask_once(&mut tokens) {
                Err(Error::Model(error)) if error.fault == Fault::Overflow => error,
                result => return result,
            };
            // It may have been a fallback's window.
            self.follow_model();
            let model = &self.model_name;
            self.agent.learn_overflow(model, tokens + self.budget.fixed);
            self.budget.history = tokens / 2;
            let shorter = self.session.fit(tokens / 2, &self.facts).tokens;
            let is_at_end = shorter >= tokens || tries >= OVERFLOW_RETRIES;
            if is_at_end && self.models.leave() {
                // Another model may have room.
                self.follow_model();
                let summary = error.summary(self.language);
                let notice = using_another(self.language, &summary, &self.model_name);
                self.host.on_event(TurnEvent::Notice(&notice));
                tries = 0;
                continue;
            }
            if is_at_end && self.session.conversation().count_turns() <= 1 {
                // A new conversation would be as long.
                error.hint = Some(texts::FIRST_TOO_LONG.to_owned());
            }
            if is_at_end {
                error.reason = format!("it cannot be shortened further; {}", error.reason);
                return Err(Error::Model(error));
            }
            self.host
                .on_event(TurnEvent::Notice(texts::shortened(self.language)));
            tries += 1;
        }
    }

    /// Asks with what fits into the budget; `tokens` becomes the size of the conversation in the request.
    fn ask_once(&mut self, tokens: &mut usize) -> Result<Reply> {
        let settings = &self.agent.settings;
        let mut told = models::Told::of(self);
        let cache_key = self.session.cache_key();
        let is_shown = !self.may_be_reviewed();
        let fitted = self.session.fit(self.budget.history, &self.facts);
        *tokens = fitted.tokens;
        let estimated = fitted.tokens + self.budget.fixed;
        let (kept, guest_turn) = match self.role {
            Role::Guest => context::entries_for_guest(&fitted.entries, fitted.turn),
            _ => (Vec::new(), 0),
        };
        let (entries, turn) = match self.role {
            Role::Guest => (kept.iter().collect(), guest_turn),
            _ => (fitted.entries, fitted.turn),
        };
        let request = Request {
            system: &self.system,
            // The next turn has other facts.
            stable: turn,
            entries: &entries,
            tools: &self.specs,
            max_tokens: self.agent.reply_tokens(&self.model_name),
            thoughts_max: self.agent.thoughts_max(&self.model_name, estimated),
            temperature: settings.temperature,
            reasoning_effort: self.effort,
            stream: self.agent.stream,
            cache_key: cache_key.as_deref(),
        };
        self.partial.clear();
        let (host, partial) = (&mut *self.host, &mut self.partial);
        host.on_event(TurnEvent::Asking(&self.model_name));
        let mut on_progress = |progress: Progress<'_>| match progress {
            Progress::Delta(piece) => {
                partial.push_str(piece);
                if is_shown {
                    host.on_event(TurnEvent::Delta(piece));
                }
            }
            Progress::Again => {
                partial.clear();
                host.on_event(TurnEvent::Retracted);
            }
            Progress::Notice(notice) => host.on_event(TurnEvent::Notice(notice)),
            Progress::WithoutTools(model) => told.without_tools(model, host),
            Progress::Blind(model) => told.blind(model, host),
        };
        let asked = self.models.ask(&request, &mut on_progress);
        self.has_pictures = told.has_pictures;
        self.count_spent();
        let answer = asked?;
        if self.agent.learned.told_window(&self.model_name).is_some() {
            // It is loaded by now.
            self.agent.learn_window(&mut self.models);
        }
        self.partial.clear();
        let model = match answer.model.split_once('/') {
            Some((vendor, _)) if vendor == answer.provider => answer.model.clone(),
            _ => format!("{}/{}", answer.provider, answer.model),
        };
        self.agent.learned.note(&model, estimated, answer.counted);
        if answer.makes_calls {
            self.agent.learned.note_calls(&model);
        }
        self.take_reply(answer)
    }

    fn take_reply(&mut self, answer: Answer) -> Result<Reply> {
        let mut reply = answer.reply;
        reply.tool_calls.truncate(CALLS_KEPT_PER_REPLY);
        if let Some(failure) = answer.failure {
            self.stand_in(Error::Model(failure), &reply)?;
        }
        self.report.context = reply.usage.input.saturating_add(reply.usage.output);
        self.report.spoke = Some((answer.provider, answer.model));
        let is_shown = !reply.tool_calls.is_empty() || !self.may_be_reviewed();
        if is_shown && !reply.text.trim().is_empty() {
            self.host.on_event(TurnEvent::Said(&reply.text));
        }
        Ok(reply)
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
            for (call, mut result) in group.iter().zip(self.run_group(group)) {
                outcomes.push(result.failed);
                self.remind(call, &mut result);
                self.append_result(call, result)?;
            }
        }
        for call in &excess {
            let text = format!(
                "Error: at most {CALLS_PER_REPLY} calls are taken from one reply; this one was not run."
            );
            self.append_result(call, ToolResult::failed(text))?;
        }
        if wanted.iter().any(|call| call.name == FIND_TOOLS) {
            self.tell_found();
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

    /// From the next step on the model is told about the tools that it has found.
    fn tell_found(&mut self) {
        self.choose_tools();
        let budget = self.plan();
        self.budget.fixed = budget.fixed;
        self.budget.history = self.budget.history.min(budget.history);
    }

    /// Runs calls. The effects that their tools return are performed by the host.
    fn run_group(&mut self, group: &[ToolCall]) -> Vec<ToolResult> {
        if self.cancel.is_cancelled() {
            return group
                .iter()
                .map(|_| ToolResult::failed(STOPPED_OUTCOME))
                .collect();
        }
        let session = self.session.chat().to_string();
        let author = self.author.clone();
        let message = self.session.last_origin().unwrap_or_default().to_owned();
        let caller = Caller {
            session: &session,
            role: self.role,
            message: &message,
            cancel: self.cancel,
            answer: None,
            progress: None,
            input: None,
            without: self.without,
            author: author.as_ref(),
            is_asked: self.is_asked,
        };
        let host = &mut *self.host;
        let mut told = |text: &str| host.on_event(TurnEvent::Progress(text));
        let mut results = calls::run_watched(&self.agent.toolbox, group, &caller, &mut told);
        for (call, result) in group.iter().zip(&mut results) {
            self.perform(call, result, &caller);
        }
        results
    }

    fn append_result(&mut self, call: &ToolCall, result: ToolResult) -> Result<()> {
        if result.failed {
            let first = result.text.lines().next().unwrap_or_default();
            let first = first.strip_prefix("Error: ").unwrap_or(first);
            self.host
                .on_event(TurnEvent::ToolFailed(&format!("{}: {first}", call.name)));
        }
        self.append(Entry::of_result(call, result))
    }

    fn append(&mut self, entry: Entry) -> Result<()> {
        self.write(|session, retry| session.append_with(entry, retry))
    }

    /// Writes to the journal, again and again while the host says so: the model is not asked again for
    /// a step that it has answered.
    fn write(
        &mut self,
        write: impl FnOnce(&mut Session, &mut Retry<'_>) -> Result<()>,
    ) -> Result<()> {
        let (host, cancel) = (&mut *self.host, self.cancel);
        let written = write(self.session, &mut |error| host.retry_write(error, cancel));
        self.has_given_up |= written.is_err();
        written
    }

    /// Gives the closing text to the host, which stores it for delivery, before the journal says that
    /// the turn has ended. `is_answer` tells an answer from an error, which no journal keeps as if the
    /// model had said it: the turn is not recognised by it after a kill.
    fn close(&mut self, text: &str, is_answer: bool) -> Result<()> {
        let journal = is_answer.then(|| self.session.length());
        loop {
            match self.host.close(text, journal) {
                Ok(()) => return Ok(()),
                Err(error) if self.host.retry_write(&error, self.cancel) => {}
                Err(error) => {
                    self.has_given_up = true;
                    return Err(error);
                }
            }
        }
    }

    /// Ends a turn that was neither stopped nor failed.
    fn end(&mut self, ending: Ending) -> Result<Outcome> {
        self.note_lessons();
        let mut closing = self.closing.take();
        if ending == Ending::Answered {
            if markup::shows_nothing(&self.report.full_text()) {
                // The journal keeps what the model has written.
                let notice = texts::nothing_shown(self.language);
                self.host.on_event(TurnEvent::Bounded(notice));
                notice.clone_into(&mut self.report.text);
            }
            self.finish(closing, TurnEnd::Answered)?;
            return Ok(Outcome::Answered);
        }
        let account = ending.format_account(self.turn.steps(), &self.report.tools, self.language);
        if matches!(
            ending,
            Ending::StepLimit | Ending::TokenLimit | Ending::Circles(_)
        ) {
            // The model should know in the next turn why this one was cut short.
            closing = Some(Entry::new(EntryKind::Assistant, account.as_str()));
        }
        self.host.on_event(TurnEvent::Bounded(&account));
        self.report.account = account;
        self.finish(closing, TurnEnd::Bounded)?;
        Ok(Outcome::Bounded(ending))
    }

    /// First the answer is stored, then the journal says that the turn has ended. The host releases the
    /// answer when the turn has returned.
    fn finish(&mut self, closing: Option<Entry>, end: TurnEnd) -> Result<()> {
        let text = self.report.full_text().into_owned();
        self.close(&text, true)?;
        self.write(|session, retry| session.end_turn_with(closing, end, retry))
    }

    /// Gives the person the error, and ends the turn.
    fn fail(&mut self, error: Error) -> Result<Outcome> {
        self.close(&self.describe(&error), false)?;
        self.write(|session, retry| session.end_turn_with(None, TurnEnd::Failed, retry))?;
        Ok(Outcome::Failed(error))
    }
}

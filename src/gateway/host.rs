//! The host of a turn in a chat: shows it, asks the person, and stores the answer for delivery.

mod asked;
mod failures;
mod plan;
mod send;

pub use asked::OwnersAsked;
use failures::WriteFailures;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use super::Gateway;
use super::agents::Hosted;
use super::approvals::Asker;
use super::commands::texts;
use super::cron::{self, JobRun};
use super::plans;
use super::progress::Progress;
use super::questions::Whom;
use super::scheduler::WorkId;
use super::tasks::{Parent, Task};
use crate::agent::Agent;
use crate::agent::host::describe_changed;
use crate::agent::host::{TurnEvent, TurnHost, TurnOptions};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputRequest, SendRequest, SpawnRequest, Usage};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::cancel::POLL;
use crate::base::limits::gateway::WRITE_RETRY;
use crate::base::message::{
    Address, Author, DraftKey, Envelope, Origin, OutgoingMessage, SessionKey,
};
use crate::base::sync::Mutex;
use crate::channels::http;
use crate::store::outbox::ClosesTurn;
use crate::store::plans::Agent as PlanAgent;
use crate::store::session::Session;
use crate::text::markup::inline_code;
use std::time::Duration;

/// A turn or a command that took at least this long ends with a message of its own, so that the phone rings: drafts
/// are silent, and after this time people look elsewhere.
const LONG_TURN: Duration = Duration::from_secs(15);

/// A running piece of work, as its thread sees it.
pub struct Work {
    /// Its id.
    pub id: WorkId,
    /// Raised when the person stops it.
    pub cancel: Cancel,
    /// The answers of the loop.
    pub replies: Receiver<Reply>,
}

/// An answer of the loop to a piece of work.
#[derive(Debug)]
pub enum Reply {
    /// To [`Event::Step`]: what has arrived.
    Messages(Vec<Envelope>),
    /// To [`Event::GoesOn`].
    Continue,
}

/// The host of one turn.
pub struct ChatHost<'a> {
    gateway: &'a Arc<Gateway>,
    work: &'a Work,
    hosted: &'a Arc<Hosted>,
    session: SessionKey,
    reply: Address,
    draft: DraftKey,
    /// The language of the program's own texts.
    language: Language,
    /// Whether there is a person who can be asked.
    is_attended: bool,
    /// The person whose message began it.
    person: Option<String>,
    /// The same as the rules about access know them.
    author: Option<Author>,
    /// That person's name, for the owner who is asked in their place.
    name: String,
    /// What the person may do.
    role: Role,
    /// The message that the answer answers.
    reference: String,
    progress: Arc<Mutex<Progress>>,
    /// The texts that the model has sent to this chat with its tool.
    sent: Vec<String>,
    /// The calls that the chat was told to run outside the sandbox.
    unsandboxed: Vec<String>,
    /// Messages that were handed to the turn and are not in its journal yet.
    unread: Vec<Envelope>,
    /// Whether the person has been told that writing fails.
    is_write_failure_told: bool,
    write_failures: WriteFailures,
    /// The run of a job that it is.
    job: Option<Arc<JobRun>>,
    /// The task of a subagent that it is.
    task: Option<Arc<Task>>,
    /// The agent of a plan that it is.
    plan: Option<PlanAgent>,
    /// The files of the prompt that it has changed.
    changed: Vec<String>,
    /// Whether it began with the report of a subagent.
    is_report: bool,
    /// How long it has been running.
    watch: Stopwatch,
}

impl<'a> ChatHost<'a> {
    /// A host for a turn that begins with a message, or goes on where it was interrupted.
    pub fn new(
        gateway: &'a Arc<Gateway>,
        work: &'a Work,
        hosted: &'a Arc<Hosted>,
        session: &SessionKey,
        message: Option<&Envelope>,
    ) -> Self {
        let of_session = || Address::parse(session.as_str());
        let reply = message.map_or_else(of_session, Envelope::address);
        let progress = Progress::new(gateway.display_settings(&reply));
        let is_report = |message: &&Envelope| matches!(message.origin, Origin::Report { .. });
        let language = match message.filter(|message| !is_report(message)) {
            Some(message) => message.language(),
            None => gateway.parts.languages.get(&reply),
        };
        Self {
            gateway,
            work,
            hosted,
            session: session.clone(),
            reply,
            language,
            draft: DraftKey::turn(session),
            is_attended: message.is_none_or(|message| message.attended),
            person: message
                .and_then(Envelope::sender)
                .map(|sender| sender.id.clone()),
            author: message.and_then(Envelope::author),
            name: message
                .and_then(Envelope::sender)
                .map_or_else(String::new, |sender| sender.name.clone()),
            role: message.map_or(Role::Guest, |message| message.role),
            reference: message.map_or_else(String::new, |message| message.reference.clone()),
            progress: Arc::new(Mutex::new(progress)),
            sent: Vec::new(),
            unsandboxed: Vec::new(),
            unread: Vec::new(),
            is_write_failure_told: false,
            write_failures: WriteFailures::default(),
            job: None,
            task: None,
            plan: None,
            changed: Vec::new(),
            is_report: message.as_ref().is_some_and(is_report),
            watch: Stopwatch::start(),
        }
    }

    /// The same for a run of a job: nothing is shown while it runs, and the job says where the answer goes.
    pub fn for_job(mut self, run: &Arc<JobRun>) -> Self {
        self.author.clone_from(&run.job.planned_by);
        self.job = Some(Arc::clone(run));
        self.language = run.language;
        self
    }

    /// The same for a task of a subagent: nothing is shown, and its answer is a report.
    pub fn for_task(mut self, task: &Arc<Task>) -> Self {
        self.task = Some(Arc::clone(task));
        self.plan = PlanAgent::parse(self.session.as_str());
        self
    }

    /// Whether nothing of it is shown while it runs.
    fn is_quiet(&self) -> bool {
        self.job.is_some() || self.task.is_some()
    }

    /// The agent that runs the turn.
    pub fn hosted(&self) -> &'a Hosted {
        self.hosted
    }

    /// The language of the program's own texts.
    pub fn language(&self) -> Language {
        self.language
    }

    /// What the person may do, where no message says it: an interrupted turn goes on with the role that its
    /// journal has.
    pub fn set_role(&mut self, role: Role) {
        self.role = role;
    }

    /// Where the answer goes.
    pub fn reply(&self) -> &Address {
        &self.reply
    }

    /// The message that the answer answers; empty where none is known.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// What the chat is told, once the answer is on its way, of files of the prompt that the turn has changed.
    pub fn describe_changed(&self) -> Option<String> {
        let is_changed = !self.changed.is_empty();
        is_changed.then(|| describe_changed(&self.changed, self.language))
    }

    /// The messages that the turn was handed and has not put into its journal.
    pub fn into_unread(mut self) -> Vec<Envelope> {
        std::mem::take(&mut self.unread)
    }

    /// Shows the draft when it is due, or later when it came too early.
    fn show(&self) {
        if self.is_quiet() {
            return;
        }
        let (gateway, progress) = (Arc::clone(self.gateway), Arc::clone(&self.progress));
        let (draft, to) = (self.draft.clone(), self.reply.clone());
        let reply_to = self.reference.clone();
        let show = move |progress: &mut Progress| {
            if let (Some(text), Some(delivery)) = (progress.due(), gateway.delivery(&to)) {
                delivery.draft(&draft, &to, text, &reply_to);
            }
        };
        let mut wait = {
            let mut progress = self.progress.lock();
            show(&mut progress);
            progress.schedule()
        };
        if wait.is_none() {
            return;
        }
        self.gateway.timers.spawn(async move {
            while let Some(time) = wait {
                super::sleep(time).await;
                let mut progress = progress.lock();
                show(&mut progress);
                progress.run_scheduled();
                // Something else may have been shown meanwhile, and the interval begun again.
                wait = progress.schedule();
            }
        });
    }

    /// Tells the chat that a call runs outside the sandbox because of a standing approval, once for each
    /// such call. The draft would not do: the answer replaces it.
    fn tell_unsandboxed(&mut self, hint: &str) {
        if !self.unsandboxed.iter().any(|told| told == hint) {
            self.unsandboxed.push(hint.to_owned());
            self.tell_beside(texts::unsandboxed(self.language, &inline_code(hint)));
        }
    }

    /// Tells the chat something in a message of its own.
    fn tell_beside(&self, text: String) {
        if self.gateway.delivery(&self.reply).is_some() {
            let message = OutgoingMessage::text(&self.reply, text);
            self.gateway.tell_with(self.stamped(message));
        }
    }

    /// A message, with what a job's run knows about it.
    fn stamped(&self, message: OutgoingMessage) -> OutgoingMessage {
        match &self.job {
            Some(run) => run.stamped(self.gateway, message),
            None => message,
        }
    }

    /// Notes for the run of a job how its turn has ended.
    pub fn note_end(&self, session: &Session) {
        if let Some(run) = &self.job {
            run.note_end(session);
        }
    }

    /// Asks in the chat of the turn, or an owner elsewhere when the person is none.
    fn ask_owner(&self, question: &Question, cancel: &Cancel) -> Answer {
        let gateway = self.gateway;
        // A client of HTTP has no buttons.
        if self.role == Role::Owner && self.reply.channel != http::NAME {
            return gateway.ask(&self.asker(&self.reply, self.language), question, cancel);
        }
        let Some(owner) = gateway.owner_chat() else {
            return Answer::Unattended;
        };
        if !self.may_ask_owner() {
            gateway.tell(&self.reply, texts::owners_asked_often(self.language));
            return Answer::Unattended;
        }
        let language = gateway.parts.languages.get(&owner);
        let question = Question {
            asked_for: self.who(),
            ..question.clone()
        };
        gateway.tell(&self.reply, texts::asking_owner(self.language));
        gateway.ask(&self.asker(&owner, language), &question, cancel)
    }

    fn asker<'b>(&'b self, to: &'b Address, language: Language) -> Asker<'b> {
        let is_own = self.role == Role::Owner && *to == self.reply;
        let person = self.person.as_deref().filter(|_| is_own);
        Asker {
            hosted: self.hosted,
            session: &self.session,
            to,
            language,
            only_for: person.unwrap_or_default(),
        }
    }

    /// Waits until the loop lets the turn go on, which a stopped turn does at once.
    fn wait_for_slot(&self) {
        while !self.work.cancel.is_cancelled() {
            match self.work.replies.recv_timeout(POLL) {
                Ok(Reply::Continue) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Reply::Messages(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for ChatHost<'_> {
    fn drop(&mut self) {
        // A scheduled update finds nothing to show then.
        self.progress.lock().close();
    }
}

impl TurnHost for ChatHost<'_> {
    fn options(&self) -> TurnOptions {
        let (job, settings) = (self.job.as_ref(), &self.hosted.profile.settings);
        let options = job.map_or_else(TurnOptions::default, |run| run.options());
        let of_plan = |agent| plans::model(agent, &settings.plan);
        TurnOptions {
            model: self.plan.as_ref().and_then(of_plan).or(options.model),
            is_subagent: self.task.is_some(),
            payer: Some(self.payer()),
            ..options
        }
    }

    fn spent(&mut self, usage: Usage) -> bool {
        let spend = |agent| self.gateway.spend_for(agent, usage);
        self.plan.as_ref().is_none_or(spend)
    }

    fn on_event(&mut self, event: TurnEvent<'_>) {
        if let TurnEvent::Notice(what) = event {
            tracing::warn!(session = %self.session, "{what}");
        }
        match event {
            TurnEvent::Unsandboxed(hint) => self.tell_unsandboxed(hint),
            TurnEvent::Lasting(text) => self.tell_beside(text.to_owned()),
            _ => {}
        }
        if let Some(task) = &self.task {
            return task.on_event(&event);
        }
        self.progress.lock().on_event(&event);
        self.show();
    }

    fn prompt_changed(&mut self, paths: &[String]) {
        let new = paths.iter().filter(|path| !self.changed.contains(path));
        let new: Vec<String> = new.cloned().collect();
        self.changed.extend(new);
    }

    fn was_asking(&mut self) -> bool {
        let open = &self.gateway.parts.open_questions;
        open.close(self.session.as_str()).unwrap_or_default()
    }

    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer {
        if !self.is_attended {
            return Answer::Unattended;
        }
        self.gateway.events.send(Event::Waits(self.work.id));
        let question = match self.task {
            Some(_) => &question.of_subagent(),
            None => question,
        };
        let open = &self.gateway.parts.open_questions;
        if let Err(error) = open.open(self.session.as_str()) {
            tracing::warn!("failed to note that a command waits for an approval: {error}");
        }
        let mut answer = self.ask_owner(question, cancel);
        if let Err(error) = open.close(self.session.as_str()) {
            tracing::error!("failed to note that a command waits no longer: {error}");
            // What runs must not be taken, after a kill, for what has not.
            answer = Answer::Stopped;
        }
        if self.gateway.events.send(Event::GoesOn(self.work.id)) {
            self.wait_for_slot();
        }
        answer
    }

    fn input(&mut self, request: &InputRequest, role: Role, cancel: &Cancel) -> InputAnswer {
        if !self.is_attended || self.reply.channel == http::NAME {
            return InputAnswer::Cancelled;
        }
        self.gateway.events.send(Event::Waits(self.work.id));
        let whom = Whom {
            chat: self.reply.clone(),
            person: self.person.clone(),
            role,
        };
        let answer = self.gateway.input(whom, request, self.language, cancel);
        if self.gateway.events.send(Event::GoesOn(self.work.id)) {
            self.wait_for_slot();
        }
        answer
    }

    fn interjections(&mut self) -> Vec<Envelope> {
        if !self.gateway.events.send(Event::Step(self.work.id)) {
            return Vec::new();
        }
        self.gateway.check_workers_of(self.work);
        let mut messages = loop {
            match self.work.replies.recv() {
                Ok(Reply::Messages(messages)) => break messages,
                // Of a wait that a /stop has ended.
                Ok(Reply::Continue) => {}
                Err(_) => return Vec::new(),
            }
        };
        messages.retain_mut(|message| self.gateway.admit(message));
        for message in &messages {
            self.gateway.workers.join(self.work, message);
        }
        if let Some(last) = messages.last() {
            self.reference.clone_from(&last.reference);
        }
        self.unread.extend(messages.iter().cloned());
        if let Some(agent) = &self.plan {
            messages.extend(self.gateway.told_to(agent, self.role));
        }
        messages
    }

    fn edited(&self, message: &Envelope) -> Option<Envelope> {
        let text = self.gateway.parts.inbox.message(&message.id)?.text;
        (text != message.text).then(|| Envelope {
            text,
            ..message.clone()
        })
    }

    fn journalled(&mut self, id: &str) {
        self.unread.retain(|message| message.id != id);
        // A task stays until its report is stored.
        match &self.plan {
            Some(agent) => self.gateway.note_told(agent, id),
            None if self.task.is_some() => {}
            None => self.gateway.parts.inbox.taken(id),
        }
    }

    fn close(&mut self, text: &str, journal: Option<u64>) -> Result<()> {
        let is_said = |sent: &String| sent.trim() == text.trim();
        if self.task.is_some() || text.trim().is_empty() || self.sent.iter().any(is_said) {
            return Ok(());
        }
        if let Some(run) = &self.job
            && !run.wants_answer(self.gateway, self.hosted, text, journal.is_some())
        {
            return Ok(());
        }
        let is_long = self.watch.elapsed() >= long_turn();
        let message = OutgoingMessage {
            reply_to: self.reference.clone(),
            replaces: Some(self.draft.clone()).filter(|_| self.job.is_none() && !is_long),
            ..OutgoingMessage::text(&self.reply, text)
        };
        let message = self.stamped(message);
        let closes = journal.map(|journal| ClosesTurn {
            session: self.session.clone(),
            journal,
        });
        self.store_answer(&message, closes)?;
        if self.job.is_some() {
            cron::reached("closed");
        }
        self.progress.lock().close();
        Ok(())
    }

    fn stopped(&mut self, text: &str) {
        if self.is_quiet() || text.trim().is_empty() {
            return;
        }
        let message = OutgoingMessage {
            reply_to: self.reference.clone(),
            replaces: Some(self.draft.clone()),
            // The one who has stopped it looks at it.
            silent: true,
            ..OutgoingMessage::text(
                &self.reply,
                texts::half_answer(self.language, &closed(text)),
            )
        };
        if let Err(error) = self.gateway.enqueue(message, None) {
            tracing::warn!(chat = %self.reply, "failed to store half an answer: {error}");
        }
        self.progress.lock().close();
    }

    fn retry_write(&mut self, error: &Error, cancel: &Cancel) -> bool {
        if !self.write_failures.may_pass(error) {
            return false;
        }
        if !self.is_write_failure_told {
            tracing::error!(session = %self.session, "failed to store a step, trying again: {error}");
            let shown = self
                .gateway
                .delivery(&self.reply)
                .filter(|_| !self.is_quiet());
            let text = texts::write_failed(self.language, error);
            self.is_write_failure_told = shown.is_none_or(|it| it.tell(&self.reply, &text));
        }
        !self.gateway.is_stopping() && !cancel.wait(WRITE_RETRY)
    }

    fn spawn(&mut self, request: &SpawnRequest) -> Result<Option<String>> {
        // The conversation of a job ends with its run: nobody would read a report.
        if self.is_quiet() {
            return Ok(None);
        }
        // Else reports and tasks could follow each other without end and without a person.
        if self.is_report {
            return Err(Error::Failed(
                "this turn is about a report, and starts no subagents beside it: use wait, or ask the person"
                    .to_owned(),
            ));
        }
        let parent = Parent {
            session: &self.session,
            reply: &self.reply,
            is_attended: self.is_attended,
            author: self.author.clone(),
            role: self.role,
            cancel: &self.work.cancel,
        };
        let begun = self.gateway.start_task(self.hosted, &parent, request);
        begun.map(Some)
    }

    fn begin_plan(&mut self, goal: &str) -> Result<String> {
        self.plan_for_person(goal)
    }

    fn has_agent(&self, id: &str) -> bool {
        self.gateway.live().agents.named(id).is_some()
    }

    fn colleague(&self, id: &str) -> Result<Arc<Agent>> {
        self.gateway.colleague_of(self.hosted, id)?.agent()
    }

    fn send(&mut self, request: SendRequest) -> Result<()> {
        self.send_beside(request)
    }
}

/// A text that broke off, with its last code block closed.
fn closed(text: &str) -> String {
    let fences = text
        .lines()
        .filter(|line| line.trim_start().starts_with("```"));
    match fences.count() % 2 {
        0 => text.trim_end().to_owned(),
        _ => format!("{}\n```", text.trim_end()),
    }
}

/// After how long a turn or a command ends with a message of its own.
pub(super) fn long_turn() -> std::time::Duration {
    #[cfg(feature = "test-hooks")]
    if std::env::var_os("PEACRAB_TEST_EVERY_TURN_IS_LONG").is_some() {
        return std::time::Duration::ZERO;
    }
    LONG_TURN
}

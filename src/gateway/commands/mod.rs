//! Slash commands: their table, how a message is read as one, and how it is answered in a chat, without the model.

mod agents;
mod groups;
mod help;
mod lang;
mod pair;
mod parse;
mod table;
pub(in crate::gateway) mod texts;
mod update;

use std::fmt::Write;
use std::sync::Arc;

use super::board::plot_buttons;
use super::host::Work;
use super::scheduler::{RefusalReason, Stopped};
use super::{Gateway, spawn};
use crate::agent::Agent;
use crate::agent::commands::{CommandAnswer, Invocation, Surface, describe_ended};
use crate::base::access::Role;
use crate::base::bus::{Ending, Event};
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::gateway::{COMMANDS_WAITING_MAX, WAITING_MAX};
use crate::base::message::{Address, Envelope, OutgoingMessage, Writer};
use crate::channels::delivery::Delivery;
use crate::channels::kit::adapter::MenuEntry;
use crate::text::markup::{inline_code, plain};
use crate::text::{ellipsize_chars, one_line, truncate_chars};

pub use groups::format_help;
pub use parse::{
    Command, ParsedMessage, Reader, least_role, list_commands, parse, typed_command,
    unknown_command,
};
pub use table::{AgentRun, IN, KEY, OWN, Row, Run, SH, TERM, Terminal, When};
use texts::format_error;
pub use update::Updates;

/// Characters of a command in an answer that cannot be a reply to it.
const COMMAND_CHARS: usize = 60;
/// Characters that a refusal shows of each message.
const REFUSED_CHARS: usize = 40;

/// Every command of a chat with its description, for the channels' menus.
pub fn menu() -> impl Iterator<Item = MenuEntry> {
    groups::in_menu_order().filter_map(|row| Some(MenuEntry::built_in(row.name(), row.help?)))
}

/// A command of a chat, while it is answered.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Its message.
    pub message: &'a Envelope,
    /// What follows its name.
    pub argument: &'a str,
    /// The language of the answer.
    pub language: Language,
    /// Stops it.
    pub cancel: &'a Cancel,
}

/// A text about a command that is named, for where it does not come as a reply.
pub(super) fn with_command(message: &Envelope, text: &str) -> String {
    let command = one_line(message.typed_text(), COMMAND_CHARS);
    format!("{}\n{text}", inline_code(&command))
}

/// The beginning of a command, as inline code.
pub(super) fn shorten_command(message: &Envelope) -> String {
    let first = message.typed_text().lines().next().unwrap_or_default();
    inline_code(&ellipsize_chars(first, REFUSED_CHARS))
}

impl Gateway {
    /// Answers a command beside the loop: with others in their order, but for those that change jobs and those whose
    /// agent still has to be made.
    pub(super) fn answer_command_soon(self: &Arc<Self>, message: ParsedMessage) {
        if message.when() == Some(When::WithJobs) {
            return self.answer_job_command(message);
        }
        if self.live().agents.serving(&message).made().is_some() {
            return self.later(move |gateway| gateway.answer_command(&message, &Cancel::new()));
        }
        let gateway = Arc::clone(self);
        self.spawn_when_possible("command", move || {
            gateway.answer_command(&message, &Cancel::new());
        });
    }

    /// Answers a command, not on the loop.
    pub(super) fn answer_command(self: &Arc<Self>, message: &ParsedMessage, cancel: &Cancel) {
        let mut message = message.clone();
        if !self.admit_command(&mut message) {
            return;
        }
        let message = &message;
        let Some(command) = message.command() else {
            return;
        };
        let call = Call {
            message,
            argument: &command.argument,
            language: message.language(),
            cancel,
        };
        let answer = match command.row.map_or(Run::Nothing, |row| row.run) {
            Run::Work(run) => return run(self, &call),
            Run::Board(run) => return self.answer_board(&call, run),
            Run::Files(run) => return self.answer_files(&call, run),
            Run::Agent(run) => self.have_agent_answer(&call, run),
            Run::Answer(run) => run(self, &call),
            Run::Nothing => Ok(unknown_command(&command.word, Surface::Chat, call.language).into()),
        };
        self.finish_with(message, answer);
    }

    /// The answer of the agent of a chat.
    pub(super) fn have_agent_answer(
        &self,
        call: &Call<'_>,
        run: AgentRun,
    ) -> Result<CommandAnswer> {
        let live = self.live();
        let hosted = live.agents.serving(call.message);
        let author = call.message.author();
        let invocation = Invocation {
            key: &call.message.session,
            argument: call.argument,
            language: call.language,
            surface: Surface::Chat,
            message: &call.message.id,
            author: author.as_ref(),
            role: call.message.role,
            folder: &hosted.sessions,
            cancel: call.cancel,
        };
        run(&*hosted.agent()?, &invocation)
    }

    /// Answers `/restart`: not with a configuration that the next start refuses, for it would not come back.
    fn restart(self: &Arc<Self>, call: &Call<'_>) {
        if let Err(error) = (self.parts.check_start)() {
            tracing::error!("not restarting: {error}");
            let text = texts::not_restarting(call.language, &plain(&error.to_string()));
            return self.finish_command(call.message, text);
        }
        self.note_restart(&call.message.address(), call.language);
        self.finish_with(
            call.message,
            Ok(texts::restarting(call.language).to_owned()),
        );
        self.events.send(Event::End(Ending::Restart));
    }

    /// Answers `/stop` where there is nothing that the scheduler could have stopped.
    fn stop(self: &Arc<Self>, call: &Call<'_>) {
        self.answer_stop(call.message.clone(), Stopped::default());
    }

    /// Ends the background commands of a chat in which everything else was stopped, and answers the
    /// `/stop`: on a thread, because a command can take a while to end.
    pub(super) fn answer_stop(self: &Arc<Self>, message: Envelope, mut count: Stopped) {
        let language = message.language();
        count.turns += self.cron.stop_for(&message.address());
        // A command that is just answering, such as /bg, is nothing that somebody wants to end.
        let beside = Stopped {
            commands: 0,
            ..count
        };
        let is_idle =
            beside == Stopped::default() && self.commands.all_in(&message.session).is_empty();
        let (gateway, stop) = (Arc::clone(self), message.clone());
        let spawned = spawn("stop", move || {
            let note = gateway.stop_plans_of(&stop);
            let agents = &gateway.live().agents;
            let mut ended = agents.end_background_for(&stop.session, stop.role);
            // With nothing else to stop, it is about what the shell, which is an owner's, has left running.
            if is_idle && ended.is_empty() && stop.role.may_change(Role::Owner) {
                ended = agents.end_in_shells(&stop.session);
            }
            let ended = describe_ended(&ended, language);
            let text = match count == Stopped::default() && ended.is_empty() && !note.is_empty() {
                true => note,
                false => {
                    let rest = format!("{ended}{}{note}", language.sentence_space());
                    describe_stop(count, rest.trim(), language)
                }
            };
            gateway.finish_urgently(&stop, text);
        });
        if let Err(error) = spawned {
            let note = texts::background_may_run(language, &error);
            self.finish_later(&message, describe_stop(count, &note, language));
        }
    }

    /// Runs a command on a thread: one that takes long, or that has its conversation to itself.
    pub(super) fn run_command(self: &Arc<Self>, work: &Work, message: &ParsedMessage) {
        self.answer_command(message, &work.cancel);
        let (work, unread) = (work.id, Vec::new());
        self.events.send(Event::Finished { work, unread });
    }

    /// Tells people that their messages were not accepted, and forgets these.
    pub(super) fn refuse(&self, messages: &[Envelope], more: usize, reason: RefusalReason) {
        let Some(first) = messages.first() else {
            return;
        };
        let to = first.address();
        tracing::warn!(chat = %to, count = messages.len() + more, "messages refused: {reason:?}");
        let text = describe_refusal(messages, more, reason, first.language());
        let delivery = self.delivery(&to);
        let is_told = |message: &Envelope| {
            let delivery = delivery.as_ref();
            delivery.is_some_and(|one| one.refused(&to, &message.reference, &text))
        };
        let told: Vec<bool> = messages.iter().map(is_told).collect();
        if told.contains(&false) {
            self.tell(&to, &text);
        }
        for (message, is_told) in messages.iter().zip(told) {
            self.parts.inbox.taken(&message.id);
            if is_told {
                self.parts.inbox.forget(&message.id);
            }
        }
    }

    /// Refuses a command that the person may not use.
    pub(super) fn refuse_command(&self, message: &ParsedMessage) {
        let Some(command) = message.command() else {
            return;
        };
        let (language, role) = (message.language(), message.role);
        tracing::info!(chat = %message.address(), word = command.word, %role, "command refused");
        let word = inline_code(&format!("/{}", command.word));
        let needed = command.role(message.is_group);
        self.finish_command(
            message,
            texts::not_for_role(language, &word, &needed, &role),
        );
    }

    /// Stores what a command came to, and forgets the command.
    pub(super) fn finish_with(&self, message: &Envelope, answer: Result<impl Into<CommandAnswer>>) {
        super::cron::reached("planned");
        match answer {
            Ok(answer) => self.finish_command(message, answer),
            Err(error) => self.finish_command(message, format_error(&error, message.language())),
        }
    }

    /// Stores a command's answer, and forgets the command, even if the answer could not be stored: else
    /// every start would run it again, and /restart without end.
    pub(super) fn finish_command(&self, message: &Envelope, answer: impl Into<CommandAnswer>) {
        self.finish(message, answer.into(), false);
    }

    /// The same, before all that waits for the chat.
    fn finish_urgently(&self, message: &Envelope, text: String) {
        self.finish(message, text.into(), true);
    }

    fn finish(&self, message: &Envelope, answer: CommandAnswer, urgent: bool) {
        let to = message.address();
        let reply = OutgoingMessage {
            urgent,
            from: match message.role {
                Role::Owner => Writer::Answer,
                Role::User | Role::Guest => Writer::Others,
            },
            reply_to: message.reference.clone(),
            command_buttons: answer.buttons,
            only_for: match answer.is_private {
                true => message.only_for().to_owned(),
                false => String::new(),
            },
            ..OutgoingMessage::text(&to, answer.text.as_str())
        };
        if let Err(error) = self.enqueue(reply, None) {
            tracing::error!(chat = %to, "failed to store the answer to a command: {error}");
            self.tell_at_once(&to, &with_command(message, &answer.text));
        }
        self.parts.inbox.taken(&message.id);
    }

    /// Answers `/start`.
    fn greet(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let live = self.live();
        let agent = live.agents.serving(call.message).agent();
        let is_offline = agent.is_ok_and(|agent| agent.is_offline(&call.message.session));
        let text = match call.message.role {
            Role::Guest => texts::greeting_for_guest(call.language),
            Role::User | Role::Owner if !is_offline => texts::greeting(call.language),
            Role::User => texts::greeting_without_model(call.language),
            Role::Owner => {
                let greeting = texts::greeting_without_model(call.language);
                return Ok(format!("{greeting}\n\n{}", texts::connect_model(call.language)).into());
            }
        };
        Ok(text.to_owned().into())
    }

    /// Answers `/help`.
    fn help(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let reader = Reader::of(call.message);
        let (own, name) = (self.own_help(reader), call.argument.trim_start_matches('/'));
        let is_named = |line: &&str| line.starts_with(&format!("- `/{name}` "));
        let help = format_help(reader, name, call.language);
        Ok(match (name, own.lines().find(is_named)) {
            ("" | groups::ALL, _) => help + &own,
            (_, Some(own)) => own.to_owned(),
            (_, None) => help,
        }
        .into())
    }

    /// Answers `/new`.
    fn answer_new(self: &Arc<Self>, call: &Call<'_>) {
        let (message, live) = (call.message, self.live());
        let hosted = live.agents.serving(message);
        let reply = (&message.address(), call.language);
        let begun = hosted.agent().and_then(|agent| {
            let mut session = self.open(hosted, &message.session, reply)?;
            agent.start_new(&mut session, message.role, call.language)
        });
        self.finish_with(message, begun);
        self.plan_after_new(message);
    }

    /// Keeps in which chat a restart was asked for, until the next start has answered there.
    fn note_restart(&self, to: &Address, language: Language) {
        if let Err(error) = self.parts.restarts.add(to, language) {
            tracing::warn!(chat = %to, "failed to note who asked for a restart: {error}");
        }
    }

    /// Answers `/status`: the conversation, the gateway and the board.
    fn answer_status(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (key, language) = (&call.message.session, call.language);
        let agent = self.have_agent_answer(call, Agent::answer_status)?.text;
        let mut text = format!("**{}**\n", texts::agent_heading(language));
        for line in agent.lines() {
            let _ = writeln!(text, "- {line}");
        }
        let gateway = self.status_line(language);
        let board = self.parts.board.format_status(language);
        let gateway = texts::gateway(language, &gateway);
        let clock = self.describe_clock(language);
        let memory = self.memory.describe_last(key, language);
        for line in [Some(gateway), clock, memory].into_iter().flatten() {
            let _ = writeln!(text, "- {line}");
        }
        let _ = write!(text, "\n{board}");
        Ok(CommandAnswer {
            text,
            buttons: plot_buttons(language),
            is_private: true,
        })
    }

    /// The status of the gateway in a line.
    pub(super) fn status_line(&self, language: Language) -> String {
        let load = *self.load.lock();
        let uptime = texts::format_minutes(self.since.elapsed().as_secs() / 60, language);
        let aside = self.parts.outbox.count_aside();
        let unsent = self.parts.outbox.count();
        let line = texts::status_line(language, &uptime, &load.running, &load.waiting, &unsent);
        match aside {
            0 => line,
            _ => line + &texts::status_aside(language, &aside),
        }
    }

    /// Answers `/retry`.
    fn retry(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (count, language) = (self.parts.outbox.retry()?, call.language);
        self.deliveries.values().for_each(Delivery::wake);
        let text = match count {
            0 => texts::nothing_aside(language).to_owned(),
            1 => texts::message_again(language).to_owned(),
            _ => texts::messages_again(language, &count),
        };
        Ok(text.into())
    }
}

/// `background` is a sentence about background commands; empty when there were none.
fn describe_stop(count: Stopped, background: &str, language: Language) -> String {
    let Stopped {
        turns,
        commands,
        questions,
        tasks,
        messages,
    } = count;
    let mut parts = Vec::new();
    match turns {
        0 => {}
        1 => parts.push(texts::reply_cancelled(language).to_owned()),
        turns => parts.push(texts::replies_cancelled(language, &turns)),
    }
    match commands {
        0 => {}
        1 => parts.push(texts::command_ended(language).to_owned()),
        commands => parts.push(texts::commands_ended(language, &commands)),
    }
    match questions {
        0 => {}
        1 => parts.push(texts::question_withdrawn(language).to_owned()),
        questions => parts.push(texts::questions_withdrawn(language, &questions)),
    }
    match tasks {
        0 => {}
        1 => parts.push(texts::subagent_ended(language).to_owned()),
        tasks => parts.push(texts::subagents_ended(language, &tasks)),
    }
    match messages {
        0 => {}
        1 => parts.push(texts::message_dropped(language).to_owned()),
        messages => parts.push(texts::messages_dropped(language, &messages)),
    }
    let stopped = match (parts.is_empty(), background.is_empty()) {
        (true, true) => return texts::nothing_running(language).to_owned(),
        (true, false) => texts::stopped(language).to_owned(),
        (false, _) => texts::stopped_parts(language, &parts.join(texts::comma(language))),
    };
    format!("{stopped}{}{background}", language.sentence_space())
        .trim_end()
        .to_owned()
}

/// Says which messages were not accepted, by the beginning of each, and how many more.
fn describe_refusal(
    messages: &[Envelope],
    more: usize,
    reason: RefusalReason,
    language: Language,
) -> String {
    let why = match reason {
        RefusalReason::QueueFull => texts::queue_full(language, &WAITING_MAX),
        RefusalReason::TooManyCommands => texts::too_many_commands(language, &COMMANDS_WAITING_MAX),
        RefusalReason::Edited => texts::edited_answer(language).to_owned(),
    };
    let names = messages.iter().map(|message| {
        let first = message.text.lines().next().unwrap_or_default();
        inline_code(truncate_chars(first, REFUSED_CHARS))
    });
    let mut names = names.collect::<Vec<_>>().join(texts::list_comma(language));
    if more > 0 {
        names += &texts::and_more(language, &more);
    }
    texts::not_accepted(language, &names, &why)
}

/// Answers `/id`.
fn answer_id(_: &Gateway, call: &Call<'_>) -> Result<CommandAnswer> {
    let (message, language) = (call.message, call.language);
    let chat = texts::this_chat(language, &message.address());
    let text = match message.sender() {
        Some(sender) => {
            let you = texts::you(language, &sender.id, &inline_code(&sender.name));
            let role = texts::your_role(language, &message.role);
            format!("{chat}\n{you} · {role}")
        }
        None => chat,
    };
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_says_what_it_stopped() {
        let count = Stopped {
            turns: 1,
            commands: 0,
            questions: 1,
            tasks: 1,
            messages: 2,
        };
        let told = "Stopped. 1 reply cancelled, 1 question withdrawn, 1 subagent ended, 2 queued messages dropped.";
        assert_eq!(describe_stop(count, "", Language::English), told);
        let none = Stopped::default();
        assert_eq!(
            describe_stop(none, "", Language::English),
            "Nothing is running here."
        );
        let commands = vec!["sleep 600".to_owned(), "make\u{202e}".to_owned()];
        assert_eq!(
            describe_stop(
                none,
                &describe_ended(&commands, Language::English),
                Language::English
            ),
            "Stopped. 2 background commands were ended: `sleep 600`, `make\\u{202e}`."
        );
        let many = vec!["x".repeat(100); 7];
        let told = describe_stop(
            count,
            &describe_ended(&many, Language::English),
            Language::English,
        );
        assert!(
            told.contains("dropped. 7 background") && told.ends_with("…` and 2 more."),
            "{told}"
        );
    }

    #[test]
    fn refused_messages_are_named() {
        let address = Address::new("telegram", "1");
        let message = |text: &str| Envelope::written(&address, Default::default(), text);
        let told = describe_refusal(
            &[message("/sh ls"), message("b\nc")],
            0,
            RefusalReason::TooManyCommands,
            Language::English,
        );
        assert!(
            told.starts_with("Not accepted: `/sh ls`, `b`. 50 commands are already"),
            "{told}"
        );
        let told = describe_refusal(
            &[message("x")],
            3,
            RefusalReason::QueueFull,
            Language::English,
        );
        assert!(told.starts_with("Not accepted: `x` and 3 more. "), "{told}");
    }

    #[test]
    fn a_stop_and_a_refusal_come_in_chinese() {
        let count = Stopped {
            turns: 1,
            ..Stopped::default()
        };
        let stopped = describe_stop(count, "", Language::Chinese);
        assert_eq!(stopped, "已停止。已取消 1 条回复。");
        let address = Address::new("telegram", "1");
        let message = Envelope::written(&address, Default::default(), "x");
        let reason = RefusalReason::QueueFull;
        let refused = describe_refusal(&[message], 0, reason, Language::Chinese);
        assert!(refused.starts_with("未接受：`x`。这里已有"), "{refused}");
    }
}

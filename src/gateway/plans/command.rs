//! Making a plan, and `/plan`, which shows it and lets a person approve, change and stop it.

use super::super::commands::Call;
use super::{reached, show, texts};
use crate::agent::commands::CommandAnswer;
use crate::base::cancel::Cancel;
use crate::base::chat::NANODOLLARS;
use crate::base::checksum::crc32;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{OutgoingMessage, SessionKey};
use crate::config::schema;
use crate::gateway::Gateway;
use crate::store::plans::{Client, Limit, Plan, State};
use crate::sys::random;

/// Bytes of a goal.
const GOAL_BYTES: usize = 4 * 1024;
/// Plans of all conversations that are at work.
const AT_ONCE: usize = 4;
/// Plans that wait for a person's word. One more, and the oldest of them is stopped.
const PROPOSED: usize = 20;

/// What `/plan` asks for.
#[derive(Debug, PartialEq, Eq)]
enum Request<'a> {
    Show,
    Make(&'a str),
    /// With the plan's id, where a button names it.
    Approve(&'a str),
    Stop(&'a str),
    Skip(usize),
    Change(usize, &'a str),
    /// A command about a step that lacks its number or its text.
    Incomplete,
}

impl<'a> Request<'a> {
    /// Reads an argument. What is none of the short forms is a goal, such as "stop the pump at night".
    fn parse(argument: &'a str) -> Self {
        let argument = argument.trim();
        let (word, rest) = argument
            .split_once(char::is_whitespace)
            .unwrap_or((argument, ""));
        let rest = rest.trim();
        let is_id =
            rest.is_empty() || rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (number, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match (word, number.parse()) {
            ("", _) => Self::Show,
            ("approve", _) if is_id => Self::Approve(rest),
            ("stop", _) if is_id => Self::Stop(rest),
            ("skip", Ok(number)) if text.is_empty() => Self::Skip(number),
            ("change", Ok(number)) if !text.is_empty() => Self::Change(number, text.trim()),
            ("change", Ok(_)) => Self::Incomplete,
            ("change" | "skip", _) if rest.is_empty() => Self::Incomplete,
            _ => Self::Make(argument),
        }
    }
}

impl Gateway {
    /// Answers `/plan`.
    pub(in crate::gateway) fn answer_plan(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let language = call.language;
        match Request::parse(call.argument) {
            Request::Show => {
                let Some(plan) = self.plans.store.of(&call.message.session, "") else {
                    return Ok(texts::none(language).to_owned().into());
                };
                let (text, buttons) = show::describe(&plan, language);
                Ok(CommandAnswer {
                    buttons,
                    ..text.into()
                })
            }
            Request::Incomplete => Err(Error::Usage(texts::which_step(language).to_owned())),
            Request::Make(goal) => self.make_plan(call, goal),
            Request::Approve(id) => {
                self.change_plan(call, id, |plan, others| {
                    has_room(&plan.client.session, others, language)?;
                    plan.approve()
                })?;
                Ok(texts::approved(language).to_owned().into())
            }
            Request::Stop(id) => {
                self.change_plan(call, id, |plan, _| match plan.stop() {
                    true => Ok(()),
                    false => Err(Error::Failed(texts::ended_already(language).to_owned())),
                })?;
                Ok(texts::stopping(language).to_owned().into())
            }
            Request::Skip(number) => {
                let plan = self.change_plan(call, "", |plan, _| plan.skip(number))?;
                Ok(changed(&plan, texts::skipped(language, &number), language).into())
            }
            Request::Change(number, task) => {
                let change = |plan: &mut Plan, _: &[Plan]| plan.change_step(number, task);
                let plan = self.change_plan(call, "", change)?;
                Ok(changed(&plan, texts::changed(language, &number), language).into())
            }
        }
    }

    fn make_plan(&self, call: &Call<'_>, goal: &str) -> Result<CommandAnswer> {
        let (message, language) = (call.message, call.language);
        // After a kill the same command makes the same plan.
        let id = format!(
            "{:08x}",
            crc32(format!("{} {}", message.session, message.id).as_bytes())
        );
        let live = self.live();
        let profile = &live.agents.serving(message).profile;
        let client = Client {
            session: message.session.clone(),
            reply: message.address(),
            agent: profile.id.clone(),
            author: message.author(),
            role: message.role,
            attended: message.attended,
            language,
        };
        let settings = &profile.settings.plan;
        let grant = grant_of(settings);
        self.add_plan(Plan::new(
            id.clone(),
            goal,
            client,
            settings.approval,
            grant,
        ))?;
        self.advance_plans();
        let (_, buttons) = show::describe(&self.plans.store.get(&id)?, language);
        Ok(CommandAnswer {
            buttons,
            ..texts::planning(language).to_owned().into()
        })
    }

    /// Begins a plan that the agent of a turn wants, whatever its person has set about those that they ask for: they
    /// are shown the steps, and start it. Returns what the model reads.
    pub(in crate::gateway) fn begin_plan(
        &self,
        goal: &str,
        client: Client,
        grant: Limit,
        cancel: &Cancel,
    ) -> Result<String> {
        let id = format!("{:08x}", u32::from_ne_bytes(random::bytes()?));
        let (to, language) = (client.reply.clone(), client.language);
        self.add_plan(Plan::new(id.clone(), goal, client, true, grant))?;
        // A /stop that came meanwhile has not seen it.
        if cancel.is_cancelled() {
            self.plans.store.change(&id, |plan| Ok(plan.stop()))?;
        }
        self.advance_plans();
        let plan = self.plans.store.get(&id)?;
        if plan.has_ended() {
            return Err(match cancel.is_cancelled() {
                true => Error::Stopped,
                false => Error::Failed(format!("the plan {id} has ended at once")),
            });
        }
        self.tell_with(OutgoingMessage {
            command_buttons: show::describe(&plan, language).1,
            ..OutgoingMessage::text(&to, texts::planning(language))
        });
        Ok(format!(
            "The plan {id} is being written. The person will be shown its steps and starts it, with a button or /plan \
             approve; a word to you does not. Its report will come as a message. Say so in a sentence, and do none of its work."
        ))
    }

    /// Whether a conversation has a plan that has not ended.
    pub(in crate::gateway) fn has_plan(&self, session: &SessionKey) -> bool {
        let plans = self.plans.store.list();
        plans.iter().any(|plan| is_open_in(plan, session))
    }

    /// Adds a plan, where there is room for one. A kill keeps it.
    fn add_plan(&self, plan: Plan) -> Result<()> {
        if plan.goal.len() > GOAL_BYTES {
            return Err(Error::TooLarge {
                what: "the goal".to_owned(),
                limit: GOAL_BYTES,
            });
        }
        let id = plan.id.clone();
        let mut active = self.plans.active.lock();
        let others = self.others(&id);
        has_room(&plan.client.session, &others, plan.client.language)?;
        self.make_room(&others)?;
        self.plans.store.add(plan)?;
        note_active(&mut active, &id);
        drop(active);
        reached("made");
        Ok(())
    }

    /// The plans but the one with this id.
    fn others(&self, id: &str) -> Vec<Plan> {
        let mut plans = self.plans.store.list();
        plans.retain(|plan| plan.id != id);
        plans
    }

    /// Stops the oldest plans that wait for a person's word, where there are too many.
    fn make_room(&self, plans: &[Plan]) -> Result<()> {
        let waiting = plans.iter().filter(|plan| plan.state == State::Proposed);
        for plan in waiting.skip(PROPOSED - 1) {
            let stop = |plan: &mut Plan| Ok(plan.state == State::Proposed && plan.stop());
            self.plans.store.change(&plan.id, stop)?;
        }
        Ok(())
    }

    /// Changes the plan of a conversation for a person who may have it done. The change is given the other plans, too.
    fn change_plan(
        &self,
        call: &Call<'_>,
        id: &str,
        change: impl FnOnce(&mut Plan, &[Plan]) -> Result<()>,
    ) -> Result<Plan> {
        let language = call.language;
        let plan = self.plans.store.of(&call.message.session, id);
        let plan = plan.ok_or_else(|| {
            let none = match id {
                "" => texts::none(language),
                _ => texts::gone(language),
            };
            Error::Failed(none.to_owned())
        })?;
        if !call.message.role.may_change(plan.client.role) {
            return Err(Error::Failed(texts::not_yours(language).to_owned()));
        }
        let plan = {
            let _active = self.plans.active.lock();
            let others = self.others(&plan.id);
            let change = |plan: &mut Plan| change(plan, &others);
            self.plans.store.change(&plan.id, change)?.0
        };
        if !plan.is_active() {
            self.tasks.cancel_plan(&plan.id);
        }
        self.move_with(&plan.id);
        Ok(plan)
    }

    /// Goes on with all plans, this one among them.
    fn move_with(&self, id: &str) {
        note_active(&mut self.plans.active.lock(), id);
        self.advance_plans();
    }

    /// The board of a plan of a conversation, for `/tasks NAME`.
    pub(in crate::gateway) fn show_notes(
        &self,
        session: &SessionKey,
        name: &str,
        language: Language,
    ) -> Result<CommandAnswer> {
        let id = if name == "plan" { "" } else { name };
        let plan = self.plans.store.of(session, id);
        let plan = plan.ok_or_else(|| Error::Failed(texts::no_board(language).to_owned()))?;
        Ok(show::describe_board(&plan, language).into())
    }
}

fn note_active(active: &mut Vec<String>, id: &str) {
    if !active.iter().any(|one| one == id) {
        active.push(id.to_owned());
    }
}

/// Whether a plan is of this conversation and has not ended.
fn is_open_in(plan: &Plan, session: &SessionKey) -> bool {
    plan.client.session == *session && !plan.has_ended()
}

/// Fails where a conversation has a plan that has not ended, or enough plans are at work.
fn has_room(session: &SessionKey, others: &[Plan], language: Language) -> Result<()> {
    if others.iter().any(|plan| is_open_in(plan, session)) {
        return Err(Error::Failed(texts::one_at_work(language).to_owned()));
    }
    if others.iter().filter(|plan| plan.is_active()).count() >= AT_ONCE {
        return Err(Error::Failed(texts::too_many(language, &AT_ONCE)));
    }
    Ok(())
}

/// The answer to a change, which does not take up a plan that has ended.
fn changed(plan: &Plan, text: String, language: Language) -> String {
    match plan.has_ended() {
        true => format!(
            "{text}{}{}",
            language.sentence_space(),
            texts::approval_goes_on(language)
        ),
        false => text,
    }
}

/// What the settings allow a plan to use at a time.
pub(in crate::gateway) fn grant_of(settings: &schema::Plan) -> Limit {
    Limit {
        tokens: settings.max_tokens,
        // The least amount is no missing limit.
        cost: (settings.max_usd.max(0.0) * NANODOLLARS).ceil() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_short_form_is_a_goal() {
        for (argument, request) in [
            ("", Request::Show),
            (" approve ", Request::Approve("")),
            ("stop 1f93a0c2", Request::Stop("1f93a0c2")),
            ("stop the pump", Request::Make("stop the pump")),
            ("skip 3", Request::Skip(3)),
            ("skip 3 steps", Request::Make("skip 3 steps")),
            ("change 2 look twice", Request::Change(2, "look twice")),
            ("change 2", Request::Incomplete),
            ("skip", Request::Incomplete),
            ("change the lamps", Request::Make("change the lamps")),
        ] {
            assert_eq!(Request::parse(argument), request, "{argument}");
        }
    }
}

//! `/plan`: makes a plan, shows it, and lets a person approve, change and stop it.

use super::super::commands::Call;
use super::{reached, show, texts};
use crate::agent::commands::CommandAnswer;
use crate::base::chat::NANODOLLARS;
use crate::base::checksum::crc32;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::SessionKey;
use crate::config::schema;
use crate::gateway::Gateway;
use crate::store::plans::{Client, Limit, Plan};

/// Bytes of a goal.
const GOAL_BYTES: usize = 4 * 1024;
/// Plans of all conversations that have not ended.
const AT_ONCE: usize = 4;

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
                let Ok(plan) = self.plan_of(&call.message.session, "", language) else {
                    return Ok(texts::none(language).to_owned().into());
                };
                let (text, buttons) = show::describe(&plan, language);
                Ok(CommandAnswer {
                    buttons,
                    ..text.into()
                })
            }
            Request::Make(goal) => self.make_plan(call, goal),
            Request::Approve(id) => {
                let text = texts::approved(language);
                self.change_plan(call, id, Plan::approve, text)
            }
            Request::Stop(id) => {
                let stop = |plan: &mut Plan| match plan.stop() {
                    true => Ok(()),
                    false => Err(Error::Failed(texts::ended_already(language).to_owned())),
                };
                self.change_plan(call, id, stop, texts::stopping(language))
            }
            Request::Skip(number) => {
                let text = texts::skipped(language, &number);
                self.change_plan(call, "", |plan| plan.skip(number), &text)
            }
            Request::Change(number, task) => {
                let text = texts::changed(language, &number);
                self.change_plan(call, "", |plan| plan.change_step(number, task), &text)
            }
        }
    }

    fn make_plan(&self, call: &Call<'_>, goal: &str) -> Result<CommandAnswer> {
        let (message, language) = (call.message, call.language);
        if goal.len() > GOAL_BYTES {
            return Err(Error::TooLarge {
                what: "the goal".to_owned(),
                limit: GOAL_BYTES,
            });
        }
        // After a kill the same command makes the same plan.
        let id = format!(
            "{:08x}",
            crc32(format!("{} {}", message.session, message.id).as_bytes())
        );
        let mut open = self.plans.store.list();
        open.retain(|plan| !plan.has_ended() && plan.id != id);
        if open
            .iter()
            .any(|plan| plan.client.session == message.session)
        {
            return Err(Error::Failed(texts::one_at_work(language).to_owned()));
        }
        if open.len() >= AT_ONCE {
            return Err(Error::Failed(texts::too_many(language, &AT_ONCE)));
        }
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
        let terms = (settings.approval, grant_of(settings));
        self.plans
            .store
            .add(Plan::new(id.clone(), goal, client, terms))?;
        reached("made");
        self.move_with(&id);
        let (_, buttons) = show::describe(&self.plans.store.get(&id)?, language);
        Ok(CommandAnswer {
            buttons,
            ..texts::planning(language).to_owned().into()
        })
    }

    /// Changes the plan of a conversation for a person who may have it done.
    fn change_plan(
        &self,
        call: &Call<'_>,
        id: &str,
        change: impl FnOnce(&mut Plan) -> Result<()>,
        done: &str,
    ) -> Result<CommandAnswer> {
        let language = call.language;
        let plan = self.plan_of(&call.message.session, id, language)?;
        if call.message.role < plan.client.role {
            return Err(Error::Failed(texts::not_yours(language).to_owned()));
        }
        let plan = {
            let _active = self.plans.active.lock();
            self.plans.store.change(&plan.id, change)?.0
        };
        if !plan.is_active() {
            self.tasks.cancel_plan(&plan.id);
        }
        self.move_with(&plan.id);
        Ok(done.to_owned().into())
    }

    /// Goes on with all plans, this one among them.
    fn move_with(&self, id: &str) {
        let mut active = self.plans.active.lock();
        if !active.iter().any(|one| one == id) {
            active.push(id.to_owned());
        }
        drop(active);
        self.advance_plans();
    }

    /// The plan of a conversation that was changed last, unless `id` names another one.
    fn plan_of(&self, session: &SessionKey, id: &str, language: Language) -> Result<Plan> {
        let mut plans = self.plans.store.list().into_iter();
        let plan = plans.find(|plan| plan.client.session == *session);
        let plan = plan.filter(|plan| id.is_empty() || plan.id == id);
        plan.ok_or_else(|| Error::Failed(texts::none(language).to_owned()))
    }

    /// The board of a plan of a conversation, for `/tasks NAME`.
    pub(in crate::gateway) fn show_notes(
        &self,
        session: &SessionKey,
        name: &str,
        language: Language,
    ) -> Result<CommandAnswer> {
        let mut plans = self.plans.store.list().into_iter();
        let plan = plans.find(|plan| {
            let is_named = plan.id == name || name == "plan";
            plan.client.session == *session && is_named
        });
        let plan = plan.ok_or_else(|| Error::Failed(texts::no_board(language).to_owned()))?;
        Ok(show::describe_board(&plan, language).into())
    }
}

fn grant_of(settings: &schema::Plan) -> Limit {
    Limit {
        tokens: settings.max_tokens,
        cost: (settings.max_usd.max(0.0) * NANODOLLARS) as u64,
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
            ("change 2", Request::Make("change 2")),
        ] {
            assert_eq!(Request::parse(argument), request, "{argument}");
        }
    }
}

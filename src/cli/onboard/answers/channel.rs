//! Settles a channel that the person names.

use serde_json::Value;

use super::{Interview, Verdict};
use crate::base::error::{Error, Result};
use crate::channels::kit::service::{Need, Service};
use crate::channels::table;
use crate::cli::onboard::outside::Trial;
use crate::cli::onboard::texts;
use crate::cli::send::texts::unknown_channel;
use crate::config::channels::Bot;
use crate::config::key::Kind;
use crate::config::table::{self as settings};

impl<'i> Interview<'i> {
    /// Asks for what the channel needs, tries it, and enables the channel.
    pub(super) fn channel(&mut self, name: &str) -> Result<()> {
        let Some(service) = table::find(&name.to_lowercase()) else {
            return Err(Error::Usage(unknown_channel(name)));
        };
        if !self.outside.can_ask() {
            return Err(Error::Usage(texts::channel_needs_a_terminal(service)));
        }
        let mut bot = self.found.loaded.config.channels.of(service.name);
        let needs = service.needs;
        // The settings before each question, for those who go back to it.
        let mut before = vec![bot.clone(); needs.len()];
        self.steps(needs.len(), &mut |this, place| {
            let is_last = place + 1 == needs.len();
            bot.clone_from(&before[place]);
            this.need(service, &needs[place], &mut bot, is_last)?;
            if let Some(next) = before.get_mut(place + 1) {
                next.clone_from(&bot);
            }
            Ok(true)
        })?;
        if !self.found.loaded.config.channels.of(service.name).enabled {
            let path = format!("channels.{}.enabled", service.name);
            self.wanted.push((path, true.into()));
        }
        self.channel = Some(service);
        self.settled = self.wanted.len();
        Ok(())
    }

    /// Asks for one setting. After the last one all are tried.
    fn need(
        &mut self,
        service: &'static Service,
        need: &Need,
        bot: &mut Bot,
        is_last: bool,
    ) -> Result<()> {
        let path = format!("channels.{}.{}", service.name, need.key);
        let Some(key) = settings::find(&path) else {
            return Ok(());
        };
        let is_switch = key.kind == Kind::Flag;
        // What is wrong already is not this answer's fault.
        let before = bot.clone();
        let wrong_before = (service.check)(&before);
        let mut question = texts::ask_need(need, bot.has(need.key), key);
        if key.is_secret() {
            question = question.hidden();
        }
        let name = Self::name_of(&question);
        let answer = self.ask(None, question, &mut |this, answer| {
            bot.clone_from(&before);
            if answer.eq_ignore_ascii_case(texts::SKIP) {
                return Ok(Verdict::Reject(texts::is_needed(service)));
            }
            let is_kept = answer.is_empty() && bot.has(need.key);
            if !is_kept {
                let value = if is_switch {
                    Value::from(matches!(&*answer.to_lowercase(), "y" | "yes"))
                } else {
                    match this.resolve(&path, answer) {
                        Ok(value) => Value::from(value),
                        Err(reason) => return Ok(Verdict::Reject(reason)),
                    }
                };
                bot.set(need.key, value);
            }
            if !bot.has(need.key) {
                return Ok(Verdict::Reject(texts::is_needed(service)));
            }
            let problem = (service.check)(bot);
            if let Some(problem) = problem.filter(|_| problem != wrong_before) {
                return Ok(Verdict::Reject(texts::sentence(problem)));
            }
            // Those who go back then, because another answer is wrong, find this one again.
            if is_last && service.needs.len() > 1 {
                this.progress.remember(&name, answer);
            }
            if let Some(problem) = problem.filter(|_| is_last) {
                return Ok(Verdict::doubt(texts::sentence(problem), answer));
            }
            if is_last {
                match this.outside.find_channel(service, bot)? {
                    Trial::Works(name) => this.outside.say(&texts::found_on(service, &name))?,
                    // Any of the answers may be the reason.
                    Trial::Refused(reason) if service.needs.len() > 1 => {
                        let reason = texts::or_go_back(&reason);
                        return Ok(Verdict::doubt(reason, answer));
                    }
                    Trial::Refused(reason) => return Ok(Verdict::doubt(reason, answer)),
                    Trial::Unreachable(reason) | Trial::Unclear(reason) => {
                        this.outside
                            .warn(&texts::channel_not_tried(service, &reason))?;
                    }
                }
            }
            Ok(Verdict::Take(answer.to_owned()))
        })?;
        match (answer.is_empty(), is_switch) {
            (true, _) => {}
            (false, true) => self.wanted.push((path, true.into())),
            (false, false) => self.want(&path, &answer),
        }
        Ok(())
    }
}

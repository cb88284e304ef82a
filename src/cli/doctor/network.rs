//! What is reached over the network: names, the model's server, the channels.

use std::thread;
use std::time::Duration;

use super::report::{Report, Row};
use crate::cancel::Cancel;
use crate::channels::adapter::Failure;
use crate::channels::discord::{self, Discord};
use crate::channels::telegram::api::{Api, ApiError};
use crate::chat::Fault;
use crate::cli::Context;
use crate::cli::compose::{self, models_of, who_answers};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::config::schema::Bot;
use crate::error::{Error, Result};
use crate::http::{Tls, look_up};
use crate::limits::doctor as limits;
use crate::provider::offers::{self, ListError};
use crate::provider::route::Route;
use crate::provider::table::{OFFLINE, known};

/// What is to be tried.
pub struct Examination {
    tls: Tls,
    /// The model's server; none where the helper in the program answers.
    route: Option<Route>,
    /// The channels that are used.
    channels: Vec<(&'static str, Bot)>,
    /// Whether the environment names a proxy, which then resolves names for us.
    proxy: bool,
}

/// Looks at the keys and says what is to be tried with them; none where that is wrong already.
pub fn prepare(
    context: &Context,
    loaded: &Loaded,
    report: &mut Report,
) -> Result<Option<Examination>> {
    let ca_file = loaded.config.tls.ca_file.as_deref();
    let tls = match compose::tls(&loaded.config.tls) {
        Ok(tls) => tls,
        Err(error) => {
            report.add(Row::failed("tls", error.to_string()))?;
            return Ok(None);
        }
    };
    report.add(Row::ok(
        "tls",
        match ca_file {
            Some(file) => format!("the built-in authorities, and those of {file}"),
            None => "the built-in authorities".to_owned(),
        },
    ))?;
    let route = match models_of(context, loaded) {
        Ok(models) => {
            let route = models.primary().clone();
            report.add(keys(&route, who_answers(&models)))?;
            Some(route).filter(|route| route.provider != OFFLINE && !lacks_key(route))
        }
        Err(error) => {
            report.add(Row::failed("keys", error.to_string()))?;
            None
        }
    };
    let channels = loaded.config.channels.enabled();
    Ok(Some(Examination {
        tls,
        route,
        channels: channels.map(|(name, bot)| (name, bot.clone())).collect(),
        proxy: ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"]
            .iter()
            .flat_map(|name| [(*name).to_owned(), name.to_lowercase()])
            .any(|name| context.environment().contains_key(&name)),
    }))
}

fn lacks_key(route: &Route) -> bool {
    route.needs_key && route.key.is_empty()
}

fn keys(route: &Route, answering: Option<String>) -> Row {
    let Some(answering) = answering else {
        return Row::warning(
            "keys",
            "no model is connected, so the offline helper answers: `peacrab onboard` connects one",
        );
    };
    let provider = &route.provider;
    if lacks_key(route) {
        let variable = known(provider).and_then(|known| known.variables.first());
        let or = variable.map_or_else(String::new, |name| format!(" or the variable {name}"));
        return Row::failed(
            "keys",
            format!(
                "{provider} needs a key, and there is none: set providers.{provider}.apiKey{or}"
            ),
        );
    }
    let key = match route.key.is_empty() {
        true => "no key, and none is needed",
        false => "with a key",
    };
    Row::ok("keys", format!("{answering}, {key}"))
}

impl Examination {
    /// Tries one after the other. [`Error::Stopped`] when the token is raised.
    pub fn run(self, report: &mut Report, cancel: &Cancel) -> Result<()> {
        if let Some(route) = &self.route {
            let url = route.url();
            let proxy = self.proxy || route.proxy.is_some();
            if self.name_is_known(&url, proxy, report, cancel)? {
                report.add(self.model(route, cancel)?)?;
            }
        }
        for (name, config) in &self.channels {
            let proxy = self.proxy || config.proxy.is_some();
            if config.token.is_empty() {
                let how = match *name {
                    discord::NAME => discord::HOW_TO_GET_A_TOKEN,
                    _ => {
                        "there is no token: @BotFather on Telegram makes a bot and tells it; set \
                         channels.telegram.token"
                    }
                };
                report.add(Row::failed(name, how))?;
            } else if self.name_is_known(&config.api_base, proxy, report, cancel)? {
                let row = match *name {
                    discord::NAME => self.discord(config, cancel)?,
                    _ => self.telegram(config, cancel)?,
                };
                report.add(row)?;
            }
        }
        Ok(())
    }

    /// Whether there is any use in calling the host.
    fn name_is_known(
        &self,
        url: &str,
        proxy: bool,
        report: &mut Report,
        cancel: &Cancel,
    ) -> Result<bool> {
        if proxy {
            report.add(Row::ok("dns", "names are left to the proxy"))?;
            return Ok(true);
        }
        let row = match look_up(url, limits::LOOKUP_TIME, cancel) {
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => Row::failed("dns", error.to_string()),
            Ok(None) => return Ok(true),
            Ok(Some(count)) => Row::ok("dns", format!("{} has {count} addresses", host(url))),
        };
        let is_known = row.state == super::report::State::Ok;
        report.add(row)?;
        Ok(is_known)
    }

    fn model(&self, route: &Route, cancel: &Cancel) -> Result<Row> {
        let (answer, is_late) = within(limits::SERVER_TIME, cancel, |cancel| {
            offers::list(&self.tls, route, cancel)
        });
        match answer {
            Err(ListError::Ended(Error::Stopped)) if is_late => Ok(late("model", &route.base)),
            Err(ListError::Ended(Error::Stopped)) => Err(Error::Stopped),
            answer => Ok(model_row(route, answer)),
        }
    }

    fn telegram(&self, config: &Bot, cancel: &Cancel) -> Result<Row> {
        let (answer, is_late) = within(limits::SERVER_TIME, cancel, |cancel| {
            Api::new(&self.tls, config, limits::SERVER_TIME, cancel)?.get_me()
        });
        Ok(match answer {
            Ok(me) => Row::ok("telegram", format!("the bot is @{}", me.username)),
            Err(ApiError::Stopped) if is_late => late("telegram", &config.api_base),
            Err(ApiError::Stopped) => return Err(Error::Stopped),
            Err(error @ (ApiError::TooManyRequests { .. } | ApiError::Server(_))) => {
                Row::warning("telegram", error.to_string())
            }
            Err(error) => Row::failed("telegram", error.to_string()),
        })
    }

    fn discord(&self, config: &Bot, cancel: &Cancel) -> Result<Row> {
        let discord = Discord::new(config.clone(), self.tls.clone(), Clock::System);
        let (answer, is_late) = within(limits::SERVER_TIME, cancel, |cancel| {
            discord.api(limits::SERVER_TIME, cancel)?.get_me()
        });
        Ok(match answer {
            Ok(me) => Row::ok("discord", format!("the bot is {}", me.username)),
            Err(Failure::Stopped) if is_late => late("discord", &config.api_base),
            Err(Failure::Stopped) => return Err(Error::Stopped),
            Err(failure @ (Failure::RetryAfter(_) | Failure::Trouble(_))) => {
                Row::warning("discord", failure.to_string())
            }
            Err(failure) => Row::failed("discord", failure.to_string()),
        })
    }
}

/// What the server's list of models says about the server, the key and the model.
fn model_row(route: &Route, answer: Result<Vec<String>, ListError>) -> Row {
    let provider = &route.provider;
    let model = &route.model;
    let offers = match answer {
        Ok(offers) => offers,
        Err(ListError::NotOffered { reason, .. }) if !model.is_empty() => {
            return Row::warning(
                "model",
                format!(
                    "{provider} answers, but cannot list its models ({reason}), so the key was not \
                     checked. Check it with `peacrab agent -m hello`"
                ),
            );
        }
        Err(ListError::Failed(error)) if matches!(error.fault, Fault::Rate | Fault::Busy) => {
            return Row::warning("model", error.to_string());
        }
        Err(error) => return Row::failed("model", error.to_string()),
    };
    match offers.first() {
        None => Row::failed(
            "model",
            format!("{provider} has no model. Install or load one there"),
        ),
        Some(first) if model.is_empty() => {
            Row::ok("model", format!("{provider} answers and offers {first}"))
        }
        Some(_) if offers::is_offered(model, &offers) => {
            Row::ok("model", format!("{provider} answers and offers {model}"))
        }
        Some(_) => Row::warning(
            "model",
            format!(
                "{provider} answers, but does not list the model {model}. {}",
                offers::suggestion(model, &offers)
            ),
        ),
    }
}

fn late(name: &'static str, url: &str) -> Row {
    let seconds = limits::SERVER_TIME.as_secs();
    let text = format!(
        "{} does not answer within {seconds} s: is the address right, and does the network let it through?",
        host(url)
    );
    Row::failed(name, text)
}

/// The host of an address, without what may be secret in it.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Does something for at most `time`, or until `cancel` is raised. Says too whether it took too
/// long; the token that the work gets was raised then.
fn within<T>(time: Duration, cancel: &Cancel, work: impl FnOnce(&Cancel) -> T) -> (T, bool) {
    let own = Cancel::new();
    let breaker = own.clone();
    let _guard = cancel.on_cancel(move || breaker.cancel());
    let timer = own.clone();
    // Without a thread to spare, the work's own time limits hold.
    let timer = thread::Builder::new()
        .name("timer".to_owned())
        .stack_size(limits::TIMER_STACK_BYTES)
        .spawn(move || {
            let is_late = !timer.wait(time);
            timer.cancel();
            is_late
        });
    let done = work(&own);
    own.cancel();
    let is_late = timer.is_ok_and(|timer| timer.join().unwrap_or(false));
    (done, is_late)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::report::State;
    use super::*;
    use crate::config::schema::Provider;
    use crate::provider::classify::Failure;
    use crate::provider::route::Sources;
    use crate::secret::Secret;

    fn route(provider: &str, key: &str, model: &str) -> Route {
        let settings = Provider {
            api_key: Secret::new(key),
            ..Provider::default()
        };
        let sources = Sources {
            providers: &BTreeMap::from([(provider.to_owned(), settings)]),
            variable: &|_| None,
        };
        sources.choose(provider, model).unwrap()
    }

    #[test]
    fn keys_are_judged_before_anybody_is_asked() {
        let row = |key| keys(&route("openai", key, ""), Some("openai/m".to_owned()));
        assert_eq!(row("sk-1").state, State::Ok);
        let missing = row("");
        assert_eq!(missing.state, State::Failed);
        for word in ["providers.openai.apiKey", "OPENAI_API_KEY"] {
            assert!(missing.text.contains(word), "{missing:?}");
        }
        let local = keys(&route("ollama", "", ""), Some("ollama".to_owned()));
        assert!(local.state == State::Ok && local.text.contains("none is needed"));
        assert_eq!(keys(&route(OFFLINE, "", ""), None).state, State::Warning);
    }

    #[test]
    fn what_the_server_says_decides_about_the_model() {
        let route = route("openai", "sk-secret-1234", "m");
        let lists = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        let failed = |fault, said: &str| {
            let error = Failure::new(fault, said).of_route(&route, "m");
            Err(ListError::Failed(Box::new(error)))
        };
        let not_offered = Err(ListError::NotOffered {
            provider: "openai".to_owned(),
            reason: "404".to_owned(),
        });
        for (answer, state, word) in [
            (lists(&["x", "m"]), State::Ok, "offers m"),
            (
                lists(&["x", "mm"]),
                State::Warning,
                "does not list the model m",
            ),
            (lists(&[]), State::Failed, "has no model"),
            (
                failed(Fault::Key, "no sk-secret-1234"),
                State::Failed,
                "key",
            ),
            (failed(Fault::Network, "refused"), State::Failed, "refused"),
            (not_offered, State::Warning, "cannot list its models"),
            (failed(Fault::Busy, "503"), State::Warning, "503"),
            (failed(Fault::Garbage, "html"), State::Failed, "apiBase"),
        ] {
            let row = model_row(&route, answer);
            assert_eq!(row.state, state, "{row:?}");
            assert!(row.text.contains(word), "{row:?}");
            assert!(!row.text.contains("sk-secret"), "{row:?}");
        }
    }

    #[test]
    fn a_host_is_shown_without_what_stands_around_it() {
        assert_eq!(
            host("https://me:pw@a.example:8443/bot1:x?k=1"),
            "a.example:8443"
        );
        assert_eq!(host("a.example"), "a.example");
    }

    #[test]
    fn work_that_takes_too_long_is_stopped_and_said_to_be_late() {
        let patient = Duration::from_secs(60);
        let wait = |cancel: &Cancel| cancel.wait(patient);
        let cancel = Cancel::new();
        assert_eq!(
            within(Duration::from_millis(1), &cancel, wait),
            (true, true)
        );
        assert_eq!(within(patient, &cancel, |_| 7), (7, false));
        cancel.cancel();
        assert_eq!(within(patient, &cancel, wait), (true, false));
    }
}

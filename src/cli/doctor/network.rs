//! Checks over the network: names, the model's server, the channels.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::report::{Report, Row, State};
use crate::base::cancel::Cancel;
use crate::base::chat::Fault;
use crate::base::error::{Error, Result};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::service::Service;
use crate::channels::table;
use crate::cli::Context;
use crate::cli::channels::check_settings;
use crate::cli::compose::{self, models_of, who_answers};
use crate::cli::config::texts;
use crate::config::Loaded;
use crate::config::channels::Bot;
use crate::models::ask_window;
use crate::models::offers::{self, ListError, Offers};
use crate::models::route::Route;
use crate::models::signin::{CAVEAT, SignIn};
use crate::models::table::{OFFLINE, known};
use crate::net::http::{Tls, look_up};
use crate::text::grouped;

/// How long a name may take to be resolved. What takes longer is felt in every conversation.
const LOOKUP_TIME: Duration = Duration::from_secs(5);
/// How long a server may take, from the connection to the end of its answer.
const SERVER_TIME: Duration = Duration::from_secs(8);
/// Stack of the thread that waits for that time; it does nothing else.
const TIMER_STACK_BYTES: usize = 64 * 1024;

/// The checks to run.
pub struct Examination {
    tls: Tls,
    /// The model's server; `None` where the offline helper answers.
    route: Option<Route>,
    /// Tokens of the model's window, as configured.
    window_tokens: Option<u32>,
    /// The channels that are used.
    channels: Vec<Bot>,
    /// Where channels remember something.
    state: PathBuf,
    /// Whether the environment names a proxy, which then resolves names.
    proxy: bool,
}

/// Checks the keys, and prepares the checks that use them; `None` where certificates are missing.
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
            Some(file) => format!("built-in CA certificates and those in {file}"),
            None => "built-in CA certificates".to_owned(),
        },
    ))?;
    let route = match models_of(context, loaded) {
        Ok(models) => {
            let route = models.primary().clone();
            report.add(keys(&route, who_answers(&models)))?;
            if loaded.config.limits.usd_per_day > 0.0 {
                report.add(prices(&models.unpriced()))?;
            }
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
        window_tokens: loaded.config.agents.defaults.context_window_tokens,
        channels: channels.cloned().collect(),
        state: context.home()?.state(),
        proxy: ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"]
            .iter()
            .flat_map(|name| [(*name).to_owned(), name.to_lowercase()])
            .any(|name| context.environment().contains_key(&name)),
    }))
}

fn lacks_key(route: &Route) -> bool {
    let is_signed_out = |sign_in: &SignIn| !sign_in.is_there();
    route.needs_key && route.key.is_empty() || route.sign_in.as_ref().is_some_and(is_signed_out)
}

fn keys(route: &Route, answering: Option<String>) -> Row {
    let Some(answering) = answering else {
        return Row::warning(
            "keys",
            "no model is connected, so the offline helper answers. Connect one with `peacrab onboard`",
        );
    };
    if let Some(sign_in) = &route.sign_in {
        return if sign_in.is_there() {
            Row::ok("keys", format!("{answering} (subscription: {CAVEAT})"))
        } else {
            Row::failed("keys", answering)
        };
    }
    let provider = &route.provider;
    if lacks_key(route) {
        let variable = known(provider).and_then(|known| known.variables.first());
        let or = variable.map_or_else(String::new, |name| format!(" or {name}"));
        return Row::failed(
            "keys",
            format!("{provider} has no API key. Set providers.{provider}.apiKey{or}"),
        );
    }
    let key = if route.key.is_empty() {
        "no API key needed"
    } else {
        "API key set"
    };
    Row::ok("keys", format!("{answering} ({key})"))
}

impl Examination {
    /// Runs one check after the other. [`Error::Stopped`] when the token is raised.
    pub fn run(self, report: &mut Report, cancel: &Cancel) -> Result<()> {
        let mut names = Names {
            cancel,
            seen: BTreeMap::new(),
            unresolved: Vec::new(),
        };
        if let Some(route) = &self.route {
            let url = route.url(crate::models::table::Api::Chat);
            let proxy = self.proxy || route.proxy.is_some();
            if names.is_known(&url, proxy, report)? {
                report.add(self.model(route, cancel)?)?;
                if let Some(row) = self.window(route, cancel) {
                    report.add(row)?;
                }
            }
        }
        for bot in &self.channels {
            let Some(service) = table::find(bot.name) else {
                let lacks = "this program was built without it".to_owned();
                report.add(Row::failed(bot.name, lacks))?;
                continue;
            };
            if let Err(error) = check_settings(service, bot) {
                report.add(Row::failed(bot.name, error.to_string()))?;
                continue;
            }
            let proxy = self.proxy || bot.proxy.is_some();
            if bot.api_base.is_empty() || names.is_known(&bot.api_base, proxy, report)? {
                report.add(self.channel(service, bot, cancel)?)?;
            }
        }
        let unresolved = unresolved(&names.unresolved);
        unresolved.map_or(Ok(()), |row| report.add(row))
    }

    fn model(&self, route: &Route, cancel: &Cancel) -> Result<Row> {
        let (answer, is_late) = within(SERVER_TIME, cancel, |cancel| {
            offers::list(&self.tls, route, cancel)
        });
        match answer {
            Err(ListError::Ended(Error::Stopped)) if is_late => Ok(late("model", &route.base)),
            Err(ListError::Ended(Error::Stopped)) => Err(Error::Stopped),
            answer => Ok(model_row(route, answer)),
        }
    }

    /// Whether a server of one's own gives the model a window that is large enough.
    fn window(&self, route: &Route, cancel: &Cancel) -> Option<Row> {
        let (window, _) = within(SERVER_TIME, cancel, |cancel| {
            ask_window(&self.tls, route, cancel)
        });
        let window = window?;
        let model = match route.model.as_str() {
            "" => "the model",
            model => model,
        };
        Some(
            match texts::small_window(model, window, self.window_tokens) {
                Some(warning) => Row::warning("window", warning),
                None => Row::ok(
                    "window",
                    format!("{} tokens for {model}", grouped(window.tokens as usize)),
                ),
            },
        )
    }

    fn channel(&self, service: &Service, bot: &Bot, cancel: &Cancel) -> Result<Row> {
        let adapter = service.adapter(bot.clone(), &self.tls, self.state.clone());
        let (answer, is_late) = within(SERVER_TIME, cancel, |cancel| adapter.identify(cancel));
        Ok(match answer {
            Ok(name) => Row::ok(service.name, format!("the bot is {name}")),
            Err(Failure::Stopped) if is_late => {
                if bot.api_base.is_empty() {
                    Row::failed(service.name, format!("{} does not answer", service.title))
                } else {
                    late(service.name, &bot.api_base)
                }
            }
            Err(Failure::Stopped) => return Err(Error::Stopped),
            Err(failure @ (Failure::RetryAfter(_) | Failure::Trouble(_))) => {
                Row::warning(service.name, failure.to_string())
            }
            Err(failure) => Row::failed(service.name, failure.to_string()),
        })
    }
}

/// The names of the hosts that are called. Each is looked up once; without a network one row has all of them.
struct Names<'a> {
    cancel: &'a Cancel,
    /// Whether a host can be called; that of a proxy is empty.
    seen: BTreeMap<String, bool>,
    unresolved: Vec<String>,
}

impl Names<'_> {
    /// Whether the host can be called: adds a row for its name, if it has one.
    fn is_known(&mut self, url: &str, proxy: bool, report: &mut Report) -> Result<bool> {
        let host = if proxy { "" } else { host(url) };
        if let Some(known) = self.seen.get(host) {
            return Ok(*known);
        }
        let row = if proxy {
            Some(Row::ok("dns", "the proxy resolves names"))
        } else {
            match look_up(url, LOOKUP_TIME, self.cancel) {
                Err(Error::Stopped) => return Err(Error::Stopped),
                Err(error @ Error::Config(_)) => Some(Row::failed("dns", error.to_string())),
                Err(_) => {
                    self.unresolved.push(host.to_owned());
                    None
                }
                Ok(None) => return Ok(true),
                Ok(Some(1)) => Some(Row::ok("dns", format!("{host} has 1 address"))),
                Ok(Some(count)) => Some(Row::ok("dns", format!("{host} has {count} addresses"))),
            }
        };
        let is_known = row.as_ref().is_some_and(|row| row.state == State::Ok);
        self.seen.insert(host.to_owned(), is_known);
        row.map_or(Ok(()), |row| report.add(row))?;
        Ok(is_known)
    }
}

/// The row about hosts whose names cannot be resolved.
fn unresolved(hosts: &[String]) -> Option<Row> {
    let names = match hosts {
        [] => return None,
        [_] => "name",
        _ => "names",
    };
    let text = format!(
        "Cannot resolve {}. Check the {names} and your network.",
        hosts.join(" and ")
    );
    Some(Row::failed("dns", text))
}

/// Whether the limit of a day knows what the models cost.
fn prices(unpriced: &[String]) -> Row {
    let known = "limits.usdPerDay knows the prices of all models";
    match unpriced {
        [] => Row::ok("prices", known),
        [model, ..] => Row::warning("prices", texts::no_price(model)),
    }
}

/// What the server's list of models says about the server, the key and the model.
fn model_row(route: &Route, answer: Result<Offers, ListError>) -> Row {
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
    match offers.names.first() {
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
                offers::suggestion(model, &offers.names)
            ),
        ),
    }
}

fn late(name: &'static str, url: &str) -> Row {
    let seconds = SERVER_TIME.as_secs();
    let text = format!(
        "{} did not answer within {seconds} s. Check the address, your network and firewall",
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

/// Does something for at most `time`, or until `cancel` is raised. Also returns whether it took too
/// long; the token of the work was raised then.
fn within<T>(time: Duration, cancel: &Cancel, work: impl FnOnce(&Cancel) -> T) -> (T, bool) {
    let own = Cancel::new();
    let breaker = own.clone();
    let _guard = cancel.on_cancel(move || breaker.cancel());
    let timer = own.clone();
    // If no thread can be started, the work's own time limits apply.
    let timer = thread::Builder::new()
        .name("timer".to_owned())
        .stack_size(TIMER_STACK_BYTES)
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
    use super::*;
    use crate::base::secret::Secret;
    use crate::config::schema::Provider;
    use crate::models::classify::Failure;
    use crate::models::route::Sources;

    fn route(provider: &str, key: &str, model: &str) -> Route {
        let settings = Provider {
            api_key: Secret::new(key),
            ..Provider::default()
        };
        let sources = Sources {
            providers: &BTreeMap::from([(provider.to_owned(), settings)]),
            variable: &|_| None,
            sign_ins: None,
        };
        sources.choose(provider, model).unwrap()
    }

    #[test]
    fn keys_are_checked_without_the_network() {
        let row = |key| keys(&route("openai", key, ""), Some("openai/m".to_owned()));
        assert_eq!(row("sk-1").state, State::Ok);
        let missing = row("");
        assert_eq!(missing.state, State::Failed);
        for word in ["providers.openai.apiKey", "OPENAI_API_KEY"] {
            assert!(missing.text.contains(word), "{missing:?}");
        }
        let local = keys(&route("ollama", "", ""), Some("ollama".to_owned()));
        assert!(local.state == State::Ok && local.text.contains("no API key needed"));
        assert_eq!(keys(&route(OFFLINE, "", ""), None).state, State::Warning);
    }

    #[test]
    fn what_the_server_says_decides_about_the_model() {
        let route = route("openai", "sk-secret-1234", "m");
        let lists = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Ok(Offers {
                names,
                ..Offers::default()
            })
        };
        let failed = |fault, said: &str| {
            let error = Failure::new(fault, said).into_error(&route, "m");
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
    fn a_host_is_shown_without_the_rest_of_its_address() {
        assert_eq!(
            host("https://me:pw@a.example:8443/bot1:x?k=1"),
            "a.example:8443"
        );
        assert_eq!(host("a.example"), "a.example");
    }

    #[test]
    fn work_that_takes_too_long_is_stopped_and_reported_as_late() {
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

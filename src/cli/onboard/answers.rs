//! Settles what the configuration should say: from the flags, the environment, and a person's answers.
//! Each answer is checked when it is given, and asked for again when it is wrong.

mod channel;
mod model;
mod steps;

use std::path::Path;

use serde_json::Value;

use super::Arguments;
use super::forms::{is_key, is_token, with_scheme, with_version, without_dots};
use super::outside::{Outside, Question, Trial};
use super::texts::{self, KeySource};
use crate::base::error::{Error, Result};
use crate::base::secret::Secret;
use crate::channels::kit::service::Service;
use crate::channels::table::title;
use crate::channels::{local, telegram};
use crate::config::check::{looks_secret, problem};
use crate::config::resolve::Outside as References;
use crate::config::schema::Provider;
use crate::config::{Home, Loaded, channels, load, table};
use crate::models::offers::Offers;
use crate::models::route::{Sources, is_auto};
use crate::models::table::{Known, OFFLINE, PROVIDERS, known, nearest};
use crate::net::http::address;
use crate::sys::environment::Environment;
use crate::text::nearest as suggest;
use steps::Progress;

const PROVIDER: &str = "agents.defaults.provider";
const MODEL: &str = "agents.defaults.model";
const WORKSPACE: &str = "agents.defaults.workspace";
const TOKEN: &str = "channels.telegram.token";
const ENABLED: &str = "channels.telegram.enabled";

/// What there is already.
pub struct Found<'a> {
    /// The home folder.
    pub home: &'a Home,
    /// The folder of the configuration file, in which relative paths of secrets begin.
    pub folder: &'a Path,
    /// The configuration before.
    pub loaded: &'a Loaded,
    /// The variables of the environment.
    pub environment: &'a Environment,
    /// What a provider is chosen from.
    pub sources: Sources<'a>,
}

/// What was settled.
#[derive(Default)]
pub struct Answers {
    /// The settings to write; those that are so already are not among them.
    pub wanted: Vec<(String, Value)>,
    /// The username of the Telegram bot, where it is known.
    pub bot: Option<String>,
    /// Another channel that was set up.
    pub channel: Option<&'static Service>,
    /// Whether the last answer, which is that of the bot, does not work and was kept nevertheless.
    pub is_doubtful: bool,
    /// Whether the person stopped. Then `wanted` has what was settled before.
    pub is_stopped: bool,
}

/// Settles everything. Where nobody can be asked, a flag that is missing means the current setting or
/// the default, and one that is wrong is an [`Error::Usage`], or an [`Error::Config`] when a server
/// refuses it.
pub fn gather(flags: &Arguments, found: &Found<'_>, outside: &mut dyn Outside) -> Result<Answers> {
    let mut interview = Interview {
        found,
        outside,
        wanted: Vec::new(),
        settled: 0,
        offers: None,
        is_unreachable: false,
        bot: None,
        channel: None,
        is_doubtful: false,
        progress: Progress::default(),
    };
    let ended = interview.run(flags);
    let Interview {
        mut wanted,
        settled,
        bot,
        channel,
        is_doubtful,
        ..
    } = interview;
    let is_stopped = matches!(ended, Err(Error::Stopped));
    match ended {
        Err(Error::Stopped) => wanted.truncate(settled),
        ended => ended?,
    }
    Ok(Answers {
        wanted,
        bot,
        channel,
        is_doubtful,
        is_stopped,
    })
}

/// What is done with an answer.
enum Verdict {
    Take(String),
    /// It cannot be taken; says why, where that was not said yet.
    Reject(String),
    /// It may be wrong; says why. `on_enter` is taken when the person presses Enter then, which
    /// `hint` says, and `on_repeat` when the same answer comes again.
    Doubt {
        reason: String,
        hint: String,
        on_enter: String,
        on_repeat: String,
    },
}

impl Verdict {
    /// An answer that does not work, which Enter keeps nevertheless.
    fn doubt(reason: String, answer: &str) -> Self {
        Self::Doubt {
            reason,
            hint: texts::KEEP_ANYWAY.to_owned(),
            on_enter: answer.to_owned(),
            on_repeat: answer.to_owned(),
        }
    }
}

/// Judges an answer.
type Check<'c, 'i> = &'c mut dyn FnMut(&mut Interview<'i>, &str) -> Result<Verdict>;

struct Interview<'a> {
    found: &'a Found<'a>,
    outside: &'a mut dyn Outside,
    wanted: Vec<(String, Value)>,
    /// How many of `wanted` are of questions that are done with.
    settled: usize,
    /// The models that the provider lists.
    offers: Option<Offers>,
    /// Whether there was no connection to the address that was entered.
    is_unreachable: bool,
    bot: Option<String>,
    channel: Option<&'static Service>,
    /// Whether the last answer does not work and was kept nevertheless.
    is_doubtful: bool,
    progress: Progress,
}

impl<'i> Interview<'i> {
    /// Asks until an answer is taken. A flag is an answer that is not asked for again.
    fn ask(
        &mut self,
        flag: Option<&str>,
        mut question: Question,
        check: Check<'_, 'i>,
    ) -> Result<String> {
        self.is_doubtful = false;
        if flag.is_some() || !self.outside.can_ask() {
            return match check(self, flag.unwrap_or_default().trim())? {
                Verdict::Take(answer) => Ok(answer),
                Verdict::Reject(reason) => Err(Error::Usage(reason)),
                Verdict::Doubt { reason, .. } => Err(Error::Config(reason)),
            };
        }
        // What is above it is said once.
        let name = Self::name_of(&question);
        let given = self.progress.given(&name);
        if let Some(given) = &given {
            question.hint = match question.is_hidden {
                true => texts::KEEP_TYPED.to_owned(),
                false => given.clone(),
            };
        }
        let first_hint = question.hint.clone();
        let mut doubted: Option<(String, String, String)> = None;
        loop {
            let answer = self.outside.ask(&question)?;
            self.progress.note(&answer)?;
            if let Some((doubted, on_enter, on_repeat)) = doubted.take() {
                let settled = match &*answer {
                    "" => Some(on_enter),
                    answer if answer == doubted => Some(on_repeat),
                    _ => None,
                };
                if let Some(settled) = settled {
                    self.is_doubtful = true;
                    self.progress.answered(&name, &settled);
                    return Ok(settled);
                }
            }
            let answer = match (&given, &*answer) {
                (Some(given), "") => given.clone(),
                (Some(_), texts::SKIP) if question.is_hidden => String::new(),
                _ => answer,
            };
            question.hint.clone_from(&first_hint);
            question.text.clone_from(&name);
            match check(self, &answer)? {
                Verdict::Take(settled) => {
                    let kept = if answer.is_empty() { "" } else { &settled };
                    self.progress.answered(&name, kept);
                    return Ok(settled);
                }
                Verdict::Reject(reason) if reason.is_empty() => {}
                Verdict::Reject(reason) => self.outside.say(&reason)?,
                Verdict::Doubt {
                    reason,
                    hint,
                    on_enter,
                    on_repeat,
                } => {
                    self.outside.say(&reason)?;
                    question.hint = hint;
                    doubted = Some((answer, on_enter, on_repeat));
                }
            }
        }
    }

    /// The last line of a question, under which its answer is kept.
    fn name_of(question: &Question) -> String {
        let name = question.text.rsplit('\n').next();
        name.unwrap_or_default().to_owned()
    }

    /// Settles the provider; empty when there is none.
    fn provider(&mut self, flags: &Arguments) -> Result<String> {
        let current = self.current(PROVIDER);
        let default = match is_auto(&current) {
            false => current.clone(),
            // A key in the environment is found at every start, and so need not be in the file.
            true if !self.outside.can_ask() => String::new(),
            true => self.detect().unwrap_or_default().to_owned(),
        };
        let question = texts::ask_provider(&default);
        let provider = self.ask(flags.provider.as_deref(), question, &mut |this, answer| {
            let name = if answer.is_empty() { &default } else { answer };
            Ok(this.judge_provider(name, &default, flags))
        })?;
        let is_same = |name: &str| self.found.sources.resolve(name).ok() == Some(&provider);
        if !provider.is_empty() && !is_same(&current) {
            self.want(PROVIDER, &provider);
        }
        Ok(provider)
    }

    fn judge_provider(&self, name: &str, default: &str, flags: &Arguments) -> Verdict {
        if name.is_empty() || ["skip", "none", "no"].contains(&&*name.to_lowercase()) {
            return Verdict::Take(String::new());
        }
        if is_auto(name) {
            return Verdict::Take("auto".to_owned());
        }
        // No provider's name, but words of someone who wants to know more.
        let asks = ["help", "?", "h", "y", "yes", "what", "which"];
        if flags.provider.is_none() && asks.contains(&&*name.to_lowercase()) {
            return Verdict::Reject(texts::explain_providers());
        }
        if let Ok(name) = self.found.sources.resolve(name) {
            return Verdict::Take(name.to_owned());
        }
        let is_asked = flags.provider.is_none() && flags.api_base.is_none();
        if let Some(verdict) = judge_odd_provider(name, default).filter(|_| is_asked) {
            return verdict;
        }
        let is_fit = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_');
        let reason = match () {
            () if name.contains(['/', ':']) => texts::NAME_IS_ADDRESS,
            () if looks_secret(name) => texts::NAME_IS_KEY,
            () if !name.chars().all(is_fit) => texts::NAME_IS_ODD,
            () => "",
        };
        let meant = nearest(name).map(|known| known.name);
        match meant {
            _ if !reason.is_empty() => Verdict::Reject(reason.to_owned()),
            _ if flags.api_base.is_some() => Verdict::Take(name.to_owned()),
            meant if flags.provider.is_some() => Verdict::Reject(texts::needs_address(name, meant)),
            None => Verdict::Take(name.to_owned()),
            Some(meant) => Verdict::Doubt {
                reason: texts::did_you_mean(name, meant),
                hint: meant.to_owned(),
                on_enter: meant.to_owned(),
                on_repeat: name.to_owned(),
            },
        }
    }

    /// The first provider whose key is in the environment, while no provider is configured.
    fn detect(&self) -> Option<&'static str> {
        if !self.found.loaded.config.providers.is_empty() {
            return None;
        }
        let has_key = |row: &&Known| self.variable(row).is_some();
        PROVIDERS.iter().find(has_key).map(|row| row.name)
    }

    /// The variable that has the provider's key.
    fn variable(&self, row: &Known) -> Option<&'static str> {
        let has_value = |name: &&&str| {
            let value = self.found.environment.get(**name);
            value.is_some_and(|value| !value.is_empty())
        };
        row.variables.iter().find(has_value).copied()
    }

    /// Settles the address and the key of a provider.
    fn connect(&mut self, provider: &str, flags: &Arguments) -> Result<()> {
        let section = self.found.sources.section_name(provider).to_owned();
        let configured = self.found.loaded.config.providers.get(&section);
        let mut settings = configured.cloned().unwrap_or_default();
        let row = known(provider);
        if let Some(key) = flags.api_key.as_deref()
            && let Ok(key) = self.resolve("providers.*.apiKey", key)
        {
            settings.api_key = Secret::new(&key);
        }
        if row.is_none() || flags.api_base.is_some() {
            let path = format!("providers.{section}.apiBase");
            let flag = flags.api_base.as_deref();
            settings.api_base = self.address(provider, &path, &settings, flag)?;
            let base = settings.api_base.clone();
            self.want(&path, &base);
        }
        let signs_in = row.is_some_and(|row| row.sign_in.is_some());
        if signs_in && settings.api_base.is_empty() {
            return self.outside.say(&texts::signs_in(provider));
        }
        if flags.api_key.is_some() || row.is_none_or(|row| !row.variables.is_empty()) {
            let path = format!("providers.{section}.apiKey");
            let key = self.key(provider, &path, &settings, flags)?;
            // A key of the environment is found there at every start. In the file it would be a copy.
            if !key.is_empty() {
                self.want(&path, &key);
            }
        } else if self.outside.can_ask()
            && self.offers.is_none()
            && !self.is_unreachable
            && let Trial::Unreachable(reason) | Trial::Unclear(reason) =
                self.list_models(provider, &settings)?
        {
            self.outside.warn(&texts::not_tried(provider, &reason))?;
        }
        Ok(())
    }

    fn list_models(&mut self, provider: &str, settings: &Provider) -> Result<Trial<Offers>> {
        let trial = self.outside.list_models(provider, settings)?;
        if let Trial::Works(models) = &trial {
            self.outside
                .say(&texts::connected(provider, models.names.len()))?;
            self.offers = Some(models.clone());
        }
        Ok(trial)
    }

    /// Settles the address of a server.
    fn address(
        &mut self,
        provider: &str,
        path: &str,
        settings: &Provider,
        flag: Option<&str>,
    ) -> Result<String> {
        let current = self.current(path);
        let question = texts::ask_address(provider, &current);
        self.ask(flag, question, &mut |this, answer| {
            let answer = if answer.is_empty() { &current } else { answer };
            if answer.is_empty() {
                return Ok(Verdict::Reject(texts::address_missing(provider)));
            }
            let base = with_scheme(answer);
            let value = base.as_str().into();
            let has_problem = |key| problem(key, path, &value, true).is_some();
            if table::find(path).is_some_and(has_problem) || address::parse(&base).is_err() {
                return Ok(Verdict::Reject(texts::NOT_AN_ADDRESS.to_owned()));
            }
            this.judge_address(provider, settings, &base)
        })
    }

    fn judge_address(
        &mut self,
        provider: &str,
        settings: &Provider,
        base: &str,
    ) -> Result<Verdict> {
        let mut why = None;
        self.is_unreachable = false;
        for base in [Some(base.to_owned()), with_version(base)]
            .into_iter()
            .flatten()
        {
            let settings = Provider {
                api_base: base.clone(),
                ..settings.clone()
            };
            match self.list_models(provider, &settings)? {
                Trial::Works(_) | Trial::Refused(_) => return Ok(Verdict::Take(base)),
                Trial::Unclear(reason) => why = why.or(Some(reason)),
                Trial::Unreachable(reason) => {
                    self.is_unreachable = true;
                    why = Some(reason);
                    break;
                }
            }
        }
        let reason = texts::nothing_there(base, &why.unwrap_or_default());
        if self.outside.can_ask() {
            return Ok(Verdict::doubt(reason, base));
        }
        self.outside.warn(&reason)?;
        Ok(Verdict::Take(base.to_owned()))
    }

    /// Settles the key; empty when the one that is there already is used, or none.
    fn key(
        &mut self,
        provider: &str,
        path: &str,
        settings: &Provider,
        flags: &Arguments,
    ) -> Result<String> {
        let row = known(provider);
        let source = match row.and_then(|row| self.variable(row)) {
            _ if !settings.api_key.is_empty() => KeySource::Configured,
            Some(variable) => KeySource::Variable(variable),
            None if row.is_none() || !settings.api_base.is_empty() => KeySource::Optional,
            None => KeySource::Missing,
        };
        let is_missing = matches!(source, KeySource::Missing);
        let is_tried =
            self.outside.can_ask() || flags.api_key.is_some() || flags.api_base.is_some();
        let question = texts::ask_key(provider, source);
        let flag = flags.api_key.as_deref();
        self.ask(flag, question, &mut |this, answer| {
            let mut settings = settings.clone();
            if !answer.is_empty() {
                match this.resolve(path, answer) {
                    Ok(key) if is_key(&key) => settings.api_key = Secret::new(&key),
                    Ok(_) => return Ok(Verdict::Reject(texts::NOT_A_KEY.to_owned())),
                    Err(reason) => return Ok(Verdict::Reject(reason)),
                }
            } else if is_missing {
                if this.outside.can_ask() {
                    this.outside.warn(&texts::key_missing(provider))?;
                }
                return Ok(Verdict::Take(String::new()));
            }
            // The address was tried already, and the key is not new or cannot be tried.
            let is_known = answer.is_empty() && this.offers.is_some() || this.is_unreachable;
            if is_tried && !is_known {
                match this.list_models(provider, &settings)? {
                    Trial::Works(_) => {}
                    Trial::Refused(reason) => {
                        return Ok(Verdict::doubt(
                            texts::key_refused(provider, &reason),
                            answer,
                        ));
                    }
                    Trial::Unreachable(reason) | Trial::Unclear(reason) => {
                        this.outside.warn(&texts::not_tried(provider, &reason))?;
                    }
                }
            }
            Ok(Verdict::Take(answer.to_owned()))
        })
    }

    /// Settles the folder that the agent works in.
    fn workspace(&mut self, flags: &Arguments) -> Result<()> {
        let flag = flags.workspace.as_ref();
        let flag = flag.map(|path| path.display().to_string());
        let current = self.current(WORKSPACE);
        let path = self.found.home.workspace(&current);
        let question = texts::ask_workspace(&path);
        let folder = self.ask(flag.as_deref(), question, &mut |this, answer| {
            if answer.is_empty() || Path::new(answer) == path {
                return Ok(Verdict::Take(current.clone()));
            }
            if this.outside.can_ask() && !answer.starts_with(['/', '~', '$', '.']) {
                return Ok(Verdict::Reject(texts::NOT_A_PATH.to_owned()));
            }
            let folder = match this.resolve(WORKSPACE, answer) {
                Ok(folder) => std::path::absolute(&folder).map_err(Error::io("find", &folder))?,
                Err(reason) => return Ok(Verdict::Reject(reason)),
            };
            let given = folder;
            let folder = without_dots(&given);
            if folder.exists() && !folder.is_dir() {
                return Ok(Verdict::Reject(texts::not_a_folder(&folder)));
            }
            Ok(match this.outside.check_workspace(&folder) {
                Err(error) => Verdict::Reject(error.to_string()),
                Ok(()) if answer.starts_with('~') && folder == given => {
                    Verdict::Take(answer.to_owned())
                }
                Ok(()) => Verdict::Take(folder.display().to_string()),
            })
        })?;
        self.want(WORKSPACE, &folder);
        Ok(())
    }

    /// Settles the Telegram bot. One that has a token is enabled.
    fn telegram(&mut self, flag: Option<&str>) -> Result<()> {
        let mut bot = self.found.loaded.config.channels.of(telegram::NAME);
        let question = texts::ask_telegram(!bot.token.is_empty());
        let token = self.ask(flag, question, &mut |this, answer| {
            if answer.is_empty() || answer.eq_ignore_ascii_case(texts::SKIP) {
                return Ok(Verdict::Take(String::new()));
            }
            match this.resolve(TOKEN, answer) {
                Ok(token) if is_token(&token) => bot.token = Secret::new(&token),
                Ok(_) => return Ok(Verdict::Reject(texts::NOT_A_TOKEN.to_owned())),
                Err(reason) => return Ok(Verdict::Reject(reason)),
            }
            match this.outside.find_bot(&bot)? {
                Trial::Works(username) => {
                    this.outside.say(&texts::bot_found(&username))?;
                    this.bot = Some(username);
                }
                Trial::Refused(reason) => return Ok(Verdict::doubt(reason, answer)),
                Trial::Unreachable(reason) | Trial::Unclear(reason) => {
                    this.outside.warn(&texts::token_not_tried(&reason))?;
                }
            }
            Ok(Verdict::Take(answer.to_owned()))
        })?;
        if !token.is_empty() {
            self.want(TOKEN, &token);
            if !self.found.loaded.config.channels.of(telegram::NAME).enabled {
                self.wanted.push((ENABLED.to_owned(), true.into()));
            }
        }
        Ok(())
    }

    /// The value of a text setting now.
    fn current(&self, path: &str) -> String {
        let value = table::find(path).map(|key| self.found.loaded.current(key, path).0);
        value
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    /// The value that a text stands for, with `${NAME}`, `file:PATH` and `~` filled in. The error says
    /// what is missing.
    fn resolve(&self, path: &str, text: &str) -> std::result::Result<String, String> {
        let references = References {
            variable: &|name| self.found.environment.get(name).cloned(),
            file: &|name| load::read_secret(&self.found.folder.join(name)),
        };
        let key = table::find(path).ok_or_else(String::new)?;
        let value = references.resolve(key, text.into());
        let value = value.map_err(|problem| format!("{path} {problem}"))?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    fn want(&mut self, path: &str, value: &str) {
        let is_so = self.current(path) == self.resolve(path, value).unwrap_or_default();
        if !is_so {
            self.wanted.push((path.to_owned(), value.into()));
        }
    }
}

/// The verdict on a number or the name of a channel in the place of a provider's; `None` for anything else.
fn judge_odd_provider(name: &str, default: &str) -> Option<Verdict> {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Verdict::Reject(texts::NAME_IS_NUMBER.to_owned()));
    }
    let lower = name.to_lowercase();
    // Short names are alike by chance, and `local` is a good name for a server of one's own.
    let is_meant = |channel: &&str| {
        *channel != local::NAME && (*channel == lower || lower.len() > 4 && nearest(name).is_none())
    };
    let channel = suggest(&lower, channels::names()).filter(is_meant)?;
    Some(Verdict::Doubt {
        reason: texts::name_is_channel(name, title(channel)),
        hint: texts::ask_provider(default).hint,
        on_enter: default.to_owned(),
        on_repeat: name.to_owned(),
    })
}

#[cfg(test)]
mod tests;

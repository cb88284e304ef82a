//! Reads the configuration from the file and the environment, and changes the file.

mod describe;

pub use describe::Current;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::agents::MAIN;
use super::check;
use super::key::{Key, Kind};
use super::resolve::{self, Outside};
use super::schema::Config;
use super::settings::{Setting, Settings, Source};
use super::table;
use super::text::{edit, read as json_text};
use super::texts;
use crate::base::error::{Error, Result};
use crate::base::limits::config as limits;
use crate::base::secret::Secret;
use crate::base::zone::{self, Zone};
use crate::sys::beneath::canonical;
use crate::sys::environment::{self, Environment};
use crate::sys::file;

/// Bytes of a file that holds one secret (`file:PATH`).
const SECRET_FILE_BYTES: usize = 64 * 1024;

/// The mode of the file that is written: it may contain keys.
const FILE_MODE: u32 = 0o600;

/// The setting whose value has to be a time zone of this system.
const ZONE_KEY: &str = "agents.defaults.timezone";
/// The key of the time zone of scheduled jobs.
const JOBS_ZONE_KEY: &str = "cron.tz";

/// The setting that sends backups.
const SEND_KEY: &str = "backup.send";

/// The setting whose entries name agents.
const BINDINGS_KEY: &str = "agents.bindings";

/// The configuration, and where it comes from.
#[derive(Clone, Default)]
pub struct Loaded {
    /// The values, for the rooms.
    pub config: Config,
    /// The agent whose settings are in `agents.defaults`; empty: those of the file, which is `main` where
    /// the list does not change it.
    pub agent: String,
    /// The workspaces of the other agents, as configured.
    pub others: Vec<String>,
    /// What is valid but should be corrected, each with what to do.
    pub warnings: Vec<String>,
    /// What is not obeyed: unknown settings, and wrong values that a start without is safe, each with its place.
    pub ignored: Vec<String>,
    /// Everything that is set, by path. The rest has its default.
    pub settings: BTreeMap<String, Setting>,
    /// Why the passphrase of backups cannot be used; then no backup is made by itself.
    pub backup_fault: Option<String>,
    /// Every secret in it, to be redacted from texts.
    pub secrets: Vec<Secret>,
    /// The files that some of them are in, to be hidden from commands.
    pub secret_files: Vec<PathBuf>,
}

impl Loaded {
    /// The effective value of the setting at the path, and where it comes from.
    pub fn current(&self, key: &Key, path: &str) -> (Value, Source) {
        match self.settings.get(path) {
            Some(setting) => (setting.value.clone(), setting.source.clone()),
            None => (key.default_value(), Source::Default),
        }
    }
}

impl Loaded {
    /// The configuration of the file as an agent sees it, the default one for `None`. Fails when there is no
    /// such agent.
    pub fn of_agent(&self, id: Option<&str>) -> Result<Self> {
        let Some(profile) = self.config.agents.profile(id) else {
            let profiles = self.config.agents.profiles();
            let known: Vec<&str> = profiles.iter().map(|profile| &*profile.id).collect();
            let text = texts::no_such_agent(id.unwrap_or_default(), &known);
            return Err(Error::Usage(text));
        };
        Ok(Self {
            config: self.config.of_agent(&profile),
            ignored: self.ignored.clone(),
            others: workspaces_beside(&self.config, &profile.id),
            agent: profile.id,
            warnings: Vec::new(),
            settings: BTreeMap::new(),
            backup_fault: self.backup_fault.clone(),
            secrets: self.secrets.clone(),
            secret_files: self.secret_files.clone(),
        })
    }

    /// The id of the agent whose settings these are.
    pub fn agent_id(&self) -> &str {
        match self.agent.as_str() {
            "" => MAIN,
            id => id,
        }
    }
}

/// The workspaces of all agents but this one.
fn workspaces_beside(config: &Config, agent: &str) -> Vec<String> {
    let others = config.agents.profiles().into_iter();
    let others = others.filter(|profile| profile.id != agent);
    others.map(|profile| profile.settings.workspace).collect()
}

/// Loads the configuration: the file, then the environment, which overrides it. A missing file sets
/// nothing, unless the user named it. Every error is [`Error::Config`].
pub fn load(file: &Path, named: bool, environment: &Environment) -> Result<Loaded> {
    let text = read(file)?;
    if text.is_none() && named {
        return Err(Error::Config(texts::no_such_file(file)));
    }
    let is_empty = text.as_ref().is_some_and(|text| text.trim().is_empty());
    let mut loaded = load_text(text.as_deref().map(or_empty_object), file, environment)?;
    if is_empty {
        loaded.warnings.push(texts::file_is_empty(file));
    }
    Ok(loaded)
}

/// Does the same with a text that the file has or will have; `None` when there is no file.
pub fn load_text(text: Option<&str>, file: &Path, environment: &Environment) -> Result<Loaded> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let secret_files = RefCell::new(Vec::new());
    let outside = Outside {
        variable: &|name| environment.get(name).cloned(),
        file: &|path| {
            let path = folder.join(path);
            let secret = read_secret(&path);
            secret_files.borrow_mut().push(path);
            secret
        },
    };
    let mut settings = Settings::new(Some(&outside));
    if let Some(text) = text {
        settings.take_file(text, &file.display().to_string())?;
    }
    settings.take_environment(environment.iter().map(|(name, value)| (&**name, &**value)));
    check_zone(&mut settings, file);
    check_bindings(&mut settings, file);
    check_named(&mut settings, file);
    check_backup(&mut settings, file);
    settings.settle_channels();
    settings.verdict()?;
    let values = Value::Object(std::mem::take(&mut settings.values));
    let config = serde_json::from_value(values)
        .map_err(|error| Error::Config(format!("{}: {error}", file.display())))?;
    Ok(Loaded {
        others: workspaces_beside(&config, MAIN),
        config,
        agent: String::new(),
        warnings: mode_warning(file, settings.holds_secret)
            .into_iter()
            .collect(),
        ignored: settings.take_ignored(),
        settings: settings.set,
        backup_fault: settings.backup_fault,
        secrets: settings.secrets,
        secret_files: secret_files.take(),
    })
}

/// Reads the file's text; `None` when there is no file.
fn read(file: &Path) -> Result<Option<String>> {
    let bytes = match file::read_at_most(file, limits::FILE_BYTES) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        read => read.map_err(|error| Error::Config(error.to_string()))?,
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Config(texts::file_is_not_text(file, at))
    })?;
    // Some editors write a byte order mark, which JSON does not allow.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(Some(text.to_owned()))
}

/// An empty file is an empty object.
fn or_empty_object(text: &str) -> &str {
    if text.trim().is_empty() { "{}\n" } else { text }
}

/// A change of one setting: its row in the table, its path, and its new value.
pub type Change<'a> = (&'a Key, &'a str, &'a Value);

/// Writes changed settings into the file, after everything is checked. The rest of the file stays as it
/// is. A missing file is created.
pub fn change(file: &Path, changes: &[Change<'_>]) -> Result<()> {
    save(file, &text_with(file, changes)?)
}

/// The file's text with changed settings, checked. References are not followed, so that `${NAME}` can be
/// written where NAME is not set.
pub fn text_with(file: &Path, changes: &[Change<'_>]) -> Result<String> {
    for (key, path, value) in changes {
        let wrong = check::problem(key, path, value, true);
        let wrong = wrong.or_else(|| secret_file_problem(key, path, value, file));
        let wrong = wrong.or_else(|| match (*path, value) {
            (ZONE_KEY, Value::String(name)) if !resolve::refers(name) => zone_problem(name),
            (JOBS_ZONE_KEY, Value::String(name)) if !resolve::refers(name) => {
                jobs_zone_problem(name)
            }
            _ => None,
        });
        if let Some(problem) = wrong {
            return Err(Error::Config(problem));
        }
    }
    let mut text = or_empty_object(&read(file)?.unwrap_or_default()).to_owned();
    let before = check(&text, file)?;
    for (key, path, value) in changes {
        text = edit::set(&text, key, path, value);
    }
    let after = check(&text, file)?;
    // Such as a server that is not complete.
    match after.iter().find(|problem| !before.contains(problem)) {
        Some(problem) if after.len() > before.len() => Err(Error::Config(problem.clone())),
        _ => Ok(text),
    }
}

/// The file's text without a setting or section, or without something unknown; `None` when it is not in
/// the file. The text need not be a valid configuration, before or after.
pub fn text_without(file: &Path, path: &str) -> Result<Option<String>> {
    let text = or_empty_object(&read(file)?.unwrap_or_default()).to_owned();
    json_text::parse(&text, &file.display().to_string()).map_err(Error::Config)?;
    Ok(edit::remove(&text, path))
}

/// Replaces the file's text: atomically, with mode 0600, and through a link.
pub fn save(file: &Path, text: &str) -> Result<()> {
    // Replacing the link itself would disconnect it from where the user keeps the file.
    let target = canonical(file).unwrap_or_else(|_| file.to_owned());
    if let Some(folder) = target.parent() {
        file::private_folder(folder)?;
    }
    file::write_atomic(&target, text.as_bytes(), FILE_MODE)
}

/// Checks the text as far as possible without what it refers to. Returns what would be ignored.
fn check(text: &str, file: &Path) -> Result<Vec<String>> {
    let mut settings = Settings::new(None);
    settings.take_file(text, &file.display().to_string())?;
    check_bindings(&mut settings, file);
    check_named(&mut settings, file);
    settings.settle_channels();
    settings.verdict()?;
    Ok(settings.take_ignored())
}

/// Reads a secret from a file of its own. The error says what is wrong with the file.
pub fn read_secret(path: &Path) -> Result<String, String> {
    let bytes = file::read_at_most(path, SECRET_FILE_BYTES)
        .map_err(|error| texts::unreadable_secret(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| texts::secret_is_not_text(path))?;
    Ok(text.trim().to_owned())
}

/// Why a secret cannot be in the file that it is set to. What the account of the service alone can read is taken.
fn secret_file_problem(key: &Key, path: &str, value: &Value, file: &Path) -> Option<String> {
    let named = value.as_str().filter(|_| key.kind == Kind::Secret)?;
    let named = named.strip_prefix(resolve::FILE_PREFIX)?;
    if resolve::refers(named) {
        return None;
    }
    let named = file.parent().unwrap_or(Path::new(".")).join(named);
    match read_secret(&named) {
        Ok(secret) if key.path == check::PASSPHRASE && secret.is_empty() => {
            Some(texts::short_passphrase(path))
        }
        Ok(secret) => check::problem(key, path, &secret.into(), false),
        Err(problem) => {
            // What is below /run is made with the service that has it.
            let is_missing = !named.starts_with("/run")
                && std::fs::metadata(&named)
                    .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            is_missing.then(|| texts::no_secret_file(path, &problem))
        }
    }
}

fn check_zone(settings: &mut Settings<'_>, file: &Path) {
    let written = |setting: &Setting| Some(setting.value.as_str()?.to_owned());
    if let Some(name) = settings.set.get(ZONE_KEY).and_then(written)
        && !is_usual_zone(&name)
        && let Some(variable) = usable_zone(&name)
    {
        settings.replace(ZONE_KEY, Value::from(variable));
    }
    let setting = settings.set.get(ZONE_KEY);
    let problem = setting.and_then(|setting| setting.value.as_str().and_then(zone_problem));
    use_default(settings, ZONE_KEY, file, problem);
    // Jobs do not need the system's zones.
    let setting = settings.set.get(JOBS_ZONE_KEY);
    let problem = setting.and_then(|setting| setting.value.as_str().and_then(jobs_zone_problem));
    use_default(settings, JOBS_ZONE_KEY, file, problem);
}

/// A backup that anyone can read is not sent, and none is made where its passphrase cannot be used. Commands do not see
/// its folder all the same.
fn check_backup(settings: &mut Settings<'_>, file: &Path) {
    if settings.backup_fault.is_some() {
        for name in ["every", "passphrase", "send"] {
            settings.forget(&["backup", name]);
        }
        return;
    }
    let is_on = |path| {
        settings
            .set
            .get(path)
            .is_some_and(|setting| setting.value == true)
    };
    let is_safe = settings.set.contains_key(check::PASSPHRASE) || is_on("backup.withoutSecrets");
    let place = place_of(settings, SEND_KEY, file);
    if let Some(place) = place.filter(|_| is_on(SEND_KEY) && !is_safe) {
        settings.ignore(
            &place,
            &texts::used_instead(texts::UNSAFE_BACKUP, Some("false")),
        );
        settings.forget(&SEND_KEY.split('.').collect::<Vec<_>>());
    }
}

/// Every binding has to name an agent.
fn check_bindings(settings: &mut Settings<'_>, file: &Path) {
    let problem = check::agents::unknown_agent(&settings.values);
    if let (Some(problem), Some(place)) = (problem, place_of(settings, BINDINGS_KEY, file)) {
        settings.problem(&place, &problem);
    }
}

/// Every MCP server and every command has to be complete. One that is not is left out.
fn check_named(settings: &mut Settings<'_>, file: &Path) {
    let servers = check::server_problems(&settings.values);
    let commands = check::command_problems(&settings.values);
    for (names, problem) in servers.into_iter().chain(commands) {
        let prefix = format!("{}.", names.join("."));
        let of_one = settings
            .set
            .iter()
            .filter(|(path, _)| path.starts_with(&prefix));
        let lines = of_one.filter_map(|(_, setting)| match setting.source {
            Source::File(line) => Some(line),
            _ => None,
        });
        let place = match lines.min() {
            Some(line) => format!("{}:{line}", file.display()),
            None => file.display().to_string(),
        };
        settings.leave_out(&place, &problem, names);
    }
    settings.forget_left_out();
}

/// Leaves the default to a setting with a problem, and notes it.
fn use_default(settings: &mut Settings<'_>, key: &str, file: &Path, problem: Option<String>) {
    if let (Some(problem), Some(place)) = (problem, place_of(settings, key, file)) {
        let default = table::find(key).map(|key| key.default);
        settings.ignore(&place, &texts::used_instead(&problem, default));
        settings.forget(&key.split('.').collect::<Vec<_>>());
    }
}

/// The place where a setting is set.
fn place_of(settings: &Settings<'_>, key: &str, file: &Path) -> Option<String> {
    match &settings.set.get(key)?.source {
        Source::Variable(name) => Some(name.clone()),
        Source::File(line) => Some(format!("{}:{line}", file.display())),
        Source::Default => None,
    }
}

fn is_usual_zone(name: &str) -> bool {
    name == "auto" || environment::is_time_zone(name)
}

/// The value of `TZ` for a zone that is written in another way than the system has it.
fn usable_zone(name: &str) -> Option<String> {
    if name.trim().eq_ignore_ascii_case("auto") {
        return Some("auto".to_owned());
    }
    if name.starts_with('<') && Zone::from_rule(name).is_some() {
        return Some(name.to_owned());
    }
    let variable = zone::variable(name)?;
    (variable.starts_with('<') || environment::is_time_zone(&variable)).then_some(variable)
}

/// What is wrong with the name of a time zone, and what to do.
fn zone_problem(name: &str) -> Option<String> {
    if is_usual_zone(name) || usable_zone(name).is_some() {
        return None;
    }
    let name = check::safe_path([name].into_iter());
    Some(texts::unknown_time_zone(
        &name,
        environment::has_time_zones(),
    ))
}

/// The same for the zone of jobs.
fn jobs_zone_problem(name: &str) -> Option<String> {
    let is_known = name.is_empty() || Zone::find(name).is_some();
    (!is_known).then(|| texts::unknown_jobs_zone(&check::safe_path([name].into_iter())))
}

/// A warning for a file with keys that others can read.
fn mode_warning(file: &Path, holds_secret: bool) -> Option<String> {
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (holds_secret && mode & 0o077 != 0).then(|| {
        let path = canonical(file).unwrap_or_else(|_| file.to_owned());
        texts::file_is_readable(&path, mode)
    })
}

#[cfg(test)]
mod tests;

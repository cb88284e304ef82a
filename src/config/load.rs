//! Reads the configuration from the file and the environment, and changes the file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::agents::{self, MAIN};
use super::check;
use super::resolve::{self, Outside};
use super::schema::Config;
use super::settings::{Setting, Settings, Source};
use super::table::{self, Key};
use super::text::{edit, read as json_text};
use super::texts;
use crate::error::{Error, Result};
use crate::limits::config as limits;
use crate::secret::Secret;
use crate::sys::environment::{self, Environment};
use crate::sys::file;
use crate::zone::{self, Zone};

/// The mode of the file that is written: it may contain keys.
const FILE_MODE: u32 = 0o600;

/// The setting whose value has to be a time zone of this system.
const ZONE_KEY: &str = "agents.defaults.timezone";
/// The key of the time zone of scheduled jobs.
const JOBS_ZONE_KEY: &str = "cron.tz";

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
    match text.trim().is_empty() {
        true => "{}\n",
        false => text,
    }
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
        let wrong = check::problem(key, path, value, true).or_else(|| match (*path, value) {
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
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
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
    let bytes = file::read_at_most(path, limits::SECRET_FILE_BYTES)
        .map_err(|error| texts::unreadable_secret(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| texts::secret_is_not_text(path))?;
    Ok(text.trim().to_owned())
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

/// Every binding has to name an agent.
fn check_bindings(settings: &mut Settings<'_>, file: &Path) {
    let problem = agents::check::unknown_agent(&settings.values);
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
    let path: PathBuf = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    (holds_secret && mode & 0o077 != 0).then(|| texts::file_is_readable(&path, mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Board {
        folder: tempfile::TempDir,
        environment: Environment,
    }

    impl Board {
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let board = Self {
                folder,
                environment: Environment::new(),
            };
            std::fs::write(board.file(), text).unwrap();
            board
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("config.json")
        }

        fn with(mut self, name: &str, value: &str) -> Self {
            self.environment.insert(name.to_owned(), value.to_owned());
            self
        }

        fn load(&self) -> Result<Loaded> {
            load(&self.file(), false, &self.environment)
        }

        fn ignored(&self) -> String {
            let ignored = self.load().unwrap().ignored.join("\n");
            ignored.replace(&self.file().display().to_string(), "FILE")
        }

        fn error(&self) -> String {
            let error = self.load().err().expect("an error");
            assert_eq!(error.exit(), crate::error::Exit::Config);
            error
                .to_string()
                .replace(&self.file().display().to_string(), "FILE")
        }
    }

    #[test]
    fn a_key_is_read_from_the_credentials_directory() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("peacrab.model");
        std::fs::write(&file, "k-12345678\n").unwrap();
        let text = r#"{"providers": {"x": {"apiBase": "http://h",
            "apiKey": "file:${CREDENTIALS_DIRECTORY}/peacrab.model"}}}"#;
        let loaded = Board::new(text)
            .with(
                "CREDENTIALS_DIRECTORY",
                &folder.path().display().to_string(),
            )
            .load()
            .unwrap();
        assert_eq!(loaded.config.providers["x"].api_key.expose(), "k-12345678");
        assert_eq!(loaded.secret_files, [file]);
    }

    #[test]
    fn the_environment_overrides_the_file_and_the_file_the_default() {
        let loaded = Board::new(
            "{\"agents\": {\"defaults\": {\n\"max_tokens\": 100, \"model\": \"${MODEL}\"}},\n\
             \"providers\": {\"my-host\": {\"api_base\": \"http://h\"}, \"ollama\": {}}}",
        )
        .with("MODEL", "small")
        .with("PEACRAB_AGENTS__DEFAULTS__MAX_TOKENS", "200")
        .with("PEACRAB_PROVIDERS__MY_HOST__API_KEY", "12345678")
        .with("PEACRAB_HOME", "/anywhere")
        .load()
        .unwrap();
        let defaults = &loaded.config.agents.defaults;
        assert_eq!(
            (
                defaults.max_tokens,
                &*defaults.model,
                defaults.memory_window
            ),
            (200, "small", 100)
        );
        assert_eq!(
            loaded.config.providers["my-host"].api_key.expose(),
            "12345678"
        );
        assert!(loaded.config.providers.contains_key("ollama"));
        assert_eq!(loaded.secrets, [Secret::new("12345678")]);
        let source = |path: &str| {
            loaded
                .current(super::super::table::find(path).unwrap(), path)
                .1
                .to_string()
        };
        assert_eq!(
            source("agents.defaults.maxTokens"),
            "PEACRAB_AGENTS__DEFAULTS__MAX_TOKENS"
        );
        assert_eq!(source("agents.defaults.model"), "file, line 2");
        assert_eq!(source("log.level"), "default");
    }

    #[test]
    fn without_a_file_there_are_the_defaults_unless_it_was_named() {
        let missing = Path::new("/nonexistent/config.json");
        let loaded = load(missing, false, &Environment::new()).unwrap();
        assert!(loaded.settings.is_empty() && loaded.warnings.is_empty());
        let error = load(missing, true, &Environment::new()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "There is no configuration file /nonexistent/config.json"
        );
        let warning = Board::new(" \n").load().unwrap().warnings.concat();
        assert!(warning.contains("is empty"), "{warning}");
    }

    #[test]
    fn anything_but_a_text_file_is_a_configuration_error() {
        let board = Board::new("");
        std::fs::write(board.file(), b"{\xff}").unwrap();
        assert!(
            board
                .error()
                .starts_with("FILE: this is not UTF-8 text (byte 1).")
        );
        std::fs::write(board.file(), vec![b' '; limits::FILE_BYTES + 1]).unwrap();
        assert!(board.error().contains("larger than the limit"));
        std::fs::remove_file(board.file()).unwrap();
        std::fs::create_dir(board.file()).unwrap();
        assert_eq!(board.error(), "cannot read FILE: it is not a regular file");
    }

    #[test]
    fn a_key_may_be_in_a_file_of_its_own() {
        let board = Board::new(r#"{"providers": {"x": {"apiKey": "file:key"}}}"#);
        assert!(
            board
                .ignored()
                .starts_with("FILE:1: providers.x.apiKey refers to a file: cannot read ")
        );
        std::fs::write(board.folder.path().join("key"), " sk-1 \n").unwrap();
        let loaded = board.load().unwrap();
        assert_eq!(loaded.config.providers["x"].api_key.expose(), "sk-1");
        assert_eq!(loaded.secret_files, [board.folder.path().join("key")]);
        assert!(loaded.warnings.is_empty(), "a reference is not a secret");
    }

    #[test]
    fn a_key_in_a_file_that_others_can_read_gets_a_warning() {
        let board = Board::new(r#"{"providers": {"x": {"apiKey": "sk-1"}}}"#);
        let set_mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(board.file(), permissions).unwrap();
        };
        set_mode(0o640);
        let warning = board.load().unwrap().warnings.concat();
        assert!(warning.contains("(mode 640). Run chmod 600 /"), "{warning}");
        set_mode(0o600);
        assert!(board.load().unwrap().warnings.is_empty());
    }

    #[test]
    fn a_zone_has_to_be_one_of_the_system() {
        let board = Board::new(r#"{"agents": {"defaults": {"timezone": "Europe/Nowhere"}}}"#);
        let zone = board.load().unwrap().config.agents.defaults.timezone;
        assert_eq!(zone, "auto");
        assert!(board.ignored().starts_with(
            "FILE:1: Unknown time zone \"Europe/Nowhere\". Use a name such as Europe/Zurich"
        ));
        assert!(
            Board::new("{}")
                .with("PEACRAB_AGENTS__DEFAULTS__TIMEZONE", "Europe/Zurich")
                .load()
                .is_ok()
        );
    }

    #[test]
    fn a_zone_may_be_written_in_other_ways() {
        for (written, zone) in [
            ("utc", "UTC"),
            ("Etc/UTC", "Etc/UTC"),
            ("europe/zurich", "Europe/Zurich"),
            ("GMT+1", "<UTC+0100>-1:00"),
            ("<UTC+0100>-1:00", "<UTC+0100>-1:00"),
            ("Auto", "auto"),
        ] {
            let board = Board::new(&format!(
                r#"{{"agents": {{"defaults": {{"timezone": "{written}"}}}}, "cron": {{"tz": "{written}"}}}}"#
            ));
            let config = board.load().unwrap().config;
            assert_eq!(config.agents.defaults.timezone, zone, "{written}");
            let is_zone = written != "Auto" && !written.starts_with('<');
            assert_eq!(!config.cron.tz.is_empty(), is_zone, "{written}");
        }
    }

    #[test]
    fn a_change_is_checked_written_privately_and_goes_through_a_link() {
        let board = Board::new("{\"log\": {\"level\": \"info\"}}");
        let link = board.folder.path().join("link.json");
        std::os::unix::fs::symlink(board.file(), &link).unwrap();
        let key = super::super::table::find("log.level").unwrap();
        change(&link, &[(key, "log.level", &"debug".into())]).unwrap();
        assert!(link.is_symlink());
        assert_eq!(
            std::fs::read_to_string(board.file()).unwrap(),
            "{\"log\": {\"level\": \"debug\"}}"
        );
        assert_eq!(
            std::fs::metadata(board.file())
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600
        );

        let error = change(&link, &[(key, "log.level", &"loud".into())]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "log.level must be one of off, error, warn, info, debug, trace, not \"loud\""
        );
        std::fs::write(board.file(), "{\"lgo\": 1}").unwrap();
        change(&link, &[(key, "log.level", &"off".into())]).unwrap();
        let changed = std::fs::read_to_string(board.file()).unwrap();
        assert!(
            changed.contains("lgo") && changed.contains("off"),
            "{changed}"
        );

        let key = super::super::table::find("tools.mcpServers.x.args").unwrap();
        let args = serde_json::json!(["a"]);
        let error = change(&link, &[(key, "tools.mcpServers.x.args", &args)]).unwrap_err();
        assert!(error.to_string().contains("tools.mcpServers.x"), "{error}");
        assert_eq!(std::fs::read_to_string(board.file()).unwrap(), changed);
    }

    #[test]
    fn a_server_or_a_command_that_cannot_be_used_is_left_out() {
        let board = Board::new(
            r#"{"tools": {"mcpServers": {
                "none": {"enabled": false}, "bad name": {"command": "a"},
                "both": {"command": "a", "url": "http://h", "type": "sse"},
                "wrong": {"command": "a", "args": {"b": 1}}, "right": {"command": "c"}}},
                "commands": {"help": {"run": "x"}, "ok": {"run": "y"}}}"#,
        );
        let loaded = board.load().unwrap();
        let servers = &loaded.config.tools.mcp_servers;
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["both", "right"]);
        assert_eq!(servers["both"].command, "");
        let commands = &loaded.config.commands;
        assert_eq!(commands.keys().collect::<Vec<_>>(), ["ok"]);
        assert_eq!(loaded.ignored.len(), 4, "{:?}", loaded.ignored);
    }
}

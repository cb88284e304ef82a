//! From the file and the environment to the configuration, and back into the file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check;
use super::resolve::{self, Outside};
use super::schema::Config;
use super::settings::{Setting, Settings, Source};
use super::table::Key;
use super::text::edit;
use crate::error::{Error, Result};
use crate::limits::config as limits;
use crate::secret::Secret;
use crate::sys::environment::{self, Environment};
use crate::sys::file;

/// The mode of the file that is written: it may hold keys.
const FILE_MODE: u32 = 0o600;

/// The key whose value has to be a zone of this system.
const ZONE_KEY: &str = "agents.defaults.timezone";

/// The configuration, and how it came to be.
pub struct Loaded {
    /// What the rooms get.
    pub config: Config,
    /// What is not wrong but should be mended, each with what to do.
    pub warnings: Vec<String>,
    /// Every key that is set, by its path, with its value and its source. The rest is default.
    pub settings: BTreeMap<String, Setting>,
    /// Every secret in it, for the eraser.
    pub secrets: Vec<Secret>,
    /// The files that some of them stand in, for the sandbox.
    pub secret_files: Vec<PathBuf>,
}

impl Loaded {
    /// The value that holds for the key at the path, and who set it.
    pub fn current(&self, key: &Key, path: &str) -> (Value, Source) {
        match self.settings.get(path) {
            Some(setting) => (setting.value.clone(), setting.source.clone()),
            None => (key.default_value(), Source::Default),
        }
    }
}

/// Loads the configuration: the file, then what the environment sets over it. A file that is not
/// there sets nothing, save when the person named it. Every error is [`Error::Config`].
pub fn load(file: &Path, named: bool, environment: &Environment) -> Result<Loaded> {
    let text = read(file)?;
    if text.is_none() && named {
        return Err(Error::Config(format!(
            "there is no file {}",
            file.display()
        )));
    }
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
    if let Some(text) = &text {
        settings.take_file(text, &file.display().to_string())?;
    }
    settings.take_environment(environment.iter().map(|(name, value)| (&**name, &**value)));
    check_zone(&mut settings, file);
    settings.verdict()?;
    let values = Value::Object(std::mem::take(&mut settings.values));
    let config = serde_json::from_value(values)
        .map_err(|error| Error::Config(format!("{}: {error}", file.display())))?;
    Ok(Loaded {
        config,
        warnings: mode_warning(file, settings.holds_secret)
            .into_iter()
            .collect(),
        settings: settings.set,
        secrets: settings.secrets,
        secret_files: secret_files.take(),
    })
}

/// Reads the file's text; none when there is no file. An empty file is an empty object.
pub fn read(file: &Path) -> Result<Option<String>> {
    let bytes = match file::read_at_most(file, limits::FILE_BYTES) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        read => read.map_err(|error| Error::Config(error.to_string()))?,
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Config(format!(
            "{}: this is not UTF-8 text (byte {at})",
            file.display()
        ))
    })?;
    // Some editors begin a text with a mark that JSON does not know.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    Ok(Some(text.to_owned()))
}

/// A change of one key: the key, its path, and its new value.
pub type Change<'a> = (&'a Key, &'a str, &'a Value);

/// Writes changed keys into the file, after all is checked: atomically, mode 0600, and through a
/// link. All else in the file stays as it is. References are not followed, so that `${NAME}` can be
/// written where NAME is not known. The file is made when it is missing.
pub fn change(file: &Path, changes: &[Change<'_>]) -> Result<()> {
    for (key, path, value) in changes {
        let wrong = check::problem(key, path, value, true).or_else(|| match (*path, value) {
            (ZONE_KEY, Value::String(name)) if !resolve::refers(name) => zone_problem(name),
            _ => None,
        });
        if let Some(problem) = wrong {
            return Err(Error::Config(problem));
        }
    }
    let mut text = read(file)?.unwrap_or_else(|| "{}\n".to_owned());
    checked(&text, file)?;
    for (key, path, value) in changes {
        text = edit::set(&text, key, path, value);
    }
    checked(&text, file)?;
    // Replacing a link by a file would part it from where the person keeps it.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if let Some(folder) = target.parent() {
        file::private_folder(folder)?;
    }
    file::write_atomic(&target, text.as_bytes(), FILE_MODE)
}

/// Whether the text is a right configuration, as far as it can be said without what lies outside.
fn checked(text: &str, file: &Path) -> Result<()> {
    let mut settings = Settings::new(None);
    settings.take_file(text, &file.display().to_string())?;
    settings.verdict()
}

/// Reads a secret from a file of its own. The error says what is wrong with the file.
pub fn read_secret(path: &Path) -> Result<String, String> {
    let bytes = file::read_at_most(path, limits::SECRET_FILE_BYTES)
        .map_err(|error| format!("stands in a file of its own: {error}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("stands in {}, which is not UTF-8 text", path.display()))?;
    Ok(text.trim().to_owned())
}

fn check_zone(settings: &mut Settings<'_>, file: &Path) {
    let Some(setting) = settings.set.get(ZONE_KEY) else {
        return;
    };
    let place = match &setting.source {
        Source::Variable(name) => name.clone(),
        Source::File(line) => format!("{}:{line}", file.display()),
        Source::Default => return,
    };
    if let Some(problem) = setting.value.as_str().and_then(zone_problem) {
        settings.problem(&place, &problem);
    }
}

/// Why the name is no zone here, and what to do.
fn zone_problem(name: &str) -> Option<String> {
    if name == "auto" || environment::is_time_zone(name) {
        return None;
    }
    let advice = match environment::has_time_zones() {
        true => "`ls /usr/share/zoneinfo/*` lists them; one is Europe/Zurich",
        false => "this system has none: install its package tzdata, or write auto",
    };
    let name = check::safe_path([name].into_iter());
    Some(format!(
        "{ZONE_KEY} is {name:?}, which is no time zone here; {advice}"
    ))
}

/// A file that others can read must not hold keys.
fn mode_warning(file: &Path, holds_secret: bool) -> Option<String> {
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let path: PathBuf = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    (holds_secret && mode & 0o077 != 0).then(|| {
        let path = path.display();
        format!("{path} holds a key and can be read by others (mode {mode:03o}): chmod 600 {path}")
    })
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

        fn error(&self) -> String {
            let error = self.load().err().expect("an error");
            assert_eq!(error.exit(), crate::error::Exit::Config);
            error
                .to_string()
                .replace(&self.file().display().to_string(), "FILE")
        }
    }

    #[test]
    fn a_key_comes_out_of_the_folder_of_credentials() {
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
    fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
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
    fn without_a_file_the_defaults_hold_unless_it_was_named() {
        let missing = Path::new("/nonexistent/config.json");
        let loaded = load(missing, false, &Environment::new()).unwrap();
        assert!(loaded.settings.is_empty() && loaded.warnings.is_empty());
        let error = load(missing, true, &Environment::new()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "there is no file /nonexistent/config.json"
        );
        assert!(Board::new(" \n").load().is_ok());
    }

    #[test]
    fn what_is_no_text_file_is_an_error_of_the_configuration() {
        let board = Board::new("");
        std::fs::write(board.file(), b"{\xff}").unwrap();
        assert_eq!(board.error(), "FILE: this is not UTF-8 text (byte 1)");
        std::fs::write(board.file(), vec![b' '; limits::FILE_BYTES + 1]).unwrap();
        assert!(board.error().contains("larger than the limit"));
        std::fs::remove_file(board.file()).unwrap();
        std::fs::create_dir(board.file()).unwrap();
        assert_eq!(board.error(), "cannot read FILE: it is not a regular file");
    }

    #[test]
    fn a_key_may_lie_in_a_file_of_its_own_beside_the_configuration() {
        let board = Board::new(r#"{"providers": {"x": {"apiKey": "file:key"}}}"#);
        assert!(
            board.error().starts_with(
                "FILE:1: providers.x.apiKey stands in a file of its own: cannot read "
            )
        );
        std::fs::write(board.folder.path().join("key"), " sk-1 \n").unwrap();
        let loaded = board.load().unwrap();
        assert_eq!(loaded.config.providers["x"].api_key.expose(), "sk-1");
        assert_eq!(loaded.secret_files, [board.folder.path().join("key")]);
        assert!(loaded.warnings.is_empty(), "a reference is no secret");
    }

    #[test]
    fn a_key_in_a_file_that_others_can_read_is_warned_of() {
        let board = Board::new(r#"{"providers": {"x": {"apiKey": "sk-1"}}}"#);
        let set_mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(board.file(), permissions).unwrap();
        };
        set_mode(0o640);
        let warning = board.load().unwrap().warnings.concat();
        assert!(warning.contains("(mode 640): chmod 600 /"), "{warning}");
        set_mode(0o600);
        assert!(board.load().unwrap().warnings.is_empty());
    }

    #[test]
    fn a_zone_has_to_be_one_of_the_system() {
        let board = Board::new(r#"{"agents": {"defaults": {"timezone": "Europe/Nowhere"}}}"#);
        assert!(board.error().starts_with(
            "FILE:1: agents.defaults.timezone is \"Europe/Nowhere\", which is no time zone here"
        ));
        assert!(
            Board::new("{}")
                .with("PEACRAB_AGENTS__DEFAULTS__TIMEZONE", "Europe/Zurich")
                .load()
                .is_ok()
        );
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
            "log.level is \"loud\"; it wants one of off, error, warn, info, debug, trace"
        );
        std::fs::write(board.file(), "{\"lgo\": 1}").unwrap();
        let error = change(&link, &[(key, "log.level", &"off".into())]).unwrap_err();
        assert!(error.to_string().contains("lgo is no key"), "{error}");
        assert_eq!(
            std::fs::read_to_string(board.file()).unwrap(),
            "{\"lgo\": 1}"
        );
    }
}

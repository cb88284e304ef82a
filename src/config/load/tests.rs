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
        assert_eq!(error.exit(), crate::base::error::Exit::Config);
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
fn backups_are_off_without_their_passphrase_and_the_rest_starts() {
    let text = |passphrase: &str| {
        format!(
            r#"{{"backup": {{"every": 24, "send": true, "folder": "/usb", "passphrase": "{passphrase}"}}}}"#
        )
    };
    let board = Board::new(&text("file:passphrase"));
    let off = |why: &str| {
        let loaded = board.load().unwrap();
        let backup = &loaded.config.backup;
        assert_eq!((backup.every, backup.send), (0, false));
        assert!(backup.passphrase.is_empty());
        assert_eq!(backup.folder, "/usb", "commands do not see it");
        let ignored = loaded.ignored.join("\n");
        assert!(ignored.contains("Automatic backups are off"), "{ignored}");
        assert!(loaded.backup_fault.unwrap().contains(why), "{ignored}");
    };
    off("refers to a file: cannot read ");
    let passphrase = board.folder.path().join("passphrase");
    for short in ["short\n", "\n"] {
        std::fs::write(&passphrase, short).unwrap();
        off("must have at least 8 characters");
    }
    std::fs::write(&passphrase, "long enough\n").unwrap();
    let loaded = board.load().unwrap();
    assert_eq!(
        (loaded.config.backup.every, loaded.backup_fault),
        (24, None)
    );
    assert!(loaded.ignored.is_empty(), "{:?}", loaded.ignored);
    // One that is right besides counts, and the wrong one is named.
    let variable = "PEACRAB_BACKUP__PASSPHRASE";
    let board = Board::new(&text("file:missing")).with(variable, "long enough");
    let loaded = board.load().unwrap();
    assert_eq!(
        (loaded.config.backup.every, loaded.backup_fault),
        (24, None)
    );
    let ignored = loaded.ignored.join("\n");
    assert!(
        ignored.contains("refers to a file: cannot read "),
        "{ignored}"
    );
    assert!(
        ignored.ends_with(&format!("The one of {variable} is used")),
        "{ignored}"
    );
}

#[test]
fn a_secret_is_set_to_a_file_that_is_there() {
    let board = Board::new("{}");
    let set = |path: &str, value: &str| {
        let key = table::find(path).unwrap();
        let value = Value::from(value);
        let set = text_with(&board.file(), &[(key, path, &value)]);
        set.map_err(|error| error.to_string())
    };
    let passphrase = "backup.passphrase";
    for path in [passphrase, "providers.x.apiKey"] {
        let missing = set(path, "file:secret").unwrap_err();
        assert!(missing.contains("Create the file first"), "{missing}");
    }
    // The service alone has it.
    set(passphrase, "file:${CREDENTIALS_DIRECTORY}/passphrase").unwrap();
    set(passphrase, "file:/run/credentials/not-there.service/key").unwrap();
    std::fs::write(board.folder.path().join("secret"), "short\n").unwrap();
    for short in ["short", "file:secret"] {
        let short = set(passphrase, short).unwrap_err();
        assert!(short.contains("at least 8 characters"), "{short}");
    }
    set("providers.x.apiKey", "file:secret").unwrap();
    std::fs::write(board.folder.path().join("secret"), "long enough\n").unwrap();
    set(passphrase, "file:secret").unwrap();
    set(passphrase, "long enough").unwrap();
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

#[test]
fn what_is_secret_in_any_address_of_the_configuration_is_known_and_not_shown() {
    use super::super::key::Kind;
    // A proxy is a secret as a whole.
    let addresses = table::keys().filter(|key| key.kind == Kind::Url);
    let mut seen = 0;
    for key in addresses {
        let path = key.path.replace('*', "x");
        let address = "https://me:canary-pass@host.example/path?apiKey=canary-key&v=1";
        let mut file = serde_json::Value::from(address);
        for name in path.rsplit('.') {
            file = serde_json::json!({ name: file });
        }
        let board = Board::new(&file.to_string());
        let loaded = board.load().unwrap();
        let (value, _) = loaded.current(key, &path);
        assert_eq!(value, address, "{path}");
        let eraser = crate::base::secret::Eraser::new(loaded.secrets.iter().cloned());
        let cleaned = eraser.clean("a canary-pass b canary-key c v=1 host.example");
        assert_eq!(
            cleaned, "a [secret] b [secret] c v=1 host.example",
            "{path}"
        );
        let shown = key.masked(value).to_string();
        assert!(!shown.contains("canary"), "{path}: {shown}");
        assert!(
            shown.contains("@host.example/path?apiKey="),
            "{path}: {shown}"
        );
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
    let wrong = r#"{"providers": {"x": {"apiBase": "htp://host.example/?key=canary-1"}}}"#;
    let said = match Board::new(wrong).load() {
        Ok(loaded) => loaded.ignored.join("\n"),
        Err(error) => error.to_string(),
    };
    assert!(
        said.contains("apiBase") && !said.contains("canary"),
        "{said}"
    );
}

#[test]
fn what_is_secret_in_arguments_is_known_and_a_reference_is_none() {
    let server = |more: &str| {
        let text = format!(r#"{{"tools": {{"mcpServers": {{"x": {{{more}}}}}}}}}"#);
        Board::new(&text)
            .with("TOKEN", "canary-token")
            .load()
            .unwrap()
    };
    let loaded = server(r#""command": "npx", "args": ["remote", "--api-key", "canary-key1"]"#);
    assert_eq!(loaded.secrets, [Secret::new("canary-key1")]);
    let loaded = server(r#""url": "https://host/mcp?token=${TOKEN}""#);
    assert_eq!(loaded.secrets, [Secret::new("canary-token")]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

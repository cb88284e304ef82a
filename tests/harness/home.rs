//! A home folder that lives as long as the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::clock::Turned;
use crate::harness::model::Model;
use crate::harness::signin::Site;
use crate::harness::telegram::{TOKEN, Telegram};

/// The model's name in every configuration here.
pub const MODEL: &str = "fake-model";
/// The API key in every configuration here; it must never appear in the program's output.
pub const KEY: &str = "sk-canary-0123456789abcdef";

/// A home folder with a workspace.
pub struct Home {
    folder: TempDir,
    config: Value,
    clock: Option<PathBuf>,
    board: Option<PathBuf>,
    sign_in: Option<String>,
}

impl Home {
    /// A home with an empty workspace and no configuration.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        Self {
            folder,
            config: json!({}),
            clock: None,
            board: None,
            sign_in: None,
        }
    }

    /// A home whose provider is the fake, which speaks as OpenAI does.
    pub fn with_model(model: &Model) -> Self {
        Self::with_provider(model, "openai", &format!("{}/v1", model.url()))
    }

    /// A home whose provider is the fake, which speaks as Anthropic does.
    pub fn with_anthropic_model(model: &Model) -> Self {
        Self::with_provider(model, "anthropic", &model.url())
    }

    /// A home with the fake model and the fake Telegram, where the person 1001 may speak.
    pub fn with_telegram(model: &Model, telegram: &Telegram) -> Self {
        let mut home = Self::with_model(model);
        let section = json!({
            "enabled": true, "token": TOKEN, "apiBase": telegram.url(), "allowFrom": ["1001"],
        });
        home.set("/channels", json!({"telegram": section}));
        if let Some(file) = telegram.authority_file() {
            // Each server has its own certificate authority.
            let files = [Some(file), model.authority_file()];
            let certificates = files
                .iter()
                .flatten()
                .map(|file| fs::read_to_string(file).unwrap());
            let both = home.path().join("authorities.pem");
            fs::write(&both, certificates.collect::<String>()).unwrap();
            home.set("/tls/caFile", json!(both));
        }
        home
    }

    fn with_provider(model: &Model, api_type: &str, api_base: &str) -> Self {
        let mut home = Self::with_endpoint(api_type, api_base);
        if let Some(file) = model.authority_file() {
            home.set("/tls/caFile", json!(file));
        }
        home
    }

    /// A home whose provider is an endpoint of any kind.
    pub fn with_endpoint(api_type: &str, api_base: &str) -> Self {
        let mut home = Self::new();
        home.config = json!({
            "agents": {"defaults": {"provider": "fake", "model": MODEL, "timezone": "UTC"}},
            "providers": {"fake": {"apiKey": KEY, "apiBase": api_base, "apiType": api_type}},
        });
        home.write_config(&home.config.to_string());
        home
    }

    /// Sets a member of the configuration, by a JSON pointer such as `/tools/allowedPaths`.
    pub fn set(&mut self, pointer: &str, value: Value) {
        let mut place = &mut self.config;
        for key in pointer.split('/').skip(1) {
            place = &mut place[key];
        }
        *place = value;
        self.write_config(&self.config.to_string());
    }

    /// Lets the programs of this home follow a clock, which must live as long as they run.
    pub fn turn(&mut self, clock: &Turned) {
        self.clock = Some(clock.file());
    }

    /// Has the watches of this home look at a made-up board: a folder with `proc`, `sys` and `run`. Without one they see
    /// nothing, so that no story depends on the machine it runs on.
    pub fn watch_board(&mut self, root: &Path) {
        self.board = Some(root.to_owned());
    }

    /// Has the programs of this home sign in at a fake, and use its subscription at a fake model.
    pub fn sign_in_at(&mut self, site: &Site, model: &Model) {
        self.sign_in = Some(format!("{} {}/v1", site.url(), model.url()));
    }

    /// Where its programs sign in, and where the models are.
    pub fn sign_in(&self) -> Option<&str> {
        self.sign_in.as_deref()
    }

    /// The folder of that board.
    pub fn board(&self) -> &Path {
        self.board.as_deref().unwrap_or(Path::new("/dev/null/none"))
    }

    /// The file of the clock that its programs follow.
    pub fn clock(&self) -> Option<&Path> {
        self.clock.as_deref()
    }

    /// Writes the configuration file.
    pub fn write_config(&self, text: &str) {
        let file = self.path().join("config.json");
        fs::write(&file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the workspace.
    pub fn workspace(&self, name: &str) -> PathBuf {
        self.path().join("workspace").join(name)
    }

    /// The journals of single questions on the command line, one after the other; empty when there are
    /// none.
    pub fn journals_of_questions(&self) -> String {
        let files = fs::read_dir(self.path().join("sessions"));
        let mut files: Vec<PathBuf> = files
            .into_iter()
            .flatten()
            .map(|file| file.unwrap().path())
            .filter(|path| path.to_string_lossy().contains("/cli_ask-"))
            .collect();
        files.sort();
        let texts = files.iter().map(|file| fs::read(file).unwrap());
        texts
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    }

    /// The journal of a conversation on the command line; empty when there is none.
    pub fn journal(&self, session: &str) -> String {
        let file = self.path().join(format!("sessions/cli_{session}.jsonl"));
        fs::read(file).map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8_lossy(&bytes).into(),
        )
    }
}

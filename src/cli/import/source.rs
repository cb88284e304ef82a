//! The home of another program: which one it is, its settings, and its files. It is read beneath open folders, with no
//! link that leads out of it, and never written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::formats::{
    read_env, read_json, read_toml, read_yaml, wrong_line_of_json, wrong_line_of_yaml,
};
use super::texts;
use crate::base::error::{Error, Result};
use crate::config::schema::Tools;
use crate::sandbox::files::{Next, Places, Workspace};
use crate::sys::at::Kind;
use crate::sys::beneath::Resolver;
use crate::sys::environment::Environment;
use crate::sys::file::read_beginning;

/// Bytes of a file with settings: the longest defaults of these programs have 40 kB.
const SETTINGS_BYTES: usize = 1024 * 1024;
/// Names that a list of a folder has.
const NAMES: usize = 2_000;

/// A program whose home can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// <https://github.com/HKUDS/nanobot>
    Nanobot,
    /// <https://github.com/sipeed/picoclaw>
    PicoClaw,
    /// <https://github.com/openclaw/openclaw>
    OpenClaw,
    /// <https://github.com/NousResearch/hermes-agent>
    Hermes,
    /// <https://github.com/zeroclaw-labs/zeroclaw>
    ZeroClaw,
}

impl Program {
    /// Each with its name and the usual folder of its home.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Nanobot, "nanobot", ".nanobot"),
        (Self::PicoClaw, "PicoClaw", ".picoclaw"),
        (Self::OpenClaw, "OpenClaw", ".openclaw"),
        (Self::Hermes, "Hermes", ".hermes"),
        (Self::ZeroClaw, "zeroclaw", ".zeroclaw"),
    ];

    fn row(self) -> (Self, &'static str, &'static str) {
        let mut all = Self::ALL.into_iter();
        all.find(|(program, ..)| *program == self)
            .unwrap_or(Self::ALL[0])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Whether a channel is on without a setting that says so.
    pub fn enables_by_token(self) -> bool {
        matches!(self, Self::OpenClaw | Self::Hermes | Self::ZeroClaw)
    }
}

/// A folder that is only read.
pub struct Folder {
    opened: Workspace,
    below: PathBuf,
}

impl Folder {
    /// Opens a folder with everything below it.
    pub fn open(path: &Path) -> Result<Self> {
        let path = path.canonicalize().map_err(Error::io("open", path))?;
        let places = Places {
            workspace: &path,
            hidden: &[],
            user_home: None,
        };
        // No setting of this machine widens what is read.
        let opened = Workspace::open(&places, &Tools::default(), Resolver::detect())?;
        Ok(Self {
            opened,
            below: PathBuf::new(),
        })
    }

    /// Reads a file of at most so many bytes; `None` when there is no such file.
    pub fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        let path = self.below.join(path);
        let file = match self.opened.open_read(&path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            // The advice for tools would widen what they reach.
            Err(Error::Refused { path, .. }) => {
                let why = texts::LINK.to_owned();
                return Err(Error::Refused { path, why });
            }
            Err(error) => return Err(error),
        };
        let bytes = read_beginning(&file, limit as u64 + 1).map_err(Error::io("read", &path))?;
        if bytes.len() > limit {
            return Err(Error::TooLarge {
                what: path.display().to_string(),
                limit,
            });
        }
        Ok(Some(bytes))
    }

    /// Reads such a file as a string; `None` also where it is not UTF-8.
    pub fn read_text(&self, path: &str, limit: usize) -> Result<Option<String>> {
        let bytes = self.read(path, limit)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// The files below a folder with their permissions, at most so deep; sorted, and bounded in number.
    pub fn files(&self, path: &str, depth: usize) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        // A folder that is missing has no files.
        let _ = self.opened.walk(&self.below.join(path), &mut |one| {
            let Some(name) = one.path.to_str().filter(|_| found.len() < NAMES) else {
                return if found.len() < NAMES {
                    Next::Pass
                } else {
                    Next::Stop
                };
            };
            if one.status.kind == Kind::File {
                found.push((name.to_owned(), one.status.mode));
            }
            let is_near = one.path.components().count() < depth;
            if is_near && !name.ends_with(".git") {
                Next::Enter
            } else {
                Next::Pass
            }
        });
        found
    }

    /// Whether it has something of this name, even if it cannot be read.
    pub fn has(&self, path: &str) -> bool {
        let kind = self.opened.kind(&self.below.join(path));
        !kind.is_err_and(|error| error.is_not_found())
    }
}

/// The home of another program.
pub struct Source {
    /// Which one it is.
    pub program: Program,
    /// The home folder, as it was named.
    pub path: PathBuf,
    /// Its settings.
    pub settings: Value,
    /// The variables of its `.env`, which its settings may refer to.
    pub variables: BTreeMap<String, String>,
    /// The home folder.
    pub home: Folder,
    /// The folder that its agent works in; `None` when that is elsewhere or missing.
    pub workspace: Option<Folder>,
}

impl Source {
    /// Recognises a home by its files. `workspace` is the folder of its agent, where that is elsewhere.
    pub fn open(path: &Path, workspace: Option<&Path>) -> Result<Self> {
        let home = Folder::open(path)?;
        let variables = home.read_text(".env", SETTINGS_BYTES)?;
        let variables = read_env(&variables.unwrap_or_default());
        let Some((program, mut settings)) = recognise(&home, path)? else {
            return Err(Error::Usage(texts::unknown_home(path)));
        };
        if program == Program::PicoClaw
            && let Some(text) = home.read_text(".security.yml", SETTINGS_BYTES)?
            && let Some(secrets) = read_yaml(&text)
        {
            merge(&mut settings, secrets, 0);
        }
        if let Value::Object(members) = &mut settings {
            let env = members.entry("env").or_insert_with(|| json!({}));
            let extra: Map<String, Value> = variables
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            merge(env, Value::Object(extra), 0);
        }
        if program == Program::Nanobot
            && let Ok(Some(text)) = home.read_text("pairing.json", SETTINGS_BYTES)
            && let Some(mut pairing) = read_json(&text)
        {
            settings["pairing"] = pairing["approved"].take();
        }
        let workspace = match workspace {
            Some(path) => Some(Folder::open(path)?),
            None => find_workspace(path, program, &settings)
                .filter(|below| home.has(below.to_str().unwrap_or_default()))
                .map(|below| Folder::open(path).map(|folder| Folder { below, ..folder }))
                .transpose()?,
        };
        Ok(Self {
            program,
            path: path.to_owned(),
            settings,
            variables,
            home,
            workspace,
        })
    }
}

/// The usual homes of other programs that an account has.
pub fn find_homes(environment: &Environment) -> Vec<(Program, PathBuf)> {
    let user = environment.get("HOME");
    user.map_or_else(Vec::new, |user| homes_in(Path::new(user)))
}

/// The homes of other programs in a folder, by their usual names.
fn homes_in(folder: &Path) -> Vec<(Program, PathBuf)> {
    let all = Program::ALL.into_iter();
    let found = all.filter_map(|(_, _, name)| {
        let path = folder.join(name);
        let home = Folder::open(&path).ok()?;
        Some((recognise(&home, &path).ok()??.0, path))
    });
    found.collect()
}

/// The home that is meant by a path: its own folder, that of a file of settings, or the only one in a folder.
pub fn home_at(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        return match recognise(&Folder::open(folder)?, folder) {
            Ok(None) => Err(Error::Usage(texts::unknown_home(path))),
            _ => Ok(folder.to_owned()),
        };
    }
    if !matches!(recognise(&Folder::open(path)?, path), Ok(None)) {
        return Ok(path.to_owned());
    }
    let mut found = homes_in(path);
    match found.len() {
        0 => Ok(path.to_owned()),
        1 => Ok(found.remove(0).1),
        _ => {
            let found: Vec<_> = found
                .into_iter()
                .map(|(program, path)| (program.name(), path))
                .collect();
            Err(Error::Usage(texts::name_one(&found)))
        }
    }
}

/// The program of a home and its settings; the name of the folder counts where the settings fit two.
fn recognise(home: &Folder, path: &Path) -> Result<Option<(Program, Value)>> {
    let read = |name: &str| home.read_text(name, SETTINGS_BYTES);
    let broken =
        |name: &str, line| Error::Failed(texts::unreadable_settings(&path.join(name), line));
    for name in ["openclaw.json", "clawdbot.json"] {
        if let Some(text) = read(name)? {
            let settings = read_json(&text);
            let settings = settings.ok_or_else(|| broken(name, wrong_line_of_json(&text)))?;
            return Ok(Some((Program::OpenClaw, settings)));
        }
    }
    if let Some(text) = read("config.json")? {
        let settings = read_json(&text);
        let settings = settings.ok_or_else(|| broken("config.json", wrong_line_of_json(&text)))?;
        let has = |pointer: &str| settings.pointer(pointer).is_some();
        let is_pico = [
            "/model_list",
            "/channel_list",
            "/agents/defaults/restrict_to_workspace",
        ]
        .into_iter()
        .any(has)
            || home.has(".security.yml")
            || path.ends_with(".picoclaw") && !text.contains("\"apiKey\"");
        let program = match is_pico {
            true => Program::PicoClaw,
            false => Program::Nanobot,
        };
        return Ok((is_pico || has("/agents/defaults")).then_some((program, settings)));
    }
    if let Some(text) = read("config.toml")? {
        return Ok(Some((Program::ZeroClaw, read_toml(&text))));
    }
    if let Some(text) = read("config.yaml")? {
        let settings = read_yaml(&text);
        let settings = settings.ok_or_else(|| broken("config.yaml", wrong_line_of_yaml(&text)))?;
        return Ok(Some((Program::Hermes, settings)));
    }
    let is_hermes = home.has(".env") && home.has("memories");
    Ok(is_hermes.then(|| (Program::Hermes, json!({}))))
}

/// Where in a home the workspace is; `None` where it is elsewhere.
fn find_workspace(home: &Path, program: Program, settings: &Value) -> Option<PathBuf> {
    let (_, _, usual) = program.row();
    match program {
        Program::Hermes => return Some(PathBuf::new()),
        Program::ZeroClaw => return Some("workspace".into()),
        _ => {}
    }
    let named = settings.pointer("/agents/defaults/workspace");
    let named = named
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let Some(named) = named else {
        return Some("workspace".into());
    };
    let named = named.trim_start_matches("~/");
    let below = Path::new(named)
        .strip_prefix(home)
        .ok()
        .map(Path::to_owned)
        .or_else(|| {
            // A copy of a home still names the old place.
            let (_, below) = format!("/{named}")
                .split_once(&format!("/{usual}/"))
                .map(|(a, b)| (a.to_owned(), b.to_owned()))?;
            Some(PathBuf::from(below))
        });
    below.filter(|below| {
        below
            .components()
            .all(|one| matches!(one, Component::Normal(_)))
    })
}

/// Adds the members of one value to another; those of the second one count. Bounded in depth.
fn merge(to: &mut Value, from: Value, depth: usize) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) if depth < 16 => {
            for (name, value) in from {
                merge(to.entry(name).or_insert(Value::Null), value, depth + 1);
            }
        }
        // The models are a list in the settings, and a map by their names in the secrets.
        (to @ Value::Array(_), Value::Object(from)) if depth < 16 => {
            for model in to.as_array_mut().into_iter().flatten() {
                let name = model.get("model_name").and_then(Value::as_str);
                let secrets =
                    name.and_then(|name| from.get(name).or_else(|| from.get(&format!("{name}:0"))));
                if let Some(secrets) = secrets.cloned() {
                    merge(model, secrets, depth + 1);
                }
            }
        }
        (to, from) => *to = from,
    }
}

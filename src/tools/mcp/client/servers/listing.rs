//! The lists of a server, and the file that keeps them.

use std::path::Path;

use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::LIST_BYTES;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::base::limits::mcp::{LISTED, SHOWN_CHARS};
use crate::config::schema::McpServer;
use crate::sys::file::{private_folder, read_at_most, replace_unsynced};
use crate::text::truncate_chars;
use crate::tools::mcp::client::tool::{self, Prompt, PromptArgument, Resource, Tool};
use crate::tools::mcp::client::{NAME_BYTES, SCHEMA_BYTES};
use std::time::Duration;

/// How long a list is fresh when its server does not say.
const LIST_TIME: Duration = Duration::from_secs(24 * 3600);
/// How long a list is fresh at least: reading it may start a program.
const LIST_TIME_MIN: Duration = Duration::from_secs(300);
/// Bytes of a file with a server's four lists; a schema in JSON has a sign before each quote.
const STORED_BYTES: usize = 4 * LIST_BYTES;

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its tools, of those that the configuration allows.
    pub tools: Vec<Tool>,
    /// Its resources.
    pub resources: Vec<Resource>,
    /// Its templates for resources.
    pub templates: Vec<Resource>,
    /// Its prompts.
    pub prompts: Vec<Prompt>,
    /// How it asks to be used; may be empty.
    pub instructions: String,
    /// Its own name and version, for people.
    pub name: String,
    /// The version of the protocol that is spoken with it; empty: not known yet.
    pub version: String,
    /// What was left out, and why. Known only just after the lists were read.
    pub refused: Vec<String>,
    /// How old the lists are.
    pub state: ListState,
}

/// How old lists are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListState {
    /// They were never read.
    #[default]
    Never,
    /// They are what the server has.
    Fresh,
    /// The server may have other ones by now.
    Stale,
    /// They could not be read: why.
    Failed(String),
}

/// A listing with what decides whether it still counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// A hash of the settings of the server, without secrets.
    settings: String,
    /// When it was read, in milliseconds since 1970.
    at: i64,
    /// For how many milliseconds it is fresh.
    fresh: u64,
    version: String,
    name: String,
    instructions: String,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<Resource>,
    prompts: Vec<Prompt>,
}

/// When lists were read, and for how long they are fresh, both in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Age {
    /// Since 1970.
    pub at: i64,
    /// From then on.
    pub fresh: u64,
}

impl Age {
    /// Whether the lists are still fresh. A clock that was set back makes them old.
    pub fn is_fresh(self, now: i64) -> bool {
        let age = u64::try_from(now.saturating_sub(self.at));
        age.is_ok_and(|age| age < self.fresh)
    }
}

/// A hash of a server's settings. It has no part of a secret.
pub fn fingerprint(server: &McpServer) -> String {
    format!("{:?}", digest(&SHA256, format!("{server:?}").as_bytes()))
}

impl Stored {
    /// The lists as they were read just now. `fresh` is what the server says, in milliseconds.
    pub fn new(listing: &Listing, settings: &str, now: i64, fresh: Option<u64>) -> Self {
        let fresh = fresh.map_or(LIST_TIME.as_millis() as u64, |fresh| {
            fresh.max(LIST_TIME_MIN.as_millis() as u64)
        });
        let listing = listing.clone();
        Self {
            settings: settings.to_owned(),
            at: now,
            fresh,
            version: listing.version,
            name: listing.name,
            instructions: listing.instructions,
            tools: listing.tools,
            resources: listing.resources,
            templates: listing.templates,
            prompts: listing.prompts,
        }
    }

    /// The version of the protocol.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How old it is.
    pub fn age(&self) -> Age {
        Age {
            at: self.at,
            fresh: self.fresh,
        }
    }

    /// The listing, within the bounds of one that comes from a server.
    pub fn listing(mut self, now: i64) -> Listing {
        let has_size =
            |tool: &Tool| tool.name.len() <= NAME_BYTES && tool.schema.len() <= SCHEMA_BYTES;
        self.tools.retain(has_size);
        bound(&mut self.tools);
        bound(&mut self.resources);
        bound(&mut self.templates);
        bound(&mut self.prompts);
        Listing {
            state: if self.age().is_fresh(now) {
                ListState::Fresh
            } else {
                ListState::Stale
            },
            tools: self.tools,
            resources: self.resources,
            templates: self.templates,
            prompts: self.prompts,
            instructions: truncate_chars(&self.instructions, SHOWN_CHARS).to_owned(),
            name: truncate_chars(&self.name, SHOWN_CHARS).to_owned(),
            version: self.version,
            refused: Vec::new(),
        }
    }

    /// Reads the file. `None`: there is none, it is damaged, or it is of other settings.
    pub fn load(file: &Path, settings: &str) -> Option<Self> {
        let content = read_at_most(file, STORED_BYTES).ok()?;
        let stored = Members::read(str::from_utf8(&content).ok()?)?;
        if stored.text("settings")? != settings {
            return None;
        }
        Some(Self {
            settings: settings.to_owned(),
            at: stored.value("at").as_i64()?,
            fresh: stored.value("fresh").as_u64()?,
            version: stored.text("version")?,
            name: stored.text("name")?,
            instructions: stored.text("instructions")?,
            tools: tool::stored_tools(&stored)?,
            resources: tool::stored_resources(&stored, "resources")?,
            templates: tool::stored_resources(&stored, "templates")?,
            prompts: tool::stored_prompts(&stored)?,
        })
    }

    /// Writes the file.
    pub fn save(&self, file: &Path) -> Result<()> {
        if let Some(folder) = file.parent() {
            private_folder(folder)?;
        }
        let content = serde_json::to_vec(self).unwrap_or_default();
        if content.len() > STORED_BYTES {
            return Err(Error::TooLarge {
                what: "the list".to_owned(),
                limit: STORED_BYTES,
            });
        }
        // After a power cut the lists are read again.
        replace_unsynced(file, &content, 0o600)
    }
}

/// Keeps beside the lists why a server failed, so that other programs can say it; `None` when it has not.
pub fn save_failure(file: &Path, settings: &str, why: Option<&str>) {
    let saved = match why {
        Some(why) => {
            let why = truncate_chars(why, SHOWN_CHARS * 2);
            let folder = file.parent().map_or(Ok(()), private_folder);
            folder.and_then(|()| {
                replace_unsynced(file, format!("{settings}\n{why}").as_bytes(), 0o600)
            })
        }
        None => {
            // There is none most of the time.
            let _ = std::fs::remove_file(file);
            Ok(())
        }
    };
    if let Err(error) = saved {
        tracing::debug!("failed to store the failure of an MCP server: {error}");
    }
}

/// Why a server with these settings failed.
pub fn load_failure(file: &Path, settings: &str) -> Option<String> {
    let content = String::from_utf8(read_at_most(file, STORED_BYTES).ok()?).ok()?;
    let (of, why) = content.split_once('\n')?;
    (of == settings).then(|| why.to_owned())
}

/// A member of a list.
pub trait Weight {
    /// The bytes of its texts.
    fn bytes(&self) -> usize;
    /// What no other member of the list has.
    fn key(&self) -> &str;
}

impl Weight for Tool {
    fn key(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.len()
    }
}

impl Weight for Resource {
    fn key(&self) -> &str {
        &self.uri
    }

    fn bytes(&self) -> usize {
        self.uri.len() + self.name.len() + self.description.len() + self.mime_type.len()
    }
}

impl Weight for Prompt {
    fn key(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> usize {
        let arguments = self.arguments.iter();
        let of = |one: &PromptArgument| one.name.len() + one.description.len();
        self.name.len() + self.description.len() + arguments.map(of).sum::<usize>()
    }
}

/// Leaves out what does not fit into the bytes that are left, and returns how many.
pub fn keep_light<T: Weight>(items: &mut Vec<T>, left: &mut usize) -> usize {
    let before = items.len();
    items.retain(|item| {
        // Each takes some room beside its texts.
        let bytes = item.bytes() + size_of::<T>();
        let fits = bytes <= *left;
        *left -= if fits { bytes } else { 0 };
        fits
    });
    before - items.len()
}

fn bound<T: Weight>(items: &mut Vec<T>) {
    keep_light(items, &mut LIST_BYTES.clone());
    items.truncate(LISTED);
}

/// Whether the configuration allows a tool: a pattern is a name, or the beginning of one and `*`.
pub fn is_enabled(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => pattern == name,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;

    fn tool(name: &str, bytes: usize) -> Tool {
        Tool {
            name: name.to_owned(),
            schema: "x".repeat(bytes),
            ..Tool::default()
        }
    }

    #[test]
    fn what_is_stored_is_read_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp/lamp.json");
        let listing = Listing {
            tools: vec![tool("on", 10)],
            version: "2025-11-25".to_owned(),
            state: ListState::Fresh,
            ..Listing::default()
        };
        let stored = Stored::new(&listing, "a", 1000, Some(600_000));
        stored.save(&file).unwrap();
        let load = |settings| Stored::load(&file, settings);
        assert_eq!(load("a").unwrap().listing(2000), listing);
        assert_eq!(load("a").unwrap().listing(700_000).state, ListState::Stale);
        assert_eq!(load("a").unwrap().listing(999).state, ListState::Stale);
        assert_eq!(load("b"), None, "of other settings");
        for damaged in ["", "{", "[]", "null", "{\"settings\":\"a\",\"tools\":7}"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(load("a"), None, "{damaged}");
        }
        std::fs::write(&file, " ".repeat(STORED_BYTES + 1)).unwrap();
        assert_eq!(load("a"), None, "too large");
    }

    #[test]
    fn lists_are_bounded() {
        let many = LIST_BYTES / SCHEMA_BYTES + 5;
        let mut tools: Vec<Tool> = (0..many)
            .map(|at| tool(&at.to_string(), SCHEMA_BYTES))
            .collect();
        tools.push(tool(&"n".repeat(NAME_BYTES + 1), 1));
        tools.push(tool("large", SCHEMA_BYTES + 1));
        let stored = Stored {
            tools,
            resources: vec![Resource {
                description: "d".repeat(LIST_BYTES),
                ..Resource::default()
            }],
            prompts: vec![Prompt::default(); LISTED + 1],
            ..Stored::default()
        };
        let listing = stored.listing(0);
        assert!(listing.tools.len() < many && listing.tools.len() > many / 2);
        assert!(!listing.tools.iter().any(|tool| tool.name == "large"));
        assert_eq!(
            (listing.resources.len(), listing.prompts.len()),
            (0, LISTED)
        );
        assert_eq!(
            Stored::new(&Listing::default(), "", 0, Some(0)).fresh,
            300_000
        );
        assert_eq!(
            Stored::new(&Listing::default(), "", 0, None).fresh,
            86_400_000
        );
    }

    #[test]
    fn a_fingerprint_changes_with_the_settings_and_has_no_secret() {
        let server = |key: &str, argument: &str| {
            let mut server = McpServer {
                args: vec![argument.to_owned()],
                ..McpServer::default()
            };
            server.env.insert("KEY".to_owned(), Secret::new(key));
            fingerprint(&server)
        };
        assert_eq!(server("one", "a"), server("two", "a"));
        assert_ne!(server("one", "a"), server("one", "b"));
    }

    #[test]
    fn a_pattern_is_a_name_or_its_beginning() {
        let patterns = ["read_*".to_owned(), "move".to_owned()];
        let enabled = |name| is_enabled(&patterns, name);
        assert!(enabled("read_file") && enabled("move"));
        assert!(!enabled("write") && !enabled("moved") && !enabled("re*"));
        assert!(is_enabled(&["*".to_owned()], "x") && !is_enabled(&[], "x"));
    }
}

//! The versions of the protocol, and what client and server say about themselves in each. Pure.
//!
//! Until 2025-11-25 a connection begins with `initialize`; since 2026-07-28 each request says in `_meta` what
//! that said (<https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning>).

use serde_json::{Map, Value, json};

use crate::base::json::Members;
use crate::base::limits::mcp::SHOWN_CHARS;
use crate::text::truncate_chars;

/// The versions without `initialize`, the newest first.
pub const MODERN: [&str; 1] = ["2026-07-28"];
/// The versions with `initialize`, the newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The numbers of the errors that only a modern server answers: headers that differ from the body, a missing
/// capability, an unknown version.
pub const MODERN_ERRORS: std::ops::RangeInclusive<i64> = -32022..=-32020;
/// The number of the error for a version that the server does not know.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The number of the error for a method that the server does not know.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// What we support.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// There is a person who can be asked.
    pub elicitation: bool,
    /// A model may be asked.
    pub sampling: bool,
}

/// A known version of this name.
pub fn version(name: &str) -> Option<&'static str> {
    let mut known = MODERN.iter().chain(&LEGACY);
    known.find(|known| **known == name).copied()
}

/// Whether requests carry what `initialize` said before.
pub fn is_modern(version: &str) -> bool {
    MODERN.contains(&version)
}

fn capabilities(abilities: Abilities, version: &str) -> Value {
    let mut all = json!({"roots": {}});
    if abilities.elicitation {
        all["elicitation"] = match version {
            "2025-06-18" => json!({}),
            _ => json!({"form": {}, "url": {}}),
        };
    }
    if abilities.sampling {
        all["sampling"] = json!({});
    }
    all
}

fn client() -> Value {
    json!({"name": "peacrab", "title": "Peacrab", "version": env!("CARGO_PKG_VERSION")})
}

/// The parameters of `initialize`.
pub fn initialize(version: &str, abilities: Abilities) -> Map<String, Value> {
    object(json!({
        "protocolVersion": version,
        "capabilities": capabilities(abilities, version),
        "clientInfo": client(),
    }))
}

/// The `_meta` of a request; empty for a version with `initialize`.
pub fn meta(version: &str, abilities: Abilities) -> Map<String, Value> {
    if !is_modern(version) {
        Map::new()
    } else {
        object(json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": client(),
            "io.modelcontextprotocol/clientCapabilities": capabilities(abilities, version),
        }))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The result of a request of the server that concerns no person, or the error that it gets.
pub fn plain_answer(method: &str, root: &str) -> Result<Value, (i64, &'static str)> {
    match method {
        "ping" => Ok(json!({})),
        "roots/list" => Ok(roots(root)),
        _ => Err((METHOD_NOT_FOUND, "not supported here")),
    }
}

/// The workspace as the only root; `root` is its address.
pub fn roots(root: &str) -> Value {
    json!({"roots": [{"uri": root, "name": "workspace"}]})
}

/// What a server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The version that is spoken with it; none of ours: empty.
    pub version: &'static str,
    /// Its name and its version, for people.
    pub name: String,
    /// How it asks to be used, for the model; may be empty.
    pub instructions: String,
    /// Whether it has tools.
    pub tools: bool,
    /// Whether it says when its tools change.
    pub tools_change: bool,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
}

/// Reads the result of `initialize`. `None` when it cannot be understood.
pub fn read_initialize(result: &str) -> Option<Hello> {
    let said = Members::read(result)?;
    let [.., oldest] = LEGACY;
    let version = match said.text("protocolVersion") {
        Some(version) => LEGACY.into_iter().find(|one| *one == version),
        None => Some(oldest),
    };
    Some(hello(&said, version.unwrap_or_default()))
}

/// Reads the result of `server/discover`.
pub fn read_discover(result: &str) -> Option<Hello> {
    let said = Members::read(result)?;
    let versions = said.texts("supportedVersions")?;
    if versions.is_empty() {
        return None;
    }
    let is_supported = |one: &&&str| versions.iter().any(|name| name == **one);
    let version = MODERN.iter().find(is_supported).copied();
    Some(hello(&said, version.unwrap_or_default()))
}

/// The first of our versions among those that an error for an unknown version names.
pub fn supported(data: &Value) -> Option<&'static str> {
    let names = data.get("supported")?.as_array()?;
    let is_supported = |one: &&&str| names.iter().any(|name| name.as_str() == Some(**one));
    MODERN.iter().chain(&LEGACY).find(is_supported).copied()
}

fn hello(said: &Members<'_>, version: &'static str) -> Hello {
    let mut info = said.members("serverInfo");
    if info.text_or_empty("name").is_empty() {
        info = said
            .members("_meta")
            .members("io.modelcontextprotocol/serverInfo");
    }
    let title = info.text("title").filter(|title| !title.is_empty());
    let name = title.unwrap_or_else(|| info.text_or_empty("name"));
    let name = format!("{name} {}", info.text_or_empty("version"));
    let plain = name.replace(char::is_control, " ");
    let capabilities = said.members("capabilities");
    Hello {
        version,
        name: truncate_chars(plain.trim(), 80).to_owned(),
        instructions: truncate_chars(&said.text_or_empty("instructions"), SHOWN_CHARS).to_owned(),
        tools_change: capabilities.members("tools").is_true("listChanged"),
        tools: capabilities.raw("tools").is_some(),
        resources: capabilities.raw("resources").is_some(),
        prompts: capabilities.raw("prompts").is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Abilities = Abilities {
        elicitation: false,
        sampling: false,
    };

    #[test]
    fn what_a_server_says_is_read_in_both_eras() {
        let legacy = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},
            "serverInfo":{"name":"lamp","version":"1.0"},"instructions":"Be gentle."}"#;
        let hello = read_initialize(legacy).unwrap();
        assert_eq!(
            (hello.version, hello.name.as_str()),
            ("2025-06-18", "lamp 1.0")
        );
        assert!(hello.tools && hello.tools_change && !hello.prompts && !hello.resources);
        assert_eq!(hello.instructions, "Be gentle.");
        let modern = r#"{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],
            "capabilities":{"prompts":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","title":"Lamp","version":"2"}}}"#;
        let hello = read_discover(modern).unwrap();
        assert_eq!(
            (hello.version, hello.name.as_str()),
            ("2026-07-28", "Lamp 2")
        );
        assert!(hello.prompts && !hello.tools);
        let bare = read_initialize("{}").unwrap();
        assert_eq!(bare.version, "2024-11-05", "the oldest has the least");
    }

    #[test]
    fn a_version_that_we_do_not_know_is_none() {
        assert_eq!(
            read_initialize(r#"{"protocolVersion":"1999-01-01"}"#)
                .unwrap()
                .version,
            ""
        );
        assert_eq!(
            read_discover(r#"{"supportedVersions":["2031-01-01"]}"#)
                .unwrap()
                .version,
            ""
        );
        assert_eq!(read_discover(r#"{"tools":[]}"#), None);
        let data = json!({"supported": ["2030-01-01", "2025-11-25", "2026-07-28"]});
        assert_eq!(supported(&data), Some("2026-07-28"));
        assert_eq!(supported(&json!({"supported": "x"})), None);
        assert_eq!(version("2024-11-05"), Some("2024-11-05"));
    }

    #[test]
    fn only_modern_requests_carry_what_we_are() {
        assert!(meta("2025-11-25", NONE).is_empty());
        let meta = meta(
            "2026-07-28",
            Abilities {
                elicitation: true,
                sampling: true,
            },
        );
        let abilities = &meta["io.modelcontextprotocol/clientCapabilities"];
        assert!(abilities["elicitation"]["url"].is_object() && abilities["sampling"].is_object());
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        let first = initialize("2025-06-18", NONE);
        assert!(first["capabilities"].get("elicitation").is_none());
    }
}

//! What is outside the file: `${NAME}` from the environment, `file:PATH` for secrets, `~`, and the
//! folders that paths lead to.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::agents;
use super::key::{Key, Kind};
use super::schema::Tools;
use super::texts;
use crate::base::error::{Error, Result};
use crate::sys::beneath::real_path;

/// Looks up what the file refers to.
pub struct Outside<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The content of a file with a secret; the error follows the setting's path in a sentence.
    pub file: &'a dyn Fn(&str) -> std::result::Result<String, String>,
}

/// The prefix of a secret that is in a file of its own.
pub const FILE_PREFIX: &str = "file:";

impl Outside<'_> {
    /// The value with its references replaced. The error says what is missing; it follows the setting's
    /// path in a sentence.
    pub fn resolve(&self, key: &Key, value: Value) -> std::result::Result<Value, String> {
        match value {
            Value::String(text) => self.text(key, &text).map(Value::String),
            Value::Array(values) => {
                let resolved = values.into_iter().map(|value| self.resolve(key, value));
                resolved
                    .collect::<std::result::Result<_, _>>()
                    .map(Value::Array)
            }
            Value::Object(members) => {
                let resolved = members.into_iter().map(|(name, value)| {
                    let key = agents::table::member(key.kind, &name).unwrap_or(key);
                    Ok((name, self.resolve(key, value)?))
                });
                resolved
                    .collect::<std::result::Result<_, String>>()
                    .map(Value::Object)
            }
            value => Ok(value),
        }
    }

    fn text(&self, key: &Key, text: &str) -> std::result::Result<String, String> {
        let text = self.with_variables(text)?;
        match (key.kind, text.strip_prefix(FILE_PREFIX)) {
            (Kind::Secret | Kind::Secrets, Some(path)) => (self.file)(path),
            (Kind::Path | Kind::Paths, _) => self.without_tilde(text),
            _ => Ok(text),
        }
    }

    fn with_variables(&self, text: &str) -> std::result::Result<String, String> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_reference(rest) {
            let value = (self.variable)(name).ok_or_else(|| texts::missing_variable(name))?;
            resolved.push_str(before);
            resolved.push_str(&value);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved)
    }

    fn without_tilde(&self, path: String) -> std::result::Result<String, String> {
        let Some(rest) = path
            .strip_prefix('~')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Ok(path);
        };
        let home = (self.variable)("HOME").ok_or(texts::tilde_without_home())?;
        Ok(format!("{home}{rest}"))
    }
}

/// Whether the text takes its value from elsewhere, so that it is not a secret itself.
pub fn refers(text: &str) -> bool {
    text.starts_with(FILE_PREFIX) || next_reference(text).is_some()
}

/// The first `${NAME}`: the text before it, the name, and the text after it. Names are those of shell
/// variables; anything else in braces is plain text.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices("${").find_map(|(start, _)| {
        let (name, after) = text[start + 2..].split_once('}')?;
        let is_name = !name.starts_with(|first: char| first.is_ascii_digit())
            && !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some((&text[..start], name, after))
    })
}

/// A folder of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its path as configured, with `~` expanded.
    pub named: PathBuf,
    /// The path without links; it may not exist. `None` if it is reached by a link that tools or commands
    /// could have made: such links are not followed.
    pub real: Option<PathBuf>,
}

/// The folders that the configuration gives to tools, and the paths that it protects. Commands and file
/// tools both take them from here, so that a path means the same to both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// `tools.allowedPaths`
    pub write: Vec<Folder>,
    /// `tools.readOnlyPaths`
    pub read: Vec<Folder>,
    /// `tools.protectedPaths`, and what of `tools.readOnlyPaths` is reached by a link that tools or commands could
    /// have made
    pub protect: Vec<PathBuf>,
}

impl Folders {
    /// The folders of the configuration. Relative paths start at the workspace, which is a real path; `~`
    /// is `user_home`. A path such as `~ann` is an [`Error::Config`].
    pub fn of(tools: &Tools, workspace: &Path, user_home: Option<&Path>) -> Result<Self> {
        let expand = |list: &[String]| -> Result<Vec<PathBuf>> {
            let expanded = list.iter().map(|text| expanded(text, workspace, user_home));
            expanded.collect()
        };
        let allowed = expand(&tools.allowed_paths)?;
        let read_only = expand(&tools.read_only_paths)?;
        if read_only.iter().any(|path| path.parent().is_none()) {
            return Err(Error::Config(texts::root_is_readable().to_owned()));
        }
        let mut changeable = vec![workspace.to_owned()];
        changeable.extend(allowed.iter().filter_map(|path| real_path(path, &[]).ok()));
        let folders = |paths: Vec<PathBuf>| -> Vec<Folder> {
            let folder = |named: PathBuf| Folder {
                real: real_path(&named, &changeable).ok(),
                named,
            };
            paths.into_iter().map(folder).collect()
        };
        let read = folders(read_only);
        let mut protect = expand(&tools.protected_paths)?;
        // Such a link makes nothing readable, and what it leads to stays read-only all the same.
        let by_link = read.iter().filter(|folder| folder.real.is_none());
        protect.extend(by_link.map(|folder| folder.named.clone()));
        Ok(Self {
            read,
            protect,
            write: folders(allowed),
        })
    }

    /// The links among the configured paths, each with where it leads.
    pub fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let all = self.write.iter().chain(&self.read);
        all.filter_map(|folder| Some((folder.named.clone(), folder.real.clone()?)))
            // A path with `..` is not that of a link itself.
            .filter(|(named, real)| {
                named != real && !named.components().any(|part| part == Component::ParentDir)
            })
            .collect()
    }
}

/// A path of the configuration: beneath the workspace unless it is absolute; `~` is the account's home.
pub fn expanded(text: &str, workspace: &Path, user_home: Option<&Path>) -> Result<PathBuf> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(workspace.join(text));
    };
    match (user_home, rest.strip_prefix('/')) {
        (Some(home), _) if rest.is_empty() => Ok(home.to_owned()),
        (Some(home), Some(rest)) => Ok(home.join(rest.trim_start_matches('/'))),
        (None, _) => Err(Error::Config(texts::path_without_home(text))),
        (Some(_), None) => Err(Error::Config(texts::path_of_another_user(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;
    use serde_json::json;

    fn resolved(path: &str, value: Value) -> std::result::Result<Value, String> {
        let outside = Outside {
            variable: &|name| match name {
                "KEY" => Some("k-123".to_owned()),
                "HOME" => Some("/home/pea".to_owned()),
                "DIRECTORY" => Some("/run/keys".to_owned()),
                _ => None,
            },
            file: &|path| Ok(format!("content of {path}")),
        };
        outside.resolve(table::find(path).unwrap(), value)
    }

    #[test]
    fn variables_files_and_the_tilde_are_replaced() {
        let key = |text: &str| resolved("providers.x.apiKey", json!(text)).unwrap();
        assert_eq!(key("${KEY}"), "k-123");
        assert_eq!(key("a${KEY}b${KEY}"), "ak-123bk-123");
        assert_eq!(key("file:${DIRECTORY}/key"), "content of /run/keys/key");
        assert_eq!(
            resolved(
                "providers.x.extraHeaders",
                json!({"Authorization": "Bearer ${KEY}"})
            )
            .unwrap(),
            json!({"Authorization": "Bearer k-123"})
        );
        assert_eq!(
            resolved("tools.allowedPaths", json!(["~/a", "~", "~b", "/c"])).unwrap(),
            json!(["/home/pea/a", "/home/pea", "~b", "/c"])
        );
    }

    #[test]
    fn only_secrets_come_from_files_and_odd_braces_stay() {
        let model = |text: &str| resolved("agents.defaults.model", json!(text)).unwrap();
        assert_eq!(model("file:x"), "file:x");
        for odd in ["${", "$KEY", "${}", "${1}", "${a b}", "a$"] {
            assert_eq!(model(odd), odd);
            assert!(!refers(odd));
        }
        assert_eq!(model("${} ${KEY}"), "${} k-123");
    }

    #[test]
    fn a_missing_variable_is_named() {
        let error = resolved("agents.defaults.model", json!("x ${NONE}")).unwrap_err();
        assert_eq!(
            error,
            "refers to ${NONE}, but the environment variable NONE is not set. Set it, or change the setting"
        );
        let credential = json!("file:${CREDENTIALS_DIRECTORY}/key");
        let error = resolved("providers.x.apiKey", credential).unwrap_err();
        assert!(error.contains("systemd sets it for the service"), "{error}");
    }

    #[test]
    fn configured_paths_mean_what_they_mean_to_a_shell() {
        let home = Some(Path::new("/home/me"));
        let path = |text: &str| expanded(text, Path::new("/w"), home).unwrap();
        assert_eq!(path("~"), Path::new("/home/me"));
        assert_eq!(path("~/a//b"), Path::new("/home/me/a/b"));
        assert_eq!(path("~//a"), Path::new("/home/me/a"));
        assert_eq!(path("/data"), Path::new("/data"));
        assert_eq!(path("notes"), Path::new("/w/notes"));
        assert!(expanded("~root/x", Path::new("/w"), home).is_err());
        assert!(expanded("~/x", Path::new("/w"), None).is_err());
    }

    #[test]
    fn a_link_that_tools_could_have_made_leads_to_no_folder() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for folder in ["w", "data", "far/home"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        for link in ["link", "w/link", "data/link"] {
            std::os::unix::fs::symlink(top.join("far"), top.join(link)).unwrap();
        }
        let text = |path: &str| format!("{}/{path}", top.display());
        let tools = Tools {
            allowed_paths: vec![text("data//"), text("link"), "link".to_owned()],
            read_only_paths: vec![text("data/link"), text("data/../new")],
            ..Tools::default()
        };
        let folders = Folders::of(&tools, &top.join("w"), None).unwrap();
        let real = |folders: &[Folder]| -> Vec<Option<PathBuf>> {
            folders.iter().map(|folder| folder.real.clone()).collect()
        };
        let at = |path: &str| Some(top.join(path));
        assert_eq!(real(&folders.write), [at("data"), at("far"), None]);
        assert_eq!(real(&folders.read), [None, at("new")]);
        let all = Tools {
            read_only_paths: vec!["//".to_owned()],
            ..Tools::default()
        };
        assert!(Folders::of(&all, &top.join("w"), None).is_err());
    }
}

//! What stands outside the file: `${NAME}` from the environment, `file:PATH` for secrets, `~`.

use serde_json::Value;

use super::table::{Key, Kind};

/// How the outside is asked.
pub struct Outside<'a> {
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The content of a file that holds a secret, or why there is none.
    pub file: &'a dyn Fn(&str) -> Result<String, String>,
}

/// How a secret that lies in a file of its own is written.
const FILE_PREFIX: &str = "file:";

impl Outside<'_> {
    /// The key's value with all that it refers to put in. The error says what is missing.
    pub fn resolve(&self, key: &Key, value: Value) -> Result<Value, String> {
        match value {
            Value::String(text) => self.text(key, &text).map(Value::String),
            Value::Array(values) => {
                let resolved = values.into_iter().map(|value| self.resolve(key, value));
                resolved.collect::<Result<_, _>>().map(Value::Array)
            }
            Value::Object(members) => {
                let resolved = members
                    .into_iter()
                    .map(|(name, value)| Ok((name, self.resolve(key, value)?)));
                resolved.collect::<Result<_, String>>().map(Value::Object)
            }
            value => Ok(value),
        }
    }

    fn text(&self, key: &Key, text: &str) -> Result<String, String> {
        let text = self.with_variables(text)?;
        match (key.kind, text.strip_prefix(FILE_PREFIX)) {
            (Kind::Secret | Kind::Secrets, Some(path)) => (self.file)(path),
            (Kind::Path | Kind::Paths, _) => self.without_tilde(text),
            _ => Ok(text),
        }
    }

    fn with_variables(&self, text: &str) -> Result<String, String> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_reference(rest) {
            let value = (self.variable)(name).ok_or_else(|| missing(name))?;
            resolved.push_str(before);
            resolved.push_str(&value);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved)
    }

    fn without_tilde(&self, path: String) -> Result<String, String> {
        let Some(rest) = path
            .strip_prefix('~')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Ok(path);
        };
        let home =
            (self.variable)("HOME").ok_or("begins with ~, but the environment has no HOME")?;
        Ok(format!("{home}{rest}"))
    }
}

/// What to do about a variable that is not there.
fn missing(name: &str) -> String {
    let advice = match name {
        // Set for the service alone (systemd.exec(5), LoadCredential=).
        "CREDENTIALS_DIRECTORY" => {
            "systemd sets it for the service; elsewhere set it to /run/credentials/peacrab.service"
        }
        _ => "set it, or give the key another value",
    };
    format!("wants ${{{name}}}, but the environment has no variable {name}: {advice}")
}

/// Whether the text takes something from elsewhere, so that it is no secret itself.
pub fn refers(text: &str) -> bool {
    text.starts_with(FILE_PREFIX) || next_reference(text).is_some()
}

/// The first `${NAME}`: what is before it, the name, what is after it. A name is what a shell takes
/// for one; anything else in braces is plain text.
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

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;
    use serde_json::json;

    fn resolved(path: &str, value: Value) -> Result<Value, String> {
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
    fn variables_files_and_the_tilde_are_put_in() {
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
            "wants ${NONE}, but the environment has no variable NONE: set it, or give the key another value"
        );
        let credential = json!("file:${CREDENTIALS_DIRECTORY}/key");
        let error = resolved("providers.x.apiKey", credential).unwrap_err();
        assert!(error.contains("systemd sets it for the service"), "{error}");
    }
}

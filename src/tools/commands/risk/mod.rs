//! Patterns over command lines: an early word instead of a late failure. They are no boundary, the
//! kernel is; who wants past a pattern gets past it and then stands before the walls.

pub mod split;
pub mod table;

use regex_lite::Regex;

use crate::error::{Error, Result};

/// The patterns of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    deny: Vec<Regex>,
    allow: Vec<Regex>,
}

/// Why a line is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The rule: a mistake's name or a pattern.
    pub rule: String,
    /// What is wrong, and what would allow it.
    pub reason: String,
}

impl Objection {
    /// Whether the configuration says so, and not a pattern that is built in.
    pub fn is_configured(&self) -> bool {
        self.rule.starts_with("tools.exec.")
    }
}

impl Patterns {
    /// Reads patterns in regex-lite's syntax. An error names the key and the pattern.
    pub fn new(deny: &[String], allow: &[String]) -> Result<Self> {
        Ok(Self {
            deny: compiled("tools.exec.denyPatterns", deny)?,
            allow: compiled("tools.exec.allowPatterns", allow)?,
        })
    }

    /// What speaks against a line, if anything. A deny pattern is looked for in the whole line and
    /// in each command; with allow patterns every command of the line has to match one.
    pub fn objection(&self, line: &str) -> Option<Objection> {
        if let Some(mistake) = table::mistake_in(line) {
            return Some(Objection {
                rule: mistake.name.to_owned(),
                reason: format!(
                    "{}. If that is really meant, a person has to do it",
                    mistake.reason
                ),
            });
        }
        let commands = split::commands(line);
        let denied = self.deny.iter().find(|pattern| {
            let plain = |command: &split::Simple| {
                pattern.is_match(&command.text) || pattern.is_match(&command.words.join(" "))
            };
            pattern.is_match(line) || commands.iter().any(plain)
        });
        if let Some(pattern) = denied {
            return Some(Objection {
                rule: format!("tools.exec.denyPatterns: {pattern}"),
                reason: "the configuration forbids it".to_owned(),
            });
        }
        let stranger = |command: &&split::Simple| {
            !self
                .allow
                .iter()
                .any(|pattern| pattern.is_match(&command.text))
        };
        let stranger = commands
            .iter()
            .find(stranger)
            .filter(|_| !self.allow.is_empty())?;
        Some(Objection {
            rule: "tools.exec.allowPatterns".to_owned(),
            reason: format!(
                "every command of a line has to match a pattern, and none matches `{}`",
                stranger.text
            ),
        })
    }
}

fn compiled(key: &str, patterns: &[String]) -> Result<Vec<Regex>> {
    let compile = |pattern: &String| {
        Regex::new(pattern)
            .map_err(|error| Error::Config(format!("{key}: \"{pattern}\" is no pattern: {error}")))
    };
    patterns.iter().map(compile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(deny: &[&str], allow: &[&str], line: &str) -> Option<String> {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let patterns = Patterns::new(&owned(deny), &owned(allow)).unwrap();
        patterns.objection(line).map(|objection| objection.rule)
    }

    #[test]
    fn an_allow_list_has_to_match_every_command_of_a_line() {
        let allow = ["^git( |$)", "^ls( |$)"];
        for line in [
            "git status",
            "ls -la | git diff",
            "ls;git log",
            "git log\nls",
        ] {
            assert_eq!(rule(&[], &allow, line), None, "{line}");
        }
        for line in [
            "git status; curl x",
            "ls | sh",
            "ls && wget x",
            "ls\ncurl x",
            "ls $(curl x)",
            "ls \"`curl x`\"",
            "ls & curl x",
            "X=1 curl x",
            "ls <(curl x)",
            "git log <<E\n$(curl x)\nE",
            "lsof",
        ] {
            assert!(rule(&[], &allow, line).is_some(), "{line}");
        }
    }

    #[test]
    fn a_deny_pattern_is_seen_through_quotes() {
        assert_eq!(
            rule(&["^curl "], &[], "ls; c'u'rl x").as_deref(),
            Some("tools.exec.denyPatterns: ^curl ")
        );
        assert_eq!(rule(&["^curl "], &[], "grep curl file"), None);
    }

    #[test]
    fn a_broken_pattern_names_its_key() {
        let error = Patterns::new(&["(".to_owned()], &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("tools.exec.denyPatterns: \"(\""),
            "{error}"
        );
    }
}

//! The settings with their values, to be shown.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Loaded;
use crate::base::secret::Eraser;
use crate::config::key::Key;
use crate::config::settings::Source;
use crate::config::table::keys;

/// A setting with its effective value.
pub struct Current {
    /// The setting.
    pub key: &'static Key,
    /// Its value, with what is secret in it.
    pub value: Value,
    /// Where that comes from.
    pub source: Source,
}

impl Loaded {
    /// Settings with a value, by path: `all`, or those that differ from their default.
    pub fn collect(&self, all: bool) -> BTreeMap<String, Current> {
        let set = self
            .settings
            .iter()
            .map(|(path, setting)| (path.clone(), setting.key));
        let known = keys().filter(|key| !key.path.contains('*'));
        known
            .map(|key| (key.path.to_owned(), key))
            .chain(set)
            .map(|(path, key)| {
                let (value, source) = self.current(key, &path);
                (path, Current { key, value, source })
            })
            .filter(|(_, current)| all || current.value != current.key.default_value())
            .collect()
    }

    /// The value without its secrets, and without those of other settings.
    pub fn shown(&self, key: &Key, value: Value) -> Value {
        clean(
            &Eraser::new(self.secrets.iter().cloned()),
            key.masked(value),
        )
    }

    /// Every setting with what it is for, and with its value where that is not the default. Without secrets.
    pub fn describe(&self) -> Value {
        let set = self.collect(false);
        let describe = |path: &str, key: &'static Key| {
            let mut one = json!({"path": path, "default": key.default, "meaning": key.meaning});
            if let Some(current) = set.get(path) {
                let value = self.shown(key, current.value.clone());
                one["value"] = value.to_string().into();
                one["source"] = current.source.to_string().into();
            }
            one
        };
        let of_key = |key: &'static Key| {
            let named = set
                .iter()
                .filter(move |(path, one)| one.key.path == key.path && *path != key.path);
            let named = named.map(|(path, _)| path.as_str());
            std::iter::once(key.path)
                .chain(named)
                .map(move |path| (path, key))
        };
        let all = keys().flat_map(of_key);
        all.map(|(path, key)| describe(path, key)).collect()
    }
}

fn clean(eraser: &Eraser, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(eraser.clean(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(|one| clean(eraser, one)).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, one)| (name, clean(eraser, one)))
                    .collect(),
            )
        }
        value => value,
    }
}

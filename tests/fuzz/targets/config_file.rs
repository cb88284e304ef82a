//! Any text is a configuration or a list of problems. A valid one stays valid and keeps its other
//! settings when a key is set.

use super::number;
use peacrab::config::settings::Settings;
use peacrab::config::table::keys;
use peacrab::config::text::edit;

/// How many keys the text sets; `None` if it is not a configuration.
fn keys_of(text: &str) -> Option<Vec<String>> {
    let mut settings = Settings::new(None);
    settings.take_file(text, "config.json").ok()?;
    settings.verdict().ok()?;
    Some(settings.set.into_keys().collect())
}

pub fn run(bytes: &[u8]) {
    let (number, text) = number(bytes, 1);
    let text = &*String::from_utf8_lossy(text);
    let Some(before) = keys_of(text) else { return };
    let key = keys().cycle().nth(number as usize).expect("a key");
    let path = key.path.replace('*', "x");
    let changed = edit::set(text, key, &path, &key.default_value());
    let after = keys_of(&changed).expect("it stays a configuration");
    assert!(before.iter().all(|key| after.contains(key)), "{changed}");
}

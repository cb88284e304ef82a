//! Any text is a configuration or a list of problems. A valid one stays valid and keeps its other
//! settings when a key is set.

#![no_main]

use libfuzzer_sys::fuzz_target;
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

fuzz_target!(|input: (u8, &str)| {
    let (number, text) = input;
    let Some(before) = keys_of(text) else { return };
    let key = keys().cycle().nth(number.into()).expect("a key");
    let path = key.path.replace('*', "x");
    let changed = edit::set(text, key, &path, &key.default_value());
    let after = keys_of(&changed).expect("it stays a configuration");
    assert!(before.iter().all(|key| after.contains(key)), "{changed}");
});

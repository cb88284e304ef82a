//! What `peacrab config` says.

use std::fmt::Display;
use std::path::Path;

use serde_json::Value;

use crate::base::limits::agent::SMALL_WINDOW_TOKENS;
use crate::models::Window;
use crate::text::grouped;

/// `config show` where nothing differs.
pub const NOTHING_CHANGED: &str =
    "All settings have their defaults. `peacrab config show --all` lists them.";

/// Below a list of settings with a word.
pub const EXPLAINS_ONE: &str = "`peacrab config explain` with one of these names says more.";

/// Below what `config show` lists.
pub const OTHERS_ARE_DEFAULT: &str =
    "All others have their defaults: `peacrab config show --all` lists them.";

/// The running gateway has applied a change.
pub const APPLIED: &str = "The running gateway uses it from now on.";

/// A warning.
pub fn warning(what: &dyn Display) -> String {
    format!("warning: {what}")
}

/// The result of `config check`.
pub fn is_valid(file: &Path, exists: bool, count: usize) -> String {
    let file = file.display();
    let settings = match count {
        1 => "1 setting".to_owned(),
        count => format!("{count} settings"),
    };
    match (exists, count) {
        (true, _) => format!("{file} is valid ({settings})"),
        (false, 0) => format!("There is no file {file}: all settings have their defaults"),
        (false, _) => format!("There is no file {file}; the environment is valid ({settings})"),
    }
}

/// The result of `config check` when something in the file is ignored.
pub fn has_ignored(file: &Path, count: usize) -> String {
    let file = file.display();
    match count {
        1 => format!("{file}: 1 setting is ignored (above)"),
        count => format!("{file}: {count} settings are ignored (above)"),
    }
}

/// A setting was written. `value` shows no secret.
pub fn was_set(path: &str, value: &Value, file: &Path) -> String {
    format!("Set {path} to {value} in {}", file.display())
}

/// A setting was removed. `default` is JSON.
pub fn was_reset(path: &str, default: &str) -> String {
    format!("Reset {path} to its default ({default})")
}

/// Something that is not a setting was removed.
pub fn was_removed(path: &str, file: &Path) -> String {
    format!("Removed {path} from {}", file.display())
}

/// There was nothing to remove.
pub fn is_not_set(path: &str, file: &Path, default: &str) -> String {
    format!(
        "{path} is not set in {} (default: {default})",
        file.display()
    )
}

/// The environment sets the same, and wins.
pub fn variable_wins(variable: &str) -> String {
    format!("the environment variable {variable} overrides the file")
}

/// A change with which Peacrab would not start.
pub fn was_refused(why: &dyn Display) -> String {
    format!("Not saved: {why}")
}

/// A change was saved, but there is a problem: an older one, or a variable that is not set here.
pub fn is_still_wrong(why: &dyn Display) -> String {
    format!("saved, but the configuration still has a problem: {why}")
}

/// The folder of automatic backups is not there.
pub fn no_backup_folder(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "no automatic backup is made: backup.folder {folder} does not exist. Create it, or connect its disk"
    )
}

/// The model that answers has no API key.
pub fn no_api_key(provider: &str, variable: &str) -> String {
    format!("{provider} has no API key. Set {variable} or providers.{provider}.apiKey")
}

/// The model that answers is used with a subscription.
pub fn not_signed_in(provider: &str) -> String {
    format!("Not signed in to {provider}. Sign in: peacrab login {provider}")
}

/// A window that is smaller than what goes along with a conversation needs, or than the configured one; `None` where it is
/// large enough.
pub fn small_window(model: &str, window: Window, configured: Option<u32>) -> Option<String> {
    let tokens = grouped(window.tokens as usize);
    let advice = window.server.advice();
    let default = if window.is_certain { "" } else { " by default" };
    if let Some(configured) = configured.filter(|configured| *configured > window.tokens) {
        let configured = grouped(configured as usize);
        return Some(format!(
            "the server gives {model} {tokens} tokens{default}, but agents.defaults.contextWindowTokens is {configured}, so \
             the server cuts long conversations. Reset it with `peacrab config set agents.defaults.contextWindowTokens null`, or: {advice}"
        ));
    }
    (window.tokens < SMALL_WINDOW_TOKENS).then(|| {
        let wanted = grouped(SMALL_WINDOW_TOKENS as usize);
        format!(
            "the server gives {model} {tokens} tokens{default}, and Peacrab needs {wanted} for all of its tools and \
             instructions. {advice}"
        )
    })
}

/// A hook that is to write to a channel that is off.
pub fn hook_without_chat(name: &str, chat: &str, channel: &str) -> String {
    format!(
        "http.hooks.{name}.to is {chat}, and the channel {channel} is off: calls of the hook are refused"
    )
}

/// A limit in dollars, and a model whose price is not known.
pub fn no_price(model: &str) -> String {
    format!(
        "limits.usdPerDay: the price of {model} is not known, so it counts as much as the dearest model of its provider \
         that is known. peacrab config explain providers.NAME.prices tells how to set it"
    )
}

/// The running gateway goes on with the old value.
pub fn restart_needed(command: Option<&str>) -> String {
    match command {
        Some(command) => format!("Restart the gateway to apply this: `{command}`."),
        None => "Restart the gateway to apply this: stop it and run `peacrab gateway`, or send /restart to the bot.".to_owned(),
    }
}

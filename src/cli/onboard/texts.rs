//! What `peacrab onboard` says to people.

use std::path::Path;

use super::outside::Question;
use crate::agent::introduction;
use crate::channels::kit::service::{Need, Service};
use crate::config::key::{Key, Kind};
use crate::models::signin::CAVEAT;
use crate::models::table::{PROVIDERS, list_names};
use crate::text::count_of;

/// Columns of a list of names in a question: a line of 80 with a margin.
const LIST_COLUMNS: usize = 76;

/// Before the first question.
pub fn introduction(home: &Path) -> String {
    format!(
        "Setting up Peacrab in {}.\nPress Enter to take what is in [brackets], type back to go back, Ctrl-C to stop.",
        home.display()
    )
}

/// The home of another program was found.
pub fn can_import(program: &str, command: &str) -> String {
    format!("Found a home of {program}. To take it over: {command}")
}

/// A question.
pub fn ask_to_import(program: &str, folder: &Path) -> Question {
    Question::new(
        format!(
            "Found a home of {program}: {}\nTake over its settings, memory, skills, jobs and conversations? (y/n)",
            folder.display()
        ),
        "n",
    )
}

/// An answer to that which is neither.
pub const YES_OR_NO: &str = "Type y or n.";

/// A warning in a script's log.
pub fn script_warning(text: &str) -> String {
    format!("warning: {text}")
}

/// A warning between two questions.
pub fn warning(text: &str) -> String {
    format!("Warning: {text}")
}

/// The answer to someone who asks what to answer to [`ask_provider`].
pub fn explain_providers() -> String {
    let names: Vec<_> = PROVIDERS.iter().map(|known| known.name).collect();
    format!(
        "A provider runs the language model. Type one of these names:\n{}\n\
         ollama, vllm and lmstudio run on a computer of your own; openai-codex and github-copilot \
         take a login; the others give you an API key on their website. For another server that \
         speaks as OpenAI's does, type any name: its address is asked next.\n\
         Press Enter to go on without a model: reminders, commands and files work.",
        names.join(", ")
    )
}

/// The question for the provider.
pub fn ask_provider(default: &str) -> Question {
    let names: Vec<_> = PROVIDERS.iter().map(|known| known.name).collect();
    let hint = if default.is_empty() { "skip" } else { default };
    Question::new(
        format!(
            "Model providers: {}, or any name for your own OpenAI-compatible server.\n\
             Which model provider do you use?",
            names.join(", ")
        ),
        hint,
    )
}

/// A name that is not known but is near to one that is.
pub fn did_you_mean(name: &str, meant: &str) -> String {
    format!(
        "Unknown provider \"{name}\". Did you mean {meant}? If {name} is the name of your own server, \
         type it once more."
    )
}

/// A name for a server of one's own, given by a flag without its address.
pub fn needs_address(name: &str, meant: Option<&str>) -> String {
    let meant = meant.map(|meant| format!(" Did you mean {meant}?"));
    format!(
        "Unknown provider \"{name}\".{} The known ones are {}. For your own OpenAI-compatible server, \
         add --api-base URL",
        meant.unwrap_or_default(),
        list_names()
    )
}

/// What was given as a provider's name is its address.
pub const NAME_IS_ADDRESS: &str = "That is an address. Give your server a short name first, such as mine; then you are asked for the address.";

/// What was given as a provider's name is a key.
pub const NAME_IS_KEY: &str = "That looks like an API key. Enter the provider's name first.";

/// A name that cannot be a key of the configuration.
pub const NAME_IS_ODD: &str = "A provider's name consists of letters, digits and hyphens.";

/// A number, as if the providers were numbered.
pub const NAME_IS_NUMBER: &str =
    "Providers are chosen by name, not by number. Type one of the names above.";

/// What was given as a provider's name is a channel, perhaps mistyped.
pub fn name_is_channel(name: &str, channel: &str) -> String {
    format!(
        "{channel} is a channel, not a model provider: channels are set up afterwards. Type the name of a provider. If \
         {name} is the name of your own server, type it once more."
    )
}

/// Flags for a provider, and none was named.
pub const FLAGS_WITHOUT_PROVIDER: &str = "--api-key and --api-base need --provider NAME";

/// The question for the address of a server of one's own.
pub fn ask_address(provider: &str, current: &str) -> Question {
    let hint = match current {
        "" => "for example http://192.168.1.20:8000/v1",
        current => current,
    };
    Question::new(format!("Address of {provider}?"), hint)
}

/// No address was entered.
pub fn address_missing(provider: &str) -> String {
    format!("{provider} is not a known provider, so its address is needed.")
}

/// What was entered is no URL.
pub const NOT_AN_ADDRESS: &str =
    "That is not a web address. It looks like https://host/v1 or http://192.168.1.20:8000/v1.";

/// Nothing answers at an address as a model server does. `reason` is a sentence.
pub fn nothing_there(base: &str, reason: &str) -> String {
    format!("No model server found at {base}: {reason}")
}

/// The hint for a hidden answer that was given before, and can be left out with [`SKIP`].
pub const KEEP_TYPED: &str = "keep what you typed; or skip";
/// The word for no answer.
pub const SKIP: &str = "skip";

/// The hint for an answer that can be kept although it does not work.
pub const KEEP_ANYWAY: &str = "keep it anyway";

/// The question for an API key.
pub fn ask_key(provider: &str, source: KeySource<'_>) -> Question {
    let hint = match source {
        KeySource::Configured => "keep the current one".to_owned(),
        KeySource::Variable(name) => format!("use ${name}"),
        KeySource::Optional => "none".to_owned(),
        KeySource::Missing => "skip".to_owned(),
    };
    Question::new(format!("{provider} API key? (hidden)"), &hint).hidden()
}

/// Where a key comes from when none is entered.
pub enum KeySource<'a> {
    /// The configuration has one.
    Configured,
    /// This variable of the environment has one.
    Variable(&'a str),
    /// The server may work without one.
    Optional,
    /// Nowhere.
    Missing,
}

/// A key or token that has a space or another impossible character in it.
pub const NOT_A_KEY: &str = "A key has no spaces in it. Copy it once more.";

/// The server refuses the key. `reason` is what it said.
pub fn key_refused(provider: &str, reason: &str) -> String {
    format!("{provider} refused the API key: {reason}")
}

/// The server wants a key, and there is none.
pub fn key_missing(provider: &str) -> String {
    format!("{provider} does not answer without an API key. You can add it later.")
}

/// The server's list of models has come.
pub fn connected(provider: &str, models: usize) -> String {
    let models = count_of(models, "model", "models");
    format!("Connected: {provider} offers {models}.")
}

/// A provider that takes no key.
pub fn signs_in(provider: &str) -> String {
    format!(
        "{provider} is used with a subscription, which {CAVEAT}. Sign in afterwards: peacrab login {provider}"
    )
}

/// A trial has begun that may take seconds.
pub fn trying(what: &str) -> String {
    format!("Connecting to {what}…")
}

/// The key could not be tried.
pub fn not_tried(provider: &str, reason: &str) -> String {
    format!("the connection to {provider} is not tested: {reason}")
}

/// The last line of the question for the model.
pub const WHICH_MODEL: &str = "Which model?";

/// The question for the model, below the list. `default` may be empty.
pub fn ask_model(default: &str) -> Question {
    let hint = match default {
        "" => "the first one that the server offers",
        default => default,
    };
    Question::new(WHICH_MODEL.to_owned(), hint)
}

/// Models to choose from, numbered from 1. `others` are not shown.
pub fn model_list(shown: &[String], others: usize) -> String {
    let rows = shown.iter().enumerate();
    let mut text: String = rows
        .map(|(index, name)| format!("{:>4}  {name}\n", index + 1))
        .collect();
    if others > 0 {
        text += &format!("      … and {others} more\n");
    }
    text + "Enter a number, a name, or a part of a name to search for."
}

/// The model that was chosen from the list.
pub fn chosen(model: &str) -> String {
    format!("Model: {model}")
}

/// A number that is not in the list.
pub fn no_such_number(count: usize) -> String {
    format!("The list has the numbers 1 to {count}.")
}

/// A model that the server does not list.
pub fn model_not_listed(provider: &str, model: &str, suggestion: &str) -> String {
    format!("{provider} does not list a model named {model}. {suggestion}")
}

/// An API key where a model's name was asked for.
pub const KEY_AS_MODEL: &str = "This looks like an API key. Type the name of a model.";
/// A model's name with a space in it.
pub const NOT_A_MODEL: &str = "That is not the name of a model. It has letters and no spaces, such as gpt-5-mini; Enter takes the one in brackets.";

/// The question for the folder that the agent works in.
pub fn ask_workspace(current: &Path) -> Question {
    Question::new(
        "Which folder should the agent work in?".to_owned(),
        &current.display().to_string(),
    )
}

/// A folder's name without its path, which may as well be an answer to another question.
pub const NOT_A_PATH: &str = "Enter a full path, such as /home/ann/agent or ~/agent.";

/// The folder's path leads to something else.
pub fn not_a_folder(path: &Path) -> String {
    format!("{} is a file, not a folder.", path.display())
}

/// At the end, of a channel whose answers did not work and were kept nevertheless.
pub fn does_not_work(title: &str, name: &str, peacrab: &str) -> String {
    format!(
        "{title} does not work yet: what you entered is kept, but was not accepted. To enter it again: \
         {peacrab} onboard --channel {name}"
    )
}

/// The question for the token of a Telegram bot.
pub fn ask_telegram(has_token: bool) -> Question {
    let (text, hint) = if has_token {
        ("Telegram bot token? (hidden)", "keep the current one")
    } else {
        (
            "To use Telegram, create a bot with @BotFather (/newbot) and paste its token.\n\
         For Discord, Slack and others press Enter; the end of this says how to connect them.\n\
         Telegram bot token? (hidden)",
            "skip Telegram",
        )
    };
    Question::new(text.to_owned(), hint).hidden()
}

/// A text that is no bot's token.
pub const NOT_A_TOKEN: &str = "That is not a bot token. It looks like 123456789:AAFmxA…";

/// Telegram knows the token.
pub fn bot_found(username: &str) -> String {
    format!("It is @{username}.")
}

/// Telegram does not know the token.
pub const TOKEN_REFUSED: &str = "Telegram refused the token. Copy it from @BotFather once more.";

/// The token could not be tried.
pub fn token_not_tried(reason: &str) -> String {
    format!("the bot token is not tested: {reason}")
}

/// The question for a setting of a channel.
pub fn ask_need(need: &Need, is_set: bool, key: &Key) -> Question {
    let is_switch = key.kind == Kind::Flag;
    let hint = match (is_set, is_switch) {
        (true, _) => "keep the current one",
        (false, true) => "no",
        (false, false) => "needed",
    };
    let kind = match is_switch {
        true => "? (yes or no)",
        false if key.is_secret() => " (hidden)",
        false => "",
    };
    Question::new(format!("{}\n{}{kind}", need.how, in_words(need.key)), hint)
}

/// The name of a setting in words, such as `App token` for `appToken`.
fn in_words(name: &str) -> String {
    const ABBREVIATIONS: [&str; 4] = ["id", "url", "imap", "smtp"];
    let mut words = vec![String::new()];
    for char in name.chars() {
        if char.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(char.to_lowercase());
        }
    }
    for (index, word) in words.iter_mut().enumerate() {
        if ABBREVIATIONS.contains(&&**word) {
            *word = word.to_uppercase();
        } else if index == 0
            && let Some(first) = word.get_mut(..1)
        {
            first.make_ascii_uppercase();
        }
    }
    words.join(" ")
}

/// At the first question, to those who want to go back.
pub const FIRST_QUESTION: &str = "This is the first question.";

/// A channel cannot do without a setting.
pub fn is_needed(service: &Service) -> String {
    format!("{} cannot be used without it. Ctrl-C stops.", service.title)
}

/// A trial of several answers has failed; `reason` is a sentence.
pub fn or_go_back(reason: &str) -> String {
    format!("{reason} If an answer above is wrong, type back.")
}

/// A channel that works.
pub fn found_on(service: &Service, name: &str) -> String {
    format!("{} works: the bot is {name}.", service.title)
}

/// A channel that could not be tried.
pub fn channel_not_tried(service: &Service, reason: &str) -> String {
    format!("{} is not tested: {reason}", service.title)
}

/// `--channel` in a script.
pub fn channel_needs_a_terminal(service: &Service) -> String {
    let keys = service.needs.iter().map(|need| need.key);
    let lines = keys.map(|key| {
        format!(
            "\n  peacrab config set channels.{}.{key} VALUE",
            service.name
        )
    });
    format!(
        "--channel asks questions, and there is no terminal. Use instead:{}\n  peacrab config set channels.{}.enabled true",
        lines.collect::<String>(),
        service.name
    )
}

/// What a server said, with a full stop.
pub fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// After Ctrl-C. `taken` are the programs whose homes were taken over, `saved` the settings that were saved; `channel` is
/// the only one that was to be set up.
pub fn stopped(taken: &[&str], saved: &[&str], file: &Path, channel: Option<&str>) -> String {
    let option = channel.map_or_else(String::new, |name| format!(" --channel {name}"));
    let mut text = "Stopped.".to_owned();
    if !taken.is_empty() {
        text += &format!(" Taken over: {}.", taken.join(", "));
    }
    if !saved.is_empty() {
        text += &format!(" Saved in {}: {}.", file.display(), saved.join(", "));
    }
    match (taken, saved) {
        ([], []) => text + " Nothing was changed.",
        _ => text + &format!(" Run `peacrab onboard{option}` again to go on."),
    }
}

/// What was created. Both lists may be empty.
pub fn created(home: Option<&Path>, workspace: &Path, files: &[&str]) -> String {
    let mut text = String::new();
    if let Some(home) = home {
        text += &format!("Created {}\n", home.display());
    }
    if !files.is_empty() {
        let (workspace, names) = (workspace.display(), files.join(", "));
        text += &format!("Created the agent's files in {workspace}:\n  {names}\n");
    }
    if files.contains(&introduction::FILE) {
        text += INTRODUCTION;
    }
    text
}

/// What BOOTSTRAP.md is for.
const INTRODUCTION: &str = "\
In your first conversation with a model, the agent asks who you are and what the
board is for, one question at a time. Say \"skip\" to leave that out.
";

/// Everything was there, and nothing was to be changed.
pub const NOTHING_CHANGED: &str = "Already set up; nothing changed.\n";

/// A setting that had its default. Without a value it is secret.
pub fn set(path: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("Set {path} to {value}\n"),
        None => format!("Set {path}\n"),
    }
}

/// A setting that had another value. Without values it is secret.
pub fn changed(path: &str, values: Option<(&str, &str)>) -> String {
    match values {
        Some((old, new)) => format!("Changed {path} from {old} to {new}\n"),
        None => format!("Changed {path}\n"),
    }
}

/// Which model answers, and what to do next. `peacrab` is the command that reaches this home, `bot` the
/// channel, and the bot's name, empty when it is not known.
pub fn next_steps(peacrab: &str, model: Option<&str>, bot: Option<(&str, &str)>) -> String {
    let mut text = match model {
        Some(model) => format!("\nModel: {model}\n"),
        None => format!(
            "\nModel: none. The built-in offline helper answers simple requests.\n\
             To connect a model, run `{peacrab} onboard`.\n"
        ),
    };
    match bot {
        Some((channel, "")) => text += &format!("{channel}: on\n"),
        Some((channel, bot)) => text += &format!("{channel}: @{bot}\n"),
        None => {}
    }
    let mut steps = vec![("agent", "chat with the agent")];
    if bot.is_some() {
        steps.extend([
            ("gateway", "start the bot; it will tell you how to pair"),
            ("service install", "run it permanently as a systemd service"),
        ]);
    }
    steps.extend([
        (
            "onboard --channel NAME",
            match bot {
                None => "connect Telegram, Discord or another service",
                Some(_) => "connect Discord, Slack or another service",
            },
        ),
        ("doctor", "check the setup"),
        ("config explain", "list all settings"),
    ]);
    let width = steps.iter().map(|(step, _)| step.len()).max().unwrap_or(0);
    let longest = steps.iter().map(|(_, what)| what.len()).max().unwrap_or(0);
    let is_narrow = peacrab.len() + width + longest > LIST_COLUMNS;
    text += "\nNext:\n";
    for (step, what) in steps {
        text += &if is_narrow {
            format!("  {what}:\n    {peacrab} {step}\n")
        } else {
            format!("  {peacrab} {step:width$}  {what}\n")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_steps_fit_a_terminal() {
        let steps = next_steps(
            "peacrab",
            Some("openai/gpt-6-sol"),
            Some(("Telegram", "crabby_bot")),
        );
        assert_eq!(
            steps,
            "\nModel: openai/gpt-6-sol\nTelegram: @crabby_bot\n\nNext:\n  \
             peacrab agent                   chat with the agent\n  \
             peacrab gateway                 start the bot; it will tell you how to pair\n  \
             peacrab service install         run it permanently as a systemd service\n  \
             peacrab onboard --channel NAME  connect Discord, Slack or another service\n  \
             peacrab doctor                  check the setup\n  \
             peacrab config explain          list all settings\n"
        );
        assert!(steps.lines().all(|line| line.len() <= 80));
        let steps = next_steps("peacrab --home /srv/peacrab/of/the/whole/house", None, None);
        assert!(
            steps.contains(
                "  check the setup:\n    peacrab --home /srv/peacrab/of/the/whole/house doctor\n"
            ),
            "{steps}"
        );
        let steps = next_steps("peacrab", None, None);
        assert!(
            steps.contains("--channel NAME  connect Telegram, Discord or"),
            "{steps}"
        );
    }
}

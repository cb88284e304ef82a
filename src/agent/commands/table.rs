//! The table of all slash commands, and how a typed one is read.

use crate::agent::texts;
use crate::language::Language;
use crate::message::{Envelope, Origin};
use crate::text::nearest;

/// The slash commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slash {
    /// `/start`, which Telegram sends when a person opens the chat.
    Start,
    /// `/help`
    Help,
    /// `/new`
    New,
    /// `/compact`
    Compact,
    /// `/status`
    Status,
    /// `/model`
    Model,
    /// `/think`
    Think,
    /// `/tools`
    Tools,
    /// `/memory`
    Memory,
    /// `/skills`
    Skills,
    /// `/mcp`
    Mcp,
    /// `/remind`
    Remind,
    /// `/cron`
    Cron,
    /// `/usage`
    Usage,
    /// `/context`
    Context,
    /// `/sh`
    Sh,
    /// `/stop`
    Stop,
    /// `/tasks`
    Tasks,
    /// `/approve`
    Approve,
    /// `/deny`
    Deny,
    /// `/answer`
    Answer,
    /// `/approvals`
    Approvals,
    /// `/pair`
    Pair,
    /// `/id`
    Id,
    /// `/heartbeat`
    Heartbeat,
    /// `/watch`
    Watch,
    /// `/agents`
    Agents,
    /// `/restart`
    Restart,
    /// `/update`
    Update,
    /// `/exit`
    Exit,
    /// A word that is not a command.
    Unknown,
}

/// Where a command can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// In chats and at the terminal.
    Everywhere,
    /// In chats.
    Chat,
    /// At the terminal.
    Terminal,
}

/// When a command of a chat runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, and quickly.
    AtOnce,
    /// At once; it stops what is running.
    Stop,
    /// At once, on a thread of its own.
    Beside,
    /// After everything that was sent before it: it touches the conversation.
    InOrder,
}

/// A row of [`COMMANDS`].
#[derive(Debug)]
pub struct Row {
    /// The command.
    pub slash: Slash,
    /// Its names without the slash; the first one is shown.
    pub names: &'static [&'static str],
    /// Where it can be typed.
    pub surface: Surface,
    /// What it does; `None` keeps it out of help and menus.
    pub help: Option<fn(Language) -> &'static str>,
}

/// Every slash command: what is parsed, listed by `/help` and shown in a channel's menu.
#[rustfmt::skip]
pub const COMMANDS: &[Row] = &[
    row(Slash::Help, &["help"], Surface::Everywhere, texts::help_help),
    row(Slash::New, &["new", "reset", "clear"], Surface::Everywhere, texts::help_new),
    row(Slash::Compact, &["compact"], Surface::Everywhere, texts::help_compact),
    row(Slash::Status, &["status"], Surface::Everywhere, texts::help_status),
    row(Slash::Model, &["model", "models"], Surface::Everywhere, texts::help_model),
    row(Slash::Think, &["think", "thinking"], Surface::Everywhere, texts::help_think),
    row(Slash::Tools, &["tools"], Surface::Everywhere, texts::help_tools),
    row(Slash::Memory, &["memory"], Surface::Everywhere, texts::help_memory),
    row(Slash::Skills, &["skills", "skill"], Surface::Everywhere, texts::help_skills),
    row(Slash::Mcp, &["mcp"], Surface::Everywhere, texts::help_mcp),
    row(Slash::Remind, &["remind", "reminder", "reminders"], Surface::Everywhere, texts::help_remind),
    row(Slash::Cron, &["cron", "jobs"], Surface::Everywhere, texts::help_cron),
    row(Slash::Usage, &["usage"], Surface::Everywhere, texts::help_usage),
    row(Slash::Context, &["context"], Surface::Everywhere, texts::help_context),
    row(Slash::Sh, &["sh"], Surface::Chat, texts::help_sh),
    row(Slash::Stop, &["stop"], Surface::Chat, texts::help_stop),
    row(Slash::Tasks, &["tasks"], Surface::Chat, texts::help_tasks),
    row(Slash::Approve, &["approve"], Surface::Chat, texts::help_approve),
    row(Slash::Deny, &["deny"], Surface::Chat, texts::help_deny),
    row(Slash::Answer, &["answer"], Surface::Chat, texts::help_answer),
    row(Slash::Approvals, &["approvals"], Surface::Everywhere, texts::help_approvals),
    row(Slash::Pair, &["pair"], Surface::Chat, texts::help_pair),
    row(Slash::Id, &["id"], Surface::Chat, texts::help_id),
    row(Slash::Heartbeat, &["heartbeat"], Surface::Chat, texts::help_heartbeat),
    row(Slash::Watch, &["watch", "watches"], Surface::Chat, texts::help_watch),
    row(Slash::Agents, &["agents"], Surface::Chat, texts::help_agents),
    row(Slash::Restart, &["restart"], Surface::Chat, texts::help_restart),
    row(Slash::Update, &["update", "upgrade"], Surface::Chat, texts::help_update),
    Row { slash: Slash::Start, names: &["start"], surface: Surface::Chat, help: None },
    row(Slash::Exit, &["exit", "quit"], Surface::Terminal, texts::help_exit),
];

/// The words that the buttons of a reminder have after `/remind`: none of them is a time.
pub const REMINDER_BUTTONS: [&str; 3] = ["done", "snooze", "again"];

const fn row(
    slash: Slash,
    names: &'static [&'static str],
    surface: Surface,
    help: fn(Language) -> &'static str,
) -> Row {
    Row {
        slash,
        names,
        surface,
        help: Some(help),
    }
}

/// The commands of a surface.
fn rows_of(surface: Surface) -> impl Iterator<Item = &'static Row> {
    let is_there = move |row: &&Row| row.surface == Surface::Everywhere || row.surface == surface;
    COMMANDS.iter().filter(is_there)
}

/// A command as help and menus show it.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// Its name without the slash.
    pub name: &'static str,
    /// What it does, in a language.
    pub help: fn(Language) -> &'static str,
}

/// The commands of a surface that help and menus show.
pub fn list_commands(surface: Surface) -> impl Iterator<Item = Listed> {
    rows_of(surface).filter_map(|row| {
        Some(Listed {
            name: row.names.first()?,
            help: row.help?,
        })
    })
}

/// A line that begins with a slash and a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Which one.
    pub slash: Slash,
    /// The word as it was typed, without the slash.
    pub word: &'a str,
    /// What follows the word.
    pub argument: &'a str,
}

impl Command<'_> {
    /// When it runs in a chat.
    pub fn when(&self) -> When {
        match self.slash {
            Slash::Stop => When::Stop,
            // An update is fetched over the network; the end of a compaction is reported later.
            Slash::Sh | Slash::Update | Slash::Compact => When::Beside,
            Slash::Remind if self.is_reminder_button() => When::AtOnce,
            // They write the file of jobs, and talk to what runs them.
            Slash::Cron | Slash::Remind => When::Beside,
            // It writes the file of watches, and looks at what they are about.
            Slash::Watch => When::Beside,
            Slash::New => When::InOrder,
            // It reads the journals.
            Slash::Memory if !self.argument.is_empty() => When::Beside,
            // It asks the provider's server.
            Slash::Model if self.lists_models() => When::Beside,
            Slash::Model => When::InOrder,
            // A login talks to a server.
            Slash::Mcp if !self.argument.is_empty() => When::Beside,
            Slash::Think if !self.argument.is_empty() => When::InOrder,
            _ => When::AtOnce,
        }
    }

    /// Whether it is a `/remind` that a button of a reminder types. Presses are taken in their order.
    fn is_reminder_button(&self) -> bool {
        let word = self.argument.split_whitespace().next();
        word.is_some_and(|word| REMINDER_BUTTONS.contains(&word))
    }

    /// Whether it is a `/model` that changes nothing.
    pub(super) fn lists_models(&self) -> bool {
        self.argument.is_empty() || self.argument.eq_ignore_ascii_case("list")
    }
}

/// Reads a slash command, in any case; `None` when the text is for the model, such as
/// `/etc/hosts is empty`.
pub fn parse(text: &str) -> Option<Command<'_>> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = !word.is_empty()
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
    let is_named = |name: &&str| name.eq_ignore_ascii_case(word);
    let row = COMMANDS.iter().find(|row| row.names.iter().any(is_named));
    is_word.then_some(Command {
        slash: row.map_or(Slash::Unknown, |row| row.slash),
        word,
        argument: argument.trim(),
    })
}

/// The slash command that a person typed; `None` when the message is for the model.
pub fn typed_command(message: &Envelope) -> Option<Command<'_>> {
    let is_typed = !message.is_relayed && matches!(message.origin, Origin::Cli | Origin::Person(_));
    let typed = Some(message).filter(|_| is_typed);
    typed.and_then(|message| parse(&message.text))
}

/// The commands of a surface as a list.
pub fn format_help(surface: Surface, language: Language) -> String {
    let lines = list_commands(surface)
        .map(|listed| format!("- `/{}` {}", listed.name, (listed.help)(language)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The answer to a command that does not exist on a surface, with the nearest one that does.
pub fn unknown_command(word: &str, surface: Surface, language: Language) -> String {
    let is_meant = |name: &&str| name.eq_ignore_ascii_case(word);
    let is_of_chats = |row: &Row| row.surface == Surface::Chat && row.names.iter().any(is_meant);
    if surface == Surface::Terminal && COMMANDS.iter().any(is_of_chats) {
        return texts::only_in_chats(language, &word);
    }
    let names = rows_of(surface).flat_map(|row| row.names.iter().copied());
    match nearest(&word.to_ascii_lowercase(), names) {
        Some(near) => texts::unknown_command_near(language, &word, &near),
        None => texts::unknown_command(language, &word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        let command = |text| parse(text).map(|command| (command.slash, command.argument));
        assert_eq!(command(" /model gpt-5 \n"), Some((Slash::Model, "gpt-5")));
        assert_eq!(command("/help"), Some((Slash::Help, "")));
        assert_eq!(command("/HELP"), Some((Slash::Help, "")));
        assert_eq!(command("/clear"), Some((Slash::New, "")));
        assert_eq!(command("/sh\nls"), Some((Slash::Sh, "ls")));
        let lists = |text| parse(text).is_some_and(|command| command.lists_models());
        assert!(lists("/model") && lists("/model LIST") && !lists("/model gpt-5"));
        assert_eq!(command("/foo x"), Some((Slash::Unknown, "x")));
        for text in [
            "hello",
            "/",
            "/etc/hosts is empty",
            "a /help",
            "/ help",
            "//x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_help_of_a_surface_names_its_commands() {
        let help = |surface| format_help(surface, Language::English);
        let (chat, terminal) = (help(Surface::Chat), help(Surface::Terminal));
        assert!(
            chat.contains("`/sh`") && !terminal.contains("`/sh`"),
            "{chat}"
        );
        assert!(
            terminal.contains("`/exit`") && !chat.contains("`/exit`"),
            "{terminal}"
        );
        assert!(chat.contains("`/new`") && terminal.contains("`/new`"));
        let chinese = format_help(Surface::Chat, Language::Chinese);
        assert!(chinese.contains("- `/stop` 停止"), "{chinese}");
        assert_eq!(chinese.lines().count(), chat.lines().count());
    }

    #[test]
    fn an_unknown_command_names_the_nearest_of_its_surface() {
        let unknown = |word, surface| unknown_command(word, surface, Language::English);
        let near = "Unknown command /stats. Did you mean /status?";
        assert_eq!(unknown("stats", Surface::Chat), near);
        assert!(unknown("Stat", Surface::Chat).ends_with("Did you mean /status?"));
        let none = "Unknown command /sudo. See /help.";
        assert_eq!(unknown("sudo", Surface::Chat), none);
        let exit = unknown("exi", Surface::Terminal);
        assert!(exit.ends_with("Did you mean /exit?"), "{exit}");
        let heartbeat = unknown("heartbeat", Surface::Terminal);
        assert!(
            heartbeat.starts_with("/heartbeat works only in chats"),
            "{heartbeat}"
        );
    }
}

//! The table of all slash commands, and how a typed one is read.

use crate::agent::texts;
use crate::base::access::Role;
use crate::base::language::Language;
use crate::base::message::{Envelope, Origin};
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
    /// `/voice`
    Voice,
    /// `/tools`
    Tools,
    /// `/memory`
    Memory,
    /// `/diff`
    Diff,
    /// `/undo`
    Undo,
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
    /// `/sh`, and `/sh!` for the board itself
    Sh,
    /// `/get`
    Get,
    /// `/put`, the caption of a file
    Put,
    /// `/ls`
    Ls,
    /// `/term`
    Term,
    /// `/key`
    Key,
    /// `/in`
    In,
    /// `/bg`
    Bg,
    /// `/history`
    History,
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
    /// `/retry`
    Retry,
    /// `/restart`
    Restart,
    /// `/update`
    Update,
    /// `/plot`
    Plot,
    /// `/logs`
    Logs,
    /// `/svc`
    Svc,
    /// `/top`
    Top,
    /// `/ip`
    Ip,
    /// `/wol`
    Wol,
    /// `/reboot`
    Reboot,
    /// `/shutdown`
    Shutdown,
    /// A command of the configuration, with its name and its arguments.
    Own,
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

impl Slash {
    /// The least role that may use it; in a group some take more, because they change what others do there.
    /// There is no other table of this: a command without a role does not compile.
    pub fn role(self, is_group: bool) -> Role {
        match self {
            Self::Start | Self::Help | Self::Id | Self::Answer | Self::Exit | Self::Unknown => {
                Role::Guest
            }
            Self::Stop => match is_group {
                true => Role::User,
                false => Role::Guest,
            },
            Self::New
            | Self::Compact
            | Self::Status
            | Self::Model
            | Self::Think
            | Self::Voice
            | Self::Tools
            | Self::Memory
            | Self::Skills
            | Self::Mcp
            | Self::Remind
            | Self::Cron
            | Self::Usage
            | Self::Context
            | Self::Tasks
            | Self::Agents => Role::User,
            Self::Plot | Self::Ip => Role::User,
            Self::Sh
            | Self::Watch
            | Self::Logs
            | Self::Svc
            | Self::Top
            | Self::Wol
            | Self::Reboot
            | Self::Shutdown
            | Self::Own
            | Self::In
            | Self::Bg
            | Self::History
            | Self::Term
            | Self::Key
            | Self::Get
            | Self::Put
            | Self::Ls
            | Self::Approve
            | Self::Deny
            | Self::Approvals
            | Self::Pair
            | Self::Heartbeat
            | Self::Diff
            | Self::Undo
            | Self::Retry
            | Self::Restart
            | Self::Update => Role::Owner,
        }
    }
}

/// Who reads the help, and where.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Where.
    pub surface: Surface,
    /// What they may do.
    pub role: Role,
    /// Whether others read too.
    pub is_group: bool,
}

impl Reader {
    /// The one who has written a message in a chat.
    pub fn of(message: &Envelope) -> Self {
        Self {
            surface: Surface::Chat,
            role: message.role,
            is_group: message.is_group,
        }
    }

    /// An owner.
    pub fn owner(surface: Surface) -> Self {
        Self {
            surface,
            role: Role::Owner,
            is_group: false,
        }
    }
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
    /// After the commands that were sent before it, beside the conversation, on a thread of its own.
    Queued,
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
    row(Slash::Voice, &["voice"], Surface::Chat, texts::help_voice),
    row(Slash::Tools, &["tools"], Surface::Everywhere, texts::help_tools),
    row(Slash::Memory, &["memory"], Surface::Everywhere, texts::help_memory),
    row(Slash::Diff, &["diff"], Surface::Everywhere, texts::help_diff),
    row(Slash::Undo, &["undo"], Surface::Everywhere, texts::help_undo),
    row(Slash::Skills, &["skills", "skill"], Surface::Everywhere, texts::help_skills),
    row(Slash::Mcp, &["mcp"], Surface::Everywhere, texts::help_mcp),
    row(Slash::Remind, &["remind", "reminder", "reminders"], Surface::Everywhere, texts::help_remind),
    row(Slash::Cron, &["cron", "jobs"], Surface::Everywhere, texts::help_cron),
    row(Slash::Usage, &["usage"], Surface::Everywhere, texts::help_usage),
    row(Slash::Context, &["context"], Surface::Everywhere, texts::help_context),
    row(Slash::Sh, &["sh"], Surface::Chat, texts::help_sh),
    row(Slash::Get, &["get"], Surface::Chat, texts::help_get),
    row(Slash::Put, &["put"], Surface::Chat, texts::help_put),
    row(Slash::Ls, &["ls"], Surface::Chat, texts::help_ls),
    row(Slash::Term, &["term", "terminal"], Surface::Chat, texts::help_term),
    row(Slash::Key, &["key", "keys"], Surface::Chat, texts::help_key),
    row(Slash::In, &["in"], Surface::Chat, texts::help_in),
    row(Slash::Bg, &["bg"], Surface::Chat, texts::help_bg),
    row(Slash::History, &["history"], Surface::Chat, texts::help_history),
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
    row(Slash::Retry, &["retry"], Surface::Chat, texts::help_retry),
    row(Slash::Restart, &["restart"], Surface::Chat, texts::help_restart),
    row(Slash::Update, &["update", "upgrade"], Surface::Chat, texts::help_update),
    row(Slash::Plot, &["plot"], Surface::Chat, texts::help_plot),
    row(Slash::Logs, &["logs", "log"], Surface::Chat, texts::help_logs),
    row(Slash::Svc, &["svc", "service", "services"], Surface::Chat, texts::help_svc),
    row(Slash::Top, &["top"], Surface::Chat, texts::help_top),
    row(Slash::Ip, &["ip"], Surface::Chat, texts::help_ip),
    row(Slash::Wol, &["wol"], Surface::Chat, texts::help_wol),
    row(Slash::Reboot, &["reboot"], Surface::Chat, texts::help_reboot),
    row(Slash::Shutdown, &["shutdown", "poweroff"], Surface::Chat, texts::help_shutdown),
    Row { slash: Slash::Own, names: &["own"], surface: Surface::Chat, help: None },
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
    /// The command.
    pub slash: Slash,
    /// Its name without the slash.
    pub name: &'static str,
    /// What it does, in a language.
    pub help: fn(Language) -> &'static str,
}

/// The commands of a surface that help and menus show.
pub fn list_commands(surface: Surface) -> impl Iterator<Item = Listed> {
    rows_of(surface).filter_map(|row| {
        Some(Listed {
            slash: row.slash,
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
    /// The least role that may use it like this.
    pub fn role(&self, is_group: bool) -> Role {
        match self.slash {
            // A login gives the agent an account elsewhere.
            Slash::Mcp if !self.argument.is_empty() => Role::Owner,
            slash => slash.role(is_group),
        }
    }

    /// When it runs in a chat.
    pub fn when(&self) -> When {
        match self.slash {
            Slash::Stop => When::Stop,
            // An update is fetched over the network; the end of a compaction is reported later.
            Slash::Sh
            | Slash::Term
            | Slash::Update
            | Slash::Compact
            | Slash::Get
            | Slash::Put
            | Slash::Ls => When::Queued,
            // It looks at processes, and at the shell: about those that it would wait for.
            Slash::Bg => When::Beside,
            // It writes the outbox.
            Slash::Retry => When::Beside,
            // They read files and the machine, or run a command.
            Slash::Plot
            | Slash::Logs
            | Slash::Svc
            | Slash::Top
            | Slash::Ip
            | Slash::Wol
            | Slash::Reboot
            | Slash::Shutdown
            | Slash::Own => When::Queued,
            Slash::Remind if self.is_reminder_button() => When::AtOnce,
            // They read and write files.
            Slash::Diff | Slash::Undo => When::Queued,
            // They write the file of jobs, and talk to what runs them.
            Slash::Cron | Slash::Remind => When::Queued,
            // It writes the file of watches, and looks at what they are about.
            Slash::Watch => When::Queued,
            Slash::New => When::InOrder,
            // It reads the journals.
            Slash::Memory if !self.argument.is_empty() => When::Queued,
            // It asks the provider's server.
            Slash::Model if self.lists_models() => When::Queued,
            Slash::Model => When::InOrder,
            // A login talks to a server.
            Slash::Mcp if !self.argument.is_empty() => When::Queued,
            Slash::Think | Slash::Voice if !self.argument.is_empty() => When::InOrder,
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

/// The commands whose name may have a `!` right behind it, which then begins their argument.
const TAKES_FORCE: [&str; 5] = ["sh", "get", "put", "term", "terminal"];

/// Reads a slash command, in any case; `None` when the text is for the model, such as
/// `/etc/hosts is empty`.
pub fn parse(text: &str) -> Option<Command<'_>> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // `/sh! ls` is `/sh ! ls`.
    let (word, argument) = match rest.split_once('!') {
        Some((bare, _))
            if TAKES_FORCE
                .iter()
                .any(|name| name.eq_ignore_ascii_case(bare)) =>
        {
            (bare, rest.get(bare.len()..).unwrap_or_default())
        }
        _ => (word, argument),
    };
    // A known name with a `!` that it does not take is a mistake, and not meant for the model.
    let is_named_forced = word.strip_suffix('!').is_some_and(|bare| {
        let mut names = COMMANDS.iter().flat_map(|row| row.names);
        names.any(|name| name.eq_ignore_ascii_case(bare))
    });
    let is_word = is_named_forced
        || !word.is_empty()
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

/// Whether the one who has typed the command of a message may use it; true where it is none.
pub fn may_use(message: &Envelope) -> bool {
    typed_command(message).is_none_or(|command| command.role(message.is_group) <= message.role)
}

/// The commands that a reader can use, as a list.
pub fn format_help(reader: Reader, language: Language) -> String {
    let lines = list_commands(reader.surface)
        .filter(|listed| listed.slash.role(reader.is_group) <= reader.role)
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
    use crate::base::message::{Address, Sender};

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        let command = |text| parse(text).map(|command| (command.slash, command.argument));
        assert_eq!(command(" /model gpt-5 \n"), Some((Slash::Model, "gpt-5")));
        assert_eq!(command("/help"), Some((Slash::Help, "")));
        assert_eq!(command("/HELP"), Some((Slash::Help, "")));
        assert_eq!(command("/clear"), Some((Slash::New, "")));
        assert_eq!(command("/sh\nls"), Some((Slash::Sh, "ls")));
        assert_eq!(command("/sh! ls"), Some((Slash::Sh, "! ls")));
        assert_eq!(command("/SH!"), Some((Slash::Sh, "!")));
        assert_eq!(command("/SH!!"), Some((Slash::Sh, "!!")));
        assert_eq!(command("/new! x"), Some((Slash::Unknown, "x")));
        assert_eq!(command("/wow! x"), None);
        assert_eq!(command("/term! vi x"), Some((Slash::Term, "! vi x")));
        assert_eq!(command("/term !top"), Some((Slash::Term, "!top")));
        assert_eq!(command("/in"), Some((Slash::In, "")));
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
    fn the_configuration_cannot_take_the_name_of_a_command() {
        let taken = crate::config::check::TAKEN;
        let names = COMMANDS.iter().flat_map(|row| row.names);
        let free: Vec<_> = names.filter(|name| !taken.contains(name)).collect();
        assert!(free.is_empty(), "not in TAKEN: {free:?}");
    }

    #[test]
    fn the_help_of_a_surface_names_its_commands() {
        let help = |surface| format_help(Reader::owner(surface), Language::English);
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
        let chinese = format_help(Reader::owner(Surface::Chat), Language::Chinese);
        assert!(chinese.contains("- `/stop` 停止"), "{chinese}");
        assert_eq!(chinese.lines().count(), chat.lines().count());
    }

    /// Each command with the roles that may use it, in private and in a group: the table of the roles.
    #[test]
    fn each_command_has_the_roles_that_may_use_it() {
        let everyone = "start help id answer exit";
        let users = "new compact status model think voice tools memory skills mcp remind cron usage context tasks agents plot ip";
        let owners = "sh in bg history term key get put ls logs svc top wol reboot shutdown own watch approve deny \
                      approvals pair heartbeat diff undo retry restart update";
        let private = "stop";
        let is_in = |list: &str, name: &str| list.split(' ').any(|one| one == name);
        for row in COMMANDS {
            let name = row.names[0];
            let text = format!("/{name}");
            for (role, is_group) in [
                (Role::Guest, false),
                (Role::Guest, true),
                (Role::User, false),
                (Role::User, true),
                (Role::Owner, false),
                (Role::Owner, true),
            ] {
                let expected = match role {
                    Role::Guest => is_in(everyone, name) || !is_group && is_in(private, name),
                    Role::User => !is_in(owners, name),
                    Role::Owner => true,
                };
                let message = Envelope {
                    role,
                    is_group,
                    ..Envelope::written(&Address::new("a", "1"), Sender::default(), &text)
                };
                assert_eq!(may_use(&message), expected, "{text} {role} {is_group}");
                let reader = Reader::of(&message);
                let is_listed =
                    format_help(reader, Language::English).contains(&format!("`{text}`"));
                let is_shown = row.help.is_some() && row.surface != Surface::Terminal;
                assert_eq!(is_listed, expected && is_shown, "{text} {role} {is_group}");
            }
            let listed = [everyone, users, owners, private];
            let count = listed.iter().filter(|list| is_in(list, name)).count();
            assert_eq!(count, 1, "{name}");
        }
        let login = parse("/mcp login lamp").unwrap();
        assert_eq!(login.role(false), Role::Owner);
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

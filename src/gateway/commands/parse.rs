//! How a message is read as a slash command: once, when it arrives.

use std::ops::Deref;

use super::help as texts;
use super::table::{COMMANDS, Row, Run, When};
use crate::agent::commands::Surface;
use crate::base::access::Role;
use crate::base::language::Language;
use crate::base::message::{Envelope, Origin};
use crate::text::nearest;

impl Row {
    /// The name that is shown.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    fn is_on(&self, surface: Surface) -> bool {
        match surface {
            Surface::Chat => !matches!(self.run, Run::Nothing),
            Surface::Terminal => self.terminal.is_some(),
        }
    }

    /// Whether this is one of its names, in any case.
    pub fn has_name(&self, word: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(word))
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

/// The commands of a surface.
pub fn list_commands(surface: Surface) -> impl Iterator<Item = &'static Row> {
    COMMANDS.iter().filter(move |row| row.is_on(surface))
}

/// A line that begins with a slash and a word.
#[derive(Clone, Debug)]
pub struct Command {
    /// Which one; `None` when there is none of this name.
    pub row: Option<&'static Row>,
    /// The word as it was typed, without the slash.
    pub word: String,
    /// What follows the word.
    pub argument: String,
}

impl Command {
    /// Whether it has this name, which is its first one.
    pub fn is(&self, name: &str) -> bool {
        self.row.is_some_and(|row| row.name() == name)
    }

    /// The least role that may use it like this.
    pub fn role(&self, is_group: bool) -> Role {
        let access = |row: &Row| (row.access)(&self.argument, is_group);
        self.row.map_or(Role::Guest, access)
    }

    /// When it runs in a chat.
    pub fn when(&self) -> When {
        let when = |row: &Row| (row.when)(&self.argument);
        self.row.map_or(When::AtOnce, when)
    }
}

/// The least role that may use the command of a name.
pub fn least_role(name: &str, is_group: bool) -> Role {
    let row = COMMANDS.iter().find(|row| row.has_name(name));
    row.map_or(Role::Owner, |row| (row.access)("", is_group))
}

/// A message with the command that it is, which is read when it is made and when its text changes.
#[derive(Clone, Debug)]
pub struct ParsedMessage {
    envelope: Envelope,
    command: Option<Command>,
}

impl From<Envelope> for ParsedMessage {
    fn from(envelope: Envelope) -> Self {
        let command = typed_command(&envelope);
        Self { envelope, command }
    }
}

impl Deref for ParsedMessage {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        &self.envelope
    }
}

impl PartialEq for ParsedMessage {
    fn eq(&self, other: &Self) -> bool {
        self.envelope == other.envelope
    }
}

impl ParsedMessage {
    /// The slash command that a person typed; `None` when the message is for the model.
    pub fn command(&self) -> Option<&Command> {
        self.command.as_ref()
    }

    /// When its command runs; `None` when the message is for the model.
    pub fn when(&self) -> Option<When> {
        self.command().map(Command::when)
    }

    /// Whether the one who has typed its command may use it; true where it is none.
    pub fn is_allowed(&self) -> bool {
        let command = self.command();
        command.is_none_or(|command| command.role(self.is_group) <= self.role)
    }

    /// The message alone.
    pub fn into_envelope(self) -> Envelope {
        self.envelope
    }

    /// The message after a change.
    pub fn change(&mut self, change: impl FnOnce(&mut Envelope)) {
        change(&mut self.envelope);
        self.command = typed_command(&self.envelope);
    }
}

/// Reads a slash command, in any case; `None` when the text is for the model, such as
/// `/etc/hosts is empty`.
pub fn parse(text: &str) -> Option<Command> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let find = |word: &str| COMMANDS.iter().find(|row| row.has_name(word));
    // `/sh! ls` is `/sh ! ls`.
    let (word, argument) = match rest.split_once('!') {
        Some((bare, _)) if find(bare).is_some_and(|row| row.is_forceable) => {
            (bare, rest.get(bare.len()..).unwrap_or_default())
        }
        _ => (word, argument),
    };
    // A known name with a `!` that it does not take is a mistake, and not meant for the model.
    let is_named_forced = word.strip_suffix('!').is_some_and(|it| find(it).is_some());
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let is_word = is_named_forced || !word.is_empty() && word.chars().all(is_part);
    is_word.then(|| Command {
        row: find(word),
        word: word.to_owned(),
        argument: argument.trim().to_owned(),
    })
}

/// The slash command that a person typed; `None` when the message is for the model.
pub fn typed_command(message: &Envelope) -> Option<Command> {
    let is_typed = !message.is_relayed && matches!(message.origin, Origin::Cli | Origin::Person(_));
    let typed = Some(message).filter(|_| is_typed);
    typed.and_then(|message| parse(&message.text))
}

/// The answer to a command that does not exist on a surface, with the nearest one that does.
pub fn unknown_command(word: &str, surface: Surface, language: Language) -> String {
    let is_of_chats = |row: &Row| !row.is_on(Surface::Terminal) && row.has_name(word);
    if surface == Surface::Terminal && COMMANDS.iter().any(is_of_chats) {
        return texts::only_in_chats(language, &word);
    }
    let names = list_commands(surface).flat_map(|row| row.names.iter().copied());
    match nearest(&word.to_ascii_lowercase(), names) {
        Some(near) => texts::unknown_command_near(language, &word, &near),
        None => texts::unknown_command(language, &word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::{Address, Sender};
    use crate::gateway::commands::groups::format_help;

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        let command = |text| {
            let command = parse(text)?;
            let name = command.row.map_or("", |row| row.names[0]);
            Some((name, command.argument))
        };
        assert_eq!(
            command(" /model gpt-5 \n"),
            Some(("model", "gpt-5".to_owned()))
        );
        assert_eq!(command("/help"), Some(("help", "".to_owned())));
        assert_eq!(command("/HELP"), Some(("help", "".to_owned())));
        assert_eq!(command("/clear"), Some(("new", "".to_owned())));
        assert_eq!(command("/sh\nls"), Some(("sh", "ls".to_owned())));
        assert_eq!(command("/sh! ls"), Some(("sh", "! ls".to_owned())));
        assert_eq!(command("/SH!"), Some(("sh", "!".to_owned())));
        assert_eq!(command("/SH!!"), Some(("sh", "!!".to_owned())));
        assert_eq!(command("/new! x"), Some(("", "x".to_owned())));
        assert_eq!(command("/wow! x"), None);
        assert_eq!(command("/term! vi x"), Some(("term", "! vi x".to_owned())));
        assert_eq!(command("/term !top"), Some(("term", "!top".to_owned())));
        assert_eq!(command("/in"), Some(("in", "".to_owned())));
        let lists = |text| parse(text).is_some_and(|command| command.when() == When::Queued);
        assert!(lists("/model") && lists("/model LIST") && !lists("/model gpt-5"));
        assert_eq!(command("/foo x"), Some(("", "x".to_owned())));
        for text in [
            "hello",
            "/",
            "/etc/hosts is empty",
            "a /help",
            "/ help",
            "//x",
        ] {
            assert!(parse(text).is_none(), "{text}");
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
        let help = |surface| format_help(Reader::owner(surface), "all", Language::English);
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
        let chinese = format_help(Reader::owner(Surface::Chat), "all", Language::Chinese);
        assert!(chinese.contains("- `/stop` 停止"), "{chinese}");
        assert_eq!(chinese.lines().count(), chat.lines().count());
    }

    /// Each command with the roles that may use it, in private and in a group: the table of the roles.
    #[test]
    fn each_command_has_the_roles_that_may_use_it() {
        let everyone = "start help id lang web answer exit";
        let users = "new compact status model think voice tools memory lessons skills mcp remind cron usage context tasks plan agents plot ip";
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
                let is_allowed = ParsedMessage::from(message.clone()).is_allowed();
                assert_eq!(is_allowed, expected, "{text} {role} {is_group}");
                let reader = Reader::of(&message);
                let is_listed =
                    format_help(reader, "all", Language::English).contains(&format!("`{text}`"));
                let is_shown = row.help.is_some() && row.is_on(Surface::Chat);
                assert_eq!(is_listed, expected && is_shown, "{text} {role} {is_group}");
            }
            let listed = [everyone, users, owners, private];
            let count = listed.iter().filter(|list| is_in(list, name)).count();
            assert_eq!(count, 1, "{name}");
        }
        let login = parse("/mcp login lamp").unwrap();
        assert_eq!(login.role(false), Role::Owner);
        let remove = parse("/lessons remove 1").unwrap();
        assert_eq!(remove.role(false), Role::Owner);
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

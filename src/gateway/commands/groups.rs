//! The groups of `/help`, and the order of the channels' menus.

use super::help as texts;
use super::parse::{Reader, list_commands, unknown_command};
use super::table::Row;
use crate::agent::commands::Surface;
use crate::base::language::Language;

/// A group: its heading, and its commands, those that are used most first.
type Group = (fn(Language) -> &'static str, &'static str);

/// The groups. A command that is in none is in no menu either.
const GROUPS: [Group; 6] = [
    (
        texts::of_conversation,
        "new stop status model think voice lang compact context usage",
    ),
    (texts::of_plans, "remind cron watch heartbeat plot"),
    (texts::of_shell, "sh term key in bg history get put ls"),
    (texts::of_board, "top logs svc ip wol reboot shutdown"),
    (
        texts::of_people,
        "approve deny approvals answer pair web id",
    ),
    (
        texts::of_agent,
        "help memory lessons skills tools mcp plan tasks agents diff undo retry restart update",
    ),
];
/// The commands at the top of menus.
const FIRST: &str = "new stop status remind sh model help";
/// Examples of the commands that take an argument: what is typed behind the slash, with ` | ` between.
const EXAMPLES: &[(&str, &str)] = &[
    ("model", "model | model list"),
    ("think", "think high | think off"),
    ("voice", "voice on | voice off"),
    ("lang", "lang de | lang auto"),
    ("memory", "memory | memory printer"),
    (
        "remind",
        "remind 20m take the bread out | remind tomorrow 7:00 call mum | remind every mon 9am bins | remind every month on the 1st at 9 pay rent | remind list",
    ),
    (
        "cron",
        "cron | cron add every day at 7 tell me the weather | cron remove j7k2",
    ),
    (
        "watch",
        "watch | watch temperature > 75 for 5m | watch load > 4 for 10m | watch disk / > 90 | watch test 1 | watch remove 1",
    ),
    ("heartbeat", "heartbeat | heartbeat now"),
    ("plot", "plot temperature 24h | plot load memory 7d"),
    ("sh", "sh df -h | sh! systemctl restart nginx | sh !!"),
    ("term", "term | term htop"),
    ("key", "key ctrl-x y | key up up enter"),
    ("in", "in yes | in ^D"),
    ("bg", "bg | bg 1"),
    ("history", "history | history apt"),
    (
        "get",
        "get notes.txt | get logs/*.log | get photos | get! /var/log/syslog",
    ),
    ("put", "put | put docs/plan.pdf"),
    ("ls", "ls | ls docs"),
    ("logs", "logs | logs nginx 50 | logs nginx follow"),
    ("svc", "svc | svc nginx | svc nginx restart"),
    ("wol", "wol aa:bb:cc:dd:ee:ff"),
    ("approve", "approve | approve 123456 always"),
    ("deny", "deny | deny 123456"),
    ("pair", "pair | pair K7QM2XTP user | pair invite"),
    ("skills", "skills | skills weather"),
    (
        "plan",
        "plan compare three ways to heat the greenhouse | plan | plan approve | plan change 2 TEXT | plan skip 3 | plan stop",
    ),
];

fn examples_of(name: &str) -> &'static str {
    let mut rows = EXAMPLES.iter();
    rows.find(|(known, _)| *known == name)
        .map_or("", |(_, examples)| examples)
}

/// What lists all commands with what they do.
pub const ALL: &str = "all";

/// The commands of a chat in the order in which menus have them.
pub fn in_menu_order() -> impl Iterator<Item = &'static Row> {
    let names = GROUPS.iter().flat_map(|(_, names)| names.split(' '));
    let others = names.filter(|name| !FIRST.split(' ').any(|first| first == *name));
    FIRST.split(' ').chain(others).filter_map(find)
}

fn find(name: &str) -> Option<&'static Row> {
    list_commands(Surface::Chat).find(|row| row.name() == name)
}

/// The commands that a reader can use: in a chat their names by groups, at the terminal and for `all` with what they do;
/// or one command, by its name.
pub fn format_help(reader: Reader, argument: &str, language: Language) -> String {
    let name = argument.trim_start_matches('/');
    let is_allowed = |row: &&Row| (row.access)("", reader.is_group) <= reader.role;
    let line = |row: &Row| Some(format!("- `/{}` {}", row.name(), row.help?(language)));
    if !name.is_empty() && name != ALL {
        let mut rows = list_commands(reader.surface);
        let found = rows.find(|row| row.has_name(name) && row.help.is_some());
        let line = found
            .and_then(|row| Some([&row.names.join(", /"), ": ", row.help?(language)].concat()));
        let examples = found.map_or("", |row| examples_of(row.name()));
        let examples = examples.split(" | ").filter(|example| !example.is_empty());
        let examples: String = examples.map(|it| format!("\n- `/{it}`")).collect();
        return line.map_or_else(
            || unknown_command(name, reader.surface, language),
            |line| format!("/{line}{examples}"),
        );
    }
    if reader.surface == Surface::Terminal {
        let lines = list_commands(reader.surface)
            .filter(is_allowed)
            .filter_map(line);
        return lines.collect::<Vec<_>>().join("\n");
    }
    let mut parts = Vec::new();
    for (heading, names) in GROUPS {
        let rows = names.split(' ').filter_map(find).filter(is_allowed);
        let (lines, between): (Vec<String>, _) = match name {
            "" => (rows.map(|row| format!("/{}", row.name())).collect(), " "),
            _ => (rows.filter_map(line).collect(), "\n"),
        };
        if !lines.is_empty() {
            parts.push(format!(
                "**{}**\n{}",
                heading(language),
                lines.join(between)
            ));
        }
    }
    if name.is_empty() {
        parts.push(texts::more_help(language).to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_a_chat_is_in_one_group_and_once_in_menus() {
        let named: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        let shown = list_commands(Surface::Chat).filter(|row| row.help.is_some());
        let mut shown: Vec<&str> = shown.map(Row::name).collect();
        let mut menu: Vec<&str> = in_menu_order().map(Row::name).collect();
        assert_eq!(menu[..3], ["new", "stop", "status"]);
        let mut named = named;
        for list in [&mut named, &mut shown, &mut menu] {
            list.sort_unstable();
        }
        assert_eq!(named, shown);
        assert_eq!(menu, shown);
    }

    #[test]
    fn help_has_six_groups_and_explains_a_command_by_any_of_its_names() {
        let reader = Reader::owner(Surface::Chat);
        let help = |argument| format_help(reader, argument, Language::English);
        assert_eq!(help("").matches("**").count(), 12, "{}", help(""));
        assert!(help("").contains("**Board**\n/top /logs"), "{}", help(""));
        let update = "/update, /upgrade: Look for a new version and install it";
        assert_eq!([help("update"), help("/UPGRADE")], [update, update]);
        assert_eq!(
            help("sttaus"),
            "Unknown command /sttaus. Did you mean /status?"
        );
        assert!(help("all").contains("- `/ip` The board's addresses"));
        assert!(
            help("ls").ends_with("\n- `/ls`\n- `/ls docs`"),
            "{}",
            help("ls")
        );
    }

    #[test]
    fn each_example_is_read_as_its_command() {
        for (name, examples) in EXAMPLES {
            for example in examples.split(" | ") {
                let read = super::super::parse(&format!("/{example}"));
                let row = read.and_then(|command| command.row).map(Row::name);
                assert_eq!(row, Some(*name), "{example}");
            }
        }
    }
}

//! Advice for command lines whose first word is no command.

use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory};

use crate::cli::{Cli, has_command};
use crate::config::check::looks_secret;
use crate::config::home::quote_for_shell;

/// Words of a command line, with the program's name, that may still be a command with a mistake in its name.
const SENTENCE_WORDS: usize = 3;

/// Commands that are offered for a word that each has below it, such as `edit`; more would not help.
const ELSEWHERE_MAX: usize = 3;

/// Words that people try, and what to type instead.
const TRIED: [(&[&str], &str); 5] = [
    (
        &["logs", "log", "journal"],
        "The service's log is in the system's journal:\n  journalctl -u peacrab -n 100 -f\n\
         (with --user for a service of your own account). In a chat, /logs shows the warnings of the board.",
    ),
    (
        &["man", "manual", "docs"],
        "`peacrab --help` lists the commands, `peacrab COMMAND --help` explains one, and `peacrab config explain` the \
         settings. With the packages comes `man peacrab`.",
    ),
    (
        &["uninstall", "remove", "purge"],
        "To remove Peacrab:\n  peacrab service uninstall\nThen delete the program and the home folder, which `peacrab \
         status` names. It has your settings, conversations and files.",
    ),
    (
        &["stop", "restart", "enable", "disable"],
        "The gateway is a service of systemd:\n  sudo systemctl restart peacrab\n(or stop, or with --user instead of sudo). \
         `peacrab service status` shows how it is.",
    ),
    (
        &["shell", "sh", "term", "exec"],
        "/sh and /term are for chats. Here you have a shell already; `peacrab agent \"…\"` asks the agent to run something.",
    ),
];

/// Advice on what to type instead of an unknown command. Where it is certain, the error no longer suggests similar words.
pub fn advise(error: &mut clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let word = &word.clone();
    let mut program = Cli::command();
    program.build();
    let path = path_above(&error.to_string());
    if !path.is_empty() {
        return siblings(&program, &path).filter(|_| !suggests(error));
    }
    leave_out_hidden(error);
    let line: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .skip_while(|one| one != word)
        .collect();
    let is_tried = tried(word).is_some();
    let below = elsewhere(&program, &line).filter(|_| !is_tried);
    if is_tried || below.is_some() {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Suggested);
    }
    below.or_else(|| advice(word, &line))
}

/// The names of the commands that an error is about, from its usage: none for the program itself.
fn path_above(error: &str) -> Vec<String> {
    let usage = error.lines().find_map(|line| line.strip_prefix("Usage: "));
    let words = usage.unwrap_or_default().split(' ').skip(1);
    let is_name = |word: &&str| word.starts_with(|char: char| char.is_ascii_lowercase());
    words.take_while(is_name).map(str::to_owned).collect()
}

fn suggests(error: &clap::Error) -> bool {
    error.get(ContextKind::SuggestedSubcommand).is_some()
}

/// The commands below one, for those who typed a word that is like none of them.
fn siblings(program: &Command, path: &[String]) -> Option<String> {
    let mut command = program;
    for name in path {
        command = command.find_subcommand(name)?;
    }
    let is_shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    let names = command.get_subcommands().filter(is_shown);
    let names: Vec<&str> = names.map(Command::get_name).collect();
    let path = path.join(" ");
    Some(format!(
        "Commands of `peacrab {path}`: {}. `peacrab {path} --help` explains them.",
        names.join(", ")
    ))
}

/// Commands that have one of this name below them, for a line that has no more than an argument besides.
fn elsewhere(program: &Command, line: &[String]) -> Option<String> {
    let (word, rest) = line.split_first()?;
    let has = |one: &&Command| {
        let below = one.find_subcommand(word);
        !one.is_hide_set() && one.get_name() != "help" && below.is_some_and(|it| !it.is_hide_set())
    };
    let found: Vec<&Command> = program.get_subcommands().filter(has).collect();
    if rest.len() >= SENTENCE_WORDS - 1 || found.is_empty() || found.len() > ELSEWHERE_MAX {
        return None;
    }
    let rest = rest.iter().filter(|word| !looks_secret(word));
    let rest: String = rest
        .map(|word| format!(" {}", quote_for_shell(Path::new(word))))
        .collect();
    let lines = found
        .iter()
        .map(|one| format!("\n  peacrab {} {word}{rest}", one.get_name()));
    Some(format!("Did you mean:{}", lines.collect::<String>()))
}

/// Names that are in no list are suggested only where there are no others.
fn leave_out_hidden(error: &mut clap::Error) {
    let kind = ContextKind::SuggestedSubcommand;
    let Some(ContextValue::Strings(names)) = error.get(kind) else {
        return;
    };
    let shown = names.iter().filter(|name| has_command(name));
    let shown: Vec<String> = shown.cloned().collect();
    if !shown.is_empty() {
        error.insert(kind, ContextValue::Strings(shown));
    }
}

/// The error about an unknown first word, without what its advice makes superfluous. For a sentence, similar commands are
/// left out.
pub fn shorten(error: &str) -> String {
    let is_sentence = std::env::args_os().count() > SENTENCE_WORDS;
    let mut lines = error.lines();
    let head = lines.next().unwrap_or_default();
    let tip = lines.find(|line| line.trim_start().starts_with("tip: "));
    match tip.filter(|_| !is_sentence) {
        Some(tip) => format!("{head}\n{tip}"),
        None => head.to_owned(),
    }
}

fn tried(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let mut rows = TRIED.iter();
    let (_, text) = rows.find(|(words, _)| words.contains(&&*lower))?;
    Some(text)
}

/// `line`: the words from the unknown one on.
fn advice(word: &str, line: &[String]) -> Option<String> {
    if let Some(text) = tried(word) {
        return Some(text.to_owned());
    }
    let is_key = |word: &String| looks_secret(word) && !word.contains('/');
    let is_question = line.len() > 1 || word.contains(char::is_whitespace);
    let is_plain = !line
        .iter()
        .any(|word| word.starts_with('-') || is_key(word));
    (is_question && is_plain).then(|| {
        let question = quote_for_shell(Path::new(&line.join(" ")));
        format!("To ask the agent:\n  peacrab agent {question}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice_for(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        advice(&words[0], &words).unwrap_or_default()
    }

    #[test]
    fn a_question_without_its_command_is_offered_with_it() {
        assert!(advice_for("what time is it").ends_with("peacrab agent 'what time is it'"));
        assert!(advice_for("what's up").ends_with(r"peacrab agent 'what'\''s up'"));
        for line in [
            "stats",
            "what --json is it",
            "ask sk-proj-abcdefghijklmnop0123456789",
        ] {
            assert_eq!(advice_for(line), "", "{line}");
        }
    }

    fn below(line: &str) -> String {
        let mut program = Cli::command();
        program.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        elsewhere(&program, &words).unwrap_or_default()
    }

    #[test]
    fn a_command_of_another_command_is_offered_with_it() {
        assert_eq!(below("pair"), "Did you mean:\n  peacrab channels pair");
        let explain = below("explain temp");
        assert!(
            explain.contains("\n  peacrab config explain temp"),
            "{explain}"
        );
        // Many have it, none has it, or it begins a question.
        for line in ["list", "frobnicate", "explain why it rains"] {
            assert_eq!(below(line), "", "{line}");
        }
    }

    #[test]
    fn below_a_command_its_own_commands_are_named_and_no_question_is_offered() {
        for (line, expected) in [
            (["peacrab", "config", "expain"], None),
            (
                ["peacrab", "channels", "aprove"],
                Some("list, status, pair,"),
            ),
        ] {
            let mut error = Cli::command().try_get_matches_from(line).unwrap_err();
            assert_eq!(path_above(&error.to_string()), [line[1]]);
            let advice = advise(&mut error);
            assert_eq!(suggests(&error), expected.is_none(), "{line:?}");
            match expected {
                None => assert_eq!(advice, None),
                Some(names) => assert!(advice.unwrap().contains(names), "{line:?}"),
            }
        }
    }

    #[test]
    fn a_hidden_command_is_not_suggested() {
        let mut error = Cli::command()
            .try_get_matches_from(["peacrab", "servise"])
            .unwrap_err();
        leave_out_hidden(&mut error);
        let text = error.to_string();
        assert!(
            text.contains("'service'") && !text.contains("'serve'"),
            "{text}"
        );
    }

    #[test]
    fn what_is_advised_is_a_command_and_what_it_is_advised_for_is_none() {
        let command = Cli::command();
        let has = |name: &str| {
            let mut commands = command.get_subcommands();
            commands.any(|one| one.get_name() == name || one.get_all_aliases().any(|it| it == name))
        };
        for (words, text) in TRIED {
            assert!(!words.iter().any(|word| has(word)), "{words:?}");
            for after in text.split("peacrab ").skip(1) {
                let name = after.split(|c: char| !c.is_ascii_lowercase()).next();
                let name = name.filter(|name| !name.is_empty());
                assert!(name.is_none_or(&has), "{name:?}");
            }
        }
    }
}

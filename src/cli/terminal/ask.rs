//! Asks the person at the terminal whether a command may run.

use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::mode::Cooked;
use super::print;
use crate::base::approval::{AlwaysOption, Answer, Cause, Question};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::language::Language;
use crate::base::limits::agent::ANSWER_TIME;
use crate::base::limits::cancel::POLL;
use crate::base::limits::cli::{ANSWER_BYTES, LINE_CHARS};
use crate::channels::delivery::{describe_hidden, describe_rest, reveal_influence};
use crate::channels::kit::texts::approve;
use crate::text::{count_hidden, ends_of, grouped, looks_latin, reveal, reveal_name};
use crate::tools::commands::texts::describe_risk;

/// Characters of a command in the question about it.
const COMMAND_CHARS: usize = 4000;
/// Lines of its beginning and its end.
const COMMAND_LINES: (usize, usize) = (30, 10);

/// Shows the question and waits for y, a or n. Anything else denies it, and so does no answer in time.
pub fn ask(question: &Question, cancel: &Cancel) -> Answer {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Answer::Unattended;
    }
    let _cooked = Cooked::start();
    print::raw_error(&describe(question));
    loop {
        if !wait(cancel) {
            print::raw_error("\n");
            return Answer::TimedOut;
        }
        let mut line = vec![0; ANSWER_BYTES as usize];
        let length = std::io::stdin().lock().read(&mut line).unwrap_or(0);
        match line[..length].trim_ascii().to_ascii_lowercase().as_slice() {
            b"y" | b"yes" => return Answer::Once,
            b"a" | b"always" => match why_once(question.always) {
                None => return Answer::Always,
                Some(why) => {
                    print::raw_error(&format!("\n  {why}\n\n{}", choices(question, false)));
                }
            },
            b"s" | b"show" => {
                let whole = indented(&reveal(&question.command));
                print::raw_error(&format!("\n{whole}\n\n{}", choices(question, false)));
            }
            _ => return Answer::Deny,
        }
    }
}

/// Waits for a line; false when the time is over or the turn is stopped.
pub(super) fn wait(cancel: &Cancel) -> bool {
    let stdin = std::io::stdin();
    let watch = Stopwatch::start();
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: POLL.subsec_nanos().into(),
    };
    while watch.elapsed() < ANSWER_TIME && !cancel.is_cancelled() {
        let ready = poll(
            &mut [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)],
            Some(&slice),
        );
        if ready.is_ok_and(|count| count > 0) {
            return true;
        }
    }
    false
}

fn describe(question: &Question) -> String {
    let Question {
        folder,
        reason,
        influences,
        scripts,
        ..
    } = question;
    let command = reveal(&question.command);
    let ends = ends_of(&command, COMMAND_CHARS, COMMAND_LINES);
    let mut text = format!("\n{}\n\n", describe_title(question));
    match ends {
        None => text += &indented(&command),
        Some((head, left_out, tail)) => {
            let (head, tail) = (indented(head), indented(tail));
            text += &format!(
                "{head}\n  … {} characters left out …\n{tail}",
                grouped(left_out)
            );
        }
    }
    let parts = [&question.command, folder, reason].into_iter();
    let parts = parts
        .chain(influences)
        .chain(scripts.iter().map(|script| &script.head));
    text += "\n\n";
    match parts.map(|part| count_hidden(part)).sum() {
        0 => {}
        count => text += &format!("  {}\n", describe_hidden(Language::English, count)),
    }
    let mut words = question.command.split(|char: char| !char.is_alphanumeric());
    if let Some(word) = words.find(|word| looks_latin(word)) {
        text += &format!(
            "  ⚠ It contains letters that only look like Latin ones: {}\n",
            on_line(&reveal_name(word))
        );
    }
    match &question.cause {
        Cause::Risk(risk) => {
            let what = describe_risk(Language::English, *risk);
            text += &format!("  ⚠ Careful: {what}.\n");
        }
        Cause::Configured => text += "  Asked because tools.exec.approval is \"always\".\n",
        Cause::Unsandboxed | Cause::Input { .. } | Cause::Tool { .. } | Cause::Fetch { .. } => {}
    }
    if !influences.is_empty() {
        let names = influences
            .iter()
            .take(COMMAND_LINES.0)
            .map(|name| on_line(&reveal_influence(name)));
        let names = names.collect::<Vec<_>>().join(", ");
        text += "  ⚠ The agent can change files here that this command may run: ";
        text += &format!("{names}\n");
    }
    for script in scripts.iter().take(COMMAND_LINES.1) {
        let head = reveal(&script.head);
        let head =
            ends_of(&head, LINE_CHARS, (COMMAND_LINES.1, 0)).map_or(&*head, |(head, ..)| head);
        let rest = describe_rest(Language::English, script, head);
        let rest = rest.map_or_else(String::new, |rest| format!("  {rest}\n"));
        let path = on_line(&reveal_name(&script.path));
        let head = indented(head.trim_end());
        if script.is_missing {
            text += &format!("  {path} (does not exist yet)\n");
        } else {
            text += &format!("  {path} ({} bytes):\n{head}\n{rest}", script.bytes);
        }
    }
    let (label, reason) = match (&question.cause, reason.as_str()) {
        (Cause::Tool { description, .. }, _) => ("does  ", description.as_str()),
        (_, "") => ("reason", "(none given)"),
        (_, reason) => ("reason", reason),
    };
    text += &format!(
        "  folder  {}\n  {label}  {}\n\n{}",
        on_line(&reveal_name(folder)),
        on_line(reason),
        choices(question, ends.is_some()),
    );
    text
}

fn describe_title(question: &Question) -> String {
    let account = on_line(&question.account);
    match (&question.cause, question.unsandboxed) {
        (Cause::Input { session, command }, _) => {
            let command = on_line(command);
            format!(
                "The agent wants to send input to session {session}, which runs outside the sandbox as {account} \
                 ({command}):"
            )
        }
        (
            Cause::Tool {
                name, is_changed, ..
            },
            _,
        ) => {
            let name = on_line(name);
            if *is_changed {
                format!(
                    "The agent wants to use the tool {name}, which has changed since you allowed it, in the sandbox:"
                )
            } else {
                format!("The agent wants to use the new tool {name} in the sandbox:")
            }
        }
        (_, true) => {
            format!("The agent wants to run a command outside the sandbox, as {account}:")
        }
        (_, false) => "The agent wants to run a command in the sandbox:".to_owned(),
    }
}

fn choices(question: &Question, is_cut: bool) -> String {
    let always = match (&question.cause, question.always) {
        (Cause::Input { .. }, AlwaysOption::Offered) => "  [a] allow all its input",
        (Cause::Tool { .. }, AlwaysOption::Offered) => "  [a] always allow this tool as it is",
        (_, AlwaysOption::Offered) => "  [a] always allow this exact command",
        _ => "",
    };
    let show = if is_cut { "  [s] show all of it" } else { "" };
    format!("Run it? [y] once{always}{show}  [N] no: ")
}

/// Why a command cannot be allowed always; `None` when it can.
fn why_once(always: AlwaysOption) -> Option<String> {
    let english = Language::English;
    match always {
        AlwaysOption::Offered => None,
        AlwaysOption::TooRisky(risk) => {
            Some(approve::too_risky(english, &describe_risk(english, risk)))
        }
        AlwaysOption::Changeable => Some(approve::changeable(english).to_owned()),
        AlwaysOption::Terminal => Some(approve::terminal(english).to_owned()),
        AlwaysOption::Other => Some(approve::for_other(english).to_owned()),
        AlwaysOption::Subagent => Some(approve::of_subagent(english).to_owned()),
    }
}

/// The lines of a text in which everything is visible, indented.
fn indented(text: &str) -> String {
    let lines = text.replace('\t', "\\t");
    let lines = lines.split('\n').map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A text of the model on one line, with what is invisible spelt out.
fn on_line(text: &str) -> String {
    let text = reveal(text).replace('\n', "\\n").replace('\t', "\\t");
    match ends_of(&text, LINE_CHARS, (LINE_CHARS, LINE_CHARS)) {
        None => text,
        Some((head, left_out, tail)) => {
            format!(
                "{head} … {} characters left out … {tail}",
                grouped(left_out)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::approval::Risk;

    #[test]
    fn the_person_sees_exactly_what_will_run() {
        let question = Question {
            command: "echo ok\nrm -rf x\r\x1b[2Kls \u{202e}".into(),
            folder: "/w".into(),
            reason: "to\nclean".into(),
            account: "pi".into(),
            unsandboxed: true,
            ..Question::default()
        };
        let shown = describe(&question);
        assert!(
            shown.contains(
                "outside the sandbox, as pi:\n\n    echo ok\n    rm -rf x\\r\\u{1b}[2Kls \\u{202e}\n"
            ),
            "{shown}"
        );
        assert!(shown.contains("reason  to\\nclean\n"), "{shown}");
        assert!(shown.contains("outside the sandbox, as "), "{shown}");
        assert!(!shown.contains("rule"), "it is said above: {shown}");
    }

    #[test]
    fn what_hides_or_is_too_long_does_not_push_the_rest_away() {
        let question = Question {
            command: format!("first\n{}last\u{200b}", "\n".repeat(9_000)),
            folder: "/w".into(),
            reason: "r\n".repeat(9_000),
            cause: Cause::Risk(Risk::Power),
            always: AlwaysOption::TooRisky(Risk::Power),
            influences: vec![".git".into(), "Make\x1bfile".into()],
            scripts: vec![crate::base::approval::Script {
                path: "a.sh".into(),
                bytes: 7,
                head: "echo a\n".into(),
                lines: 1,
                is_missing: false,
            }],
            ..Question::default()
        };
        let shown = describe(&question);
        assert!(shown.lines().count() < 70, "{shown}");
        for part in [
            "\n    first\n",
            " characters left out …\n",
            "last\\u{200b}\n",
            "⚠ Invisible characters: 2, shown",
            "⚠ Careful: it would shut the board down or restart it.",
            "Run it? [y] once  [s]",
            "may run: .git, Makefile = Make\\u{1b}file\n",
            "  a.sh (7 bytes):\n    echo a\n",
            "[s] show all of it",
        ] {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
    }
}

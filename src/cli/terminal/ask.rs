//! Asks the person at the terminal whether a command may run.

use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};

use super::markdown::visible;
use super::print;
use crate::approval::{Answer, Question};
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::limits::agent::ANSWER_TIME;
use crate::limits::cancel::POLL;
use crate::limits::cli::ANSWER_BYTES;

/// Shows the question and waits for y, a or n. Anything else denies it, and so does silence.
pub fn ask(question: &Question, cancel: &Cancel) -> Answer {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Answer::Nobody;
    }
    // What was typed before the question was there is no answer to it.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    print::raw_error(&shown(question));
    if !wait(cancel) {
        print::raw_error("\n");
        return Answer::Late;
    }
    let mut line = vec![0; ANSWER_BYTES as usize];
    let length = std::io::stdin().lock().read(&mut line).unwrap_or(0);
    match line[..length].trim_ascii().to_ascii_lowercase().as_slice() {
        b"y" | b"yes" => Answer::Once,
        b"a" | b"always" => Answer::Always,
        _ => Answer::Deny,
    }
}

/// Waits for a line; false when the time is over or the turn is stopped.
fn wait(cancel: &Cancel) -> bool {
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

fn shown(question: &Question) -> String {
    let place = if question.unsandboxed {
        " outside the sandbox"
    } else {
        ""
    };
    format!(
        "\nThe agent wants to run a command{place}:\n\n{}\n\n  folder  {}\n  rule    {}\n  reason  {}\n\n\
         Run it? [y] once  [a] always exactly this  [N] no: ",
        exact(&question.command),
        escaped(&question.folder),
        escaped(&question.rule),
        escaped(if question.reason.is_empty() {
            "(none given)"
        } else {
            &question.reason
        }),
    )
}

/// The command as it will be run, line by line; what cannot be seen is spelt out.
fn exact(command: &str) -> String {
    let lines = command
        .split('\n')
        .map(|line| format!("    {}", escaped(line)));
    lines.collect::<Vec<_>>().join("\n")
}

fn escaped(text: &str) -> String {
    let spelt = |letter: char| match visible(letter) && letter != '\n' && letter != '\t' {
        true => letter.to_string(),
        false => letter.escape_default().to_string(),
    };
    text.chars().map(spelt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_sees_exactly_what_will_run() {
        let question = Question {
            command: "echo ok\nrm -rf x\r\x1b[2Kls \u{202e}".into(),
            folder: "/w".into(),
            reason: "to\nclean".into(),
            rule: "it wants to run outside the sandbox".into(),
            unsandboxed: true,
            ..Question::default()
        };
        let shown = shown(&question);
        assert!(
            shown.contains(
                "outside the sandbox:\n\n    echo ok\n    rm -rf x\\r\\u{1b}[2Kls \\u{202e}\n"
            ),
            "{shown}"
        );
        assert!(shown.contains("reason  to\\nclean\n"), "{shown}");
    }
}

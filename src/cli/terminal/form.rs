//! Asks the person at the terminal what a server of tools wants to know.

use std::io::{IsTerminal, Read};

use super::ask::wait;
use super::mode::Cooked;
use super::{print, texts};
use crate::agent::interview::{Asked, Interview, Reply, Wanted, shown_default, shown_edge};
use crate::base::cancel::Cancel;
use crate::base::chat::{Choice, Field, FieldKind, InputAnswer, InputRequest, TextForm};
use crate::base::limits::cli::{ANSWER_BYTES, LINE_CHARS};
use crate::text::{one_line, reveal};

/// Asks value by value. Without a terminal, and when no answer comes in time, there is none.
pub fn fill_in(request: &InputRequest, cancel: &Cancel) -> InputAnswer {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return InputAnswer::Cancelled;
    }
    let cooked = Cooked::start();
    let mut interview = Interview::new(request);
    print::raw_error(&opening(request));
    while let Some(asked) = interview.asked() {
        cooked.forget_typed();
        print::raw_error(&describe(asked));
        loop {
            print::raw_error("  > ");
            let Some(line) = read_line(cancel) else {
                print::raw_error("\n");
                return InputAnswer::Cancelled;
            };
            match interview.take(&reply(&line, asked)) {
                Ok(Some(answer)) => return answer,
                Ok(None) => break,
                Err(wanted) => print::raw_error(&format!("  {}\n", describe_wanted(&wanted))),
            }
        }
    }
    InputAnswer::Cancelled
}

/// Asks for one line; `None` at the end of the input, of the time, or when it is cancelled.
pub fn ask_line(prompt: &str, cancel: &Cancel) -> Option<String> {
    print::raw_error(prompt);
    read_line(cancel)
}

/// A line; `None` at the end of the input, of the time, or of the turn.
fn read_line(cancel: &Cancel) -> Option<String> {
    if !wait(cancel) {
        return None;
    }
    let mut line = vec![0; ANSWER_BYTES as usize];
    let length = std::io::stdin().lock().read(&mut line).unwrap_or(0);
    let read = line.get(..length).filter(|line| !line.is_empty())?;
    Some(String::from_utf8_lossy(read).trim().to_owned())
}

fn reply(line: &str, asked: Asked<'_>) -> Reply {
    match (line, asked) {
        ("!", _) => Reply::Decline,
        ("", Asked::Field(_)) => Reply::Skip,
        ("", Asked::Page(_)) => Reply::Accept,
        _ => Reply::Text(line.to_owned()),
    }
}

fn opening(request: &InputRequest) -> String {
    let server = one_line(&request.server, LINE_CHARS);
    let message = reveal(request.message.trim());
    let lines = message.lines().map(|line| format!("    {line}\n"));
    let message: String = lines.collect();
    format!("\n{}\n{message}", texts::server_asks(&server))
}

fn describe(asked: Asked<'_>) -> String {
    match asked {
        Asked::Field(field) => describe_field(field),
        Asked::Consent => "\n  May it go on? yes, or ! to decline.\n".to_owned(),
        Asked::Page(url) => format!(
            "\n  It asks you to open this page; check that you know the site:\n\n{}\n\n  Press Enter when you have done it, or ! to decline.\n",
            reveal(url)
        ),
        Asked::Login(url) => format!(
            "\n  Open this address in a browser and sign in:\n\n{}\n\n  {}, or ! to decline.\n",
            reveal(url),
            texts::PASTE_ADDRESS
        ),
    }
}

fn describe_field(field: &Field) -> String {
    let title = one_line(&field.title, LINE_CHARS);
    let description = one_line(&field.description, LINE_CHARS);
    let mut text = if description.is_empty() {
        format!("\n  {title}\n")
    } else {
        format!("\n  {title}: {description}\n")
    };
    if let FieldKind::Choice(of) | FieldKind::Choices { of, .. } = &field.kind {
        text.push_str(&list(of));
    }
    let how = match &field.kind {
        FieldKind::Text { form, .. } => name_of(*form),
        FieldKind::Number { is_whole: true, .. } => "a whole number",
        FieldKind::Number { .. } => "a number",
        FieldKind::Flag => "yes or no",
        FieldKind::Choice(_) => "one of them",
        FieldKind::Choices { .. } => "their numbers, with commas between them",
    };
    let enter = match shown_default(field) {
        Some(value) => format!("; Enter: {}", one_line(&value, LINE_CHARS)),
        None if !field.is_required => "; Enter: nothing".to_owned(),
        None => String::new(),
    };
    format!("{text}  ({how}{enter}; ! declines)\n")
}

fn list(of: &[Choice]) -> String {
    let line = |(at, one): (usize, &Choice)| {
        format!("    {}. {}\n", at + 1, one_line(&one.title, LINE_CHARS))
    };
    of.iter().enumerate().map(line).collect()
}

fn describe_wanted(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Choice => "Type one of them, or its number.".to_owned(),
        Wanted::Choices(least, most) => {
            format!("Type {least} to {most} numbers, with commas between them.")
        }
        Wanted::Flag => "Type yes or no.".to_owned(),
        Wanted::Number(is_whole, least, most) => {
            let what = if *is_whole {
                "a whole number"
            } else {
                "a number"
            };
            format!(
                "Type {what} ({} to {}).",
                shown_edge(*least),
                shown_edge(*most)
            )
        }
        Wanted::Something => "This cannot be left out.".to_owned(),
        Wanted::Text(least, usize::MAX, TextForm::Free) => {
            format!("Type at least {least} characters.")
        }
        Wanted::Text(least, most, TextForm::Free) => format!("Type {least} to {most} characters."),
        Wanted::Text(_, _, form) => format!("Type {}.", name_of(*form)),
        Wanted::Address => format!("{}.", texts::PASTE_ADDRESS),
        Wanted::Button => "Type yes, or ! to decline.".to_owned(),
    }
}

fn name_of(form: TextForm) -> &'static str {
    match form {
        TextForm::Free => "words",
        TextForm::Email => "an e-mail address",
        TextForm::Uri => "an address such as https://example.org",
        TextForm::Date => "a date such as 2026-11-30",
        TextForm::DateTime => "a time such as 2026-11-30T17:30:00+01:00",
    }
}

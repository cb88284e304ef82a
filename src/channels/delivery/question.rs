//! What people read when they are asked for an approval. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::approval::{Answer, Question};
use crate::error::{Error, Result};
use crate::limits::agent::ANSWER_TIME;
use crate::limits::channels::{
    QUESTION_CHARS, QUESTION_LINES, QUESTION_NAME_CHARS, QUESTION_NAMES, QUESTION_TEXT_CHARS,
    SCRIPT_CHARS_MIN, SCRIPT_LINES,
};
use crate::markup::{self, Piece};
use crate::text::{count_hidden, count_of, ends_of, looks_latin, one_line, reveal};

/// A question as one message.
pub(super) struct Asked {
    /// The message: title, command, what is known about it, how to answer.
    pub piece: Option<Piece>,
    /// Whether a part of the command is left out in it: then all of it goes before, as a file.
    pub is_cut: bool,
}

/// The question, or what stands in its place once it is over. It is always one message, because the
/// buttons stand below what they are about: what the model wrote is cut until `render` makes one piece.
pub(super) fn ask(
    number: u64,
    question: &Question,
    outcome: Option<&str>,
    render: &dyn Fn(&str) -> Vec<Piece>,
) -> Asked {
    let minutes = ANSWER_TIME.as_secs() / 60;
    let mut rooms = QUESTION_CHARS.into_iter().peekable();
    while let Some(room) = rooms.next() {
        let (text, is_cut) = describe(question, room);
        let mut pieces = render(&format!(
            "{text}\n\nExpires in {minutes} minutes. You can also type /approve {number} or /deny {number}."
        ));
        if pieces.len() > 1 && rooms.peek().is_some() {
            continue;
        }
        // How it came out is shorter than how to answer.
        if let Some(outcome) = outcome {
            pieces = render(&format!("{text}\n\n**{outcome}**"));
        }
        let piece = pieces.into_iter().next();
        return Asked { piece, is_cut };
    }
    Asked {
        piece: None,
        is_cut: false,
    }
}

/// An answer as it stands below its question.
pub fn render_outcome(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "✓ Allowed once",
        Answer::Always | Answer::Standing => "✓ Always allowed",
        Answer::Deny => "✗ Denied",
        Answer::Late => "✗ Denied: no answer in time",
        Answer::Nobody => "✗ Denied: nobody to ask",
    }
}

/// The question as Markdown, with at most `room` characters of the command, and whether that is not
/// all of it. What the model wrote is code throughout, so that none of it can pose as a text of ours.
fn describe(question: &Question, room: usize) -> (String, bool) {
    let mut text = match (question.unsandboxed, rustix::process::geteuid().is_root()) {
        (true, true) => "Run this **outside the sandbox**, as root?\n",
        (true, false) => "Run this **outside the sandbox**, with all rights of this account?\n",
        (false, _) => "Run this in the sandbox?\n",
    }
    .to_owned();
    let command = reveal(&question.command);
    let ends = ends_of(&command, room, QUESTION_LINES);
    match ends {
        None => text += &code(&command, "sh"),
        Some((head, left_out, tail)) => {
            let (left_out, all) = (grouped(left_out), grouped(question.command.chars().count()));
            text += &code(head, "sh");
            text += &format!("**… {left_out} characters left out …**\n");
            text += &code(tail, "sh");
            text += &format!("It has {all} characters; the file above has all of them.\n");
        }
    }
    let _ = write!(text, "\nFolder: {}", short(&question.folder, room));
    write_dangers(&mut text, question, room);
    // Ours, but it may name a part of the command.
    let rule = one_line(
        question.rule.trim_end_matches('.'),
        QUESTION_TEXT_CHARS.min(room),
    );
    let _ = write!(text, "\nWhy I'm asking: {}.", markup::plain(&rule));
    if !question.reason.trim().is_empty() {
        let reason = short(question.reason.trim(), room);
        let _ = write!(text, "\nReason: {reason}");
    }
    (text, ends.is_some())
}

/// What makes the command do something else than it seems to.
fn write_dangers(text: &mut String, question: &Question, room: usize) {
    let Question {
        command,
        folder,
        reason,
        influences,
        scripts,
        ..
    } = question;
    let of_scripts = scripts
        .iter()
        .flat_map(|script| [&script.path, &script.head]);
    let all = [command, folder, reason].into_iter().chain(influences);
    let all = all.chain(of_scripts);
    if let Some(warning) = describe_hidden(all.map(|text| count_hidden(text)).sum()) {
        let _ = write!(text, "\n⚠ {warning}");
    }
    let is_part = |char: char| char.is_alphanumeric();
    if let Some(word) = command
        .split(|c| !is_part(c))
        .find(|word| looks_latin(word))
    {
        let word = short(word, QUESTION_NAME_CHARS);
        let _ = write!(
            text,
            "\n⚠ It contains letters that only look like Latin ones: {word}."
        );
    }
    if !influences.is_empty() {
        let names = influences.iter().take(QUESTION_NAMES);
        let names: Vec<String> = names.map(|name| short(name, QUESTION_NAME_CHARS)).collect();
        let names = names.join(", ");
        let more = and_more(influences.len());
        let _ = write!(
            text,
            "\n⚠ The agent can change files here that this command may run: {names}{more}."
        );
    }
    for script in scripts.iter().take(QUESTION_NAMES) {
        let name = short(&script.path, QUESTION_NAME_CHARS);
        let bytes = grouped(usize::try_from(script.bytes).unwrap_or(usize::MAX));
        let head = reveal(&script.head);
        let room = room / 4 / scripts.len().min(QUESTION_NAMES);
        let head = match ends_of(&head, room, (SCRIPT_LINES, 0)) {
            Some((head, ..)) => head,
            None => &head,
        };
        let _ = match head.trim().is_empty() || room < SCRIPT_CHARS_MIN {
            true => write!(text, "\n{name} ({bytes} bytes)"),
            false => write!(text, "\n{name} ({bytes} bytes):\n{}", code(head, "")),
        };
    }
    if scripts.len() > QUESTION_NAMES {
        let _ = write!(text, "\n…{} files that it runs", and_more(scripts.len()));
    }
}

/// The whole command as a file, in memory: within the workspace the model could change it.
pub(super) fn as_file(question: &Question) -> Result<File> {
    let name = c"command";
    let file = memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
    let filled = file.map_err(Into::into).and_then(|mut file| {
        file.write_all(question.command.as_bytes())?;
        file.rewind().map(|()| file)
    });
    filled.map_err(Error::io("keep", "a command"))
}

/// A warning about so many invisible characters; `None` where there are none.
pub fn describe_hidden(count: usize) -> Option<String> {
    let count = Some(count).filter(|count| *count > 0)?;
    let what = count_of(count, "invisible character", "invisible characters");
    Some(format!("It contains {what}, shown as `\\u{{…}}`."))
}

fn and_more(count: usize) -> String {
    match count.saturating_sub(QUESTION_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// A code block with a text that was revealed and cut. The beginning of a line that the reader of
/// Markdown would be lost in is spelt out, or it would show our fences instead of reading them.
fn code(text: &str, language: &str) -> String {
    let lines = text.split('\n').map(|line| match line.chars().next() {
        Some(first) if markup::is_deep(line) => {
            let rest = &line[first.len_utf8()..];
            Cow::Owned(format!("{}{rest}", first.escape_unicode()))
        }
        _ => Cow::Borrowed(line),
    });
    markup::code_block(&lines.collect::<Vec<_>>().join("\n"), language)
}

/// A text as code on one line, with its beginning and its end when it is long.
fn short(text: &str, room: usize) -> String {
    let text = markup::inline_text(text);
    let room = room.min(QUESTION_TEXT_CHARS);
    match ends_of(&text, room, (usize::MAX / 2, usize::MAX / 2)) {
        None => markup::inline_code(&text),
        Some((head, _, tail)) => {
            let (head, tail) = (markup::inline_code(head), markup::inline_code(tail));
            format!("{head} … {tail}")
        }
    }
}

/// A number with its thousands apart, such as 15,204.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;

//! What people read when they are asked for an approval. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::base::approval::{AlwaysOption, Answer, Cause, Question, Script};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::agent::ANSWER_TIME;
use crate::channels::kit::texts::answers::{by as by_whom, outcome};
use crate::channels::kit::texts::question as texts;
use crate::text::markup::{self, Piece};
use crate::text::{
    count_hidden, ellipsize_chars, ends_of, grouped, looks_latin, reveal, reveal_name,
};
use crate::tools::commands::texts::describe_risk;

/// Characters of a command in the question about it: the first number with which the question is one
/// message of the channel.
const QUESTION_CHARS: [usize; 5] = [3200, 1600, 800, 400, 150];
/// Lines of a narrow screen that a command's beginning and its end may take in a question.
const QUESTION_LINES: (usize, usize) = (30, 10);
/// Characters of the model's reason and of the folder in a question.
const QUESTION_TEXT_CHARS: usize = 300;
/// Characters of a line of code where it looks like all else: fewer bytes than the shortest line of a channel.
const BARE_CHARS: usize = 80;
/// Names of files in a question, and characters of each.
const QUESTION_NAMES: usize = 4;
/// See [`QUESTION_NAMES`].
const QUESTION_NAME_CHARS: usize = 60;
/// Characters of a command that is named once its question is over, or in a list: two lines of a phone.
const NAMED_CHARS: usize = 100;
/// Lines of a script that a question shows.
const SCRIPT_LINES: usize = 8;
/// Characters below which the beginning of a script says nothing.
const SCRIPT_CHARS_MIN: usize = 40;

/// The person who is asked for an approval.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Their language.
    pub language: Language,
    /// Their id, where they alone are to see the question in a group; may be empty.
    pub only_for: &'a str,
}

/// A question to the people of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChatQuestion {
    /// The number that it is answered by.
    pub number: u64,
    /// What is asked.
    pub question: Question,
    /// The language of the person who is asked.
    pub language: Language,
    /// Who alone is to see it in a group; may be empty.
    pub only_for: String,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// The answer.
    pub answer: Answer,
    /// The name of the person who gave it; may be empty. It may be anything.
    pub by: String,
}

impl Settled {
    /// Whether a person has answered.
    pub fn is_by_person(&self) -> bool {
        let by_person = [
            Answer::Once,
            Answer::Always,
            Answer::Everything,
            Answer::Deny,
        ];
        by_person.contains(&self.answer)
    }

    /// What became of it and of which command, as a line of Markdown.
    pub fn describe(&self, asked: &ChatQuestion) -> String {
        let language = asked.language;
        let outcome = outcome(language, self.answer);
        let outcome = match self.by.trim() {
            "" => format!("**{outcome}**"),
            by => by_whom(language, &outcome, &markup::plain(&short_name(by))),
        };
        format!("{outcome}: {}", name_command(&asked.question))
    }
}

/// What a question is about, within a line of Markdown.
pub fn name_command(question: &Question) -> String {
    let what = match &question.cause {
        Cause::Tool { name, .. } => name,
        Cause::Fetch { path, .. } => path,
        _ => &question.command,
    };
    let what = markup::inline_text(what.trim());
    markup::inline_code(&ellipsize_chars(&what, NAMED_CHARS))
}

/// A person's name on one line.
fn short_name(name: &str) -> String {
    ellipsize_chars(&markup::inline_text(name), QUESTION_NAME_CHARS).into_owned()
}

/// A question as one message.
pub(super) struct Rendered {
    /// The message: title, command, what is known about it, how to answer.
    pub piece: Option<Piece>,
    /// Whether a part of the command is left out in it: then all of it goes before, as a file.
    pub is_cut: bool,
}

/// Renders a question, or its outcome once it is over; `choices` says how to answer without buttons. It is always one message, because the buttons
/// stand below what they are about: what the model wrote is cut until `render` makes one piece.
pub(super) fn render_question(
    asked: &ChatQuestion,
    settled: Option<&Settled>,
    choices: &str,
    render: &dyn Fn(&str) -> Vec<Piece>,
) -> Rendered {
    if let Some(settled) = settled {
        let piece = render(&settled.describe(asked)).into_iter().next();
        return Rendered {
            piece,
            is_cut: false,
        };
    }
    let (language, minutes) = (asked.language, ANSWER_TIME.as_secs() / 60);
    let mut expires = texts::expires(language, &minutes, &asked.number);
    if !choices.is_empty() {
        expires.push('\n');
        expires.push_str(choices);
    }
    let is_bare = is_bare(render);
    let mut rooms = QUESTION_CHARS.into_iter().peekable();
    while let Some(chars) = rooms.next() {
        let (text, is_cut) = describe(asked, Room { chars, is_bare });
        let pieces = render(&format!("{text}\n\n{expires}"));
        if pieces.len() > 1 && rooms.peek().is_some() {
            continue;
        }
        let piece = pieces.into_iter().next();
        return Rendered { piece, is_cut };
    }
    Rendered {
        piece: None,
        is_cut: false,
    }
}

/// How what the model wrote is shown in a question.
#[derive(Clone, Copy)]
struct Room {
    /// Characters of it.
    chars: usize,
    /// Whether the channel shows code as it shows all else. Then each line of it has a mark.
    is_bare: bool,
}

/// The question as Markdown, with as much of the command as there is room for, and whether that is not
/// all of it. What the model wrote is code throughout, so that none of it can pose as a text of ours.
fn describe(asked: &ChatQuestion, room: Room) -> (String, bool) {
    let ChatQuestion {
        question, language, ..
    } = asked;
    let language = *language;
    let account = markup::plain(&question.account);
    let mut text = match (&question.cause, question.unsandboxed) {
        (Cause::Input { session, command }, _) => {
            texts::title_input(language, &room.short(command), session, &account)
        }
        (
            Cause::Tool {
                name, is_changed, ..
            },
            _,
        ) => {
            let title = if *is_changed {
                texts::title_changed_tool
            } else {
                texts::title_tool
            };
            title(language, &room.short(name))
        }
        (Cause::Fetch { path, .. }, _) => {
            texts::title_fetch(language, &room.short(&reveal_name(path)), &account)
        }
        (_, true) => texts::title_unsandboxed(language, &account),
        (_, false) => texts::title_sandboxed(language).to_owned(),
    };
    text.push('\n');
    let command = reveal(&question.command);
    let ends = ends_of(&command, room.chars, QUESTION_LINES);
    match ends {
        None => text += &room.code(&command, "sh"),
        Some((head, left_out, tail)) => {
            let (left_out, all) = (grouped(left_out), grouped(question.command.chars().count()));
            text += &room.code(head, "sh");
            let _ = writeln!(text, "{}", texts::left_out(language, &left_out));
            text += &room.code(tail, "sh");
            let _ = writeln!(text, "{}", texts::see_file(language, &all));
        }
    }
    if !question.asked_for.is_empty() {
        let person = room.name(&question.asked_for);
        let _ = write!(text, "\n{}", texts::asked_for(language, &person));
    }
    let folder = room.short(&reveal_name(&question.folder));
    let _ = write!(text, "\n{}", texts::folder(language, &folder));
    write_warnings(&mut text, asked, room);
    match &question.cause {
        Cause::Unsandboxed | Cause::Risk(_) | Cause::Fetch { .. } => {}
        Cause::Configured => {
            let _ = write!(text, "\n{}", texts::configured(language));
        }
        Cause::Input { .. } if question.always != AlwaysOption::Offered => {}
        Cause::Input { .. } => {
            let _ = write!(text, "\n{}", texts::all_input(language));
        }
        Cause::Tool { description, .. } => {
            let description = room.short(description);
            let _ = write!(text, "\n{}", texts::describes(language, &description));
        }
    }
    if !question.reason.trim().is_empty() {
        let reason = room.short(question.reason.trim());
        let _ = write!(text, "\n{}", texts::reason(language, &reason));
    }
    (text, ends.is_some())
}

/// What the person should know before they allow it: what it would destroy, and what makes it do
/// something else than it seems to.
fn write_warnings(text: &mut String, asked: &ChatQuestion, room: Room) {
    let language = asked.language;
    let Question {
        command,
        folder,
        reason,
        influences,
        scripts,
        ..
    } = &asked.question;
    let mut warn = |warning: String| {
        let _ = write!(text, "\n{warning}");
    };
    match asked.question.cause {
        Cause::Risk(risk) => warn(texts::risk(language, &describe_risk(language, risk))),
        Cause::Fetch { is_own: true, .. } => warn(texts::own_file(language).to_owned()),
        _ => {}
    }
    let of_scripts = scripts
        .iter()
        .flat_map(|script| [&script.path, &script.head]);
    let all = [command, folder, reason].into_iter().chain(influences);
    let all = all.chain(of_scripts);
    match all.map(|text| count_hidden(text)).sum() {
        0 => {}
        count => warn(describe_hidden(language, count)),
    }
    let is_part = |char: char| char.is_alphanumeric();
    let words = command
        .split(|c| !is_part(c))
        .filter(|word| looks_latin(word));
    let words: Vec<String> = words
        .take(QUESTION_NAMES)
        .map(|word| room.name(&reveal_name(word)))
        .collect();
    if !words.is_empty() {
        warn(texts::lookalike(language, &words.join(", ")));
    }
    if !influences.is_empty() {
        let names = influences.iter().take(QUESTION_NAMES);
        let names: Vec<String> = names
            .map(|name| room.name(&reveal_influence(name)))
            .collect();
        let names = names.join(", ");
        warn(texts::influences(
            language,
            &match influences.len().saturating_sub(QUESTION_NAMES) {
                0 => names,
                more => texts::and_more(language, &names, &more),
            },
        ));
    }
    for script in scripts.iter().take(QUESTION_NAMES) {
        let name = room.name(&reveal_name(&script.path));
        let bytes = grouped(usize::try_from(script.bytes).unwrap_or(usize::MAX));
        let name = if script.is_missing {
            texts::missing_script(language, &name)
        } else {
            texts::script(language, &name, &bytes)
        };
        let head = reveal(&script.head);
        let chars = room.chars / 4 / scripts.len().min(QUESTION_NAMES);
        let head = match ends_of(&head, chars, (SCRIPT_LINES, 0)) {
            _ if chars < SCRIPT_CHARS_MIN => "",
            Some((head, ..)) => head,
            None => &head,
        };
        let name = if head.trim().is_empty() {
            name
        } else {
            format!("{name}:\n{}", room.code(head, ""))
        };
        warn(match describe_rest(language, script, head) {
            Some(rest) => format!("{}\n{rest}", name.trim_end_matches('\n')),
            None => name,
        });
    }
    if scripts.len() > QUESTION_NAMES {
        let more = scripts.len() - QUESTION_NAMES;
        warn(texts::more_scripts(language, &more));
    }
}

/// The name of what influences a command, or of a link with where it leads, with invisible characters spelt out.
pub fn reveal_influence(name: &str) -> String {
    match name.split_once(" → ") {
        Some((link, target)) => format!("{} → {}", reveal_name(link), reveal_name(target)),
        None => reveal_name(name).into_owned(),
    }
}

/// What of a script is not shown where this is shown of its beginning; `None` when all of it is.
pub fn describe_rest(language: Language, script: &Script, shown: &str) -> Option<String> {
    if script.is_missing || script.bytes == 0 {
        return None;
    }
    if script.lines == 0 || script.head.is_empty() && script.bytes > script.lines {
        return Some(texts::not_text(language).to_owned());
    }
    let head = reveal(&script.head);
    if script.is_whole() && shown.trim_end() == head.trim_end() {
        return None;
    }
    let known: Vec<&str> = head.lines().collect();
    let whole = shown
        .lines()
        .zip(&known)
        .take_while(|(shown, line)| shown == *line);
    let whole = whole.count();
    // The last line that is known may go on.
    let is_open = whole == known.len() && !script.is_whole();
    let left = script.lines.saturating_sub(whole as u64) + u64::from(is_open && whole > 0);
    let number = |count: u64| grouped(usize::try_from(count).unwrap_or(usize::MAX));
    (left > 0).then(|| texts::not_shown(language, &number(left), &number(script.lines)))
}

/// A whole command as Markdown, in as many messages as it takes.
pub(super) fn whole(command: &str, render: &dyn Fn(&str) -> Vec<Piece>) -> Vec<Piece> {
    let room = Room {
        chars: usize::MAX,
        is_bare: is_bare(render),
    };
    render(&room.code(&reveal(command), "sh"))
}

/// A whole command or message as a file, in memory: within the workspace the model could change it.
pub(super) fn as_file(text: &str) -> Result<File> {
    let name = c"text";
    let file = memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
    let filled = file.map_err(Into::into).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind().map(|()| file)
    });
    filled.map_err(Error::io("keep", "a file in memory"))
}

/// A warning about so many invisible characters.
pub fn describe_hidden(language: Language, count: usize) -> String {
    texts::hidden(language, &count)
}

impl Room {
    /// A code block with a text that was revealed and cut. The beginning of a line that the reader of
    /// Markdown would be lost in is spelt out, or it would show our fences instead of reading them.
    fn code(self, text: &str, language: &str) -> String {
        let lines = text.split('\n').map(|line| match line.chars().next() {
            Some(first) if markup::is_deep(line) => {
                let rest = &line[first.len_utf8()..];
                Cow::Owned(format!("{}{rest}", first.escape_unicode()))
            }
            _ => Cow::Borrowed(line),
        });
        let lines = lines.map(|line| {
            if self.is_bare {
                Cow::Owned(marked(&line))
            } else {
                line
            }
        });
        markup::code_block(&lines.collect::<Vec<_>>().join("\n"), language)
    }

    /// A text as code on one line, with its beginning and its end when it is long.
    fn short(self, text: &str) -> String {
        let text = markup::inline_text(text);
        let most = if self.is_bare {
            BARE_CHARS
        } else {
            QUESTION_TEXT_CHARS
        };
        match ends_of(
            &text,
            self.chars.min(most),
            (usize::MAX / 2, usize::MAX / 2),
        ) {
            None => markup::inline_code(&text),
            Some((head, _, tail)) => {
                let (head, tail) = (markup::inline_code(head), markup::inline_code(tail));
                format!("{head} … {tail}")
            }
        }
    }

    /// A name as code on one line.
    fn name(self, name: &str) -> String {
        let chars = QUESTION_NAME_CHARS;
        Self { chars, ..self }.short(name)
    }
}

/// Whether a channel shows code as it shows all else.
fn is_bare(render: &dyn Fn(&str) -> Vec<Piece>) -> bool {
    let example = render("`code`").into_iter().next();
    example.is_some_and(|piece| piece.written == "code")
}

/// A line of code in parts that no channel breaks, each behind a mark: what follows a break of the channel's own would
/// stand where a line of ours begins.
fn marked(line: &str) -> String {
    let mut marked = "| ".to_owned();
    for (index, char) in line.chars().enumerate() {
        if index > 0 && index % BARE_CHARS == 0 {
            marked.push_str("\n|… ");
        }
        marked.push(char);
    }
    marked
}

#[cfg(test)]
mod tests;

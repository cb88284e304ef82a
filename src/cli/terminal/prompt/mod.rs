//! The prompt of a conversation: editing of one or several lines, history, completion.

mod keys;
mod line;
mod paint;

use std::fs::{File, Metadata};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::pipe::PipeFlags;

use self::keys::{Key, Keyboard};
use self::line::Line;
use self::paint::Painter;
use super::mode::{self, Raw};
use super::{print, texts};
use crate::agent::commands::Surface;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::agent::MESSAGE_BYTES;
use crate::gateway::commands::{Row, list_commands, parse};
use crate::sys;
use crate::text::is_prose;

/// Lines of the prompt's history that are kept.
const HISTORY_LINES: usize = 500;
/// Bytes of the prompt's history that are read.
const HISTORY_BYTES: usize = 1024 * 1024;

/// What the person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A text, of one or several lines.
    Line(String),
    /// Ctrl-C at a text, which is given up.
    Cleared,
    /// Ctrl-C where there is no text, as a key or as a signal, or another signal that asks the program to stop.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The prompt, with the lines of earlier runs.
pub struct Prompt {
    sign: String,
    /// Whether it asks for a single line that is not kept, such as the answer to a question.
    is_question: bool,
    /// Whether asterisks are shown for what is typed.
    is_hidden: bool,
    /// Whether the line can be edited on the screen; else the terminal hands over whole lines.
    is_screen: bool,
    keyboard: Keyboard,
    painter: Painter,
    line: Line,
    /// The oldest first.
    history: Vec<String>,
    /// Which line of the history is shown, and the new one that was left for it.
    recalled: Option<(usize, String)>,
    /// Where lines are kept; `None` when they cannot be.
    file: Option<File>,
}

impl Prompt {
    /// A prompt whose history is kept in the file `history`.
    pub fn new(history: PathBuf) -> Self {
        // A first run has none, and one that cannot be read does not keep anyone from talking.
        let kept = sys::file::read_at_most(&history, HISTORY_BYTES).unwrap_or_default();
        let kept = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = kept.lines().collect();
        let lines = &lines[lines.len().saturating_sub(HISTORY_LINES)..];
        let file = keep(&history, lines)
            .inspect_err(|error| tracing::warn!("failed to keep the prompt's history: {error}"))
            .ok();
        let mut prompt = Self {
            sign: if print::is_ascii() { "> " } else { "› " }.to_owned(),
            history: lines.iter().map(|line| unfolded(line)).collect(),
            file,
            ..Self::for_questions()
        };
        if prompt.is_screen {
            prompt.keyboard.is_resized_by(mode::watch_size().ok());
        }
        prompt
    }

    /// A prompt for single lines, without a history.
    pub fn for_questions() -> Self {
        Self {
            sign: String::new(),
            is_question: false,
            is_hidden: false,
            is_screen: mode::is_screen() && io::stdin().is_terminal(),
            keyboard: Keyboard::default(),
            painter: Painter::default(),
            line: Line::default(),
            history: Vec::new(),
            recalled: None,
            file: None,
        }
    }

    /// Asks for one line, behind a text such as `Which model? `, or waits for the token. Nothing of it is kept, and a
    /// hidden one is not shown.
    pub fn ask(&mut self, text: &str, is_hidden: bool, cancel: &Cancel) -> Result<Typed> {
        if is_hidden && !self.is_screen {
            return match print::ask_hidden(text, io::stdin()) {
                Err(Error::Stopped) => Ok(Typed::Interrupt),
                line => line.map(Typed::Line),
            };
        }
        match self.is_screen {
            true => text.clone_into(&mut self.sign),
            false => self.sign = print::folded(text),
        }
        self.is_question = true;
        self.is_hidden = is_hidden;
        let typed = self.wait(cancel);
        self.line = Line::default();
        typed
    }

    /// Whether keys that are typed while nobody reads should be kept one by one.
    pub fn reads_keys(&self) -> bool {
        self.is_screen
    }

    /// Waits for a text, or for the token. The text is in the history at once: a run that is cut off later
    /// does not lose it.
    pub fn read(&mut self, cancel: &Cancel) -> Result<Typed> {
        let typed = self.wait(cancel)?;
        if let Typed::Line(line) = &typed {
            self.remember(line);
        }
        Ok(typed)
    }

    fn wait(&mut self, cancel: &Cancel) -> Result<Typed> {
        let (woken, waker) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(texts::no_terminal)?;
        // The pipe takes the byte: nothing else is written to it.
        let _waking = cancel.on_cancel(move || {
            let _ = rustix::io::write(&waker, b"!");
        });
        let typed = if self.is_screen {
            self.keyboard.ends_with(Some(woken));
            let typed = self.edit();
            self.keyboard.ends_with(None);
            typed.map_err(texts::no_terminal)?
        } else {
            read_line(&self.sign, &woken)?
        };
        Ok(match typed {
            Typed::End if cancel.is_cancelled() => Typed::Interrupt,
            typed => typed,
        })
    }

    fn remember(&mut self, line: &str) {
        let is_new = !line.trim().is_empty() && self.history.last().is_none_or(|last| last != line);
        if !is_new {
            return;
        }
        if self.history.len() >= HISTORY_LINES {
            self.history.remove(0);
        }
        self.history.push(line.to_owned());
        if let Some(file) = &mut self.file {
            // Not synced: a lost line of the history is not worth the wear of an SD card.
            let _ = file.write_all(format!("{}\n", folded(line)).as_bytes());
        }
    }

    fn edit(&mut self) -> io::Result<Typed> {
        let mut raw = Raw::start()?;
        self.line.take();
        self.recalled = None;
        self.keyboard.take_typed_ahead()?;
        loop {
            if !self.keyboard.has_more() {
                self.paint();
            }
            let (line, is_question) = (&self.line, self.is_question);
            let key = self
                .keyboard
                .read(|| is_question || parse(line.text()).is_some())?;
            match key {
                Key::Newline | Key::Search | Key::Tab if is_question => {}
                Key::Enter if is_question => {
                    self.leave();
                    return Ok(Typed::Line(self.line.take()));
                }
                Key::Enter if self.ends_in_backslash() => {
                    self.line.backspace();
                    self.line.insert("\n");
                }
                Key::Enter => {
                    self.leave();
                    return Ok(Typed::Line(self.line.take()));
                }
                Key::Interrupt => {
                    self.leave();
                    let is_text = !is_question && !self.line.take().trim().is_empty();
                    return Ok(match is_text {
                        true => Typed::Cleared,
                        false => Typed::Interrupt,
                    });
                }
                Key::Resized => self.painter.resized(),
                Key::EndOfText if self.line.text().is_empty() => {
                    self.leave();
                    return Ok(Typed::End);
                }
                Key::Gone => {
                    self.leave();
                    return Ok(Typed::End);
                }
                Key::Suspend => {
                    self.leave();
                    drop(raw);
                    sys::process::suspend();
                    raw = Raw::start()?;
                }
                Key::Search => self.search()?,
                Key::Tab => self.complete(),
                key => self.apply(key),
            }
        }
    }

    fn ends_in_backslash(&self) -> bool {
        self.line.cursor() == self.line.text().len() && self.line.text().ends_with('\\')
    }

    fn apply(&mut self, key: Key) {
        let line = &mut self.line;
        match key {
            Key::Char(char) => self.insert(char.encode_utf8(&mut [0; 4])),
            Key::Text(text) => self.insert(&text),
            Key::Newline => self.insert("\n"),
            Key::Backspace => line.backspace(),
            Key::Delete | Key::EndOfText => line.delete_forward(),
            Key::Left => line.left(),
            Key::Right => line.right(),
            Key::Home => line.home(),
            Key::End => line.end(),
            Key::WordLeft => line.word_left(),
            Key::WordRight => line.word_right(),
            Key::CutToEnd => line.cut_to_end(),
            Key::CutToStart => line.cut_to_start(),
            Key::CutWordLeft => line.cut_word_left(),
            Key::CutWordRight => line.cut_word_right(),
            Key::Paste => line.paste(),
            Key::Clear => self.painter.clear(),
            Key::Up if line.up() => {}
            Key::Down if line.down() => {}
            Key::Up | Key::Previous => self.recall_older(),
            Key::Down | Key::Next => self.recall_newer(),
            _ => {}
        }
    }

    /// Inserts what can be shown, as long as it fits into a message.
    fn insert(&mut self, text: &str) {
        let text: String = text.chars().filter(|char| is_prose(*char)).collect();
        if self.line.text().len() + text.len() <= MESSAGE_BYTES {
            self.line.insert(&text);
        }
    }

    fn recall_older(&mut self) {
        let (index, draft) = match self.recalled.take() {
            Some(recalled) => recalled,
            None => (self.history.len(), self.line.text().to_owned()),
        };
        let older = index.saturating_sub(1);
        if let Some(line) = self.history.get(older) {
            self.line.set(line);
        }
        self.recalled = Some((older, draft));
    }

    fn recall_newer(&mut self) {
        let Some((index, draft)) = self.recalled.take() else {
            return;
        };
        match self.history.get(index + 1) {
            Some(line) => {
                self.line.set(line);
                self.recalled = Some((index + 1, draft));
            }
            None => self.line.set(&draft),
        }
    }

    /// Searches the history backwards as the person types. Any other key takes what was found.
    fn search(&mut self) -> io::Result<()> {
        let mut wanted = String::new();
        let mut before = self.history.len();
        let draft = self.line.text().to_owned();
        loop {
            let found = self.history[..before]
                .iter()
                .rposition(|line| line.contains(&wanted));
            if let Some(line) = found.and_then(|index| self.history.get(index)) {
                self.line.set(line);
            }
            let sign = format!("(search) {wanted}: ");
            self.painter
                .paint(&sign, self.line.text(), self.line.cursor());
            match self.keyboard.read(|| false)? {
                Key::Char(char) => {
                    wanted.push(char);
                    before = self.history.len();
                }
                Key::Backspace => {
                    wanted.pop();
                    before = self.history.len();
                }
                Key::Search => before = found.unwrap_or(before),
                Key::Resized => self.painter.resized(),
                Key::Interrupt => {
                    self.line.set(&draft);
                    return Ok(());
                }
                Key::Enter => {
                    self.keyboard.put_back(vec![b'\r']);
                    return Ok(());
                }
                key => {
                    self.apply(key);
                    return Ok(());
                }
            }
        }
    }

    /// Completes the name of a slash command, or shows those that it may be.
    fn complete(&mut self) {
        let Some(begun) = self.line.text().strip_prefix('/') else {
            return;
        };
        let begun = begun.to_ascii_lowercase();
        let names = list_commands(Surface::Terminal).filter(|row| row.help.is_some());
        let names = names.map(Row::name);
        let fitting: Vec<&str> = names.filter(|name| name.starts_with(&begun)).collect();
        match fitting.as_slice() {
            [] => {}
            [name] => self.line.set(&format!("/{name}")),
            [first, rest @ ..] => {
                let is_common =
                    |end: &usize| rest.iter().all(|name| name.starts_with(&first[..*end]));
                let common = (0..=first.len()).rev().find(is_common).unwrap_or(0);
                if common > begun.len() {
                    self.line.set(&format!("/{}", &first[..common]));
                } else {
                    let names: Vec<String> =
                        fitting.iter().map(|name| format!("/{name}")).collect();
                    self.leave();
                    print::control(&format!("{}\r\n", names.join("  ")));
                }
            }
        }
    }

    fn paint(&mut self) {
        self.paint_at(self.line.cursor());
    }

    /// Paints the text with the cursor at a byte of it.
    fn paint_at(&mut self, cursor: usize) {
        let text = self.line.text();
        if !self.is_hidden {
            return self.painter.paint(&self.sign, text, cursor);
        }
        let stars = |text: &str| "*".repeat(text.chars().count());
        let before = text.get(..cursor).unwrap_or(text);
        self.painter
            .paint(&self.sign, &stars(text), before.chars().count());
    }

    /// Leaves the whole text on the screen; what comes next begins below it.
    fn leave(&mut self) {
        self.paint_at(self.line.text().len());
        self.painter.leave();
    }
}

/// A line from a terminal that the program does not paint on, or the end once `woken` has something to say.
fn read_line(sign: &str, woken: &OwnedFd) -> Result<Typed> {
    print::out(sign)?;
    let mut line = String::new();
    // The terminal hands over one line at a time: none is left in the buffer of the standard input.
    let ready = sys::process::readable([rustix::stdio::stdin(), woken.as_fd()], None);
    if ready.map_err(Error::io("read", "standard input"))?[1] {
        print::line("")?;
        return Ok(Typed::End);
    }
    let stdin = io::stdin().lock();
    let read = stdin.take(MESSAGE_BYTES as u64).read_line(&mut line);
    match read.map_err(Error::io("read", "standard input"))? {
        0 => Ok(Typed::End),
        _ => Ok(Typed::Line(line.trim_end_matches('\n').to_owned())),
    }
}

/// Opens the file to append to. One that has grown far beyond its last lines is rewritten.
fn keep(path: &Path, last: &[&str]) -> Result<File> {
    if let Some(folder) = path.parent() {
        sys::file::private_folder(folder)?;
    }
    let has_grown = |found: Metadata| found.len() > HISTORY_BYTES as u64 / 2;
    if path.metadata().is_ok_and(has_grown) {
        let lines: String = last.iter().map(|line| format!("{line}\n")).collect();
        sys::file::write_atomic(path, lines.as_bytes(), 0o600)?;
    }
    let mut options = File::options();
    options.append(true).create(true).mode(0o600);
    let opened = sys::file::open_regular(path, &mut options);
    opened.map_err(Error::io("write", path))
}

/// A pasted text of several lines in one line of the file.
fn folded(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n")
}

fn unfolded(line: &str) -> String {
    let mut text = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                other => text.push(other.unwrap_or('\\')),
            },
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_of_several_lines_is_one_line_of_the_file_and_comes_back(text in "[a\\\\n\n]{0,12}") {
            prop_assert!(!folded(&text).contains('\n'));
            prop_assert_eq!(unfolded(&folded(&text)), text);
        }
    }

    #[test]
    fn a_history_that_has_grown_is_cut_to_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt_history");
        let mut file = keep(&path, &[]).unwrap();
        file.write_all(&vec![b'\n'; HISTORY_BYTES]).unwrap();
        keep(&path, &["new"]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    }
}

//! How a turn looks to the person who started it: on a terminal as it comes, in a pipe only the answer.
//!
//! The answer goes to standard output; hints, notices and failures go to standard error, so that
//! `peacrab agent -m … > file` has the answer and nothing else.

use std::io::{ErrorKind, IsTerminal, Write};

use super::STATUS_CHARS;
use super::markdown::{Look, Renderer};
use super::{print, status, texts};
use crate::agent::host::{TurnEvent, TurnHost};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputRequest};
use crate::base::error::{Error, Result};
use crate::text::{is_prose, one_line, reveal};

/// What is shown of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Text as it comes, rendered.
    Rendered,
    /// Text as it comes, as it is.
    Raw,
    /// Nothing but the closing answer.
    AnswerOnly,
}

impl Mode {
    /// The mode for this output; `markdown` asks for rendering.
    pub fn detect(markdown: bool, json: bool) -> Self {
        if json || !std::io::stdout().is_terminal() {
            return Self::AnswerOnly;
        }
        if markdown { Self::Rendered } else { Self::Raw }
    }
}

/// Shows one turn.
pub struct View<Output: Write, Errors: Write> {
    mode: Mode,
    output: Output,
    errors: Errors,
    renderer: Renderer,
    /// Whether the program's own signs are ASCII.
    is_ascii: bool,
    /// Whether the cursor is behind text.
    in_line: bool,
    /// Whether the present reply has come in pieces.
    streamed: bool,
}

impl<Output: Write, Errors: Write> View<Output, Errors> {
    /// A view of a turn that begins at the start of a line.
    pub fn new(mode: Mode, output: Output, errors: Errors) -> Self {
        Self {
            mode,
            output,
            errors,
            renderer: Renderer::default(),
            is_ascii: print::is_ascii(),
            in_line: false,
            streamed: false,
        }
    }

    /// The view with the width and the abilities of the real terminal, instead of the usual ones.
    pub fn fitted(mut self) -> Self {
        self.renderer = Renderer::new(Look::detect());
        self
    }

    /// Shows an event of the turn.
    pub fn show(&mut self, event: TurnEvent<'_>) {
        match event {
            TurnEvent::Asking(model) => status::set(Some(texts::asking(model))),
            TurnEvent::Delta(piece) => {
                self.streamed = true;
                self.piece(piece);
            }
            TurnEvent::Retracted => self.streamed = false,
            TurnEvent::Said(text) => self.say(text),
            TurnEvent::ToolHint(hint) => {
                self.aside("▸", hint);
                let tool = hint.split('(').next().unwrap_or_default();
                status::set(Some(texts::running(tool)));
            }
            TurnEvent::Progress(text) => status::set(Some(one_line(text, STATUS_CHARS))),
            TurnEvent::Unsandboxed(hint) => {
                self.aside("▸", &format!("{hint} · outside the sandbox"));
            }
            TurnEvent::ToolFailed(what) => self.aside("✗", what),
            TurnEvent::Bounded(what) | TurnEvent::Notice(what) | TurnEvent::Lasting(what) => {
                self.aside("·", what);
            }
        }
    }

    /// Prints the closing answer where it has not streamed. A reader that has gone away is not an error.
    pub fn answer(&mut self, text: &str) -> Result<()> {
        if self.mode != Mode::AnswerOnly || text.trim().is_empty() {
            return Ok(());
        }
        let written = self
            .output
            .write_all(format!("{}\n", prose(text.trim_end())).as_bytes())
            .and_then(|()| self.output.flush());
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Error::io("write to", "standard output")(error))
            }
            _ => Ok(()),
        }
    }

    /// The turn is over: what comes next begins a line.
    pub fn close(&mut self) {
        status::set(None);
        self.end_line();
        self.streamed = false;
    }

    fn piece(&mut self, piece: &str) {
        status::set(None);
        match self.mode {
            Mode::AnswerOnly => {}
            Mode::Raw => {
                self.write(&prose(piece));
            }
            Mode::Rendered => {
                let mut shown = String::new();
                self.renderer.push(piece, &mut shown);
                self.write(&shown);
            }
        }
    }

    /// Shows a whole text, such as the answer to a slash command. The text of a reply has streamed
    /// already, or is shown now.
    pub fn say(&mut self, text: &str) {
        status::set(None);
        if self.mode == Mode::AnswerOnly {
            return;
        }
        if !std::mem::take(&mut self.streamed) {
            self.piece(text);
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        let mut shown = String::new();
        self.renderer.finish(&mut shown);
        self.write(&shown);
        if self.in_line {
            self.write("\n");
            self.in_line = false;
        }
    }

    /// A line about what is going on, on standard error.
    fn aside(&mut self, sign: &str, text: &str) {
        self.end_line();
        let text = reveal(text).replace('\n', " ");
        let sign = if self.is_ascii {
            print::ascii_signs(sign)
        } else {
            sign.to_owned()
        };
        let line = format!("{sign} {text}");
        let line = match self.mode {
            Mode::Rendered => {
                let look = self.renderer.look();
                let line = print::wrap(&line, (look.columns)());
                match look.is_styled {
                    true => format!("\x1b[2m{line}\x1b[0m\n"),
                    false => line + "\n",
                }
            }
            _ => line + "\n",
        };
        let _status = status::hide();
        // The reader may be gone; the turn goes on.
        let _ = self.errors.write_all(line.as_bytes());
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.in_line = !text.ends_with('\n');
        let _status = status::hide();
        let _ = self.output.write_all(text.as_bytes());
        let _ = self.output.flush();
    }
}

impl<Output: Write, Errors: Write> TurnHost for View<Output, Errors> {
    fn takes_back(&self) -> bool {
        self.mode == Mode::AnswerOnly
    }

    fn on_event(&mut self, event: TurnEvent<'_>) {
        self.show(event);
    }

    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer {
        self.end_line();
        status::set(None);
        super::ask::ask(question, cancel)
    }

    fn input(&mut self, request: &InputRequest, _role: Role, cancel: &Cancel) -> InputAnswer {
        self.end_line();
        status::set(None);
        super::form::fill_in(request, cancel)
    }
}

/// What of a text goes to a terminal, or to a file that one may show.
fn prose(text: &str) -> String {
    text.chars().filter(|char| is_prose(*char)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mode: Mode, events: &[TurnEvent<'_>], answer: &str) -> (String, String) {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut view = View::new(mode, &mut output, &mut errors);
        view.is_ascii = false;
        events.iter().for_each(|event| view.show(event.clone()));
        view.answer(answer).unwrap();
        (
            String::from_utf8(output).unwrap(),
            String::from_utf8(errors).unwrap(),
        )
    }

    const TURN: [TurnEvent<'_>; 6] = [
        TurnEvent::Delta("I "),
        TurnEvent::Delta("look."),
        TurnEvent::Said("I look."),
        TurnEvent::ToolHint("read_file(\"a\")"),
        TurnEvent::Delta("**Done**"),
        TurnEvent::Said("**Done**"),
    ];

    #[test]
    fn a_terminal_gets_the_text_as_it_comes() {
        let (output, errors) = shown(Mode::Rendered, &TURN, "**Done**");
        assert_eq!(output, "I look.\n\x1b[0;1mDone\x1b[0m\n");
        assert_eq!(errors, "\x1b[2m▸ read_file(\"a\")\x1b[0m\n");
    }

    #[test]
    fn a_pipe_gets_the_answer_alone_and_the_rest_beside_it() {
        let (output, errors) = shown(Mode::AnswerOnly, &TURN, "**Done**\n");
        assert_eq!(
            (output.as_str(), errors.as_str()),
            ("**Done**\n", "▸ read_file(\"a\")\n")
        );
    }

    #[test]
    fn what_did_not_stream_is_shown_when_it_is_said() {
        let (output, _) = shown(Mode::Raw, &[TurnEvent::Said("whole\x1b[2J")], "whole");
        assert_eq!(output, "whole[2J\n");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let evil = "a\x1b]0;t\x07\x1b[2J\u{9b}31m\u{202e}b\0\r\u{200b}\u{e0041}c";
        for mode in [Mode::Rendered, Mode::Raw, Mode::AnswerOnly] {
            let events = [
                TurnEvent::Said(evil),
                TurnEvent::ToolHint(evil),
                TurnEvent::Notice(evil),
            ];
            let (output, errors) = shown(mode, &events, evil);
            for text in [output, errors] {
                let bare = text.replace("\x1b[2m", "").replace("\x1b[0m", "");
                assert!(
                    !bare.contains(crate::text::is_invisible),
                    "{mode:?}: {text:?}"
                );
                assert!(bare.contains('c'), "{mode:?}: {text:?}");
            }
        }
    }

    #[test]
    fn what_streamed_up_to_a_line_end_is_not_shown_again() {
        let reply = [
            TurnEvent::Delta("a\n"),
            TurnEvent::Delta("b\n"),
            TurnEvent::Said("a\nb\n"),
        ];
        for mode in [Mode::Raw, Mode::Rendered] {
            assert_eq!(shown(mode, &reply, "a\nb").0, "a\nb\n", "{mode:?}");
        }
    }

    #[test]
    fn a_turn_that_breaks_off_leaves_the_cursor_at_the_beginning_of_a_line() {
        let mut view = View::new(Mode::Rendered, Vec::new(), Vec::new());
        view.show(TurnEvent::Delta("half a `wor"));
        view.close();
        assert!(view.output.ends_with(b"half a `wor\n"), "{:?}", view.output);
    }

    #[test]
    fn a_notice_in_the_middle_of_a_line_begins_a_new_one() {
        let (output, errors) = shown(
            Mode::Raw,
            &[TurnEvent::Delta("half"), TurnEvent::Notice("broken\noff")],
            "",
        );
        assert_eq!(
            (output.as_str(), errors.as_str()),
            ("half\n", "· broken off\n")
        );
    }
}

//! What a chat shows of a terminal. PURE.

use super::texts;
use crate::base::language::Language;
use crate::base::message::CommandButton;
use crate::text::emulator::Screen;
use crate::text::markup::code_block;
use crate::text::reveal;

/// The keys below a screen: rows of labels and names, which are what `/key` takes. Five in a row are what every channel shows.
const KEYS: [&[(&str, &str)]; 3] = [
    &[
        ("Enter", "enter"),
        ("Tab", "tab"),
        ("Esc", "esc"),
        ("Ctrl-C", "ctrl-c"),
        ("Ctrl-D", "ctrl-d"),
    ],
    &[("←", "left"), ("↑", "up"), ("↓", "down"), ("→", "right")],
    &[("PgUp", "pgup"), ("PgDn", "pgdn")],
];

/// The command of the button that closes a terminal.
const CLOSE: &str = "/term close";
/// The command of the button that sends the screen as a picture.
const PICTURE: &str = "/term screenshot";

/// The buttons below a screen.
pub fn buttons(language: Language) -> Vec<Vec<CommandButton>> {
    let key = |(label, name): &(&str, &str)| CommandButton {
        label: (*label).to_owned(),
        command: format!("/key {name}"),
    };
    let mut rows: Vec<Vec<CommandButton>> = KEYS
        .iter()
        .map(|row| row.iter().map(key).collect())
        .collect();
    let commands = [
        (texts::picture_button(language), PICTURE),
        (texts::close_button(language), CLOSE),
    ];
    if let Some(last) = rows.last_mut() {
        last.extend(commands.map(|(label, command)| CommandButton {
            label: label.to_owned(),
            command: command.to_owned(),
        }));
    }
    rows
}

/// A screen as Markdown, with the cursor, and with lines about it.
pub fn render(screen: &Screen<'_>, notes: &[&str]) -> String {
    written(&screen.text(Some(&marked)), notes)
}

/// The last screen of a terminal, which has no cursor any more.
pub fn render_last(screen: &Screen<'_>, note: &str) -> String {
    written(&screen.text(None), &[note])
}

fn written(screen: &str, notes: &[&str]) -> String {
    let screen = reveal(screen);
    let mut text = match screen.trim().is_empty() {
        true => String::new(),
        false => code_block(&screen, ""),
    };
    for note in notes {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(note);
    }
    text
}

/// The character at the cursor: a block in place of a blank, else the character underlined.
fn marked(text: &str) -> String {
    const UNDERLINE: char = '\u{332}';
    match text {
        " " => "█".to_owned(),
        text => format!("{text}{UNDERLINE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::kit::buttons::for_commands;
    use crate::text::emulator::{Emulator, keys};

    #[test]
    fn a_screen_is_a_block_of_code_with_its_cursor() {
        let mut emulator = Emulator::new(20, 5);
        emulator.feed(b"$ ls\r\n```\r\n$ ");
        let text = render(&emulator.screen(), &["*note*"]);
        assert_eq!(text, "````\n$ ls\n```\n$ █\n````\n\n*note*");
        emulator.feed(b"\x1b[H");
        assert!(render(&emulator.screen(), &[]).starts_with("````\n$\u{332} ls\n"));
        assert!(!render_last(&emulator.screen(), "over").contains('\u{332}'));
        emulator.feed(b"\x1b[2J");
        assert_eq!(render_last(&emulator.screen(), "over"), "over");
    }

    #[test]
    fn what_could_turn_the_text_around_is_spelt_out() {
        let mut emulator = Emulator::new(20, 5);
        emulator.feed("a\u{202e}b".as_bytes());
        assert!(!render(&emulator.screen(), &[]).contains('\u{202e}'));
    }

    #[test]
    fn every_button_fits_and_presses_a_key_that_there_is() {
        for language in Language::ALL {
            let rows = buttons(language);
            assert!(rows.iter().all(|row| row.len() <= 5) && rows.len() <= 5);
            assert_eq!(for_commands(&rows, 64).concat().len(), rows.concat().len());
            for button in rows.concat() {
                match button.command.strip_prefix("/key ") {
                    Some(key) => assert!(keys::parse(key).is_ok(), "{key}"),
                    None => assert!([CLOSE, PICTURE].contains(&&*button.command)),
                }
            }
        }
    }
}

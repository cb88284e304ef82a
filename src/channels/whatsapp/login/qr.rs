//! A QR code as lines of text. Pure.

use crate::channels::whatsapp::QR_BYTES;
use qrcodegen::{QrCode, QrCodeEcc};

/// Modules around the code that have to be light. The standard asks for four; phones are content with two.
const QUIET: i32 = 2;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shades {
    /// Half blocks, two modules in a character, black on white whatever the terminal's colours are.
    Blocks,
    /// Two characters for each module, light ones as `##`: a terminal without colours is dark as a rule.
    Ascii,
}

/// Draws a text as a QR code; `None` if it is too long. Each line ends with a newline.
pub fn draw(text: &str, shades: Shades) -> Option<String> {
    if text.len() > QR_BYTES {
        return None;
    }
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let range = -QUIET..code.size() + QUIET;
    let mut out = String::new();
    match shades {
        Shades::Ascii => {
            for y in range.clone() {
                for x in range.clone() {
                    out.push_str(if code.get_module(x, y) { "  " } else { "##" });
                }
                out.push('\n');
            }
        }
        Shades::Blocks => {
            for y in range.clone().step_by(2) {
                // Black on bright white, for a code of dark modules on any terminal.
                out.push_str("\x1b[30;107m");
                for x in range.clone() {
                    out.push(match (code.get_module(x, y), code.get_module(x, y + 1)) {
                        (false, false) => ' ',
                        (true, false) => '▀',
                        (false, true) => '▄',
                        (true, true) => '█',
                    });
                }
                out.push_str("\x1b[0m\n");
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of the length of WhatsApp's.
    fn code() -> String {
        format!("2@{}", "abcDEF0123+/".repeat(20))
    }

    #[test]
    fn both_kinds_show_the_same_modules() {
        let ascii = draw(&code(), Shades::Ascii).unwrap();
        let rows: Vec<Vec<bool>> = ascii
            .lines()
            .map(|line| {
                line.as_bytes()
                    .chunks(2)
                    .map(|pair| pair == b"  ")
                    .collect()
            })
            .collect();
        assert!(rows.len() > 21 && rows.iter().all(|row| row.len() == rows.len()));
        // The quiet zone is light, and the first finder pattern begins behind it.
        assert!(rows[1].iter().all(|dark| !dark));
        assert!((2..9).all(|at| rows[2][at] && rows[at][2]) && !rows[3][3]);
        let blocks = draw(&code(), Shades::Blocks).unwrap();
        assert_eq!(blocks.lines().count(), rows.len().div_ceil(2));
        for (number, line) in blocks.lines().enumerate() {
            let line = line
                .strip_prefix("\x1b[30;107m")
                .unwrap()
                .strip_suffix("\x1b[0m")
                .unwrap();
            for (x, char) in line.chars().enumerate() {
                let upper = rows[2 * number][x];
                let lower = rows.get(2 * number + 1).is_some_and(|row| row[x]);
                assert_eq!(
                    (upper, lower),
                    (matches!(char, '▀' | '█'), matches!(char, '▄' | '█'))
                );
            }
        }
    }

    #[test]
    fn a_narrow_terminal_shows_a_code_of_whatsapps_length() {
        let blocks = draw(&code(), Shades::Blocks).unwrap();
        let columns = blocks
            .lines()
            .map(|line| line.matches(['▀', '▄', '█', ' ']).count())
            .max();
        assert!(columns.is_some_and(|columns| columns <= 80), "{columns:?}");
        assert_eq!(draw(&"x".repeat(QR_BYTES + 1), Shades::Blocks), None);
    }
}

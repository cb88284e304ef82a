//! The screen of a terminal as a picture. PURE.

use crate::text::emulator::Screen;
use crate::text::emulator::draw::{self, COVERED, GROUND, TEXT};
use crate::text::picture::{CELL, Canvas, Rgb};

/// Pixels of a picture for one of its dots, in both directions: 80 columns are as wide as a phone shows sharply.
const PICTURE_TIMES: u32 = 2;

/// The screen with its colours, as a PNG file. A line that `clean` changes, because it has a secret, loses its colours.
pub fn png(screen: &Screen<'_>, clean: &dyn Fn(&str) -> String) -> Vec<u8> {
    let (columns, rows) = screen.size();
    let (width, height) = (u32::from(columns) * CELL.0, u32::from(rows) * CELL.1);
    let mut canvas = Canvas::new(width, height, rgb(GROUND));
    for (row, line) in draw::draw(screen).into_iter().enumerate() {
        let y = (row as u32 * CELL.1) as i32;
        let text: String = line
            .iter()
            .map(|(char, ..)| *char)
            .filter(|char| *char != COVERED)
            .collect();
        let cleaned = clean(&text);
        if cleaned != text {
            canvas.text(0, y, cleaned.trim_end(), rgb(TEXT));
            continue;
        }
        for (column, (char, foreground, background)) in line.into_iter().enumerate() {
            if char != COVERED {
                let x = (column as u32 * CELL.0) as i32;
                canvas.glyph(x, y, char, rgb(foreground), rgb(background));
            }
        }
    }
    canvas.png_times(PICTURE_TIMES)
}

fn rgb(draw::Rgb(red, green, blue): draw::Rgb) -> Rgb {
    Rgb(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::emulator::Emulator;
    use crate::text::picture::tests::{assert_golden, decode};

    #[test]
    fn a_screen_is_drawn_with_its_colours_and_its_cursor() {
        let mut emulator = Emulator::new(24, 4);
        emulator.feed(
            "\x1b[1;32mpi@board\x1b[0m:\x1b[34m~\x1b[0m$ ls\r\n\x1b[7m top \x1b[0m ┌─┐ é █"
                .as_bytes(),
        );
        let png = png(&emulator.screen(), &str::to_owned);
        assert_golden("screen", &png);
    }

    #[test]
    fn a_secret_is_not_drawn() {
        let mut emulator = Emulator::new(24, 2);
        emulator.feed(b"key=hunter2");
        let shown = png(&emulator.screen(), &str::to_owned);
        let hidden = png(&emulator.screen(), &|text| text.replace("hunter2", "***"));
        assert_ne!(decode(&shown).pixels, decode(&hidden).pixels);
        let mut stars = Emulator::new(24, 2);
        stars.feed(b"key=***\x1b[?25l");
        let same = png(&stars.screen(), &str::to_owned);
        assert_eq!(decode(&hidden).pixels, decode(&same).pixels);
    }
}

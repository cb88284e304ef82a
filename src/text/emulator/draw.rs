//! A screen as characters with colours, from which a picture is drawn.

use super::{Color, Screen};

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// The colour of text where a program has set none; [`GROUND`] is behind it.
pub const TEXT: Rgb = Rgb(0xd0, 0xd0, 0xd0);
/// See [`TEXT`].
pub const GROUND: Rgb = Rgb(0x10, 0x12, 0x16);

/// The sixteen named colours, as xterm has them.
const NAMED: [Rgb; 16] = [
    Rgb(0x00, 0x00, 0x00),
    Rgb(0xcd, 0x31, 0x31),
    Rgb(0x0d, 0xbc, 0x79),
    Rgb(0xe5, 0xe5, 0x10),
    Rgb(0x24, 0x72, 0xc8),
    Rgb(0xbc, 0x3f, 0xbc),
    Rgb(0x11, 0xa8, 0xcd),
    Rgb(0xe5, 0xe5, 0xe5),
    Rgb(0x66, 0x66, 0x66),
    Rgb(0xf1, 0x4c, 0x4c),
    Rgb(0x23, 0xd1, 0x8b),
    Rgb(0xf5, 0xf5, 0x43),
    Rgb(0x3b, 0x8e, 0xea),
    Rgb(0xd6, 0x70, 0xd6),
    Rgb(0x29, 0xb8, 0xdb),
    Rgb(0xff, 0xff, 0xff),
];

/// What is drawn where the second half of a wide character is: nothing.
pub const COVERED: char = '\0';

/// Each row of a screen: the character of each column with its own colour and the one behind it. A wide
/// character has [`COVERED`] after it. The cursor is a place with its colours exchanged.
pub fn draw(screen: &Screen<'_>) -> Vec<Vec<(char, Rgb, Rgb)>> {
    let (columns, rows) = screen.size();
    let cursor = screen.cursor();
    let place = |row: u16, column: u16| {
        let Some(cell) = screen.cell(row, column) else {
            return (' ', TEXT, GROUND);
        };
        let bright = |color: Color| match color {
            // Terminals show bold text of the first eight colours in the second eight.
            Color::Index(index @ 0..8) if cell.bold => Color::Index(index + 8),
            color => color,
        };
        let foreground = rgb(bright(cell.foreground), TEXT);
        let background = rgb(cell.background, GROUND);
        let blank = if cell.is_continuation { COVERED } else { ' ' };
        let char = cell.text.chars().next().unwrap_or(blank);
        if cell.inverse != (cursor == Some((row, column))) {
            (char, background, foreground)
        } else {
            (char, foreground, background)
        }
    };
    let line = |row| (0..columns).map(|column| place(row, column)).collect();
    (0..rows).map(line).collect()
}

/// A colour as it is shown.
fn rgb(color: Color, default: Rgb) -> Rgb {
    match color {
        Color::Default => default,
        Color::Rgb(red, green, blue) => Rgb(red, green, blue),
        Color::Index(index @ 0..16) => NAMED.get(usize::from(index)).copied().unwrap_or(default),
        // A cube of six levels of each, then a scale of greys.
        Color::Index(index @ 16..232) => {
            let index = index - 16;
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            Rgb(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        Color::Index(index) => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::emulator::Emulator;

    #[test]
    fn each_place_has_its_character_and_colours() {
        let mut emulator = Emulator::new(20, 5);
        emulator.feed(
            "a\x1b[31mb\x1b[1mc\x1b[0m\x1b[7md\x1b[0m\x1b[38;5;196;48;5;232me\x1b[0m日\x1b[5;1H"
                .as_bytes(),
        );
        let drawn = draw(&emulator.screen());
        assert_eq!(drawn.len(), 5);
        let row = &drawn[0];
        assert_eq!(row[0], ('a', TEXT, GROUND));
        assert_eq!(row[1], ('b', NAMED[1], GROUND));
        assert_eq!(row[2], ('c', NAMED[9], GROUND));
        assert_eq!(row[3], ('d', GROUND, TEXT));
        assert_eq!(row[4], ('e', Rgb(255, 0, 0), Rgb(8, 8, 8)));
        assert_eq!((row[5].0, row[6].0, row[7].0), ('日', COVERED, ' '));
        assert_eq!(drawn[4][0], (' ', GROUND, TEXT), "the cursor");
    }

    #[test]
    fn every_colour_of_the_palette_can_be_shown() {
        let all: Vec<Rgb> = (0..=255)
            .map(|index| rgb(Color::Index(index), TEXT))
            .collect();
        assert_eq!(all[231], Rgb(255, 255, 255));
        assert_eq!(all[255], Rgb(238, 238, 238));
    }
}

//! PURE: the shapes of characters, 6 dots wide and 12 high. Letters, digits, signs and frames are Spleen 6x12
//! (FONT-LICENSE; `scripts/font` packs it); blocks and Braille are computed; what is unknown is a hollow box.

use unicode_width::UnicodeWidthChar;

/// Width and height of a character's cell. A wide character has two.
pub const CELL: (u32, u32) = (6, 12);

/// The rows of a cell; its dots are bits, the leftmost is bit 5.
pub type Rows = [u8; 12];

/// The glyphs, 9 bytes each: those of `RANGES`, then those of `DRAWN`.
static GLYPHS: &[u8] = include_bytes!("font.bin");
const GLYPH_BYTES: usize = 9;
/// ASCII, Latin-1, Cyrillic and frames.
const RANGES: [(char, char); 4] = [(' ', '~'), ('\u{a0}', 'ÿ'), ('А', 'я'), ('─', '╿')];
const DRAWN: &str = "←↑→↓–—‘’“”•…€≤≥≠●○■□▲▼▶◀✓✗ёЁ";
const ALL: u8 = 0b11_1111;
const LEFT: u8 = 0b11_1000;
const RIGHT: u8 = 0b00_0111;
const BOX: Rows = [0, 62, 34, 34, 34, 34, 34, 34, 34, 62, 0, 0];

/// The number of cells that a character covers; 0 for one that joins the character before it.
pub fn cells(char: char) -> u32 {
    char.width().unwrap_or(0) as u32
}

/// The rows of a character.
pub fn rows(char: char) -> Rows {
    let computed = match char {
        '▀'..='▟' => Some(block(char)),
        '\u{2800}'..='\u{28ff}' => Some(braille(char as u32 & 0xFF)),
        _ => None,
    };
    computed.or_else(|| stored(char)).unwrap_or(BOX)
}

fn stored(char: char) -> Option<Rows> {
    let mut start = 0;
    for (first, last) in RANGES {
        if (first..=last).contains(&char) {
            return unpack(start + (char as usize - first as usize));
        }
        start += last as usize - first as usize + 1;
    }
    unpack(start + DRAWN.chars().position(|drawn| drawn == char)?)
}

/// A glyph is 72 bits, row by row.
fn unpack(index: usize) -> Option<Rows> {
    let bytes = GLYPHS.get(index * GLYPH_BYTES..(index + 1) * GLYPH_BYTES)?;
    let bit = |place: usize| {
        bytes
            .get(place / 8)
            .map_or(0, |byte| byte >> (7 - place % 8) & 1)
    };
    Some(std::array::from_fn(|row| {
        (0..6).fold(0, |dots, column| dots << 1 | bit(row * 6 + column))
    }))
}

/// Halves, eighths, shades and quarters (U+2580 to U+259F).
fn block(char: char) -> Rows {
    let number = char as u32 - '▀' as u32;
    let from_row = |row: u32| std::array::from_fn(|at| if at as u32 >= row { ALL } else { 0 });
    let columns = |eighths: u32| ALL & !(ALL >> (eighths * 6).div_ceil(8));
    // Top left, top right, bottom left, bottom right, from the highest bit.
    let quarters = |which: u8| {
        std::array::from_fn(|at| {
            let pair = if at < 6 { which >> 2 } else { which & 3 };
            (if pair & 2 > 0 { LEFT } else { 0 }) | (if pair & 1 > 0 { RIGHT } else { 0 })
        })
    };
    match number {
        0 => quarters(0b1100),
        1..=8 => from_row(12 - (number * 12).div_ceil(8)),
        9..=15 => [columns(16 - number); 12],
        16 => [RIGHT; 12],
        17 => std::array::from_fn(|at| if at % 2 == 0 { 0b01_0001 } else { 0b00_0100 }),
        18 => std::array::from_fn(|at| if at % 2 == 0 { 0b10_1010 } else { 0b01_0101 }),
        19 => std::array::from_fn(|at| if at % 2 == 0 { 0b10_1110 } else { 0b11_1011 }),
        20 => std::array::from_fn(|at| if at < 2 { ALL } else { 0 }),
        21 => [1; 12],
        _ => {
            const QUARTERS: [u8; 10] = [2, 1, 8, 11, 9, 14, 13, 4, 6, 7];
            let index = number as usize - 22;
            quarters(QUARTERS.get(index).copied().unwrap_or(15))
        }
    }
}

/// Two columns of four dots (U+2800 to U+28FF).
fn braille(dots: u32) -> Rows {
    const PLACES: [(usize, u8); 8] = [
        (1, 16),
        (4, 16),
        (7, 16),
        (1, 2),
        (4, 2),
        (7, 2),
        (10, 16),
        (10, 2),
    ];
    let mut rows = [0; 12];
    for (number, (row, dot)) in PLACES.into_iter().enumerate() {
        if dots >> number & 1 == 1 {
            rows[row] |= dot;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(char: char) -> String {
        let row = |row: u8| {
            (0..6)
                .rev()
                .map(|bit| if row >> bit & 1 == 1 { '#' } else { '.' })
                .collect::<String>()
        };
        rows(char).map(row).join("\n")
    }

    #[test]
    fn the_file_has_exactly_the_glyphs_that_are_looked_up() {
        let in_ranges: usize = RANGES
            .iter()
            .map(|(first, last)| *last as usize - *first as usize + 1)
            .sum();
        let count = in_ranges + DRAWN.chars().count();
        assert_eq!(GLYPHS.len(), count * GLYPH_BYTES);
        assert!(GLYPHS.len() < 4096);
    }

    #[test]
    fn letters_frames_arrows_and_blocks_have_their_shapes() {
        assert_eq!(
            drawing('→'),
            "......\n......\n......\n..#...\n...#..\n#####.\n...#..\n..#...\n......\n......\n......\n......"
        );
        assert_eq!(rows('█'), [ALL; 12]);
        assert_eq!(rows('▄')[5..7], [0, ALL]);
        assert_eq!(rows('▌'), [LEFT; 12]);
        assert_eq!(rows('▐'), [RIGHT; 12]);
        assert_eq!(rows('▚')[..], [[LEFT; 6], [RIGHT; 6]].concat());
        assert_eq!(rows('▙')[..], [[LEFT; 6], [ALL; 6]].concat());
        assert_eq!(rows('⠁')[1], 16);
        assert_eq!(rows('⣿').iter().filter(|row| **row == 18).count(), 4);
        assert_eq!(rows(' '), [0; 12]);
        for different in ["Aa", "Öö", "Яя", "─│", "ёе"] {
            let mut shapes = different.chars().map(rows);
            assert_ne!(shapes.next(), shapes.next(), "{different}");
        }
    }

    #[test]
    fn what_is_unknown_is_a_hollow_box() {
        for char in ['好', '😀', 'ฮ', '\u{10ffff}'] {
            assert_eq!(rows(char), BOX);
        }
        assert_eq!((cells('好'), cells('a'), cells('\u{301}')), (2, 1, 0));
    }

    #[test]
    fn every_character_has_a_shape_and_none_panics() {
        let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        assert!(all.map(rows).all(|rows| rows.iter().all(|row| *row <= ALL)));
    }
}

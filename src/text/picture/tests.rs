//! What is drawn, compared with stored pictures. `PEACRAB_GOLDEN=write` writes them.

use super::*;
use crate::base::checksum::crc32;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::Path;

/// A decoded picture.
#[derive(PartialEq)]
pub struct Decoded {
    /// Pixels in a row.
    pub width: usize,
    /// A row after another.
    pub pixels: Vec<Rgb>,
}

/// Reads a PNG file with a palette, and checks everything that the standard wants of it.
pub fn decode(png: &[u8]) -> Decoded {
    let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
    let (mut header, mut palette, mut data) = (Vec::new(), Vec::new(), Vec::new());
    let mut kinds = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (kind, content) = (&rest[4..8], &rest[8..8 + length]);
        let checksum = u32::from_be_bytes(rest[8 + length..12 + length].try_into().unwrap());
        assert_eq!(crc32(&rest[4..8 + length]), checksum);
        match kind {
            b"IHDR" => header = content.to_vec(),
            b"PLTE" => palette = content.chunks(3).map(|c| Rgb(c[0], c[1], c[2])).collect(),
            b"IDAT" => data = miniz_oxide::inflate::decompress_to_vec_zlib(content).unwrap(),
            _ => {}
        }
        kinds.push(String::from_utf8(kind.to_vec()).unwrap());
        rest = &rest[12 + length..];
    }
    assert_eq!(kinds, ["IHDR", "PLTE", "IDAT", "IEND"]);
    let side = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap()) as usize;
    let (width, height, depth) = (side(0), side(4), usize::from(header[8]));
    assert_eq!(header[9..], [3, 0, 0, 0]);
    let bytes = (width * depth).div_ceil(8);
    assert_eq!(data.len(), (bytes + 1) * height);
    let mut above = vec![0_u8; bytes];
    let mut pixels = Vec::new();
    for row in data.chunks(bytes + 1) {
        assert_eq!(row[0], 2);
        for (byte, above) in row[1..].iter().zip(&mut above) {
            *above = above.wrapping_add(*byte);
        }
        pixels.extend((0..width).map(|column| {
            let bit = column * depth;
            let index = above[bit / 8] >> (8 - depth - bit % 8) & (0xFF >> (8 - depth)) as u8;
            palette[usize::from(index)]
        }));
    }
    Decoded { width, pixels }
}

impl Decoded {
    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    fn row(&self, row: usize) -> &[Rgb] {
        &self.pixels[row * self.width..][..self.width]
    }
}

/// The region in which two pictures differ, as characters: `.` equal background, `o` equal, `-` missing, `+` new,
/// `#` another colour.
fn difference(expected: &Decoded, drawn: &Decoded) -> Option<String> {
    if (expected.width, expected.height()) != (drawn.width, drawn.height()) {
        return Some(format!(
            "{}x{} became {}x{}",
            expected.width,
            expected.height(),
            drawn.width,
            drawn.height()
        ));
    }
    let width = drawn.width;
    let places = || {
        (0..drawn.pixels.len())
            .filter(|at| expected.pixels[*at] != drawn.pixels[*at])
            .map(|at| (at % width, at / width))
    };
    let (left, right) = (places().map(|p| p.0).min()?, places().map(|p| p.0).max()?);
    let (top, bottom) = (places().map(|p| p.1).min()?, places().map(|p| p.1).max()?);
    let background = expected.pixels[0];
    let mut text = format!(
        "{} pixels differ, in columns {left} to {right} of rows {top} to {bottom}:\n",
        places().count()
    );
    for row in top..=bottom.min(top + 60) {
        let pairs = expected.row(row).iter().zip(drawn.row(row));
        let region = pairs.skip(left).take((right - left + 1).min(150));
        text.extend(
            region.map(|(old, new)| match (old == new, *new == background) {
                (true, true) => '.',
                (true, false) => 'o',
                (false, true) => '-',
                (false, false) if *old == background => '+',
                (false, false) => '#',
            }),
        );
        let _ = writeln!(text);
    }
    Some(text)
}

/// Compares a picture with the stored one.
pub fn assert_golden(name: &str, png: &[u8]) {
    if std::env::var_os("PEACRAB_GOLDEN").is_some_and(|value| value == "write") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/text/picture/golden");
        std::fs::write(folder.join(format!("{name}.png")), png).unwrap();
        // It is compared once it is part of the tests.
        return;
    }
    if let Some(difference) = difference(&decode(stored(name)), &decode(png)) {
        panic!("{name}: {difference}");
    }
}

/// A stored picture. They are part of the tests, which also run where the repository is not: on boards.
fn stored(name: &str) -> &'static [u8] {
    match name {
        "day" => include_bytes!("golden/day.png"),
        "empty" => include_bytes!("golden/empty.png"),
        "numbers" => include_bytes!("golden/numbers.png"),
        "screen" => include_bytes!("golden/screen.png"),
        "text" => include_bytes!("golden/text.png"),
        "units" => include_bytes!("golden/units.png"),
        "week" => include_bytes!("golden/week.png"),
        _ => panic!("{name}.png is not among the stored pictures"),
    }
}

const BLACK: Rgb = Rgb(0, 0, 0);
const WHITE: Rgb = Rgb(255, 255, 255);
const RED: Rgb = Rgb(220, 30, 30);

#[test]
fn text_frames_and_lines_look_as_they_did() {
    let mut canvas = Canvas::new(200, 90, BLACK);
    canvas.text(2, 2, "Peacrab 0.1 äöü ÄÖÜ ß ñ € µ ±", WHITE);
    canvas.text(2, 16, "┌──┬──┐ ╔══╗ ▁▂▃▄▅▆▇█ ░▒▓ ▖▗▘▝", WHITE);
    canvas.text(2, 28, "│  │  │ ║  ║ ←↑→↓ ⠋⠙⠹⠸ ✓✗ •…", WHITE);
    canvas.text(2, 40, "Привет 你好 e\u{301}", WHITE);
    canvas.glyph(150, 40, 'X', BLACK, RED);
    canvas.fill((2, 56), (20, 20), RED);
    canvas.line((30, 56), (90, 80), 1, WHITE);
    canvas.line((30, 80), (90, 56), 3, RED);
    let mut large = canvas.with_text_times(2);
    large.text(100, 56, "12:30", WHITE);
    assert_golden("text", &large.png());
}

#[test]
fn a_difference_is_shown_as_characters() {
    let mut canvas = Canvas::new(8, 4, BLACK);
    let before = decode(&canvas.png());
    assert_eq!(difference(&before, &before), None);
    canvas.fill((2, 1), (3, 2), WHITE);
    let white = decode(&canvas.png());
    canvas.fill((3, 1), (1, 1), RED);
    canvas.fill((4, 2), (1, 1), BLACK);
    let found = difference(&white, &decode(&canvas.png())).unwrap();
    assert_eq!(
        found,
        "2 pixels differ, in columns 3 to 4 of rows 1 to 2:\n#o\no-\n"
    );
    let found = difference(&before, &white).unwrap();
    assert!(found.ends_with("+++\n+++\n"), "{found}");
    let wide = decode(&Canvas::new(9, 4, BLACK).png());
    assert_eq!(difference(&before, &wide).unwrap(), "8x4 became 9x4");
}

#[test]
fn every_number_of_colours_is_written_and_further_ones_become_the_nearest() {
    for colours in [1_u32, 2, 3, 4, 5, 16, 17, 256, 400] {
        let mut canvas = Canvas::new(colours, 2, Rgb(0, 0, 0));
        let colour = |n: u32| Rgb((n % 256) as u8, (n / 256 * 3) as u8, 0);
        for number in 0..colours {
            canvas.fill((number as i32, 0), (1, 2), colour(number));
        }
        let decoded = decode(&canvas.png());
        for number in 0..colours.min(256) {
            assert_eq!(decoded.row(1)[number as usize], colour(number));
        }
        if colours == 400 {
            assert_eq!(decoded.row(0)[399], Rgb(143, 0, 0));
        }
    }
}

#[test]
fn a_picture_is_repeated_in_both_directions_and_a_canvas_is_bounded() {
    let mut canvas = Canvas::new(3, 2, BLACK);
    canvas.fill((1, 0), (1, 1), RED);
    let large = decode(&canvas.png_times(3));
    assert_eq!((large.width, large.height()), (9, 6));
    assert_eq!(large.row(2)[3..6], [RED; 3]);
    assert_eq!(large.row(3), [BLACK; 9]);
    let (width, height) = Canvas::new(u32::MAX, u32::MAX, BLACK).size();
    assert!(width <= SIDE_MAX && (width * height) as usize <= PIXELS_MAX);
    assert_eq!(Canvas::new(0, 0, BLACK).size(), (1, 1));
}

/// A screenshot of a terminal is sent over slow lines.
#[test]
fn a_full_screen_of_text_is_a_few_kilobytes() {
    let mut canvas = Canvas::new(480, 288, BLACK);
    for row in 0..24 {
        let line = format!(
            "{row:>5} root      20   0  {:>8} 12{row}40 S  0.{row} ./program --option",
            row * 7919
        );
        canvas.text(0, row * 12, &line, if row % 5 == 0 { RED } else { WHITE });
    }
    let png = canvas.png_times(2);
    assert!(png.len() < 16_000, "{}", png.len());
}

proptest! {
    #[test]
    fn nothing_drawn_anywhere_panics(
        places in prop::collection::vec(any::<(i32, i32, i32, i32)>(), 0..6),
        near in prop::collection::vec((-50..150, -50..150, -50..150, -50..150), 0..6),
        text in ".{0,20}",
        size in (1_u32..120, 1_u32..120),
    ) {
        let mut canvas = Canvas::new(size.0, size.1, BLACK).with_text_times(2);
        for (a, b, c, d) in places.into_iter().chain(near) {
            canvas.line((a, b), (c, d), (c as u32) % 5, RED);
            canvas.fill((a, b), (c as u32, d as u32), WHITE);
            canvas.text(a, b, &text, RED);
            text.chars().for_each(|char| canvas.glyph(c, d, char, RED, WHITE));
        }
        let decoded = decode(&canvas.png());
        prop_assert_eq!(decoded.width, size.0 as usize);
    }
}

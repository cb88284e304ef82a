//! Pictures, drawn in the process and written as PNG. PURE.

pub mod csv;
mod deflate;
pub mod font;
pub mod plot;
mod png;

#[cfg(test)]
pub mod tests;

pub use font::CELL;

/// Curves in one plot, so that they can be told apart and their legend leaves room.
const CURVES_MAX: usize = 6;
/// Characters of a curve's name in the legend.
const NAME_CHARS: usize = 24;

/// Pixels of a canvas, a byte each: a terminal of 200 columns and 60 lines has 864,000. A canvas that would
/// have more is cut at the bottom.
const PIXELS_MAX: usize = 900_000;
/// Pixels along one side of a canvas. Telegram takes photos whose sides add up to 10,000.
const SIDE_MAX: u32 = 4000;
/// Colours of a picture; PNG has an index of a byte. A further colour becomes the nearest one.
const COLOURS_MAX: usize = 256;
/// How often a pixel is repeated in each direction.
const TIMES_MAX: u32 = 8;

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// How different two colours are.
    fn distance(self, other: Self) -> u32 {
        let pairs = [(self.0, other.0), (self.1, other.1), (self.2, other.2)];
        pairs
            .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
            .iter()
            .sum()
    }
}

/// A picture that is being drawn. Whatever is drawn outside of it is left out.
#[derive(Clone, Debug)]
pub struct Canvas {
    width: u32,
    height: u32,
    /// A row after another, as indexes into the palette.
    pixels: Vec<u8>,
    palette: Vec<Rgb>,
    text_times: u32,
}

impl Canvas {
    /// A canvas of one colour. One that is too large is cut at the right and at the bottom
    /// (`PIXELS_MAX`).
    pub fn new(width: u32, height: u32, background: Rgb) -> Self {
        let width = width.clamp(1, SIDE_MAX);
        let height = height.clamp(1, SIDE_MAX.min(PIXELS_MAX as u32 / width));
        Self {
            width,
            height,
            pixels: vec![0; (width * height) as usize],
            palette: vec![background],
            text_times: 1,
        }
    }

    /// The same canvas, with text that is so many times as large.
    #[must_use]
    pub fn with_text_times(mut self, times: u32) -> Self {
        self.text_times = times.clamp(1, TIMES_MAX);
        self
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Width and height of a character.
    pub fn cell(&self) -> (i32, i32) {
        let times = self.text_times;
        ((CELL.0 * times) as i32, (CELL.1 * times) as i32)
    }

    /// Fills a rectangle, whose top left corner is given.
    pub fn fill(&mut self, (x, y): (i32, i32), (width, height): (u32, u32), colour: Rgb) {
        let colour = self.index(colour);
        self.paint((x, y), (width, height), colour);
    }

    fn paint(&mut self, (x, y): (i32, i32), (width, height): (u32, u32), colour: u8) {
        let clip = |start: i32, length: u32, end: u32| {
            let last = i64::from(start) + i64::from(length);
            let clip = |place: i64| place.clamp(0, i64::from(end)) as usize;
            clip(i64::from(start))..clip(last)
        };
        let columns = clip(x, width, self.width);
        for row in clip(y, height, self.height) {
            let start = row * self.width as usize;
            let range = start + columns.start..start + columns.end;
            if let Some(pixels) = self.pixels.get_mut(range) {
                pixels.fill(colour);
            }
        }
    }

    /// Draws a straight line, with a pen of so many pixels.
    pub fn line(&mut self, from: (i32, i32), to: (i32, i32), pen: u32, colour: Rgb) {
        // A line that leaves the canvas by far would only cost time.
        let bound = SIDE_MAX as i32 * 2;
        let clip = |(x, y): (i32, i32)| (x.clamp(-bound, bound), y.clamp(-bound, bound));
        let ((mut x, mut y), to) = (clip(from), clip(to));
        let (across, down) = ((to.0 - x).abs(), -(to.1 - y).abs());
        let step = |from: i32, to: i32| if from < to { 1 } else { -1 };
        let steps = (step(x, to.0), step(y, to.1));
        let colour = self.index(colour);
        let half = pen as i32 / 2;
        // Bresenham's algorithm.
        let mut error = across + down;
        loop {
            self.paint((x - half, y - half), (pen, pen), colour);
            if (x, y) == to {
                return;
            }
            let doubled = 2 * error;
            if doubled >= down {
                error += down;
                x += steps.0;
            }
            if doubled <= across {
                error += across;
                y += steps.1;
            }
        }
    }

    /// Draws a line of text to the right of a place, which is its top left corner, and returns where it
    /// ends.
    pub fn text(&mut self, x: i32, y: i32, text: &str, colour: Rgb) -> i32 {
        let colour = self.index(colour);
        let mut end = x;
        for char in text.chars() {
            let cells = font::cells(char);
            if cells > 0 {
                self.shape((end, y), char, cells, colour);
            }
            end = end.saturating_add(cells as i32 * self.cell().0);
        }
        end
    }

    /// The width of a line of text.
    pub fn text_width(&self, text: &str) -> i32 {
        text.chars().map(font::cells).sum::<u32>() as i32 * self.cell().0
    }

    /// Draws a character with its background, at its top left corner.
    #[expect(
        clippy::too_many_arguments,
        reason = "a cell of a terminal has that many properties"
    )]
    pub fn glyph(&mut self, x: i32, y: i32, char: char, foreground: Rgb, background: Rgb) {
        let cells = font::cells(char).max(1);
        let (width, height) = self.cell();
        self.fill((x, y), (width as u32 * cells, height as u32), background);
        let colour = self.index(foreground);
        self.shape((x, y), char, cells, colour);
    }

    fn shape(&mut self, (x, y): (i32, i32), char: char, cells: u32, colour: u8) {
        let times = self.text_times;
        for (row, dots) in font::rows(char).into_iter().enumerate() {
            for column in (0..CELL.0).filter(|column| dots >> (CELL.0 - 1 - column) & 1 == 1) {
                // The only wide shape is the hollow box.
                let at = x.saturating_add((column * times * cells) as i32);
                let below = y.saturating_add(row as i32 * times as i32);
                self.paint((at, below), (times * cells, times), colour);
            }
        }
    }

    /// The index of a colour; when the palette is full, of the nearest one.
    fn index(&mut self, colour: Rgb) -> u8 {
        let known = self.palette.iter().position(|known| *known == colour);
        let index = known.unwrap_or_else(|| {
            if self.palette.len() < COLOURS_MAX {
                self.palette.push(colour);
                self.palette.len() - 1
            } else {
                let colours = self.palette.iter().enumerate();
                let nearest = colours.min_by_key(|(_, known)| known.distance(colour));
                nearest.map_or(0, |(index, _)| index)
            }
        });
        index as u8
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Vec<u8> {
        self.png_times(1)
    }

    /// The picture as a PNG file, so many times as wide and as high: small drawings stay sharp on a phone.
    pub fn png_times(&self, times: u32) -> Vec<u8> {
        let picture = png::Indexed {
            width: self.width,
            pixels: &self.pixels,
            palette: &self.palette,
        };
        png::encode(picture, times.clamp(1, TIMES_MAX))
    }
}

//! Lines from the places of characters.
//!
//! Text stays in the order in which the page draws it, which is the order of reading with nearly all programs.

/// Characters of one page.
const PAGE_BYTES: usize = 256 * 1024;

/// A stretch of text and where it is.
pub struct Stretch {
    /// The text.
    pub text: String,
    /// The places at which it begins and ends.
    pub start: (f64, f64),
    /// The end of its last character.
    pub end: (f64, f64),
    /// The direction of writing, of length 1.
    pub direction: (f64, f64),
    /// The height of its characters.
    pub size: f64,
}

/// The text of a page.
#[derive(Default)]
pub struct Page {
    /// The text so far.
    pub text: String,
    last: Option<Stretch>,
    /// Characters that nothing says the text of.
    pub unreadable: usize,
    /// Whether there is a picture.
    pub has_picture: bool,
    /// Whether a part of its contents is missing from the file.
    pub is_partial: bool,
}

impl Page {
    /// Adds a stretch of text.
    pub fn add(&mut self, stretch: Stretch) {
        if stretch.text.is_empty() || self.text.len() > PAGE_BYTES {
            return;
        }
        if let Some(last) = &self.last {
            let separator = separate(last, &stretch);
            match separator {
                None => return,
                Some(" ") if self.text.ends_with(' ') || stretch.text.starts_with(' ') => {}
                Some(separator) => {
                    if separator.starts_with('\n') {
                        self.text.truncate(self.text.trim_end_matches(' ').len());
                    }
                    self.text.push_str(separator);
                }
            }
        }
        self.text.push_str(&stretch.text);
        self.last = Some(stretch);
    }

    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.text.len() > PAGE_BYTES
    }
}

/// The text between two stretches; `None` where the second one repeats the first, as for bold letters.
fn separate(last: &Stretch, next: &Stretch) -> Option<&'static str> {
    let ((x, y), size) = (last.direction, last.size.max(next.size).max(0.01));
    let along = |(a, b): (f64, f64)| a * x + b * y;
    let across = |(a, b): (f64, f64)| b * x - a * y;
    let turned = x * next.direction.0 + y * next.direction.1 < 0.9;
    let drop = across(last.start) - across(next.start);
    let gap = (along(next.start) - along(last.end)) / size;
    let shift = (along(next.start) - along(last.start)).abs() / size;
    if last.text == next.text && shift < 0.15 && drop.abs() < 0.15 * size && !turned {
        return None;
    }
    let is_same_line = drop.abs() < 0.5 * size && !turned && gap > -1.0;
    Some(match gap {
        _ if turned || drop.abs() > 1.9 * size => "\n\n",
        _ if !is_same_line => "\n",
        2.0.. => "   ",
        0.15.. => " ",
        _ => "",
    })
}

/// A line in which letters of scripts that are written from the right stand as they are read. Pages draw them as they are
/// seen.
pub fn in_order(line: &str) -> String {
    let is_right = |char: char| matches!(char, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    if !line.chars().any(is_right) {
        return line.to_owned();
    }
    let (mut ordered, mut run) = (String::new(), String::new());
    for char in line.chars().chain(['\n']) {
        if is_right(char) || char == ' ' && !run.is_empty() {
            run.push(char);
            continue;
        }
        let letters = run.trim_end_matches(' ');
        ordered.extend(letters.chars().rev());
        ordered.push_str(run.get(letters.len()..).unwrap_or_default());
        run.clear();
        ordered.push(char);
    }
    ordered.pop();
    ordered
}

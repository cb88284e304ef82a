//! The open lists, and the numbers of their items (HTML, section 4.4.5). PURE.

use super::tokens::Tag;

/// Lists within lists whose items are indented further.
const LIST_LEVELS: usize = 8;
/// Items of a list that is numbered backwards from an unknown number; those beyond keep none.
const REVERSED_ITEMS: usize = 500;

/// The lists that are open.
#[derive(Debug, Default)]
pub struct Lists {
    open: Vec<Option<Numbers>>,
    /// Those within the last one that is kept.
    deeper: u32,
}

/// The numbers of a list.
#[derive(Debug)]
struct Numbers {
    next: i64,
    step: i64,
    kind: char,
    /// Where the numbers of a list have to be filled in whose first one is known at its end.
    gaps: Option<Vec<usize>>,
}

/// Stands for a number that is filled in at the end of its list.
pub const GAP: char = '\u{0}';

impl Lists {
    /// How many are open.
    pub fn levels(&self) -> usize {
        self.open.len()
    }

    /// A list begins.
    pub fn begin(&mut self, tag: &Tag) {
        if self.open.len() >= LIST_LEVELS {
            self.deeper = self.deeper.saturating_add(1);
            return;
        }
        let start = tag.attribute("start").and_then(number);
        let is_reversed = tag.attribute("reversed").is_some();
        let numbers = (tag.name == "ol").then(|| Numbers {
            next: start.unwrap_or(1),
            step: if is_reversed { -1 } else { 1 },
            kind: kind(tag).unwrap_or('1'),
            gaps: (is_reversed && start.is_none()).then(Vec::new),
        });
        self.open.push(numbers);
    }

    /// A list ends. The numbers that it owes are filled in.
    pub fn end(&mut self, out: &mut String) {
        match self.deeper.checked_sub(1) {
            Some(left) => self.deeper = left,
            None => {
                if let Some(numbers) = self.open.pop().flatten() {
                    numbers.fill(out);
                }
            }
        }
    }

    /// All lists end.
    pub fn end_all(&mut self, out: &mut String) {
        self.deeper = 0;
        while !self.open.is_empty() {
            self.end(out);
        }
    }

    /// What an item begins with.
    pub fn marker(&mut self, tag: &Tag) -> Option<String> {
        let numbers = self.open.last_mut()?.as_mut()?;
        if let Some(value) = tag.attribute("value").and_then(number) {
            numbers.next = value;
            // What came before it is left without numbers, as it cannot be known from here.
            if numbers.gaps.as_ref().is_some_and(Vec::is_empty) {
                numbers.gaps = None;
            }
        }
        let number = numbers.next;
        numbers.next = number.saturating_add(numbers.step);
        Some(match numbers.gaps {
            Some(_) => format!("{GAP}. "),
            None => format!("{}. ", written(number, kind(tag).unwrap_or(numbers.kind))),
        })
    }

    /// The number of the last item is to be filled in here.
    pub fn note_gap(&mut self, at: usize) {
        let open = self.open.iter_mut().rev().flatten();
        let mut gaps = open.filter_map(|numbers| numbers.gaps.as_mut());
        if let Some(gaps) = gaps.next().filter(|gaps| gaps.len() < REVERSED_ITEMS) {
            gaps.push(at);
        }
    }
}

impl Numbers {
    fn fill(self, out: &mut String) {
        let gaps = self.gaps.unwrap_or_default();
        for (number, at) in (1..).zip(gaps.iter().rev()) {
            let is_there = out.get(*at..).is_some_and(|rest| rest.starts_with(GAP));
            if is_there {
                out.replace_range(*at..*at + GAP.len_utf8(), &written(number, self.kind));
            }
        }
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.trim_start_matches('+');
    let sign = usize::from(text.starts_with('-'));
    text.get(..sign + digits)?.parse().ok()
}

fn kind(tag: &Tag) -> Option<char> {
    let kind = tag.attribute("type").map(str::trim)?;
    let known = ["1", "a", "A", "i", "I"].into_iter();
    known
        .filter(|known| *known == kind)
        .find_map(|known| known.chars().next())
}

fn written(number: i64, kind: char) -> String {
    let text = match kind {
        'a' | 'A' => letters(number),
        'i' | 'I' => roman(number),
        _ => None,
    };
    match text {
        Some(text) if kind.is_ascii_uppercase() => text.to_ascii_uppercase(),
        Some(text) => text,
        None => number.to_string(),
    }
}

/// a to z, aa to zz and so on.
fn letters(number: i64) -> Option<String> {
    let mut left = u32::try_from(number).ok().filter(|number| *number > 0)?;
    let mut out = String::new();
    while left > 0 {
        left -= 1;
        out.insert(
            0,
            char::from(b'a' + u8::try_from(left % 26).unwrap_or_default()),
        );
        left /= 26;
    }
    Some(out)
}

fn roman(number: i64) -> Option<String> {
    const DIGITS: [(i64, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let mut left = Some(number).filter(|number| (1..4000).contains(number))?;
    let mut out = String::new();
    for (value, digit) in DIGITS {
        while left >= value {
            out.push_str(digit);
            left -= value;
        }
    }
    Some(out)
}

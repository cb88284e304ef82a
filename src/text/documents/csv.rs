//! Tables with separators (RFC 4180), in the character sets and with the separators that spreadsheets write.

use super::table::COLUMNS;
use super::{Text, Writer};
use crate::text::count_of;
use crate::text::html::charset::{Charset, decode_all};

/// The separators, of which the one counts that the first line has most of.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// Characters of a file's beginning that show its separator.
const SNIFF_CHARS: usize = 4 * 1024;

/// The rows as a table.
pub fn read(bytes: &[u8]) -> Text {
    let text = decode(bytes);
    let mut writer = Writer::default();
    let mut rows = Rows::of(&text);
    let mut columns = None;
    let mut count = 0;
    while let Some(mut row) = rows.next_row() {
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let columns = *columns.get_or_insert(row.len());
        row.resize(columns.max(row.len()), String::new());
        if !writer.is_cut {
            writer.row(&row, count == 0);
        }
        count += 1;
    }
    if writer.is_cut {
        writer
            .text
            .push_str("[the rest of the table is left out]\n");
    }
    Text {
        about: format!("table, {}", count_of(count, "row", "rows")),
        text: writer.text,
        next: None,
        is_partial: false,
    }
}

/// The characters of a file that does not say what they are: a mark at its beginning, UTF-8, else the set of Chinese
/// spreadsheets where most bytes that are not ASCII come in their pairs, else that of western ones.
fn decode(bytes: &[u8]) -> String {
    let charset = match bytes {
        [0xff, 0xfe, ..] => Charset::Utf16(false),
        [0xfe, 0xff, ..] => Charset::Utf16(true),
        _ if std::str::from_utf8(bytes).is_ok() => Charset::Utf8,
        _ if is_chinese(bytes) => Charset::Gb18030,
        _ => Charset::Windows1252,
    };
    decode_all(charset, bytes)
}

/// Whether most bytes that are not ASCII are pairs of GB2312. In western words they stand between ASCII letters.
fn is_chinese(bytes: &[u8]) -> bool {
    let (mut paired, mut foreign) = (0_usize, 0_usize);
    for run in bytes.split(u8::is_ascii) {
        foreign += run.len();
        let pairs = run
            .chunks_exact(2)
            .filter(|pair| pair.iter().all(|byte| *byte > 0xa0));
        paired += 2 * pairs.count();
    }
    foreign > 0 && paired * 4 > foreign * 3
}

struct Rows<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    separator: char,
}

impl<'a> Rows<'a> {
    fn of(text: &'a str) -> Self {
        let mut text = text.trim_start_matches('\u{feff}');
        let mut separator = None;
        // Excel writes this as the first line.
        if let Some((first, rest)) = text.split_once('\n')
            && let Some(named) = first.trim_end().strip_prefix("sep=")
        {
            separator = named.chars().next();
            text = rest;
        }
        let first = text.split('\n').find(|line| !line.trim().is_empty());
        let count = |separator: &char| {
            let mut is_quoted = false;
            let chars = first.unwrap_or_default().chars().take(SNIFF_CHARS);
            let counts = |char: &char| {
                is_quoted ^= *char == '"';
                char == separator && !is_quoted
            };
            chars.filter(counts).count()
        };
        let mut most = (0, ',');
        for separator in SEPARATORS {
            most = match count(&separator) {
                found if found > most.0 => (found, separator),
                _ => most,
            };
        }
        Self {
            chars: text.chars().peekable(),
            separator: separator.unwrap_or(most.1),
        }
    }

    fn next_row(&mut self) -> Option<Vec<String>> {
        self.chars.peek()?;
        let (mut row, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
        while let Some(char) = self.chars.next() {
            match char {
                '"' if is_quoted && self.chars.peek() == Some(&'"') => {
                    self.chars.next();
                    cell.push('"');
                }
                '"' if is_quoted || cell.trim().is_empty() => is_quoted = !is_quoted,
                '\r' if !is_quoted => {}
                '\n' if !is_quoted => break,
                char if char == self.separator && !is_quoted => {
                    let cell = std::mem::take(&mut cell);
                    if row.len() < COLUMNS {
                        row.push(cell);
                    }
                }
                char => cell.push(char),
            }
        }
        row.push(cell);
        Some(row)
    }
}

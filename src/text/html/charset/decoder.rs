//! Characters from bytes in a character set. PURE.

use super::Charset;
use super::tables::{BIG5, EUC_KR, GB18030, JIS_X_0212, SHIFT_JIS, SINGLE_BYTE, Table};

/// What the next bytes are.
enum Next {
    /// A character, or U+FFFD for what is none, of so many bytes.
    Char(char, usize),
    /// So many bytes without a character.
    Nothing(usize),
    /// The beginning of a character.
    Incomplete,
}

/// Which characters ISO-2022-JP is at (RFC 1468): escape sequences change it.
#[derive(Clone, Copy, Debug, Default)]
enum Shift {
    #[default]
    Ascii,
    Katakana,
    Kanji,
    /// JIS X 0212.
    Further,
    /// Pairs of bytes without a table.
    Unknown,
}

/// Decodes what comes in pieces.
#[derive(Debug)]
pub struct Decoder {
    charset: Charset,
    table: Table,
    /// The characters of four bytes of GB18030 in their order, or JIS X 0212; filled when the first one comes.
    others: Option<Table>,
    shift: Shift,
}

impl Decoder {
    /// A decoder at the beginning of a text.
    pub fn new(charset: Charset) -> Self {
        let packed = match charset {
            Charset::Utf8 | Charset::Utf16(_) | Charset::Windows1252 => None,
            Charset::SingleByte(_) => Some(SINGLE_BYTE),
            Charset::Gb18030 => Some(GB18030),
            Charset::Big5 => Some(BIG5),
            Charset::ShiftJis | Charset::EucJp | Charset::Iso2022Jp => Some(SHIFT_JIS),
            Charset::EucKr => Some(EUC_KR),
        };
        Self {
            charset,
            table: packed.map(Table::unpack).unwrap_or_default(),
            others: None,
            shift: Shift::default(),
        }
    }

    /// Passes characters on, and gives how many bytes they had: all but those of a character that is not
    /// complete. `None` when `take` had enough.
    pub fn decode(&mut self, bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
        match self.charset {
            Charset::Utf8 => return decode_utf8(bytes, take),
            Charset::Utf16(is_big) => return decode_utf16(is_big, bytes, take),
            _ => {}
        }
        let mut at = 0;
        while let Some((first, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) {
            let count = match self.next(*first, rest) {
                Next::Char(char, count) => {
                    if take(char) {
                        count
                    } else {
                        return None;
                    }
                }
                Next::Nothing(count) => count,
                Next::Incomplete => break,
            };
            at += count;
        }
        Some(at)
    }

    fn next(&mut self, first: u8, rest: &[u8]) -> Next {
        match self.charset {
            Charset::SingleByte(row) => {
                let place = first.checked_sub(0x80).map(usize::from);
                let char = match place {
                    None => Some(char::from(first)),
                    Some(place) => self.table.char(row * 128 + place),
                };
                Next::Char(char.unwrap_or(char::REPLACEMENT_CHARACTER), 1)
            }
            Charset::Iso2022Jp => self.iso_2022_jp(first, rest),
            _ if first < 0x80 => Next::Char(char::from(first), 1),
            Charset::Gb18030 => self.gb18030(first, rest),
            Charset::Big5 => self.pair(first, rest, big5),
            Charset::ShiftJis => match first {
                0x80 => Next::Char('\u{80}', 1),
                0xa1..=0xdf => Next::Char(katakana(first - 0x80), 1),
                _ => self.pair(first, rest, shift_jis),
            },
            Charset::EucJp => match (first, rest) {
                (0x8e, [second @ 0xa1..=0xdf, ..]) => Next::Char(katakana(second - 0x80), 2),
                (0x8f, [row @ 0xa1..=0xfe, cell @ 0xa1..=0xfe, ..]) => {
                    Next::Char(self.jis_x_0212(*row, *cell), 3)
                }
                (0x8f, [] | [0xa1..=0xfe]) => Next::Incomplete,
                _ => self.pair(first, rest, euc_jp),
            },
            Charset::EucKr => self.pair(first, rest, euc_kr),
            Charset::Utf8 | Charset::Utf16(_) | Charset::Windows1252 => {
                Next::Char(windows_1252(first), 1)
            }
        }
    }

    /// A character of two bytes. Where they are none, ASCII in the second place stands for itself, so that a
    /// broken character swallows no markup.
    fn pair(&self, first: u8, rest: &[u8], place: fn(u8, u8) -> Option<usize>) -> Next {
        let Some(second) = rest.first() else {
            return Next::Incomplete;
        };
        match place(first, *second).and_then(|place| self.table.char(place)) {
            Some(char) => Next::Char(char, 2),
            None => Next::Char(
                char::REPLACEMENT_CHARACTER,
                1 + usize::from(*second >= 0x80),
            ),
        }
    }

    /// GBK in two bytes, and all of Unicode's other characters in four.
    fn gb18030(&mut self, first: u8, rest: &[u8]) -> Next {
        let digits = match (first, rest) {
            (0x80, _) => return Next::Char('€', 1),
            (0x81..=0xfe, [second @ 0x30..=0x39]) => [*second, 0x81, 0x30],
            (0x81..=0xfe, [second @ 0x30..=0x39, third @ 0x81..=0xfe]) => [*second, *third, 0x30],
            (
                0x81..=0xfe,
                [
                    second @ 0x30..=0x39,
                    third @ 0x81..=0xfe,
                    fourth @ 0x30..=0x39,
                    ..,
                ],
            ) => [*second, *third, *fourth],
            _ => return self.pair(first, rest, gbk),
        };
        if rest.len() < 3 {
            return Next::Incomplete;
        }
        let [second, third, fourth] = digits.map(usize::from);
        let linear = usize::from(first - 0x81) * 12_600
            + (second - 0x30) * 1260
            + (third - 0x81) * 10
            + (fourth - 0x30);
        let others = self.others.get_or_insert_with(|| self.table.others());
        // The other planes of Unicode begin at 90 30 81 30.
        let beyond = linear.checked_sub(189_000).map(|beyond| beyond + 0x1_0000);
        let char = match beyond.and_then(|point| u32::try_from(point).ok()) {
            Some(point) => char::from_u32(point),
            None => others.char(linear),
        };
        Next::Char(char.unwrap_or(char::REPLACEMENT_CHARACTER), 4)
    }

    /// The further Japanese characters, by row and cell.
    fn jis_x_0212(&mut self, row: u8, cell: u8) -> char {
        let table = self.others.get_or_insert_with(|| Table::unpack(JIS_X_0212));
        let char = euc_jp(row, cell).and_then(|place| table.char(place));
        char.unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// ISO-2022-JP with its extensions (RFC 1554, RFC 2237, and Windows' 50220 to 50222).
    fn iso_2022_jp(&mut self, first: u8, rest: &[u8]) -> Next {
        if first == 0x1b {
            let (shift, count) = match rest {
                [] | [b'(' | b'$' | b'&'] | [b'$', b'('] => return Next::Incomplete,
                [b'(', b'I', ..] => (Shift::Katakana, 3),
                [b'(', b'A'..=b'Z', ..] => (Shift::Ascii, 3),
                [b'$', b'@' | b'B', ..] => (Shift::Kanji, 3),
                // JIS X 0213 has the characters of JIS X 0208 at their places.
                [b'$', b'(', b'@' | b'B' | b'O' | b'Q', ..] => (Shift::Kanji, 4),
                [b'$', b'(', b'D', ..] => (Shift::Further, 4),
                // Chinese and Korean ones, which hardly any mail mixes with Japanese.
                [b'$', b'(', _, ..] => (Shift::Unknown, 4),
                [b'$', b'A', ..] => (Shift::Unknown, 3),
                [b'&', b'@', ..] => return Next::Nothing(3),
                _ => return Next::Char(char::REPLACEMENT_CHARACTER, 1),
            };
            self.shift = shift;
            return Next::Nothing(count);
        }
        match (self.shift, first, rest) {
            (_, 0x0e, _) => {
                self.shift = Shift::Katakana;
                Next::Nothing(1)
            }
            (_, 0x0f, _) => {
                self.shift = Shift::Ascii;
                Next::Nothing(1)
            }
            // Each line ends in ASCII (RFC 1468), also one that was cut.
            (_, b'\n', _) => {
                self.shift = Shift::Ascii;
                Next::Char('\n', 1)
            }
            (Shift::Katakana, 0x21..=0x5f, _) => Next::Char(katakana(first), 1),
            (_, 0xa1..=0xdf, _) => Next::Char(katakana(first & 0x7f), 1),
            (Shift::Ascii | Shift::Katakana, 0..0x80, _) => Next::Char(char::from(first), 1),
            (_, 0x21..=0x7e, []) => Next::Incomplete,
            (shift, 0x21..=0x7e, [second @ 0x21..=0x7e, ..]) => {
                let (row, cell) = (first | 0x80, second | 0x80);
                let char = match shift {
                    Shift::Further => Some(self.jis_x_0212(row, cell)),
                    Shift::Kanji => euc_jp(row, cell).and_then(|place| self.table.char(place)),
                    _ => None,
                };
                Next::Char(char.unwrap_or(char::REPLACEMENT_CHARACTER), 2)
            }
            (_, 0..0x80, _) => Next::Char(char::from(first), 1),
            _ => Next::Char(char::REPLACEMENT_CHARACTER, 1),
        }
    }
}

/// Katakana of half width, from their byte of seven bits (JIS X 0201).
fn katakana(byte: u8) -> char {
    let point = 0xff61 + u32::from(byte.saturating_sub(0x21));
    char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The place of a byte among those from `from` to `to` but for 0x7F.
fn without_delete(byte: u8, from: u8, to: u8) -> Option<usize> {
    let is_here = (from..=to).contains(&byte) && byte != 0x7f;
    is_here.then(|| usize::from(byte - from) - usize::from(byte > 0x7f))
}

fn gbk(first: u8, second: u8) -> Option<usize> {
    let lead = usize::from(first.checked_sub(0x81)?);
    Some(lead * 190 + without_delete(second, 0x40, 0xfe)?)
}

fn big5(first: u8, second: u8) -> Option<usize> {
    let lead = usize::from(first.checked_sub(0x81)?);
    let trail = match second {
        0x40..=0x7e => second - 0x40,
        0xa1..=0xfe => second - 0xa1 + 63,
        _ => return None,
    };
    Some(lead * 157 + usize::from(trail))
}

fn shift_jis(first: u8, second: u8) -> Option<usize> {
    let lead = match first {
        0x81..=0x9f => first - 0x81,
        0xe0..=0xfc => first - 0xe0 + 31,
        _ => return None,
    };
    Some(usize::from(lead) * 188 + without_delete(second, 0x40, 0xfc)?)
}

/// The same table by row and cell: two rows are one first byte of Shift JIS.
fn euc_jp(first: u8, second: u8) -> Option<usize> {
    let row = usize::from(first.checked_sub(0xa1)?);
    let cell = usize::from(second.checked_sub(0xa1)?);
    (row < 94 && cell < 94).then_some(row * 94 + cell)
}

fn euc_kr(first: u8, second: u8) -> Option<usize> {
    let lead = usize::from(first.checked_sub(0x81)?);
    let trail = usize::from(second.checked_sub(0x41)?);
    (trail < 190).then_some(lead * 190 + trail)
}

fn decode_utf8(mut bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
    let length = bytes.len();
    loop {
        let (valid, error) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
            }
        };
        if !valid.chars().all(&mut *take) {
            return None;
        }
        bytes = bytes.get(valid.len()..).unwrap_or_default();
        match error.map(|error| error.error_len()) {
            Some(Some(invalid)) => {
                if !take(char::REPLACEMENT_CHARACTER) {
                    return None;
                }
                bytes = bytes.get(invalid..).unwrap_or_default();
            }
            Some(None) | None => return Some(length - bytes.len()),
        }
    }
}

fn decode_utf16(is_big: bool, bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
    let unit = |pair: &[u8; 2]| {
        if is_big {
            u16::from_be_bytes(*pair)
        } else {
            u16::from_le_bytes(*pair)
        }
    };
    let (pairs, _) = bytes.as_chunks();
    let is_high = |pair: &&[u8; 2]| (0xd800..0xdc00).contains(&unit(pair));
    // Its other half may come.
    let waiting = usize::from(pairs.last().is_some_and(|pair| is_high(&pair)));
    let whole = pairs.len() - waiting;
    let mut chars = char::decode_utf16(pairs.iter().take(whole).map(unit));
    let goes_on = chars.all(|char| take(char.unwrap_or(char::REPLACEMENT_CHARACTER)));
    goes_on.then_some(2 * whole)
}

/// A byte of Windows-1252, with what browsers make of the five that are not in use.
pub fn windows_1252(byte: u8) -> char {
    const UPPER: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let upper = byte
        .checked_sub(0x80)
        .and_then(|index| UPPER.get(usize::from(index)));
    upper.copied().unwrap_or(char::from(byte))
}

//! Floor 2: texts for people: pages, documents, Markdown, screens and pictures, and here the beginnings of texts that are too long, and
//! numbers of things. PURE.

pub mod documents;
pub mod emulator;
pub mod html;
pub mod markup;
pub mod overstrike;
pub mod picture;

use std::borrow::Cow;

/// Characters in a line on a telephone.
const COLUMNS: usize = 50;
/// Marks above or below one letter; languages need two.
const MARKS: usize = 2;
/// Bytes of a mistyped word that are compared to find the nearest known one; names are shorter.
const NEAREST_BYTES: usize = 100;

/// The first `chars` characters of a text, or all of it.
pub fn truncate_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A number of things, such as `1 message` or `2 messages`.
pub fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number with its thousands apart, such as 15,204.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The candidate that a mistyped word most likely means: one that it begins, or that differs in a
/// letter or two. `None` when none is near.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = truncate_bytes(word, NEAREST_BYTES);
    let distance = |candidate: &str| {
        if word.len() > 1 && candidate.starts_with(word) {
            1
        } else {
            strsim::osa_distance(word, truncate_bytes(candidate, NEAREST_BYTES))
        }
    };
    let near = candidates.map(|candidate| (distance(candidate), candidate));
    let near = near.filter(|(distance, _)| *distance <= word.chars().count().div_ceil(4).min(3));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// As many whole characters of a text's beginning as fit into `bytes`.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Like [`truncate_chars`], with an ellipsis behind a text that was cut.
pub fn ellipsize_chars(text: &str, chars: usize) -> Cow<'_, str> {
    ellipsize(text, truncate_chars(text, chars))
}

/// The end of a text, of at most `chars` characters; where the text is longer, whole lines if there are any.
pub fn end_in_lines(text: &str, chars: usize) -> &str {
    let last = text.char_indices().rev().take(chars).last();
    let start = last.map_or(text.len(), |(at, _)| at);
    let end = text.get(start..).unwrap_or_default();
    match end.split_once('\n') {
        Some((_, lines)) if start > 0 && !lines.trim().is_empty() => lines,
        _ => end,
    }
}

/// Like [`truncate_bytes`], with an ellipsis behind a text that was cut, beyond `bytes`.
pub fn ellipsize_bytes(text: &str, bytes: usize) -> Cow<'_, str> {
    ellipsize(text, truncate_bytes(text, bytes))
}

fn ellipsize<'a>(text: &'a str, kept: &'a str) -> Cow<'a, str> {
    if kept.len() < text.len() {
        Cow::Owned(format!("{kept}…"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a reader may take a character for a newline.
pub fn is_newline(char: char) -> bool {
    matches!(
        char,
        '\n' | '\u{b}'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The text with parentheses for brackets, in which the program tells the model what it knows.
pub fn without_brackets(text: &str) -> String {
    text.replace('[', "(").replace(']', ")")
}

/// Default_Ignorable_Code_Point of Unicode 16.0, first and last of each range
/// (<https://www.unicode.org/Public/16.0.0/ucd/DerivedCoreProperties.txt>), those that are not assigned too.
const IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character only changes the direction in which others are shown (Unicode Annex 9).
pub fn is_direction_mark(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is not seen, or changes how others are seen: what Unicode calls default-ignorable, controls but for
/// the newline and the tab, line separators, the empty Braille pattern, and marks that only programs read (annotations,
/// hieroglyph and music format controls).
pub fn is_invisible(char: char) -> bool {
    if char.is_ascii() {
        return char.is_control() && !matches!(char, '\n' | '\t');
    }
    let is_ignorable = |(first, last): &(char, char)| (*first..=*last).contains(&char);
    let is_other = matches!(char, '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fff9}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}' | '\u{1d159}');
    is_other || char.is_control() || IGNORABLE.iter().any(is_ignorable)
}

/// The text with what is invisible spelt out, such as `\u{202e}`: for what a person decides about. So
/// are blanks that are no spaces, and marks above or below a letter that would cover other lines.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if count_hidden(text) == 0 {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (char, is_hidden) in marked(text) {
        if is_hidden {
            shown.extend(char.escape_default())
        } else {
            shown.push(char)
        }
    }
    Cow::Owned(shown)
}

/// Whether a character of prose goes to a terminal: what is visible, and what joins the letters of
/// Persian and Hindi and the parts of an emoji.
pub fn is_prose(char: char) -> bool {
    !is_invisible(char) || matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// The text with everything spelt out that is no prose, as in [`reveal`], but for the codes in `kept`.
pub fn reveal_but<'a>(text: &'a str, kept: &[&str]) -> Cow<'a, str> {
    if text.chars().all(is_prose) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let code = kept.iter().find(|code| rest.starts_with(**code));
        let length = code.map_or(char.len_utf8(), |code| code.len());
        if code.is_some() || is_prose(char) {
            shown.push_str(&rest[..length])
        } else {
            shown.extend(char.escape_default())
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// JSON with everything invisible in its strings written as JSON's own escapes: the same value.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_invisible) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if is_invisible(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(char)
        }
    }
    Cow::Owned(escaped)
}

/// The number of characters that [`reveal`] spells out.
pub fn count_hidden(text: &str) -> usize {
    marked(text).filter(|(_, is_hidden)| *is_hidden).count()
}

/// What somebody chose (a name, a label) as one line of at most `chars` characters, with nothing
/// invisible in it and single spaces between its words.
pub fn one_line(text: &str, chars: usize) -> String {
    let seen = marked(text).filter_map(|(char, is_hidden)| match char {
        ' '..='~' => Some(char),
        // Fillers that are as wide as a letter.
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => Some(' '),
        char if char.is_whitespace() => Some(' '),
        char => (!is_hidden).then_some(char),
    });
    let seen: String = seen.collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    ellipsize_chars(&words.join(" "), chars).into_owned()
}

/// Each character, and whether [`reveal`] spells it out.
fn marked(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut marks = 0;
    text.chars().map(move |char| {
        if matches!(char, ' '..='~') {
            marks = 0;
            return (char, false);
        }
        marks = if is_mark(char) { marks + 1 } else { 0 };
        let is_odd_blank = char.is_whitespace() && !matches!(char, ' ' | '\n' | '\t');
        (char, is_invisible(char) || is_odd_blank || marks > MARKS)
    })
}

/// Whether a character is written above or below the one before it, in the scripts in which many of
/// them are piled up.
fn is_mark(char: char) -> bool {
    matches!(char,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// A file's name for a person who decides about it: as it looks, and where that may be taken for another name, an equals
/// sign and the name with every odd character spelt out, such as `pаy.sh = p\u{430}y.sh`.
pub fn reveal_name(name: &str) -> Cow<'_, str> {
    let mut spelt = String::with_capacity(name.len() + 16);
    for part in name.split_inclusive('/') {
        let bare = part.strip_suffix('/').unwrap_or(part);
        spell_part(bare, &mut spelt);
        spelt.push_str(&part[bare.len()..]);
    }
    if spelt == name {
        return Cow::Borrowed(name);
    }
    let look = marked(name).filter(|(char, is_hidden)| !is_hidden && !matches!(char, '\n' | '\t'));
    let look: String = look.map(|(char, _)| char).collect();
    Cow::Owned(format!("{} = {spelt}", look.trim()))
}

/// Writes the name of one file or folder with its odd characters spelt out.
fn spell_part(part: &str, spelt: &mut String) {
    let is_letter = |char: char| char.is_alphanumeric() || is_mark(char);
    let begin = part.len() - part.trim_start_matches(' ').len();
    let end = part.trim_end_matches(' ').len();
    let (mut at, mut is_false) = (0, false);
    let mut word_end = 0;
    let mut before = '\0';
    for (char, is_hidden) in marked(part) {
        if is_letter(char) && at >= word_end {
            let rest = &part[at..];
            let length = rest.find(|char| !is_letter(char)).unwrap_or(rest.len());
            let word = &rest[..length];
            (word_end, is_false) = (at + length, looks_latin(word) || is_all_alike(word));
        }
        let is_odd = match char {
            // Blanks at an end, or behind others, are not seen.
            ' ' => at < begin || at >= end || before == ' ',
            '\n' | '\t' => true,
            char if is_letter(char) => is_hidden || is_false && !char.is_ascii(),
            char => is_hidden || is_false_sign(char),
        };
        if is_odd {
            spelt.extend(char.escape_unicode())
        } else {
            spelt.push(char)
        }
        at += char.len_utf8();
        before = char;
    }
}

/// Whether a word has only letters of other scripts that look like Latin ones.
fn is_all_alike(word: &str) -> bool {
    const ALIKE: &str = "авекмнорстухіѕјһԁԛԝӏАВЕКМНОРСТУХІЅЈҺԀԚԜӀοντυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհ";
    !word.is_empty() && word.chars().all(|char| ALIKE.contains(char))
}

/// Whether a character looks like a sign that has a meaning in a path or a command line.
fn is_false_sign(char: char) -> bool {
    matches!(char,
        '\u{1c3}' | '\u{2bc}' | '\u{37e}' | '\u{589}' | '\u{5c3}' | '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{201f}'
        | '\u{2024}' | '\u{2044}' | '\u{2212}' | '\u{2215}' | '\u{2216}' | '\u{2223}' | '\u{2236}' | '\u{29f5}'
        | '\u{29f8}' | '\u{29f9}' | '\u{a4f8}' | '\u{a789}' | '\u{fe52}' | '\u{fe68}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff5e}')
}

/// Whether a word has letters that only look like Latin ones: Cyrillic or Greek ones among Latin ones,
/// or Latin ones of another width or shape.
pub fn looks_latin(word: &str) -> bool {
    let is_latin = |char: char| char.is_ascii_alphabetic();
    let is_kin = |char: char| {
        matches!(char, '\u{250}'..='\u{2af}' | '\u{370}'..='\u{587}' | '\u{13a0}'..='\u{13ff}'
            | '\u{a4d0}'..='\u{a4ff}' | '\u{1d00}'..='\u{1d2b}')
    };
    let is_shaped = |char: char| {
        matches!(char, '\u{2100}'..='\u{214f}' | '\u{2160}'..='\u{217f}' | '\u{24b6}'..='\u{24e9}' | '\u{ff21}'..='\u{ff5a}'
            | '\u{1d400}'..='\u{1d7ff}' | '\u{1f110}'..='\u{1f189}')
    };
    word.contains(is_shaped) || word.contains(is_latin) && word.contains(is_kin)
}

/// The beginning and the end of a text that is longer than `chars` characters or than the sum of
/// `lines` on a narrow screen, and how many characters are left out between them. At most the first
/// number of lines is from the beginning, and the second from the end.
pub fn ends_of(text: &str, chars: usize, lines: (usize, usize)) -> Option<(&str, usize, &str)> {
    let length = text.chars().count();
    if reach(text.chars(), chars, lines.0 + lines.1) == length {
        return None;
    }
    let tail = reach(text.chars().rev(), chars / 4, lines.1);
    let head = reach(text.chars(), chars - chars / 4, lines.0);
    let left_out = length
        .checked_sub(head + tail)
        .filter(|left_out| *left_out > 0)?;
    let behind = truncate_chars(text, head + left_out).len();
    Some((truncate_chars(text, head), left_out, &text[behind..]))
}

/// How many characters fit into so many lines of a narrow screen, up to `most`.
fn reach(chars: impl Iterator<Item = char>, most: usize, lines: usize) -> usize {
    let (mut line, mut column) = (1, 0);
    let fits = |char: &char| {
        column += 1;
        if *char == '\n' || column > COLUMNS {
            (line, column) = (line + 1, usize::from(*char != '\n'));
        }
        line <= lines
    };
    chars.take(most).take_while(fits).count()
}

/// Joins the members of a list; `last` is between the last two, such as " or ".
pub fn join_with_last(members: &[impl AsRef<str>], comma: &str, last: &str) -> String {
    let mut text = String::new();
    for (index, member) in members.iter().enumerate() {
        match members.len() - index {
            _ if index == 0 => {}
            1 => text.push_str(last),
            _ => text.push_str(comma),
        }
        text.push_str(member.as_ref());
    }
    text
}

/// A number of tokens, short: `850`, `12.4k`, `1.3M`.
pub fn format_tokens(tokens: u64) -> String {
    let short = |unit: f64| format!("{:.1}", tokens as f64 / unit).replace(".0", "");
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_950 => short(1e3) + "k",
        _ => short(1e6) + "M",
    }
}

/// An amount of money, with as many digits as tell something: `$0.0031`, `$1.27`.
pub fn format_dollars(dollars: f64) -> String {
    match dollars {
        ..=0.0 => "$0".to_owned(),
        ..0.000_05 => "under $0.0001".to_owned(),
        ..0.1 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_with_a_line_if_one_does() {
        assert_eq!(end_in_lines("", 6), "");
        assert_eq!(end_in_lines("one\n", 2), "e\n");
        assert_eq!(end_in_lines("one\ntwo\nthree", 6), "three");
        assert_eq!(end_in_lines("one two three", 6), " three");
        assert_eq!(end_in_lines("é1\n22", 6), "é1\n22");
    }

    #[test]
    fn prose_keeps_what_joins_letters_and_own_codes_and_json_keeps_its_value() {
        let family = "👨\u{200d}👩 می\u{200c}خواهم ☀\u{fe0f}";
        assert_eq!(reveal_but(family, &[]), family);
        let bold = ["\x1b[1m", "\x1b[0m"];
        assert_eq!(
            reveal_but("\x1b[1mok\x1b[0m \x1b[2J\u{9b}\u{202e}\0", &bold),
            "\x1b[1mok\x1b[0m \\u{1b}[2J\\u{9b}\\u{202e}\\u{0}"
        );
        let value = serde_json::json!({"a": "\u{202e}x\u{9b}\x1b\u{e0041}\n"});
        let escaped = escape_json(&value.to_string()).into_owned();
        assert_eq!(escaped, r#"{"a":"\u202ex\u009b\u001b\udb40\udc41\n"}"#);
        assert_eq!(
            crate::base::json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, text) in [
            (0, "0"),
            (812, "812"),
            (15_204, "15,204"),
            (1_000_000, "1,000,000"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters_and_only_when_it_is_too_long() {
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöü", 2), "äö");
        assert_eq!(truncate_bytes("äöü", 6), "äöü");
        assert_eq!(truncate_bytes("äöü", 5), "äö");
        assert_eq!(truncate_bytes("äöü", 1), "");
        assert_eq!(ellipsize_chars("äöü", 3), "äöü");
        assert_eq!(ellipsize_chars("äöü", 2), "äö…");
        assert_eq!(ellipsize_bytes("äöü", 6), "äöü");
        assert_eq!(ellipsize_bytes("äöü", 3), "ä…");
    }

    #[test]
    fn what_somebody_chose_is_one_line_that_shows_itself() {
        for (chosen, expected) in [
            (" Ann\n  Lee ", "Ann Lee"),
            ("a\u{202e}b\u{200b}c\u{1b}[2J", "abc[2J"),
            ("\u{3000}\u{2800}\u{a0}Yes\u{2800}\u{2800}no", "Yes no"),
            ("a\u{301}\u{301}\u{301}\u{301}", "a\u{301}\u{301}"),
            ("\u{200b}\u{3164}", ""),
            ("äöüäöü", "äöüä…"),
        ] {
            assert_eq!(
                one_line(chosen, if chosen == "äöüäöü" { 4 } else { 20 }),
                expected
            );
        }
        assert!(
            looks_latin("p\u{430}ypal") && looks_latin("\u{ff24}eny") && looks_latin("\u{1d403}")
        );
        assert!(!looks_latin("paypal") && !looks_latin("привет") && !looks_latin("Zürich漢字"));
    }

    #[test]
    fn a_long_text_has_its_ends_by_characters_and_by_lines() {
        assert_eq!(ends_of("abc", 3, (1, 1)), None);
        assert_eq!(ends_of("abcdefgh", 4, (5, 5)), Some(("abc", 4, "h")));
        let lines = "x\n".repeat(100);
        let (head, left_out, tail) = ends_of(&lines, 1000, (3, 2)).unwrap();
        assert_eq!((head, left_out, tail), ("x\nx\nx", 193, "x\n"));
        // Blanks that push the rest away are lines, too.
        let far = format!("echo{}rm", " ".repeat(900));
        let (head, _, tail) = ends_of(&far, 2000, (3, 2)).unwrap();
        assert!(
            head.len() < 200 && tail.ends_with("rm"),
            "{head:?} {tail:?}"
        );
    }

    #[test]
    fn every_ignorable_character_is_invisible() {
        // As Unicode lists them: DerivedCoreProperties.txt of 16.0, Default_Ignorable_Code_Point.
        let listed = "AD 34F 61C 115F-1160 17B4-17B5 180B-180D 180E 180F 200B-200F 202A-202E 2060-2064 2065 2066-206F 3164 \
                      FE00-FE0F FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000 E0001 E0002-E001F E0020-E007F E0080-E00FF \
                      E0100-E01EF E01F0-E0FFF";
        let number = |text: &str| u32::from_str_radix(text, 16).unwrap();
        let mut count = 0;
        for range in listed.split_whitespace() {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            for char in (number(first)..=number(last)).filter_map(char::from_u32) {
                count += 1;
                assert!(is_invisible(char), "{char:?}");
                let text = format!("a{char}b");
                assert!(!reveal(&text).contains(char) && !one_line(&text, 9).contains(char));
                assert!(!reveal_name(&text).contains(char), "{char:?}");
            }
        }
        // The number that Unicode writes below its list.
        assert_eq!(count, 4174);
    }

    #[test]
    fn a_name_that_looks_like_another_is_spelt_out_beside_its_look() {
        for (name, shown) in [
            ("b\u{200b}.sh", "b.sh = b\\u{200b}.sh"),
            ("a\u{202e}hs.txt", "ahs.txt = a\\u{202e}hs.txt"),
            ("run.sh ", "run.sh = run.sh\\u{20}"),
            (" run.sh", "run.sh = \\u{20}run.sh"),
            ("d/ x/run", "d/ x/run = d/\\u{20}x/run"),
            ("a  b", "a  b = a \\u{20}b"),
            ("a\u{a0}b", "ab = a\\u{a0}b"),
            ("a\u{3000}b", "ab = a\\u{3000}b"),
            ("p\u{430}ypal.sh", "p\u{430}ypal.sh = p\\u{430}ypal.sh"),
            (
                "bin/\u{441}\u{443}.sh",
                "bin/\u{441}\u{443}.sh = bin/\\u{441}\\u{443}.sh",
            ),
            ("ru\u{274}.sh", "ru\u{274}.sh = ru\\u{274}.sh"),
            ("a\u{2215}b", "a\u{2215}b = a\\u{2215}b"),
            ("run\u{2024}sh", "run\u{2024}sh = run\\u{2024}sh"),
            ("\u{ff52}un.sh", "\u{ff52}un.sh = \\u{ff52}un.sh"),
            ("a\nb", "ab = a\\u{a}b"),
            ("a\u{1b}[2Jb", "a[2Jb = a\\u{1b}[2Jb"),
        ] {
            assert_eq!(reveal_name(name), shown, "{name:?}");
        }
        for name in [
            "/w/my file.txt",
            "Zürich.md",
            "привет.txt",
            "设置.sh",
            "é",
            "a-b_c.d",
            "",
            "/",
        ] {
            assert_eq!(reveal_name(name), name);
        }
    }

    #[test]
    fn what_is_invisible_is_spelt_out() {
        let shown = reveal("ls \u{202e}x\u{200b}\r\u{1b}[2J\u{e0041}\u{3164}\n\tä 中 🦀");
        assert_eq!(
            shown,
            "ls \\u{202e}x\\u{200b}\\r\\u{1b}[2J\\u{e0041}\\u{3164}\n\tä 中 🦀"
        );
        assert_eq!(reveal("ls\u{a0}a\u{3000}b"), "ls\\u{a0}a\\u{3000}b");
        assert_eq!(reveal("e\u{301}\u{302}\u{303}"), "e\u{301}\u{302}\\u{303}");
        assert_eq!(count_hidden("\u{202e}x\u{200b}"), 2);
        assert!(matches!(reveal("echo ok"), Cow::Borrowed(_)));
    }

    #[test]
    fn tokens_and_money_are_short() {
        for (tokens, expected) in [
            (0, "0"),
            (850, "850"),
            (12_000, "12k"),
            (12_449, "12.4k"),
            (999_949, "999.9k"),
            (999_950, "1M"),
            (1_250_000_000, "1250M"),
        ] {
            assert_eq!(format_tokens(tokens), expected);
        }
        for (dollars, expected) in [
            (0.0, "$0"),
            (0.000_01, "under $0.0001"),
            (0.0031, "$0.0031"),
            (0.5, "$0.50"),
            (1.273, "$1.27"),
            (120.0, "$120.00"),
        ] {
            assert_eq!(format_dollars(dollars), expected);
        }
    }
}

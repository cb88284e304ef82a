//! Columns of a string in a monospaced font, and where its lines may be broken.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a text: 2 for East Asian characters and emoji, 0 for what combines with another.
pub fn text_width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Columns of a character on its own.
pub fn char_width(char: char) -> usize {
    UnicodeWidthChar::width(char).unwrap_or(0)
}

/// Whether a line may be broken between two characters that are not white space: around those of
/// scripts without spaces, but not before closing punctuation or behind an opening one (a part of
/// UAX #14).
pub fn can_break_between(before: char, after: char) -> bool {
    let is_wide = |char| char_width(char) == 2;
    let is_flag = |char| matches!(char, '\u{1f1e6}'..='\u{1f1ff}');
    let is_skin = |char| matches!(char, '\u{1f3fb}'..='\u{1f3ff}');
    (is_wide(before) || is_wide(after))
        && char_width(after) > 0
        && before != '\u{200d}'
        && !is_skin(after)
        && !(is_flag(before) && is_flag(after))
        && !"、。，．：；！？）」』】》〉〕］｝…—’”・ー々,.:;!?)]}%".contains(after)
        && !"（「『【《〈〔［｛‘“([{".contains(before)
}

/// The lines of a text within so many columns. Only a word that is wider than a line is cut.
pub fn wrap(text: &str, columns: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let (mut start, mut width) = (0, 0);
    // Where the line would end and the next begin, if it has to be broken.
    let mut break_at = None;
    let mut before = ' ';
    for (index, char) in text.char_indices() {
        if char == ' ' {
            break_at = Some((index, index + 1));
        } else if before != ' ' && can_break_between(before, char) {
            break_at = Some((index, index));
        }
        before = char;
        width += char_width(char);
        if width > columns && char != ' ' && index > start {
            let (end, next) = break_at.take().unwrap_or((index, index));
            lines.push(text[start..end].trim_end());
            start = next;
            width = text_width(&text[next..index + char.len_utf8()]);
        }
    }
    lines.push(text[start..].trim_end());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_between_east_asian_characters() {
        for (text, columns, expected) in [
            ("", 5, vec![""]),
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 4, vec!["one", "two", "thre", "e"]),
            ("香蟹是一个助手。", 6, vec!["香蟹是", "一个助", "手。"]),
            ("香蟹是一个。", 10, vec!["香蟹是一", "个。"]),
            ("用（中文）写", 5, vec!["用", "（中", "文）", "写"]),
            ("🦀🦀🦀", 4, vec!["🦀🦀", "🦀"]),
        ] {
            assert_eq!(wrap(text, columns), expected, "{text:?} in {columns}");
        }
    }

    #[test]
    fn what_is_one_character_to_the_reader_is_not_torn() {
        for (before, after) in [('👍', '\u{1f3fd}'), ('\u{200d}', '👩'), ('🇨', '🇭')] {
            assert!(!can_break_between(before, after), "{before:?} {after:?}");
        }
        assert!(can_break_between('中', '文') && can_break_between('a', '中'));
        assert!(!can_break_between('a', 'b') && !can_break_between('中', '，'));
        assert_eq!(text_width("中文👍a\u{301}"), 7);
    }
}

//! What may still change in Markdown whose end has not come yet.

use std::ops::Range;

/// The text without an end that could become syntax: `**`, the beginning of a list item or a fence,
/// the line below a table's head.
pub(super) fn without_undecided_end(markdown: &str) -> &str {
    let is_mark = |c: char| c.is_whitespace() || "*_~`#\\!&<[]|".contains(c);
    let is_structure = |c: char| c.is_ascii_digit() || " \t>-+*_=#`~|:.)".contains(c);
    let mut kept = markdown;
    loop {
        kept = kept.trim_end_matches(is_mark);
        let line = kept.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        if kept.is_empty() || !kept[line..].chars().all(is_structure) {
            return kept;
        }
        kept = &kept[..line];
    }
}

/// The first place in a literal stretch of a growing text that more text could turn into syntax, such
/// as an unclosed `**`; counted from the beginning of the stretch.
pub(super) fn undecided(source: &str, range: Range<usize>) -> Option<usize> {
    let text = source.get(range.clone())?;
    let marks = text.match_indices(['*', '_', '~', '`', '!', '[', '<', '&', '|']);
    let mut places = marks.map(|(index, _)| index);
    places.find(|index| may_become_syntax(source, range.start + index))
}

fn may_become_syntax(source: &str, at: usize) -> bool {
    let (before, rest) = source.split_at(at);
    if before.ends_with('\\') {
        return false;
    }
    let before = before.chars().next_back();
    let mut chars = rest.chars();
    let Some(mark) = chars.next() else {
        return false;
    };
    let rest = chars.as_str();
    match mark {
        '`' => true,
        // A run of marks that is followed by white space opens nothing (CommonMark 0.31, 6.2).
        '*' | '_' | '~' => {
            let is_within_word = mark == '_' && before.is_some_and(char::is_alphanumeric);
            let next = rest.trim_start_matches(mark).chars().next();
            !is_within_word && next.is_some_and(|c| !c.is_whitespace())
        }
        '[' => may_become_link(rest),
        '!' => rest.strip_prefix('[').is_some_and(may_become_link),
        '<' => !rest.contains(|c: char| c == '>' || c.is_whitespace()),
        '&' => rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '#'),
        // The next line decides whether this one is the head of a table.
        _ => !rest.contains('\n'),
    }
}

/// Whether what follows a `[` can be the text and the address of a link.
fn may_become_link(rest: &str) -> bool {
    let mut depth = 1_usize;
    let end = rest.find(|c| {
        depth = match c {
            '[' => depth + 1,
            ']' => depth - 1,
            _ => depth,
        };
        depth == 0
    });
    let Some(behind) = end.and_then(|end| rest.get(end + 1..)) else {
        return true;
    };
    match behind.chars().next() {
        Some('(') => !behind.contains([')', '\n']),
        // A reference, or the definition of one.
        Some('[') => !behind.contains(']'),
        Some(':') => true,
        _ => false,
    }
}

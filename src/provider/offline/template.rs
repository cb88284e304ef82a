//! Matches a sentence against a template such as `write <text> to <path>`.

/// What a sentence says at a template's places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found<'a> {
    /// At `<path>`: a file or folder, one word unless it is quoted.
    pub path: &'a str,
    /// At `<text>`: anything.
    pub text: &'a str,
    /// At `<when>`: a time or a span.
    pub when: &'a str,
}

/// Matches the whole sentence; upper and lower case of ASCII letters are the same. A `<text>` takes
/// as much as it can, other places as little as they can, and none may stay empty.
pub fn find<'a>(template: &str, sentence: &'a str) -> Option<Found<'a>> {
    let mut found = Found::default();
    let (mut template, mut rest) = (template, sentence);
    loop {
        let (literal, place) = match template.split_once('<') {
            Some((literal, place)) => (literal, Some(place)),
            None => (template, None),
        };
        rest = strip_prefix(rest, literal)?;
        let Some((name, after)) = place.and_then(|place| place.split_once('>')) else {
            return rest.is_empty().then_some(found);
        };
        let next = after.split('<').next().unwrap_or_default();
        let end = match (next, name) {
            ("", _) => rest.len(),
            _ if after.len() == next.len() => rest.len().checked_sub(next.len())?,
            (_, "text") => position(rest, next, true)?,
            _ => position(rest, next, false)?,
        };
        let value = rest.get(..end)?.trim();
        match name {
            "path" => found.path = path(value)?,
            "when" => found.when = Some(value).filter(|value| !value.is_empty())?,
            _ => found.text = Some(unquoted(value)).filter(|value| !value.is_empty())?,
        }
        (template, rest) = (after, &rest[end..]);
    }
}

fn strip_prefix<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let begin = text.get(..literal.len())?;
    begin
        .eq_ignore_ascii_case(literal)
        .then(|| &text[literal.len()..])
}

fn position(text: &str, literal: &str, last: bool) -> Option<usize> {
    // Only ASCII letters change, so that the places stay the same.
    let (text, literal) = (text.to_ascii_lowercase(), literal.to_ascii_lowercase());
    if last {
        text.rfind(&literal)
    } else {
        text.find(&literal)
    }
}

/// A file's or folder's name, without the words around it.
fn path(value: &str) -> Option<&str> {
    const BEFORE: [&str; 9] = [
        "the ",
        "my ",
        "file ",
        "folder ",
        "directory ",
        "文件夹",
        "文件",
        "目录",
        "当前",
    ];
    const AFTER: [&str; 6] = [" folder", " directory", " file", "文件夹", "目录", "文件"];
    const HERE: [&str; 10] = [
        "here",
        "workspace",
        "this",
        "it",
        "current",
        "这里",
        "工作区",
        "当前",
        "文件夹",
        "目录",
    ];
    let mut name = value;
    if HERE.iter().any(|here| name.eq_ignore_ascii_case(here)) {
        return Some(".");
    }
    while let Some(rest) = BEFORE.iter().find_map(|word| strip_prefix(name, word)) {
        name = rest.trim_start();
    }
    while let Some(rest) = AFTER.iter().find_map(|word| name.strip_suffix(word)) {
        name = rest.trim_end();
    }
    if name.is_empty() || HERE.iter().any(|here| name.eq_ignore_ascii_case(here)) {
        // It was all words and no name.
        return (!value.is_empty()).then_some(".");
    }
    let bare = unquoted(name);
    let is_one_word = bare.len() < name.len() || !bare.contains(char::is_whitespace);
    (is_one_word && !bare.is_empty()).then_some(bare)
}

/// The text without one pair of quotes around it.
fn unquoted(text: &str) -> &str {
    const QUOTES: [(char, char); 7] = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('《', '》'),
    ];
    let inner = |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close);
    QUOTES.into_iter().find_map(inner).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_finds_what_stands_at_its_places() {
        let found = find("write <text> to <path>", "Write go to bed to My list.txt").unwrap();
        assert_eq!((found.text, found.path), ("go to bed", "list.txt"));
        let found = find("把<text>写入<path>", "把 “牛奶” 写入 购物.txt").unwrap();
        assert_eq!((found.text, found.path), ("牛奶", "购物.txt"));
        let found = find("<when>后提醒我<text>", "5分钟后提醒我喝水").unwrap();
        assert_eq!((found.when, found.text), ("5分钟", "喝水"));
        let found = find("看看<path>的内容", "看看 a.txt 的内容").unwrap();
        assert_eq!(found.path, "a.txt");
        assert_eq!(
            find("read <path>", "read \"a b.txt\"").unwrap().path,
            "a b.txt"
        );
        assert_eq!(
            find("list <path>", "list the docs folder").unwrap().path,
            "docs"
        );
        assert_eq!(find("list <path>", "list this folder").unwrap().path, ".");
        for (template, sentence) in [
            ("read <path>", "read"),
            ("read <path>", "read a b"),
            ("read <path>", "read  "),
            ("help", "help me"),
            ("<text>!", "é"),
            ("把<text>写入<path>", "把写入x"),
        ] {
            assert_eq!(find(template, sentence), None, "{sentence}");
        }
    }
}

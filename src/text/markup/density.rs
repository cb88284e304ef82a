//! Texts that are not parsed, because they are little but syntax.

/// Bytes of a text that may be syntax of Markdown. The parser needs about 100 bytes for each; an
/// answer of 160 KiB in which every eighth byte is one has 20,000.
const MARKDOWN_MARKS: usize = 32 * 1024;
/// Quotes and list items that one line may open: each costs the parser for every further line.
const MARKDOWN_DEPTH: usize = 32;

/// Whether a text is little but syntax.
pub fn is_dense(markdown: &str) -> bool {
    let is_mark = |byte: &u8| b"*_~`[]<>|&\\!\n\r".contains(byte);
    let marks = markdown.bytes().filter(|byte| is_mark(byte)).count();
    marks > MARKDOWN_MARKS || markdown.split(['\n', '\r']).any(is_deep)
}

/// Whether a line opens so many quotes and lists that its text is not parsed.
pub fn is_deep(line: &str) -> bool {
    openings(line) > MARKDOWN_DEPTH
}

/// Quotes and list items that a line may open at its beginning.
fn openings(line: &str) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b" \t>-+*.)".contains(byte);
    let end = line.bytes().position(|byte| !is_part(&byte));
    let beginning = &line.as_bytes()[..end.unwrap_or(line.len())];
    let opens = |pair: &&[u8]| match pair {
        [b'>', _] => true,
        [b'-' | b'+' | b'*' | b'.' | b')', next] => next.is_ascii_whitespace(),
        _ => false,
    };
    beginning.windows(2).filter(opens).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed() {
        let rule = "-".repeat(80);
        let code = format!("{}x\n", " ".repeat(200));
        for answer in [
            "",
            "- > - 1. *deep*",
            &rule,
            &code.repeat(800),
            &"**word** ".repeat(6000),
        ] {
            assert!(!is_dense(answer), "{answer}");
        }
    }

    #[test]
    fn towers_of_quotes_and_floods_of_marks_are_not() {
        for unit in [">", "> ", "- ", "1. ", "- > 2) "] {
            let tower = unit.repeat(MARKDOWN_DEPTH + 2) + "top";
            assert!(is_dense(&tower), "{tower}");
            assert!(is_dense(&format!("text\r  {tower}\ntext")), "{tower}");
        }
        assert!(is_dense(&"a[".repeat(MARKDOWN_MARKS + 1)));
    }
}

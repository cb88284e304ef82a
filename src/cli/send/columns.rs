//! Whether a text has columns, which only a monospaced font keeps.

/// Whether most lines of a text have gaps as between columns, as the output of `df` has.
pub fn has_columns(text: &str) -> bool {
    let is_markdown = |line: &str| line.trim_start().starts_with(['|', '>', '`']);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let aligned = lines().filter(|line| has_gap(line)).count();
    !lines().any(is_markdown) && aligned >= 2 && aligned * 2 >= lines().count()
}

/// Whether a line has a tab or several spaces between two words, other than behind a sentence.
fn has_gap(line: &str) -> bool {
    let line = line.trim();
    line.contains('\t')
        || line.match_indices("  ").any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_some_and(|before| !".!?:".contains(before))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_told_from_prose_and_markdown() {
        let df = "Filesystem      Size  Used Avail\n/dev/root        29G  7.1G   21G\ntmpfs           214M     0  214M\n";
        for text in [df, "a\tb\nc\td", "NAME   AGE\nweb    5d\n\n"] {
            assert!(has_columns(text), "{text}");
        }
        for text in [
            "",
            "The backup is done.",
            "One sentence.  And another.\nA line.  Another one.",
            "- a list\n  with a second line\n- more",
            "| a  | b  |\n|----|----|\n| c  | d  |",
            "```\na   b\nc   d\n```",
            "one  gap\nand then\nmuch prose\nwithout any",
        ] {
            assert!(!has_columns(text), "{text}");
        }
    }
}

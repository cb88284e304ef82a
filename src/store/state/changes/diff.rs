//! What differs between two texts, line by line. Pure.

/// Lines of a difference that are shown.
const DIFF_LINES: usize = 120;
/// Pairs of lines that are compared with each other; beyond them all old lines count as gone.
const DIFF_PAIRS: usize = 250_000;

/// Lines that are shown around a difference.
const AROUND: usize = 2;

/// The differences of two texts: lines with `-` are gone, those with `+` are new, and a few around them are shown.
pub fn unified(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let begin = before
        .iter()
        .zip(&after)
        .take_while(|(old, new)| old == new)
        .count();
    let (old, new) = (&before[begin..], &after[begin..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut lines = vec![format!("@@ line {} @@", begin + 1)];
    let shown = |line: &&str| format!("  {line}");
    lines.extend(
        before[begin.saturating_sub(AROUND)..begin]
            .iter()
            .map(shown),
    );
    lines.extend(changed(old, new));
    lines.extend(before[before.len() - end..].iter().take(AROUND).map(shown));
    let over = lines.len().saturating_sub(DIFF_LINES);
    if over > 0 {
        lines.truncate(DIFF_LINES);
        lines.push(format!("… {over} more lines"));
    }
    lines.join("\n")
}

/// The lines of two parts that begin and end with different ones.
fn changed(old: &[&str], new: &[&str]) -> Vec<String> {
    let gone = |line: &&str| format!("- {line}");
    let come = |line: &&str| format!("+ {line}");
    if old.len().saturating_mul(new.len()) > DIFF_PAIRS {
        return old.iter().map(gone).chain(new.iter().map(come)).collect();
    }
    // The length of the longest common part of what is behind each pair of places.
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for (row, old) in old.iter().enumerate().rev() {
        for (column, new) in new.iter().enumerate().rev() {
            let at = row * width + column;
            common[at] = if old == new {
                common[at + width + 1] + 1
            } else {
                common[at + width].max(common[at + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < old.len() || column < new.len() {
        let at = row * width + column;
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push(format!("  {}", old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == new.len() || row < old.len() && common[at + width] >= common[at + 1] {
            lines.push(gone(&old[row]));
            row += 1;
        } else {
            lines.push(come(&new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_is_shown_with_a_little_around_it() {
        assert_eq!(
            unified("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nnew\nf\n"),
            "@@ line 4 @@\n  b\n  c\n- d\n+ D\n  e\n+ new\n  f"
        );
        assert_eq!(unified("", "a\n"), "@@ line 1 @@\n+ a");
        assert_eq!(unified("a\n", ""), "@@ line 1 @@\n- a");
    }

    proptest! {
        #[test]
        fn each_line_is_gone_new_or_the_same(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let count = |mark: &str, text: &str| text.lines().filter(|line| line.starts_with(mark)).count();
            let shown = unified(&before, &after);
            let (before, after) = (before.lines().count(), after.lines().count());
            prop_assert_eq!(before + count("+ ", &shown), after + count("- ", &shown));
        }
    }
}

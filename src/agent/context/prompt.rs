//! The system prompt as a list of parts, each within its budget. Pure.

use crate::text::{grouped, truncate_bytes};

/// Between two parts.
const SEPARATOR: &str = "\n\n---\n\n";

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it comes from, such as `USER.md`.
    pub name: String,
    /// What the model reads, with its heading.
    pub text: String,
    /// Bytes that are left out because they did not fit; `None` when all are there.
    pub is_cut: Option<usize>,
    /// Bytes that its content may have.
    pub budget: usize,
}

impl Part {
    /// A part of this text, which should never be longer than its budget. What is over is left out.
    pub fn new(name: &str, text: &str, budget: usize) -> Self {
        let kept = truncate_bytes(text, budget);
        let left_out = text.len() - kept.len();
        let mut text = kept.to_owned();
        if left_out > 0 {
            text.push_str(&format!(
                "\n[cut: {} bytes are left out]",
                grouped(left_out)
            ));
        }
        Self {
            name: name.to_owned(),
            text,
            is_cut: (left_out > 0).then_some(left_out),
            budget,
        }
    }

    /// The beginning of a file below its path. `content` is what was read, and `unread` says how many
    /// bytes follow it in the file. `None` when the file is blank.
    pub fn of_file(path: &str, content: &str, unread: usize, budget: usize) -> Option<Self> {
        let content = content.trim();
        if content.is_empty() {
            return None;
        }
        let kept = beginning(content, budget).trim_end();
        let left_out = content.len() - kept.len() + unread;
        let mut text = format!("## {path}\n{kept}");
        if left_out > 0 {
            text.push_str(&format!(
                "\n[cut: {} bytes of {path} are left out; read_file shows all]",
                grouped(left_out)
            ));
        }
        Some(Self {
            name: path.to_owned(),
            text,
            is_cut: (left_out > 0).then_some(left_out),
            budget,
        })
    }

    /// The end of a file below its path. `left_out` says how many bytes are before it in the file.
    pub fn of_end(path: &str, content: &str, left_out: usize, budget: usize) -> Self {
        let mut text = format!("## {path}\n");
        if left_out > 0 {
            text.push_str(&format!(
                "[cut: the first {} bytes of {path} are left out; read_file shows all]\n",
                grouped(left_out)
            ));
        }
        text.push_str(content.trim());
        Self {
            name: path.to_owned(),
            text,
            is_cut: (left_out > 0).then_some(left_out),
            budget,
        }
    }

    /// Lines below a text that introduces them, as many as fit. What follows them is named by `rest`
    /// with its number. `None` when there are none.
    pub fn of_lines(
        name: &str,
        introduction: &str,
        lines: &[String],
        rest: fn(usize) -> String,
        budget: usize,
    ) -> Option<Self> {
        if lines.is_empty() {
            return None;
        }
        let mut text = introduction.to_owned();
        let mut left = budget.saturating_sub(text.len());
        let fits = |line: &&String| {
            let is_fitting = line.len() < left;
            left = left.saturating_sub(line.len() + 1);
            is_fitting
        };
        let kept = lines.iter().take_while(fits).count();
        let (kept, others) = lines.split_at(kept);
        kept.iter()
            .for_each(|line| text.extend(["\n", line.as_str()]));
        let left_out: usize = others.iter().map(|line| line.len() + 1).sum();
        if left_out > 0 {
            text.push_str(&format!("\n[cut: {}]", rest(others.len())));
        }
        Some(Self {
            name: name.to_owned(),
            text,
            is_cut: (left_out > 0).then_some(left_out),
            budget,
        })
    }
}

/// The beginning of a text that is too long: whole lines where that leaves out little.
fn beginning(text: &str, bytes: usize) -> &str {
    let kept = truncate_bytes(text, bytes);
    let line = kept.rfind('\n').filter(|end| *end >= bytes / 4 * 3);
    match line {
        Some(end) if kept.len() < text.len() => truncate_bytes(kept, end),
        _ => kept,
    }
}

/// The system prompt. It is the same bytes from turn to turn while nothing in the workspace changes, so
/// that providers can cache it: it has no time and counts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The parts in the order in which the model reads them.
    pub parts: Vec<Part>,
}

impl Prompt {
    /// What the model reads.
    pub fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        parts.join(SEPARATOR)
    }

    /// The parts that did not fit, and how many bytes of each are left out.
    pub fn cuts(&self) -> impl Iterator<Item = (&str, usize)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.name.as_str(), part.is_cut?)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_separated_and_a_cut_one_says_so() {
        let parts = [
            Some(Part::new("identity", "# Peacrab", 100)),
            Part::of_file("USER.md", "\nAda, who likes short answers.\n", 0, 5),
            Part::of_file("SOUL.md", " \n", 0, 100),
            Part::of_file("TOOLS.md", "A pump.\n", 3_210, 100),
            Some(Part::of_end(
                "memory/2026-11-23.md",
                "- 09:00 rain\n",
                40,
                100,
            )),
        ];
        let prompt = Prompt {
            parts: parts.into_iter().flatten().collect(),
        };
        assert_eq!(
            prompt.text(),
            "# Peacrab\n\n---\n\n\
             ## USER.md\nAda,\n[cut: 25 bytes of USER.md are left out; read_file shows all]\n\n---\n\n\
             ## TOOLS.md\nA pump.\n[cut: 3,210 bytes of TOOLS.md are left out; read_file shows all]\n\n---\n\n\
             ## memory/2026-11-23.md\n[cut: the first 40 bytes of memory/2026-11-23.md are left out; \
             read_file shows all]\n- 09:00 rain"
        );
        let cuts: Vec<_> = prompt.cuts().collect();
        assert_eq!(
            cuts,
            [
                ("USER.md", 25),
                ("TOOLS.md", 3_210),
                ("memory/2026-11-23.md", 40)
            ]
        );
    }

    #[test]
    fn a_long_text_is_cut_between_lines_where_one_is_near() {
        assert_eq!(beginning("one two\nthree", 9), "one two");
        assert_eq!(beginning("one two\nthree", 13), "one two\nthree");
        assert_eq!(beginning("one\ntwo three four", 12), "one\ntwo thre");
    }

    #[test]
    fn of_lines_as_many_are_kept_as_fit() {
        let lines = ["- one: first".to_owned(), "- two: second".to_owned()];
        let part = |budget| {
            let rest = |count| format!("{count} more skills");
            Part::of_lines("skills", "## Skills", &lines, rest, budget).unwrap()
        };
        assert_eq!(part(100).text, "## Skills\n- one: first\n- two: second");
        assert_eq!(part(36).is_cut, None);
        let cut = part(35);
        assert_eq!(cut.text, "## Skills\n- one: first\n[cut: 1 more skills]");
        assert_eq!(cut.is_cut, Some(14));
        assert_eq!(part(0).text, "## Skills\n[cut: 2 more skills]");
        assert_eq!(
            Part::of_lines("skills", "", &[], |_| String::new(), 9),
            None
        );
    }

    proptest! {
        #[test]
        fn no_file_gets_more_than_its_budget(content in "(\\PC|\\n){0,200}", unread in 0..9usize, budget in 0..200usize) {
            let Some(part) = Part::of_file("USER.md", &content, unread, budget) else {
                return Ok(());
            };
            let kept = part.text.trim_start_matches("## USER.md\n");
            let kept = kept.split("[cut: ").next().unwrap_or_default();
            prop_assert!(kept.trim_end().len() <= budget);
            let is_whole = content.trim().len() <= budget && unread == 0;
            prop_assert_eq!(part.is_cut.is_none(), is_whole);
        }
    }
}

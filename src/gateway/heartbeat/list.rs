//! PURE: what HEARTBEAT.md asks for, and whether an answer has news.

/// The answer that means: nothing that a person has to know.
pub const OK: &str = "HEARTBEAT_OK";

/// What is to be done, without comments and finished items; `None` when that is nothing, so that no model
/// need be asked.
pub fn open_tasks(text: &str) -> Option<String> {
    let text = without_comments(text.trim_start_matches('\u{feff}'));
    let mut kept = Vec::new();
    let mut has_tasks = false;
    // The indentation of a finished item, whose following lines belong to it.
    let mut done: Option<usize> = None;
    for line in text.lines() {
        let bare = line.trim();
        let indent = line.len() - line.trim_start().len();
        let item = item_text(bare);
        if done.is_some_and(|done| bare.is_empty() || item.is_some() || indent <= done) {
            done = None;
        }
        if done.is_some() {
            continue;
        }
        match item {
            Some(item) if item.starts_with("[x]") || item.starts_with("[X]") => {
                done = Some(indent);
                continue;
            }
            Some(item) => {
                let task = item.strip_prefix("[ ]").or(item.strip_prefix("[]"));
                has_tasks |= !task.unwrap_or(item).trim().is_empty();
            }
            None => has_tasks |= !bare.is_empty() && !is_heading(bare) && !is_rule(bare),
        }
        kept.push(line.trim_end());
    }
    has_tasks.then(|| kept.join("\n").trim().to_owned())
}

/// The text of an item of a list, numbered or not.
fn item_text(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    let rest = if number.is_empty() {
        rest.strip_prefix(['-', '*', '+'])?
    } else {
        rest.strip_prefix(['.', ')'])?
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest.trim())
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    text.len() < line.len() && (text.is_empty() || text.starts_with([' ', '\t']))
}

/// A rule, or the underlining of a heading.
fn is_rule(line: &str) -> bool {
    let is_of = |mark| line.chars().all(|char| char == mark || char == ' ');
    line.len() >= 3 && ['-', '=', '*', '_'].into_iter().any(is_of)
}

/// The text without HTML comments. One that has no end goes to the end of the text.
fn without_comments(text: &str) -> String {
    let mut pieces = text.split("<!--");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        if let Some((_, after)) = piece.split_once("-->") {
            kept.push_str(after);
        }
    }
    kept
}

/// What a person should read of an answer; `None` when there is nothing new. [`OK`] at the beginning or the
/// end is removed, with what decorates it. Only when no words are left is the answer silent: better a sentence
/// too many than a warning that is lost.
pub fn news(answer: &str) -> Option<&str> {
    let text = answer.trim();
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let bare = text.trim_matches(|char: char| !char.is_alphanumeric());
    let decorates = |char: char| char.is_whitespace() || "*`_>.,:;-–—…".contains(char);
    let after = bare.strip_prefix(OK);
    let before = bare.strip_suffix(OK);
    let rest = if after.is_some_and(|rest| !rest.starts_with(is_word)) {
        let after = text.split_once(OK).map(|(_, after)| after);
        after.map(|after| after.trim_start_matches(decorates))
    } else if before.is_some_and(|rest| !rest.ends_with(is_word)) {
        let before = text.rsplit_once(OK).map(|(before, _)| before);
        before.map(|before| before.trim_end_matches(|char| decorates(char) && char != '.'))
    } else {
        let is_punctuation = |char: char| char == '…' || char.is_ascii_punctuation();
        return Some(text).filter(|text| !text.chars().all(is_punctuation));
    };
    rest.filter(|rest| rest.contains(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_do_asks_no_model() {
        for text in [
            "",
            " \n\t\r\n",
            "\u{feff}# Heartbeat\n\n## Tasks\n",
            "# Heartbeat\r\n\r\n<!--\r\n- [ ] an example\r\n-->\r\n",
            "=====\n",
            "---\n***\n_ _ _\n",
            "- [x] done\n* [X] done\n+ [x] done\n1. [x] done\n2) [X] done",
            "- [x] done\n  with more to read\n    and more",
            "- [ ]\n- []\n-\n1.\n* ",
            "<!-- one --> <!-- two -->\n#\n##",
            "<!-- never closed\n- [ ] a task",
            include_str!("../../../templates/HEARTBEAT.md"),
        ] {
            assert_eq!(open_tasks(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_to_be_done_is_kept_without_the_rest() {
        for (text, tasks) in [
            ("Look at the disk.", "Look at the disk."),
            ("# T\n- [ ] look", "# T\n- [ ] look"),
            ("- look\n- [x] done\n- [ ] more", "- look\n- [ ] more"),
            ("- [x] done\n  its text\n- [ ] more", "- [ ] more"),
            ("- [x] done\n  - [ ] a part is not", "- [ ] a part is not"),
            ("- [x] done\n\nA sentence.", "A sentence."),
            ("a <!-- b\nc --> d", "a  d"),
            ("#hashtag", "#hashtag"),
            ("- [y] odd", "- [y] odd"),
            ("2026 was a year", "2026 was a year"),
            ("*strong*", "*strong*"),
            ("看一下磁盘", "看一下磁盘"),
        ] {
            assert_eq!(open_tasks(text).as_deref(), Some(tasks), "{text:?}");
        }
    }

    #[test]
    fn an_answer_without_news_disturbs_no_one() {
        for answer in [
            "HEARTBEAT_OK",
            " HEARTBEAT_OK.\n",
            "**HEARTBEAT_OK**",
            "`HEARTBEAT_OK` ✅",
            "> HEARTBEAT_OK",
            "✅ HEARTBEAT_OK 👍",
            "",
            " \n",
            "…",
        ] {
            assert_eq!(news(answer), None, "{answer:?}");
        }
    }

    #[test]
    fn news_is_told() {
        assert_eq!(news(" The disk is full. "), Some("The disk is full."));
        assert_eq!(news("磁盘满了"), Some("磁盘满了"));
        for (answer, told) in [
            ("The disk is full. HEARTBEAT_OK", "The disk is full."),
            ("**HEARTBEAT_OK**\n\nDisk: 95 %!", "Disk: 95 %!"),
            ("HEARTBEAT_OK (checked at 07:30)", "(checked at 07:30)"),
            ("⚠️ 磁盘满了 `HEARTBEAT_OK`", "⚠️ 磁盘满了"),
            ("HEARTBEAT_OKAY", "HEARTBEAT_OKAY"),
            ("🔥", "🔥"),
        ] {
            assert_eq!(news(answer), Some(told), "{answer:?}");
        }
        let inside = "I would have said HEARTBEAT_OK but the disk is full.";
        assert_eq!(news(inside), Some(inside));
    }
}

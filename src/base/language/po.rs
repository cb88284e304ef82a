//! Reads translations as gettext writes them (`.po`), and packs them for `catalog`. Only the build script and tests use
//! it.
//!
//! The format: <https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html>

use super::template::{Piece, key, pieces};

/// A text and its translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The line of its `msgid`, from 1.
    pub line: usize,
    /// The English text.
    pub id: String,
    /// The translation; empty for none, and for one that its translator has marked as uncertain (`fuzzy`).
    pub text: String,
}

/// What is wrong with a file, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, in a few words.
    pub problem: String,
}

/// The translations of a file, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// What [`catalog`](super::catalog) reads.
    pub bytes: Vec<u8>,
    /// Translations that are left out, because their values are not those of the English text.
    pub left_out: Vec<Fault>,
}

fn fault(line: usize, problem: &str) -> Fault {
    let problem = problem.to_owned();
    Fault { line, problem }
}

/// The part of an entry that continued lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Nothing,
    Id,
    Text,
}

/// The entries of a file, without its head.
pub fn read(po: &str) -> Result<Vec<Entry>, Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut part, mut is_fuzzy) = (Part::Nothing, false);
    // Of the running entry, until its translation has come.
    let mut running: Option<(Entry, bool)> = None;
    for (index, line) in po.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            if part == Part::Id {
                return Err(fault(number, "a msgid without a msgstr"));
            }
            entries.extend(finished(running.take()));
            part = Part::Nothing;
            is_fuzzy |= line.starts_with("#,") && line.contains("fuzzy");
            continue;
        }
        let (word, quoted) = line.split_at(line.find('"').unwrap_or(line.len()));
        let text = unescape(quoted).ok_or_else(|| fault(number, "not a text in quotes"))?;
        match (word.trim(), part, &mut running) {
            ("msgid", Part::Nothing | Part::Text, _) => {
                entries.extend(finished(running.take()));
                let entry = Entry {
                    line: number,
                    id: text,
                    text: String::new(),
                };
                running = Some((entry, std::mem::take(&mut is_fuzzy)));
                part = Part::Id;
            }
            ("msgstr", Part::Id, Some((entry, _))) => {
                entry.text = text;
                part = Part::Text;
            }
            ("", Part::Id, Some((entry, _))) => entry.id += &text,
            ("", Part::Text, Some((entry, _))) => entry.text += &text,
            _ => return Err(fault(number, "neither a msgid nor its msgstr")),
        }
    }
    if part == Part::Id {
        return Err(fault(po.lines().count(), "a msgid without a msgstr"));
    }
    entries.extend(finished(running));
    Ok(entries)
}

/// The entry, unless it is the head of the file.
fn finished(running: Option<(Entry, bool)>) -> Option<Entry> {
    let (mut entry, is_fuzzy) = running.filter(|(entry, _)| !entry.id.is_empty())?;
    if is_fuzzy {
        entry.text.clear();
    }
    Some(entry)
}

/// The text between two quotes, with nothing behind them.
fn unescape(quoted: &str) -> Option<String> {
    let mut chars = quoted.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return chars.as_str().is_empty().then_some(text),
            '\\' => text.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                same @ ('"' | '\\') => same,
                _ => return None,
            }),
            char => text.push(char),
        }
    }
}

/// Packs entries. Fails where two texts have one key: one of them has to be worded in another way.
pub fn pack(entries: &[Entry]) -> Result<Packed, Fault> {
    let mut packed = Packed::default();
    let mut sorted: Vec<(u32, &Entry)> = entries
        .iter()
        .map(|entry| (key(&entry.id), entry))
        .collect();
    sorted.sort_by_key(|(key, _)| *key);
    for pair in sorted.windows(2) {
        if let [(one, first), (other, second)] = pair
            && one == other
        {
            let line = first.line.max(second.line);
            let problem = match first.id == second.id {
                true => "the same msgid again".to_owned(),
                false => format!(
                    "has the key of the msgid in line {}",
                    first.line.min(second.line)
                ),
            };
            return Err(Fault { line, problem });
        }
    }
    sorted.retain(|(_, entry)| {
        let has_values = values(&entry.id) == values(&entry.text);
        if !has_values && !entry.text.is_empty() {
            let problem = "has other values in braces than the English text, which is used";
            packed.left_out.push(fault(entry.line, problem));
        }
        has_values && !entry.text.is_empty()
    });
    let mut number = |number: usize| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        packed.bytes.extend(number.to_le_bytes());
    };
    number(sorted.len());
    sorted.iter().for_each(|(key, _)| number(*key as usize));
    let mut end = 0;
    for (_, entry) in &sorted {
        end += entry.text.len();
        number(end);
    }
    let texts = sorted.iter().flat_map(|(_, entry)| entry.text.bytes());
    packed.bytes.extend(texts);
    Ok(packed)
}

/// The names of the values of a text, sorted.
pub fn values(text: &str) -> Vec<&str> {
    let name = |piece| match piece {
        Piece::Value(name) => Some(name),
        Piece::Plain(_) => None,
    };
    let mut names: Vec<&str> = pieces(text).filter_map(name).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_as_editors_write_them() {
        let po = "# A head.\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n\n\
                  #. A comment.\n#: a.rs:yes\n#, fuzzy, python-brace-format\nmsgid \"Yes\"\nmsgstr \"Jo\"\n\n\
                  #: a.rs:no\nmsgid \"\"\n\"No,\\n\"\n\"\\\"thanks\\\"\"\nmsgstr \"\"\n\"Nein\\n\"\n\"danke\"\n\
                  msgid \"a\"\nmsgstr \"ä\"\n\n#~ msgid \"old\"\n#~ msgstr \"alt\"\n";
        let entries = read(po).unwrap();
        let entry = |line, id: &str, text: &str| Entry {
            line,
            id: id.to_owned(),
            text: text.to_owned(),
        };
        let expected = [
            entry(9, "Yes", ""),
            entry(13, "No,\n\"thanks\"", "Nein\ndanke"),
            entry(19, "a", "ä"),
        ];
        assert_eq!(entries, expected);
    }

    #[test]
    fn a_fault_has_its_line() {
        for (po, line) in [
            ("msgid \"a\"\n\nmsgstr \"b\"", 2),
            ("msgid \"a\"\nmsgid \"b\"", 2),
            ("msgid \"a\"\nmsgstr \"b", 2),
            ("msgid \"a\"\nmsgstr \"b\" c", 2),
            ("\n\nmsgstr \"b\"", 3),
            ("msgid \"a\\q\"\nmsgstr \"b\"", 1),
            ("msgid \"a\"\nmsgid_plural \"as\"", 2),
            ("msgid \"a\"", 1),
            ("hello", 1),
        ] {
            assert_eq!(read(po).unwrap_err().line, line, "{po}");
        }
        let pack = |po| pack(&read(po).unwrap());
        let twice = pack("msgid \"a\"\nmsgstr \"b\"\n\nmsgid \"a\"\nmsgstr \"c\"").unwrap_err();
        assert_eq!(twice, fault(4, "the same msgid again"));
        // Two words with the same FNV-1a hash.
        let same =
            pack("msgid \"costarring\"\nmsgstr \"b\"\nmsgid \"liquid\"\nmsgstr \"c\"").unwrap_err();
        assert_eq!(same, fault(3, "has the key of the msgid in line 1"));
        let other = pack("msgid \"{a} of {b}\"\nmsgstr \"{a} {{b}}\"").unwrap();
        assert_eq!(other.left_out[0].line, 1);
    }
}

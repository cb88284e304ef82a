//! The floors, and the rules for sources and folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::{Word, test_modules, words};

/// The rooms of each floor, lowest first. `lib.rs` and `main.rs` are on none.
const FLOORS: [&[&str]; 11] = [
    &["base"],
    &["sys"],
    &["text"],
    &["config", "net"],
    &["sandbox"],
    &["board", "store", "update"],
    &["schedule"],
    &["models", "tools"],
    &["agent", "channels"],
    &["gateway"],
    &["cli"],
];

/// What only one room or module may use: a sequence of words, and the beginning of its path.
const ONLY_IN: [(&[&str], &str); 12] = [
    (&["PoisonError"], "base/sync"),
    (&["unsafe"], "sys"),
    (&["serde_json", ":", ":", "from_str"], "base/json"),
    (&["serde_json", ":", ":", "from_slice"], "base/json"),
    (&["Utc", ":", ":", "now"], "base/clock"),
    (&["Local", ":", ":", "now"], "base/clock"),
    (&["Instant", ":", ":", "now"], "base/clock"),
    (&["SystemTime", ":", ":", "now"], "base/clock"),
    (&["println", "!"], "cli"),
    (&["eprintln", "!"], "cli"),
    (&["print", "!"], "cli"),
    (&["eprint", "!"], "cli"),
];

const LINES_PER_FILE: usize = 600;
const FILES_PER_FOLDER: usize = 10;

/// The sources below a folder by their paths, without those that are compiled only for tests.
pub fn files_beneath(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(root, "", &mut files);
    let tests: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| test_files(path, text))
        .collect();
    files.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else if name.ends_with(".rs") {
            files.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// The beginnings of the paths of a source's test modules.
fn test_files(path: &str, text: &str) -> Vec<String> {
    let folder = path.strip_suffix("mod.rs").map_or_else(
        || format!("{}/", path.trim_end_matches(".rs")),
        str::to_owned,
    );
    let both = |module: String| [format!("{folder}{module}.rs"), format!("{folder}{module}/")];
    test_modules(text).into_iter().flat_map(both).collect()
}

/// The faults of one source; its path is relative to `src`.
pub fn check_source(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    let is_table = text
        .lines()
        .next()
        .is_some_and(|first| first.contains("table"));
    if lines > LINES_PER_FILE && !is_table {
        faults.push(format!("{path}: {lines} lines; at most {LINES_PER_FILE}"));
    }
    let words = words(text);
    let room = room_of(path);
    for (row, only) in ONLY_IN.iter().filter(|(_, only)| !is_beneath(path, only)) {
        let found = words.windows(row.len()).find(|window| same(window, row));
        if let Some(found) = found {
            faults.push(format!(
                "{path}:{}: {} outside {only}",
                found[0].line,
                row.concat()
            ));
        }
    }
    if let Some(room) = room {
        faults.extend(check_imports(path, room, &words));
    }
    faults
}

/// Folders with too many files.
pub fn check_folders<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        if let Some((folder, _)) = path.rsplit_once('/') {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let full = counts
        .into_iter()
        .filter(|(_, count)| *count > FILES_PER_FOLDER);
    full.map(|(folder, count)| format!("{folder}: {count} files; at most {FILES_PER_FOLDER}"))
        .collect()
}

/// The room that a path belongs to; `None` for `main.rs` and `lib.rs`.
fn room_of(path: &str) -> Option<&str> {
    match path {
        "main.rs" | "lib.rs" => None,
        _ => path
            .split('/')
            .next()
            .map(|name| name.trim_end_matches(".rs")),
    }
}

/// Whether a source is this module or part of it.
fn is_beneath(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest.starts_with(['/', '.']))
}

fn floor_of(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn check_imports(path: &str, room: &str, words: &[Word]) -> Vec<String> {
    let Some(floor) = floor_of(room) else {
        return vec![format!(
            "{path}: the room {room} has no floor in tests/floors/house.rs"
        )];
    };
    let climbs = |import: &&Word| {
        import.text != room && floor_of(&import.text).is_none_or(|other| other >= floor)
    };
    imports(path, words)
        .iter()
        .filter(climbs)
        .map(|import| {
            let line = import.line;
            format!(
                "{path}:{line}: {room} (floor {floor}) may not import {}",
                import.text
            )
        })
        .collect()
}

/// The first part of each path that a source names from the root: after `crate::`, or after enough `super::`.
fn imports(path: &str, words: &[Word]) -> Vec<Word> {
    parts(path, words, 0)
}

/// The part at `depth` of each path that a source names and that leads through the first `depth` parts of its own: 0 for
/// rooms, 1 for the modules of its room.
fn parts(path: &str, words: &[Word], depth_of_part: usize) -> Vec<Word> {
    let own: Vec<&str> = path
        .trim_end_matches(".rs")
        .trim_end_matches("/mod")
        .split('/')
        .collect();
    let shared = &own[..depth_of_part.min(own.len())];
    let mut modules = Vec::new();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match words[at].text.as_str() {
            "{" => modules.push(at >= 2 && words[at - 2].text == "mod"),
            "}" => drop(modules.pop()),
            "crate" => found.extend(behind(words, at + 1, shared)),
            "super" => {
                let depth = own.len() + modules.iter().filter(|is_module| **is_module).count();
                let mut ups = 1;
                while same(&words[at + 1..], &[":", ":", "super"]) {
                    (ups, at) = (ups + 1, at + 3);
                }
                if ups >= depth {
                    found.extend(behind(words, at + 1, shared));
                } else if depth - ups == shared.len() {
                    found.extend(after_colons(words, at + 1));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The segments that follow these modules.
fn behind(words: &[Word], at: usize, modules: &[&str]) -> Vec<Word> {
    let mut at = at;
    for module in modules {
        if !same(&words[at..], &[":", ":", module]) {
            return Vec::new();
        }
        at += 3;
    }
    after_colons(words, at)
}

/// Circles of imports among the modules of a room, as `room: a -> b -> a`. What is in the room's own file belongs to none.
pub fn circles(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut imported: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files {
        let mut names = path.split('/');
        if let (Some(room), Some(module)) = (names.next(), names.next()) {
            let module = module.trim_end_matches(".rs");
            let to = imported.entry((room, module)).or_default();
            to.extend(
                parts(path, &words(text), 1)
                    .into_iter()
                    .map(|part| part.text),
            );
        }
    }
    let mut found = Vec::new();
    for (room, module) in imported.keys() {
        let mut ways = vec![vec![*module]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            let to = imported.get(&(*room, way[way.len() - 1]));
            for next in to.into_iter().flatten().map(String::as_str) {
                if next == *module && way.len() > 1 {
                    // Each circle once: from its first module.
                    if way.iter().all(|one| *one >= *module) {
                        found.push(format!("{room}: {} -> {module}", way.join(" -> ")));
                    }
                } else if next != *module && seen.insert(next) {
                    ways.push([way.as_slice(), &[next]].concat());
                }
            }
        }
    }
    found
}

/// Imports from one channel into another: what they share is in the kit.
pub fn neighbours(files: &BTreeMap<String, String>, channels: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let own = path
            .strip_prefix("channels/")
            .and_then(|rest| rest.split('/').next());
        let Some(own) = own.filter(|own| channels.contains(own)) else {
            continue;
        };
        for part in parts(path, &words(text), 1) {
            if part.text != own && channels.contains(&&*part.text) {
                found.push(format!("{path}:{}: imports {}", part.line, part.text));
            }
        }
    }
    found
}

/// The first segment after `::`, or those of all paths in a group.
fn after_colons(words: &[Word], at: usize) -> Vec<Word> {
    if !same(&words[at..], &[":", ":"]) {
        return Vec::new();
    }
    let rest = &words[at + 2..];
    if !same(rest, &["{"]) {
        return rest.first().cloned().into_iter().collect();
    }
    let mut segments = Vec::new();
    let (mut depth, mut is_first) = (0_usize, true);
    for word in rest {
        match word.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => is_first = true,
            _ if is_first && depth == 1 => {
                segments.push(word.clone());
                is_first = false;
            }
            _ => {}
        }
    }
    segments
}

fn same(words: &[Word], row: &[&str]) -> bool {
    words.len() >= row.len() && words.iter().zip(row).all(|(word, text)| word.text == *text)
}

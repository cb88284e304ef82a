//! Files of the workspace: instructions, memory and skills.

use std::path::Path;

use super::report::{Mark, Report};
use super::source::{Folder, Program, Source};
use super::texts;
use crate::base::error::Result;
use crate::base::json;
use crate::base::limits::skills::SKILLS_MAX;
use crate::cli::compose::files::is_untouched;
use crate::sandbox::files::Workspace;
use crate::sys::file::read_beginning;
use crate::tools::skills::Skills;
use crate::tools::skills::package::{File, Package, check_path};

/// Bytes of one of these files. Ours are read up to as many.
const FILE_BYTES: usize = 256 * 1024;
/// Bytes of a history that is read to take its newest part.
const HISTORY_BYTES: usize = 8 * 1024 * 1024;
/// Daily notes that are taken.
const NOTES: usize = 1_000;
/// Bytes of the files of all skills.
const SKILLS_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a skill, and its files.
const SKILL_BYTES: usize = 8 * 1024 * 1024;
const SKILL_FILES: usize = 500;
/// Levels of folders in which skills are looked for, and those of a skill.
const SKILLS_DEPTH: usize = 10;

/// A file of a workspace there, and its name here; the first of several that is there counts.
const FILES: [(&str, &str); 8] = [
    ("AGENTS.md", "AGENTS.md"),
    ("AGENT.md", "AGENTS.md"),
    ("SOUL.md", "SOUL.md"),
    ("USER.md", "USER.md"),
    ("TOOLS.md", "TOOLS.md"),
    ("IDENTITY.md", "IDENTITY.md"),
    ("HEARTBEAT.md", "HEARTBEAT.md"),
    ("memory/MEMORY.md", "memory/MEMORY.md"),
];
/// The same for Hermes, and for programs that have the memory above it.
const HERMES_FILES: [(&str, &str); 3] = [
    ("SOUL.md", "SOUL.md"),
    ("memories/USER.md", "USER.md"),
    ("memories/MEMORY.md", "memory/MEMORY.md"),
];
const ABOVE: (&str, &str) = ("MEMORY.md", "memory/MEMORY.md");

/// Where things go.
pub struct Place<'a> {
    /// Our workspace; `None` when there is none yet and nothing is written.
    pub workspace: Option<&'a Workspace>,
    /// Whether something is written.
    pub writes: bool,
}

/// Takes the files of the workspace and of the memory.
pub fn take(source: &Source, place: &Place<'_>, report: &mut Report) -> Result<()> {
    report.part(texts::FILES);
    let Some(from) = &source.workspace else {
        report.add(Mark::Left, "workspace", texts::ELSEWHERE);
        return Ok(());
    };
    let mut names: Vec<(String, String)> = Vec::new();
    let mut add = |theirs: &str, ours: &str| {
        if from.has(theirs) && !names.iter().any(|(_, name)| name == ours) {
            names.push((theirs.to_owned(), ours.to_owned()));
        }
    };
    match source.program {
        Program::Hermes => HERMES_FILES
            .iter()
            .for_each(|(theirs, ours)| add(theirs, ours)),
        _ => FILES
            .iter()
            .chain([&ABOVE])
            .for_each(|(theirs, ours)| add(theirs, ours)),
    }
    for (name, _) in from.files("memory", 2).iter().take(NOTES) {
        if let Some(day) = day_of(name) {
            add(&format!("memory/{name}"), &format!("memory/{day}.md"));
        }
    }
    for (theirs, ours) in names {
        match from.read(&theirs, FILE_BYTES) {
            Ok(Some(content)) => {
                let content = without_marks(source.program, &theirs, content);
                put(place, &theirs, &ours, &content, report)?;
            }
            Ok(None) => {}
            Err(error) => report.add(Mark::Left, &theirs, &error.to_string()),
        }
    }
    history(from, place, report)
}

/// Hermes separates the entries of its memory by a sign; here each is an item of a list.
fn without_marks(program: Program, name: &str, content: Vec<u8>) -> Vec<u8> {
    if program != Program::Hermes || !name.starts_with("memories/") {
        return content;
    }
    let text = String::from_utf8_lossy(&content);
    let entries = text
        .split("\n§\n")
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    let items = entries.map(|entry| format!("- {}\n", entry.replace('\n', "\n  ")));
    items.collect::<String>().into_bytes()
}

/// The day of a daily note: `2026-01-31.md`, or `202601/20260131.md`.
fn day_of(name: &str) -> Option<String> {
    let stem = name.rsplit('/').next()?.strip_suffix(".md")?;
    let digits: String = stem.chars().filter(char::is_ascii_digit).collect();
    let is_day = matches!(stem.len(), 8 | 10) && digits.len() == 8 && digits.starts_with("20");
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    is_day.then(|| format!("{year}-{month}-{day}"))
}

/// Takes the log of what happened: the newest part of it, in paragraphs.
fn history(from: &Folder, place: &Place<'_>, report: &mut Report) -> Result<()> {
    let name = ["memory/history.jsonl", "memory/HISTORY.md"]
        .into_iter()
        .find(|name| from.has(name));
    let Some(name) = name else { return Ok(()) };
    let text = match from.read_text(name, HISTORY_BYTES) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            report.add(Mark::Left, name, &error.to_string());
            return Ok(());
        }
    };
    let text = match name.ends_with(".md") {
        true => text,
        false => text.lines().filter_map(paragraph).collect(),
    };
    let over = text.ceil_char_boundary(text.len().saturating_sub(FILE_BYTES));
    let newest = text.get(over..).unwrap_or_default();
    let newest = match over {
        0 => newest,
        _ => newest.split_once('\n').map_or("", |(_, rest)| rest),
    };
    if newest.trim().is_empty() {
        return Ok(());
    }
    put(
        place,
        name,
        crate::store::memory::HISTORY,
        newest.as_bytes(),
        report,
    )
}

/// A line of nanobot's history as a paragraph.
fn paragraph(line: &str) -> Option<String> {
    let line: serde_json::Value = json::from_str(line).ok()?;
    let content = line.get("content")?.as_str()?.trim();
    let time = line
        .get("timestamp")
        .and_then(|time| time.as_str())
        .unwrap_or_default();
    let time = time.get(..16).unwrap_or(time).replace('T', " ");
    let has_time = content.starts_with('[') || time.is_empty();
    Some(match has_time {
        true => format!("{content}\n\n"),
        false => format!("[{time}] {content}\n\n"),
    })
}

/// Writes a file where there is none, or one that a new workspace has.
fn put(
    place: &Place<'_>,
    theirs: &str,
    ours: &str,
    content: &[u8],
    report: &mut Report,
) -> Result<()> {
    let path = Path::new(ours);
    let there = match place.workspace {
        Some(workspace) => match workspace.open_read(path) {
            Ok(file) => read_beginning(&file, FILE_BYTES as u64 + 1).ok(),
            Err(error) if error.is_not_found() => None,
            Err(_) => Some(Vec::new()),
        },
        None => None,
    };
    match there {
        Some(there) if there == content => return Ok(()),
        Some(there) if !is_untouched(ours, &there) => {
            report.add(Mark::Kept, ours, "");
            return Ok(());
        }
        _ => {}
    }
    if let Some(workspace) = place.workspace.filter(|_| place.writes) {
        workspace.write(path, content)?;
    }
    match theirs == ours {
        true => report.add(Mark::Taken, ours, ""),
        false => report.add(Mark::Changed, &format!("{theirs} -> {ours}"), ""),
    }
    Ok(())
}

/// Takes the skills, but not those that the other program came with.
pub fn take_skills(source: &Source, place: &Place<'_>, report: &mut Report) -> Result<()> {
    let Some(from) = &source.workspace else {
        return Ok(());
    };
    let all = from.files("skills", SKILLS_DEPTH);
    if all.is_empty() {
        return Ok(());
    }
    report.part(texts::SKILLS);
    let shipped = from
        .read_text("skills/.bundled_manifest", FILE_BYTES)
        .ok()
        .flatten();
    let shipped = shipped.unwrap_or_default();
    let is_shipped = |name: &str| {
        shipped
            .lines()
            .any(|line| line.split(':').next() == Some(name))
    };
    let folders: Vec<&str> = all
        .iter()
        .filter_map(|(path, _)| path.strip_suffix("/SKILL.md"))
        .filter(|path| !path.starts_with('.'))
        .collect();
    let mut left = SKILLS_BYTES;
    for folder in folders.iter().take(SKILLS_MAX) {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        if is_shipped(name) {
            report.add(Mark::Left, name, texts::SHIPPED);
            continue;
        }
        let package = read_skill(from, folder, &all, &mut left);
        let package = package
            .and_then(|files| Package::from_files(files, name).map_err(|error| error.to_string()));
        match package {
            Ok(package) => install(place, &package, report)?,
            Err(why) => report.add(Mark::Left, name, &why),
        }
    }
    if folders.len() > SKILLS_MAX {
        report.add(
            Mark::Left,
            texts::OTHER_SKILLS,
            &texts::more(folders.len() - SKILLS_MAX),
        );
    }
    Ok(())
}

fn read_skill(
    from: &Folder,
    folder: &str,
    all: &[(String, u32)],
    left: &mut usize,
) -> std::result::Result<Vec<File>, String> {
    let prefix = format!("{folder}/");
    let mut files = Vec::new();
    let mut most = SKILL_BYTES.min(*left);
    for (path, mode) in all {
        let Some(name) = path.strip_prefix(&prefix) else {
            continue;
        };
        check_path(name)?;
        let content = from.read(&format!("skills/{path}"), most);
        let content = content
            .map_err(|error| error.to_string())?
            .unwrap_or_default();
        most -= content.len();
        *left = left.saturating_sub(content.len());
        files.push(File {
            path: name.to_owned(),
            content,
            is_executable: mode & 0o111 != 0,
        });
        if files.len() > SKILL_FILES {
            return Err(texts::TOO_MANY_FILES.to_owned());
        }
    }
    Ok(files)
}

fn install(place: &Place<'_>, package: &Package, report: &mut Report) -> Result<()> {
    let is_there = match place.workspace {
        Some(workspace) => Skills::new(workspace, None).is_own(&package.name),
        None => false,
    };
    if is_there {
        report.add(Mark::Kept, &package.name, "");
        return Ok(());
    }
    if let Some(workspace) = place.workspace.filter(|_| place.writes) {
        Skills::new(workspace, None).install(package, false)?;
    }
    let programs = package
        .files
        .iter()
        .filter(|file| file.is_program())
        .count();
    let note = if programs > 0 {
        texts::HAS_PROGRAMS
    } else {
        ""
    };
    report.add(Mark::Taken, &package.name, note);
    Ok(())
}

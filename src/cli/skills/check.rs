//! `peacrab skills check`: what is wrong with skills, with line numbers.

use std::path::Path;

use super::{note_rest, texts};
use crate::base::error::{Exit, Result};
use crate::cli::terminal::print;
use crate::text::reveal;
use crate::tools::skills::front_matter::Fault;
use crate::tools::skills::manifest;
use crate::tools::skills::package::Package;
use crate::tools::skills::{Details, FILE, Missing, Place, Skills, decode, is_proper_name};

/// Checks one skill, a folder, or all skills of the workspace. Fails when something is wrong.
pub fn run(skills: &Skills<'_>, named: Option<&Path>) -> Result<Exit> {
    let mut count = 0;
    match named {
        Some(path) if is_path(path) => {
            // The name does not matter: the folder's is checked below.
            let package = Package::from_folder(path, Some("checked"))?;
            let content = package.files.first().map(|file| file.content.clone());
            let (text, fault) = decode(content.unwrap_or_default());
            let read = manifest::read(&text);
            let found = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let folder = found
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let faults = fault.into_iter().chain(read.faults);
            let faults = faults.chain(name_faults(&folder, &read.manifest.name));
            count += report(&path.join(FILE).to_string_lossy(), faults)?;
        }
        Some(name) => count += check(&skills.find(&name.to_string_lossy())?)?,
        None => {
            let (listed, rest) = skills.list_and_rest();
            for skill in listed {
                if skill.place == Place::Workspace {
                    count += check(&skills.find(&skill.name)?)?;
                }
            }
            note_rest(rest);
        }
    }
    match count {
        0 => print::line(texts::NO_FAULTS).map(|()| Exit::Done),
        count => print::line(&texts::faults(count)).map(|()| Exit::Failed),
    }
}

fn is_path(path: &Path) -> bool {
    path.components().count() > 1
        || path.to_string_lossy().contains(['/', '~'])
        || path == Path::new(".")
}

fn check(details: &Details) -> Result<usize> {
    let skill = &details.skill;
    let unreadable = skill.missing.iter().filter_map(|missing| match missing {
        Missing::Unreadable(error) => Some(Fault {
            line: 0,
            // The path is shown before it.
            text: error
                .strip_prefix(&format!("{}: ", skill.path))
                .unwrap_or(error)
                .to_owned(),
        }),
        _ => None,
    });
    let unreadable: Vec<Fault> = unreadable.collect();
    if !unreadable.is_empty() {
        return report(&skill.path, unreadable.into_iter());
    }
    let faults = details.faults.iter().cloned();
    report(
        &skill.path,
        faults.chain(name_faults(&skill.name, &details.manifest.name)),
    )
}

/// What is wrong with the names of a skill's folder and in its SKILL.md.
fn name_faults(folder: &str, name: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |text: String| faults.push(Fault { line: 0, text });
    if !is_proper_name(folder) {
        add(format!(
            "the folder's name should consist of lower-case letters, digits and hyphens: {folder}"
        ));
    }
    if name.is_empty() {
        add("there is no name".to_owned());
    } else if name != folder {
        add(format!(
            "the name {name} differs from the folder's, which counts: {folder}"
        ));
    }
    faults
}

fn report(path: &str, faults: impl Iterator<Item = Fault>) -> Result<usize> {
    let mut faults: Vec<Fault> = faults.collect();
    faults.sort_by_key(|fault| fault.line);
    for Fault { line, text } in &faults {
        let place = match line {
            0 => path.to_owned(),
            line => format!("{path}:{line}"),
        };
        print::line(&reveal(&format!("{place}: {text}")))?;
    }
    Ok(faults.len())
}

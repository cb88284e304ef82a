//! The folders and files that a new home has; what exists is never written over.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cli::terminal::print;
use crate::config::Home;
use crate::error::Result;
use crate::sys::file;

/// Files of the workspace, by their path in it.
const WORKSPACE: [(&str, &str); 8] = [
    ("AGENTS.md", include_str!("../../../templates/AGENTS.md")),
    ("SOUL.md", include_str!("../../../templates/SOUL.md")),
    ("USER.md", include_str!("../../../templates/USER.md")),
    ("TOOLS.md", include_str!("../../../templates/TOOLS.md")),
    (
        "IDENTITY.md",
        include_str!("../../../templates/IDENTITY.md"),
    ),
    (
        "HEARTBEAT.md",
        include_str!("../../../templates/HEARTBEAT.md"),
    ),
    (
        "skills/notes/SKILL.md",
        include_str!("../../../skills/notes/SKILL.md"),
    ),
    (
        "skills/skill-writer/SKILL.md",
        include_str!("../../../skills/skill-writer/SKILL.md"),
    ),
];

/// The mode of the files: the workspace may be shared with other programs of the person.
const FILE_MODE: u32 = 0o644;

/// What was done, for the person.
pub struct Report {
    /// Paths below it are shown from there.
    home: PathBuf,
    /// A line for each file and folder that was made.
    pub made: String,
    /// How many were there already.
    pub kept: usize,
}

impl Report {
    /// Nothing is done yet.
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            made: String::new(),
            kept: 0,
        }
    }

    /// Notes a file or folder.
    pub fn note(&mut self, was_there: bool, path: &Path) {
        match was_there {
            true => self.kept += 1,
            false => {
                let below = path.strip_prefix(&self.home).ok();
                let shown = below.filter(|below| !below.as_os_str().is_empty());
                let line = format!("made    {}\n", shown.unwrap_or(path).display());
                self.made.push_str(&line);
            }
        }
    }

    fn folder(&mut self, folder: &Path) -> Result<()> {
        let was_there = folder.is_dir();
        file::private_folder(folder)?;
        self.note(was_there, folder);
        Ok(())
    }
}

/// Makes the home folder and those in it, each for its owner only.
pub fn make_home(home: &Home, report: &mut Report) -> Result<()> {
    for folder in [home.path(), &home.sessions(), &home.state()] {
        report.folder(folder)?;
    }
    let mode = std::fs::metadata(home.path()).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        // It was there before, and it may be more than our home: its owner decides.
        let folder = home.path().display();
        print::complain(&format!(
            "warning: others can look into {folder}: chmod 700 {folder}"
        ));
    }
    Ok(())
}

/// Makes the workspace and writes the files that are not in it yet.
pub fn fill_workspace(workspace: &Path, report: &mut Report) -> Result<()> {
    report.folder(workspace)?;
    for (name, content) in WORKSPACE {
        let path = workspace.join(name);
        // A link that leads nowhere is there, too.
        let was_there = path.symlink_metadata().is_ok();
        if !was_there {
            if let Some(folder) = path.parent() {
                file::private_folder(folder)?;
            }
            file::write_atomic(&path, content.as_bytes(), FILE_MODE)?;
        }
        report.note(was_there, &path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_every_prompt_is_short() {
        let prompt: usize = WORKSPACE[..5]
            .iter()
            .map(|(_, content)| content.len())
            .sum();
        assert!(prompt < 3_000, "{prompt} bytes");
    }

    #[test]
    fn every_skill_says_its_name_and_what_it_is_for() {
        let skills = WORKSPACE
            .iter()
            .filter(|(path, _)| path.starts_with("skills/"));
        assert_eq!(skills.clone().count(), 2);
        for (path, content) in skills {
            let name = path.split('/').nth(1).unwrap();
            let start = format!("---\nname: {name}\ndescription: ");
            assert!(content.starts_with(&start), "{path}");
        }
    }

    #[test]
    fn a_persons_own_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("SOUL.md");
        std::fs::write(&own, "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("USER.md")).unwrap();
        let mut report = Report::new(folder.path());
        fill_workspace(folder.path(), &mut report).unwrap();
        assert_eq!(report.kept, 3, "the folder, the file, the link");
        assert_eq!(report.made.lines().count(), WORKSPACE.len() - 2);
        assert!(
            report.made.contains("made    AGENTS.md\n"),
            "{}",
            report.made
        );
        assert_eq!(std::fs::read_to_string(own).unwrap(), "mine");
        assert!(folder.path().join("USER.md").is_symlink());
        assert!(folder.path().join("skills/notes/SKILL.md").is_file());
    }
}

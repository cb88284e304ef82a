//! Creates the folders and files of a new home. Nothing that exists is overwritten.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::agent::introduction;
use crate::base::error::Result;
use crate::cli::terminal::print;
use crate::config::Home;
use crate::sys::file;

/// The files of a new workspace: name and content.
const WORKSPACE: [(&str, &str); 6] = [
    ("AGENTS.md", include_str!("../../../templates/AGENTS.md")),
    ("SOUL.md", include_str!("../../../templates/SOUL.md")),
    ("USER.md", introduction::USER_TEMPLATE),
    ("TOOLS.md", include_str!("../../../templates/TOOLS.md")),
    (
        "IDENTITY.md",
        include_str!("../../../templates/IDENTITY.md"),
    ),
    (
        "HEARTBEAT.md",
        include_str!("../../../templates/HEARTBEAT.md"),
    ),
];

/// The mode of the files: other programs of the person may share the workspace.
const FILE_MODE: u32 = 0o644;

/// Creates the home folder and the folders in it, each for its owner only.
pub fn make_home(home: &Home) -> Result<()> {
    for folder in [home.path(), &home.sessions(), &home.state()] {
        file::private_folder(folder)?;
    }
    let mode = std::fs::metadata(home.path()).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        // It existed before and may be used for other things too, so its owner decides.
        print::complain(&open_to_others(home.path()));
    }
    Ok(())
}

fn open_to_others(home: &Path) -> String {
    let home = home.display();
    format!("warning: other users can read {home}; to prevent that, run: chmod 700 {home}")
}

/// Whether a file of the workspace is one that a new workspace gets, as it was made.
pub fn is_untouched(name: &str, content: &[u8]) -> bool {
    let mut files = WORKSPACE.iter();
    files.any(|(file, text)| *file == name && text.as_bytes() == content)
}

/// Creates the workspace and the files that it lacks. Returns the names of the new files.
pub fn fill_workspace(workspace: &Path) -> Result<Vec<&'static str>> {
    file::private_folder(workspace)?;
    let mut new = Vec::new();
    for (name, content) in WORKSPACE {
        let path = workspace.join(name);
        // A link that leads nowhere exists, too.
        if path.symlink_metadata().is_err() {
            file::write_atomic(&path, content.as_bytes(), FILE_MODE)?;
            new.push(name);
        }
    }
    // A workspace in use needs no introduction.
    let path = workspace.join(introduction::FILE);
    if new.len() == WORKSPACE.len() && path.symlink_metadata().is_err() {
        file::write_atomic(&path, introduction::TEMPLATE.as_bytes(), FILE_MODE)?;
        new.push(introduction::FILE);
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::context::BOOTSTRAP_FILES;

    #[test]
    fn what_goes_into_every_prompt_is_short() {
        // The heartbeat alone reads its file.
        let sent = WORKSPACE.iter().filter(|(name, _)| *name != "HEARTBEAT.md");
        for (name, _) in sent.clone() {
            assert!(BOOTSTRAP_FILES.contains(name), "{name}");
        }
        let bytes: usize = sent.map(|(_, content)| content.len()).sum();
        assert!(bytes < 3_000, "{bytes} bytes");
        let bytes = introduction::TEMPLATE.len();
        assert!(bytes < 1_200, "{bytes} bytes in the first turns");
    }

    #[test]
    fn a_persons_own_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("SOUL.md");
        std::fs::write(&own, "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("USER.md")).unwrap();
        let new = fill_workspace(folder.path()).unwrap();
        assert_eq!(
            new,
            ["AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md"]
        );
        assert_eq!(std::fs::read_to_string(own).unwrap(), "mine");
        assert!(folder.path().join("USER.md").is_symlink());
        assert!(fill_workspace(folder.path()).unwrap().is_empty());
        assert!(!folder.path().join(introduction::FILE).exists());
    }

    #[test]
    fn only_a_new_workspace_asks_for_an_introduction() {
        let folder = tempfile::tempdir().unwrap();
        let new = fill_workspace(folder.path()).unwrap();
        assert_eq!(new.last(), Some(&introduction::FILE));
        std::fs::remove_file(folder.path().join(introduction::FILE)).unwrap();
        assert!(fill_workspace(folder.path()).unwrap().is_empty());
    }
}

//! The place of a command, and what the model can write there.

use std::path::{Path, PathBuf};

use crate::sys::beneath::links_on_the_way;

/// Where a command will run.
pub(in crate::tools::commands) struct Place<'a> {
    /// A real path.
    pub folder: &'a Path,
    /// HOME of the command.
    pub home: &'a Path,
    /// The workspace, where the model can write to it.
    pub workspace: &'a Path,
    /// Further folders that an agent or a server of tools can write: real paths.
    pub others: &'a [PathBuf],
    /// Whether the model, or another such program, can write to a real path.
    pub is_writable: &'a dyn Fn(&Path) -> bool,
    /// Whether a real path is the program's own, hidden from commands in the sandbox: others have it written as they chat.
    pub is_hidden: &'a dyn Fn(&Path) -> bool,
}

impl Place<'_> {
    /// The folders that hold what the model can write, each once, with those that a line names beside them.
    pub fn roots(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        let own = [self.workspace, self.folder].map(Path::to_owned);
        let others = self.others.iter().chain(named).cloned();
        let mut all: Vec<PathBuf> = own.into_iter().chain(others).collect();
        all.retain(|folder| (self.is_writable)(folder));
        all.sort_unstable();
        all.dedup();
        let is_top = |folder: &&PathBuf| {
            let mut above = folder.ancestors().skip(1);
            !above.any(|above| all.iter().any(|one| one == above))
        };
        all.iter().filter(is_top).cloned().collect()
    }

    /// The program's own folder, if the workspace is in it.
    pub fn own(&self) -> Option<&Path> {
        let above = self.workspace.ancestors().skip(1);
        above.filter(|folder| (self.is_hidden)(folder)).last()
    }

    /// Whether a word in the text of a file leads to the program's own files, seen from there, from where the command runs, or
    /// by the name of their folder, as behind a variable.
    pub fn names_own(&self, word: &str, own: Option<&Path>, file: &Path) -> bool {
        let is_own = |path: &Path| {
            let (end, _) = links_on_the_way(path);
            end.is_ok_and(|end| (self.is_hidden)(&end) && end.symlink_metadata().is_ok())
        };
        let by_name = own.and_then(|own| {
            let at = word.find(own.file_name()?.to_str()?)?;
            Some(own.parent()?.join(&word[at..]))
        });
        if let Some(path) = by_name {
            return is_own(&path);
        }
        let above = file.parent().unwrap_or(file);
        word.contains("..")
            && [above, self.folder]
                .iter()
                .any(|from| is_own(&from.join(word)))
    }
}

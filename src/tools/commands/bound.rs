//! What a command uses of the files that the model can write. An approval holds for their content: a
//! script that was changed since is another one.
//!
//! This is no shell: it takes words as they are in the line, in doubt too many. What programs open by
//! themselves is only named.

mod located;
mod missing;
mod plain;
mod tree;
mod words;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::risk;
use crate::base::approval::Script;
use crate::base::error::{Error, Result};
use crate::base::limits::tools as bounds;
pub(super) use located::Located;
use located::status;
pub(super) use missing::ignores_folder;
use plain::Known;
use words::Line;

/// What a command uses of the files that the model can write.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Names that can change what the command does.
    pub influences: Vec<String>,
    /// The files that its line names, in the order of the line.
    pub scripts: Vec<Script>,
    /// The real path of each bound file, and what is in it.
    pub marks: Vec<(PathBuf, Vec<u8>)>,
    /// Whether it may load files that no mark covers: an interpreter or a build tool runs in a folder that the model can
    /// write, a name is only known once the line runs, or a file does not exist yet.
    pub loads_unbound: bool,
}

impl Uses {
    /// What the hash of a question covers of it.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let marks = self.marks.iter();
        marks.flat_map(|(path, mark)| [path.as_os_str().as_encoded_bytes(), mark])
    }

    fn is_bound(&self, path: &Path) -> bool {
        let mut marks = self.marks.iter();
        marks.any(|(bound, _)| bound.as_os_str() == path.as_os_str())
    }
}

/// Where a command will run.
pub(super) struct Place<'a> {
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
}

/// What programs pick up in the folder where they run or above it, and the programs whose own file it
/// is: for those it counts as named in the line.
const PICKED_UP: [(&str, &str); 29] = [
    (".git/config", "git"),
    ("GNUmakefile", "make gmake"),
    ("makefile", "make gmake"),
    ("Makefile", "make gmake"),
    (".envrc", "direnv"),
    ("package.json", "npm npx yarn pnpm node"),
    (".npmrc", "npm npx yarn pnpm"),
    ("Cargo.toml", "cargo"),
    (".cargo/config.toml", "cargo"),
    (".cargo", ""),
    ("build.rs", "cargo"),
    ("pyproject.toml", "pip pip3 uv poetry"),
    ("setup.py", "pip pip3"),
    ("conftest.py", "pytest"),
    ("docker-compose.yml", "docker docker-compose"),
    ("docker-compose.yaml", "docker docker-compose"),
    ("compose.yaml", "docker docker-compose"),
    ("compose.yml", "docker docker-compose"),
    ("Dockerfile", "docker podman"),
    ("CMakeLists.txt", "cmake"),
    ("Gemfile", "bundle"),
    ("Rakefile", "rake"),
    (".vimrc", ""),
    (".exrc", ""),
    (".gdbinit", "gdb"),
    ("ansible.cfg", "ansible ansible-playbook"),
    (".pre-commit-config.yaml", "pre-commit"),
    (".tool-versions", ""),
    ("justfile", "just"),
];

/// Programs that load what lies beside a script, or in the folder where they run.
const LOADERS: [&str; 3] = ["python", "pip", "pytest"];

/// Programs that load more than the files that their line names.
const INTERPRETERS: [&str; 8] = [
    "python", "pip", "pytest", "node", "perl", "ruby", "php", "lua",
];

/// Where programs look for relative paths that they do not look for where they run: `service`, what begins in the root
/// folder, and a shell of root's.
const ELSEWHERE: [&str; 3] = ["/etc/init.d", "/", "/root"];

/// Finds what a line uses. An error says why an approval cannot cover it.
pub(super) fn find(line: &str, place: &Place<'_>) -> Result<Uses> {
    let mut search = Search {
        place,
        folders: vec![place.folder.to_owned()],
        named: Vec::new(),
        has_folder: false,
        is_unresolved: false,
        lookups: 0,
        uses: Uses::default(),
    };
    let Line {
        words,
        candidates,
        unresolved,
        has_open_names,
        relocates,
        ..
    } = Line::read(line, place)?;
    // A function may be called in a folder that is entered further behind.
    let mut known = 0;
    while known < search.folders.len() {
        known = search.folders.len();
        for word in &words {
            search.word(word)?;
        }
    }
    let programs = words
        .iter()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let programs: Vec<&str> = programs.filter(|program| !program.is_empty()).collect();
    if !ignores_folder(line) {
        search.picked_up(&programs)?;
    }
    let is_builder = |program: &&str| {
        PICKED_UP
            .iter()
            .any(|(_, users)| users.split(' ').any(|user| user == *program))
            || INTERPRETERS.iter().any(|name| program.starts_with(name))
    };
    let known = plain::judge(line, &|word| search.is_bound(word));
    let mut folders = search.folders.iter();
    let is_within = folders.any(|folder| (place.is_writable)(folder));
    search.uses.loads_unbound |=
        is_within && (known > Known::All || programs.iter().any(is_builder));
    search.uses.loads_unbound |= has_open_names;
    search.is_unresolved |= known == Known::Nothing;
    search.missing(&candidates)?;
    search.is_unresolved |= !unresolved.is_empty() || relocates && search.has_folder;
    search.uses.loads_unbound |= search.is_unresolved;
    for word in unresolved
        .iter()
        .filter(|word| word.contains(['/', '~', '\\']) && !word.contains(char::is_whitespace))
    {
        search.name(word.clone());
    }
    let takes_folders = !search.named.is_empty()
        && risk::commands(line)
            .iter()
            .any(|words| plain::takes_folders(words));
    search.uses.loads_unbound |= takes_folders;
    let runs_found = missing::runs_what_it_finds(line);
    let finds_here = runs_found && (search.has_folder || line.contains("find -"));
    search.trees(
        &programs,
        has_open_names || runs_found || takes_folders,
        finds_here,
    )?;
    let is_loader = |program: &&str| LOADERS.iter().any(|name| program.starts_with(name));
    if programs.iter().any(is_loader) {
        search.modules();
    }
    let influences = &mut search.uses.influences;
    let over = influences.len().saturating_sub(bounds::INFLUENCES);
    if over > 0 {
        influences.truncate(bounds::INFLUENCES);
        influences.push(format!("and {over} more"));
    }
    Ok(search.uses)
}

struct Search<'a> {
    place: &'a Place<'a>,
    /// Where a relative path may begin: the folder of the command, and those that its line names, for
    /// it may enter them.
    folders: Vec<PathBuf>,
    /// The folders that the line names and the model can write.
    named: Vec<PathBuf>,
    /// Whether the line names a folder in which or below which is what the model can write.
    has_folder: bool,
    /// Whether a name is only known once the line runs, so that it can be any in the workspace.
    is_unresolved: bool,
    lookups: usize,
    uses: Uses,
}

impl Search<'_> {
    fn word(&mut self, word: &str) -> Result<()> {
        let mut parts = word.strip_prefix("/proc/").unwrap_or_default().split('/');
        let is_by_process = parts.next().is_some()
            && parts
                .next()
                .is_some_and(|name| matches!(name, "root" | "cwd" | "fd"))
            && parts.next().is_some();
        if is_by_process {
            return Err(by_process());
        }
        if word.contains(['*', '?', '[']) {
            self.pattern(word)?;
        }
        let mut dollars = word.split('$').skip(1);
        let is_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{');
        if dollars.any(is_name) && !word.contains(char::is_whitespace) {
            // Nobody knows here what it stands for.
            self.influence(&self.place.folder.join(word), "");
        }
        if word.starts_with('/') {
            return self.path(Path::new(word));
        }
        for at in 0..self.folders.len() {
            self.path(&self.folders[at].join(word))?;
        }
        if word.contains('/') {
            let home = self.place.home;
            for folder in ELSEWHERE.iter().map(Path::new).chain([home]) {
                self.path(&folder.join(word))?;
            }
        }
        Ok(())
    }

    /// The files that a pattern of the shell names.
    fn pattern(&mut self, word: &str) -> Result<()> {
        let at = word.rfind('/').map_or(0, |slash| slash + 1);
        let (folder, pattern) = word.split_at(at);
        for at in 0..self.folders.len() {
            let Some(found) = Located::open(&self.folders[at].join(folder))? else {
                continue;
            };
            if !found.metadata.is_dir() {
                continue;
            }
            let is_writable = (self.place.is_writable)(&found.path);
            let names = names(&found.path);
            self.is_unresolved |= names.len() == bounds::BOUND_NAMES;
            for name in names {
                let path = found.path.join(&name);
                if matches(pattern, &name) && (is_writable || self.leads_in(&path)) {
                    self.path(&path)?;
                }
            }
        }
        if folder.contains(['*', '?', '[']) {
            self.influence(&self.place.folder.join(word), "");
        }
        Ok(())
    }

    /// Whether a path leads to what the model can write, or to a folder around it.
    fn leads_in(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        real.is_ok_and(|real| {
            (self.place.is_writable)(&real) || self.place.workspace.starts_with(&real)
        })
    }

    fn path(&mut self, path: &Path) -> Result<()> {
        self.lookups += 1;
        if self.lookups > bounds::BOUND_LOOKUPS {
            return Err(too_long());
        }
        let Some(found) = Located::open(path)? else {
            return Ok(());
        };
        let kind = found.metadata.file_type();
        let is_writable = (self.place.is_writable)(&found.path);
        if kind.is_dir() {
            self.has_folder |= is_writable || self.place.workspace.starts_with(&found.path);
            if is_writable {
                self.influence(&found.path, "/");
                if !self.named.contains(&found.path) {
                    self.named.push(found.path.clone());
                }
            }
            if !self.folders.contains(&found.path) {
                self.folders.push(found.path);
            }
        } else if is_writable && kind.is_file() {
            return self.bind(&found);
        } else if is_writable && (kind.is_fifo() || kind.is_socket()) {
            return Err(refused(&format!(
                "it uses the pipe or socket {}, into which commands in the sandbox can write",
                found.path.display()
            )));
        }
        Ok(())
    }

    /// Whether a word names a file that is bound.
    fn is_bound(&self, word: &str) -> bool {
        let mut folders = self.folders.iter();
        folders.any(|folder| {
            Located::at(&folder.join(word)).is_some_and(|found| self.uses.is_bound(&found.path))
        })
    }

    fn bind(&mut self, found: &Located) -> Result<()> {
        if self.uses.is_bound(&found.path) {
            return Ok(());
        }
        if self.uses.scripts.len() == bounds::BOUND_FILES {
            return Err(refused(&format!(
                "it names more than {} files that commands in the sandbox can change, too many to be bound to an \
                 approval",
                bounds::BOUND_FILES
            )));
        }
        // A file that we may not read is bound like a large one.
        let (hash, head) = found.read().unwrap_or_default();
        let mark = hash.unwrap_or_else(|| status(&found.metadata));
        self.uses.marks.push((found.path.clone(), mark));
        self.uses.scripts.push(Script {
            path: found.path.to_string_lossy().into_owned(),
            bytes: found.metadata.len(),
            head: first_lines(&head),
            is_missing: false,
        });
        Ok(())
    }

    /// Binds the names of files that do not exist yet.
    fn missing(&mut self, candidates: &[String]) -> Result<()> {
        for word in candidates {
            let paths: Vec<PathBuf> = self
                .folders
                .iter()
                .map(|folder| folder.join(word))
                .collect();
            if paths.iter().any(|path| path.exists()) {
                continue;
            }
            let leads_up = word.split('/').any(|part| part == "..");
            for path in paths {
                self.lookups += 1;
                let place = missing::place_of(&path);
                // It may be another one for the program, or once what is on the way exists.
                if leads_up || place.is_none() {
                    self.is_unresolved = true;
                    self.name(word.clone());
                }
                let place = place.filter(|place| (self.place.is_writable)(place));
                let Some(place) = place.filter(|place| !self.uses.is_bound(place)) else {
                    continue;
                };
                if self.lookups > bounds::BOUND_LOOKUPS
                    || self.uses.scripts.len() >= bounds::BOUND_FILES
                {
                    return Err(too_long());
                }
                self.uses.loads_unbound = true;
                self.uses.scripts.push(Script {
                    path: place.to_string_lossy().into_owned(),
                    is_missing: true,
                    ..Script::default()
                });
                self.uses.marks.push((place, b"missing".to_vec()));
            }
        }
        Ok(())
    }

    /// Binds whole folders, for a line that runs or reads what is in them without naming it.
    fn trees(&mut self, programs: &[&str], has_open_names: bool, finds_here: bool) -> Result<()> {
        let takes_names = programs
            .iter()
            .any(|program| ["xargs", "parallel"].contains(program));
        let is_any = takes_names || finds_here || self.is_unresolved;
        if !(has_open_names || is_any || programs.contains(&"run-parts")) {
            return Ok(());
        }
        let mut folders = std::mem::take(&mut self.named);
        if is_any {
            folders.extend([self.place.folder, self.place.workspace].map(Path::to_owned));
            folders.extend(self.place.others.iter().cloned());
        }
        folders.retain(|folder| (self.place.is_writable)(folder));
        let all = folders.clone();
        folders.retain(|folder| {
            !folder
                .ancestors()
                .skip(1)
                .any(|above| all.iter().any(|one| one == above))
        });
        folders.dedup();
        let mut left = bounds::BOUND_TREE;
        for folder in folders {
            let mark = tree::mark(&folder, &mut left).ok_or_else(|| {
                let (most, path) = (bounds::BOUND_TREE, folder.display());
                refused(&format!(
                    "{path} has more than {most} files that commands in the sandbox can change, too many to be bound to an \
                     approval; write out the names that it uses"
                ))
            })?;
            self.uses.marks.push((folder, mark));
        }
        Ok(())
    }

    /// What programs find without being told, in the folders of the command and above them.
    fn picked_up(&mut self, programs: &[&str]) -> Result<()> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in &self.folders {
            let is_writable = |folder: &&Path| (self.place.is_writable)(folder);
            for one in folder.ancestors().take_while(is_writable) {
                if !folders.iter().any(|known| known == one) {
                    folders.push(one.to_owned());
                }
            }
        }
        for folder in folders {
            for (name, users) in PICKED_UP {
                let path = folder.join(name);
                if path.symlink_metadata().is_err() {
                    continue;
                }
                let top = name.split('/').next().unwrap_or(name);
                self.influence(&folder.join(top), "");
                if users.split(' ').any(|program| programs.contains(&program)) {
                    self.path(&path)?;
                }
            }
        }
        Ok(())
    }

    /// What Python loads from the folder where it runs, or from its script's.
    fn modules(&mut self) {
        let mut folders = std::mem::take(&mut self.folders);
        for (script, _) in &self.uses.marks {
            let folder = script.parent().unwrap_or(script);
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        folders.retain(|folder| (self.place.is_writable)(folder));
        for folder in folders {
            for name in names(&folder) {
                if !name.ends_with(".py") {
                    continue;
                }
                let path = folder.join(name);
                let Ok(metadata) = path.metadata() else {
                    continue;
                };
                if !self.uses.is_bound(&path) {
                    self.influence(&path, "");
                    self.uses.marks.push((path, status(&metadata)));
                }
            }
        }
    }

    /// Names something that can change what the command does, as seen from the folder.
    fn influence(&mut self, path: &Path, suffix: &str) {
        if !(self.place.is_writable)(path) {
            return;
        }
        let name = path.strip_prefix(self.place.folder).unwrap_or(path);
        self.name(match name.as_os_str().is_empty() {
            true => "./".to_owned(),
            false => format!("{}{suffix}", name.display()),
        });
    }

    fn name(&mut self, name: String) {
        if !self.uses.influences.contains(&name) {
            self.uses.influences.push(name);
        }
    }
}

/// Some names in a folder, in order; what is not UTF-8 cannot be in a line either.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries
        .take(bounds::BOUND_NAMES)
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// The first lines of a text; empty for what is none.
pub(in crate::tools) fn first_lines(head: &[u8]) -> String {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // Cut within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    if text.contains('\0') {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().take(bounds::SCRIPT_HEAD_LINES).collect();
    lines.join("\n")
}

/// Whether a name of a folder matches a pattern of `*` and `?`. Others are unresolved. Shells count the letters of a name
/// that is not ASCII in different ways.
fn matches(pattern: &str, name: &str) -> bool {
    if !name.is_ascii() && pattern.contains('?') {
        return true;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(char) if *char == '?' || *char == name[from] => (at, from) = (at + 1, from + 1),
            _ => match star {
                Some((before, begun)) => {
                    star = Some((before, begun + 1));
                    (at, from) = (before + 1, begun + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|char| *char == '*')
}

fn by_process() -> Error {
    refused("it reaches files by way of a process, so that it cannot be told which they are")
}

fn too_long() -> Error {
    refused("it is too long to be bound to an approval")
}

fn refused(why: &str) -> Error {
    Error::Failed(format!("the command was not run: {why}"))
}

#[cfg(test)]
mod tests;

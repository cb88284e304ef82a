//! What a command uses of the files that the model can write. An approval holds for their content: a
//! script that was changed since is another one.
//!
//! A simple line (see [`simple`]) is bound to the files that it names. Every other one is bound to all that the model can
//! write, whatever it says; its words are only looked at to show people what they name.

mod located;
mod missing;
mod place;
mod reach;
mod simple;
mod tree;
mod words;

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::base::approval::Script;
use crate::base::error::{Error, Result};
use crate::sys::mounts::Mounts;
pub(super) use located::Located;
use located::links_within;
pub(super) use place::Place;
use reach::{is_by_process, is_in_proc, may_name_process};
use simple::Operand;
pub(super) use simple::{can_be_simple, ignores_folder};
use tree::Budget;
pub(in crate::tools) use tree::Lines;
use words::Line;

/// Files on a command's line that are bound to an approval; a person looks at a few.
const BOUND_FILES: usize = 64;
/// Paths that are tried to find the files that a command's line names: half a second on a board.
const BOUND_LOOKUPS: usize = 20_000;
/// Names in a folder that are looked at for an approval.
const BOUND_NAMES: usize = 1024;
/// Names of influences that a question lists.
const INFLUENCES: usize = 8;
/// Lines of a script that a question shows.
const SCRIPT_HEAD_LINES: usize = 15;

/// What a command uses of the files that the model can write.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Names that can change what the command does.
    pub influences: Vec<String>,
    /// The files that its line names, in the order of the line.
    pub scripts: Vec<Script>,
    /// The real path of each bound file, and what is in it.
    pub marks: Vec<(PathBuf, Vec<u8>)>,
    /// The folders of the program's own that the line names and a server of tools can write: homes of such.
    pub named: Vec<PathBuf>,
    /// Whether it may use other files of the model than those: the line is not simple, or leads through a link of the model's
    /// or to what does not exist yet.
    pub loads_unbound: bool,
    /// Whether it reads what changes without the model, or writes to a file what nothing that is bound decides. That cannot be
    /// shown.
    pub reads_changing: bool,
    /// Whether it names a folder that the model can write: while it runs beside the model, that could become another one.
    pub has_folder: bool,
}

impl Uses {
    /// What the hash of a question covers of it.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let marks = self.marks.iter();
        marks.flat_map(|(path, mark)| [path.as_os_str().as_encoded_bytes(), mark])
    }

    /// Leaves out all but the first names that can change what the command does.
    pub fn shorten(&mut self) {
        let influences = &mut self.influences;
        let over = influences.len().saturating_sub(INFLUENCES);
        if over > 0 {
            influences.truncate(INFLUENCES);
            influences.push(format!("and {over} more"));
        }
    }

    /// Names a link that leads out of what is bound, before what is bound.
    fn leads_out(&mut self, link: &Path, target: &Path, place: &Place<'_>) {
        let name = link.strip_prefix(place.folder).unwrap_or(link);
        self.put_first(format!("{} → {}", name.display(), target.display()));
    }

    /// Names a file with what its text names that changes without it.
    fn reads(&mut self, name: String) {
        self.reads_changing = true;
        self.put_first(name);
    }

    fn put_first(&mut self, name: String) {
        self.influences.retain(|known| *known != name);
        self.influences.insert(0, name);
    }

    fn is_bound(&self, path: &Path) -> bool {
        let mut marks = self.marks.iter();
        marks.any(|(bound, _)| bound.as_os_str() == path.as_os_str())
    }
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

/// Where programs look for relative paths that they do not look for where they run: `service`, what begins in the root
/// folder, and a shell of root's.
const ELSEWHERE: [&str; 3] = ["/etc/init.d", "/", "/root"];

/// Finds what a line uses. An error says why an approval cannot cover it.
pub(super) fn find(line: &str, place: &Place<'_>) -> Result<Uses> {
    let mut search = Search {
        place,
        folders: vec![place.folder.to_owned()],
        has_proc: false,
        lookups: 0,
        budget: Budget::new(),
        uses: Uses::default(),
    };
    match simple::read_in(line, place.folder) {
        Some(simple) => {
            search.uses.reads_changing = simple.writes_unbound;
            let mut operands = simple.operands.iter();
            operands.try_for_each(|one| search.operand(one))?;
        }
        None => search.line(line)?,
    }
    let is_home = |folder: &PathBuf| (place.is_writable)(folder) && (place.is_hidden)(folder);
    search.folders.retain(is_home);
    search.uses.named = search.folders;
    Ok(search.uses)
}

/// Binds everything that the model can write: its folders, those of other agents and servers of tools, and the one where a
/// command runs. Of homes of programs it binds those that the line names: downloads in them are larger than what can be bound.
pub(super) fn bind_all(uses: &mut Uses, place: &Place<'_>) -> Result<()> {
    tree::mark(&place.roots(&uses.named), place, uses)
}

struct Search<'a> {
    place: &'a Place<'a>,
    /// Where a relative path may begin: the folder of the command, and those that its line names, for
    /// it may enter them.
    folders: Vec<PathBuf>,
    /// Whether something in procfs was found, where processes come and go.
    has_proc: bool,
    lookups: usize,
    budget: Budget,
    uses: Uses,
}

impl Search<'_> {
    /// Binds a file that a simple line names, or the names in a folder that it writes to a file.
    fn operand(&mut self, operand: &Operand) -> Result<()> {
        let path = self.place.folder.join(&operand.word);
        let links = self.links(&path);
        // Of what may be a folder only names are read.
        if !operand.may_be_folder || operand.is_source {
            by_no_process(&path)?;
        }
        let found = Located::of_others(&path)?;
        let is_folder = found.as_ref().is_some_and(|found| found.metadata.is_dir());
        let is_taken =
            is_folder && (!operand.may_be_folder || operand.is_source) && self.leads_in(&path);
        // This account may not look there, and the command as root may.
        let is_hidden = path
            .metadata()
            .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if is_hidden {
            self.influence(&path, "");
        }
        let real = found.as_ref().map_or(&path, |found| &found.path);
        let is_own = (self.place.is_writable)(real);
        let is_listed = is_folder && operand.may_be_folder && operand.is_source && is_own;
        self.uses.loads_unbound |= links || is_taken && !is_listed || is_hidden;
        self.uses.reads_changing |= is_in_proc(real);
        if !is_folder {
            let names = tree::names_of(real, Mounts::read().ok().as_ref());
            let is_any = |is: &dyn Fn(&Path) -> bool| names.iter().any(|name| is(name));
            self.uses.reads_changing |= is_any(self.place.is_hidden);
            self.uses.loads_unbound |= !is_own && is_any(self.place.is_writable);
            // What others write there may be what the model has made them write, such as a line of a log.
            self.uses.reads_changing |= operand.is_source && !is_own && !tree::is_steady(real);
        }
        match found {
            Some(found) if !is_folder => self.file(&found),
            Some(found) => {
                if is_listed {
                    tree::mark_names(&found.path, &mut self.budget, &mut self.uses)?;
                }
                // It stays while the command runs in the foreground, and in the background it could become a link.
                self.uses.has_folder |= is_own;
                Ok(())
            }
            None => self.missing(&operand.word),
        }
    }

    /// Shows what the words of a line name that is not simple.
    fn line(&mut self, line: &str) -> Result<()> {
        self.uses.loads_unbound = !self.place.roots(&[]).is_empty();
        let Line { words, candidates } = Line::read(line, self.place)?;
        // A function may be called in a folder that is entered further behind.
        let mut known = 0;
        while known < self.folders.len() {
            known = self.folders.len();
            for word in &words {
                self.word(word)?;
            }
        }
        let programs = words.iter().map(|word| words::base(word));
        let programs: Vec<&str> = programs.filter(|program| !program.is_empty()).collect();
        self.picked_up(&programs)?;
        for word in &candidates {
            self.missing(word)?;
        }
        Ok(())
    }

    /// Names the links on the way of a path that the model can replace. Returns whether there are any.
    fn links(&mut self, path: &Path) -> bool {
        let links = links_within(path, self.place.is_writable);
        for link in &links {
            let target = std::fs::read_link(link).unwrap_or_default();
            self.influence(link, &format!(" → {}", target.display()));
        }
        !links.is_empty()
    }

    fn word(&mut self, word: &str) -> Result<()> {
        by_no_process(&self.place.folder.join(word))?;
        let mut folders = self.folders.iter();
        if folders.any(|folder| may_name_process(folder, word)) {
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
            for name in names(&found.path) {
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
        if self.lookups > BOUND_LOOKUPS {
            return Err(too_long());
        }
        self.links(path);
        let Some(found) = Located::of_others(path)? else {
            // A process may begin whose number it names.
            return match path.parent() {
                Some(above) if self.has_proc && !above.exists() => by_no_process(above),
                _ => Ok(()),
            };
        };
        if is_in_proc(&found.path) {
            self.has_proc = true;
            // A number alone may be anything.
            if !found.metadata.is_dir() {
                by_no_process(&found.path)?;
            }
        }
        if !found.metadata.is_dir() {
            return self.file(&found);
        }
        self.influence(&found.path, "/");
        if !self.folders.contains(&found.path) {
            self.folders.push(found.path);
        }
        Ok(())
    }

    /// Binds a file that the model can write.
    fn file(&mut self, found: &Located) -> Result<()> {
        let kind = found.metadata.file_type();
        if !(self.place.is_writable)(&found.path) || self.uses.is_bound(&found.path) {
            return Ok(());
        }
        if kind.is_fifo() || kind.is_socket() {
            return Err(refused(&format!(
                "it uses the pipe or socket {}, into which commands in the sandbox can write",
                found.path.display()
            )));
        }
        if self.uses.scripts.len() == BOUND_FILES {
            return Err(refused(&format!(
                "it names more than {} files that commands in the sandbox can change, too many to be bound to an \
                 approval",
                BOUND_FILES
            )));
        }
        let (place, own) = (self.place, self.place.own());
        let is_own = |word: &str| place.names_own(word, own, &found.path);
        let content = found.read(&mut self.budget, &is_own)?;
        if let Some(name) = content.reach {
            let path = found.path.strip_prefix(place.folder);
            let path = path.unwrap_or(&found.path).display();
            self.uses.reads(format!("{path} → {name}"));
        }
        self.uses.marks.push((found.path.clone(), content.mark));
        self.uses.scripts.push(Script {
            path: found.path.to_string_lossy().into_owned(),
            bytes: content.bytes,
            head: first_lines(&content.head),
            lines: content.lines,
            is_missing: false,
        });
        Ok(())
    }

    /// Binds the name of a file that does not exist yet, where the model can make it.
    fn missing(&mut self, word: &str) -> Result<()> {
        let folders = self.folders.iter();
        let paths: Vec<PathBuf> = folders.map(|folder| folder.join(word)).collect();
        for path in &paths {
            if path.exists() && Located::of_others(path)?.is_some() {
                return Ok(());
            }
        }
        for path in paths {
            self.lookups += 1;
            let place = missing::place_of(&path);
            // It may be another one once what is on the way exists.
            self.uses.loads_unbound |= place.is_none();
            let place = place.filter(|place| (self.place.is_writable)(place));
            let Some(place) = place.filter(|place| !self.uses.is_bound(place)) else {
                continue;
            };
            if self.lookups > BOUND_LOOKUPS || self.uses.scripts.len() >= BOUND_FILES {
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
        .take(BOUND_NAMES)
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
    let lines: Vec<&str> = text.lines().take(SCRIPT_HEAD_LINES).collect();
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

/// Fails where a path leads to what a process holds.
fn by_no_process(path: &Path) -> Result<()> {
    match is_by_process(path) {
        true => Err(by_process()),
        false => Ok(()),
    }
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
mod changing;
#[cfg(test)]
mod closed;
#[cfg(test)]
mod tests;

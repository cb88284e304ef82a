//! Files of a chat's people: `/get` sends them, `/put` stores what came with it, `/ls` lists a folder. All of it
//! within the folders that the file tools may use, through the same handles.

mod list;
mod outside;
mod pack;
pub mod texts;

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use super::Gateway;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::language::Language;
use crate::base::message::{DraftKey, Envelope, OutgoingMessage};
use crate::channels::kit::names::clean_file_name;
use crate::gateway::agents::Hosted;
use crate::gateway::commands::Call;
use crate::gateway::commands::texts::format_error;
use crate::gateway::host::long_turn;
use crate::sandbox::confine::Hold;
use crate::sandbox::files::{Next, Workspace};
use crate::sys::at::Kind;
use crate::text::markup::{code_block, inline_code};
use crate::text::{ellipsize_chars, one_line};

use pack::{Packer, Shown};

/// Parts that a `/get` sends; their numbers have three digits, and the last ones would take an hour.
const GET_PARTS_MAX: usize = 99;
/// Bytes that are copied or hashed at a time.
const COPY_BYTES: usize = 64 * 1024;

/// Files that one `/get` with a pattern sends: more belong into an archive.
const GET_FILES_MAX: usize = 20;

/// The characters that make a path a pattern.
const WILD: [char; 2] = ['*', '?'];

impl Gateway {
    /// Performs `/get`, `/put` or `/ls`, and stores what came of it for delivery.
    pub(super) fn answer_files(
        self: &Arc<Self>,
        call: &Call<'_>,
        perform: fn(&Job<'_>, &str) -> Result<OutgoingMessage>,
    ) {
        let (message, cancel) = (call.message, call.cancel);
        let (to, draft) = (message.address(), DraftKey::command(&message.id));
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
        }
        let watch = Stopwatch::start();
        let hosted = self.agent_for(&self.live(), &message.session, Some(message));
        let performed = hosted.workspace().and_then(|workspace| {
            let job = Job {
                gateway: self,
                message,
                hosted: &hosted,
                workspace: &workspace,
                draft: &draft,
                cancel,
            };
            perform(&job, call.argument)
        });
        let outcome = match performed {
            Err(_) if self.approvals.says_refusal(&message.id) => None,
            Err(error) => Some(OutgoingMessage::text(
                &to,
                format_error(&error, message.language()),
            )),
            Ok(outcome) => Some(outcome),
        };
        if let Some(outcome) = outcome {
            self.tell_with(OutgoingMessage {
                reply_to: message.reference.clone(),
                replaces: Some(draft.clone()).filter(|_| watch.elapsed() < long_turn()),
                ..outcome
            });
        }
        self.parts.inbox.taken(&message.id);
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
        }
    }
}

/// A command about files, while it is performed.
pub struct Job<'a> {
    gateway: &'a Arc<Gateway>,
    message: &'a Envelope,
    hosted: &'a Arc<Hosted>,
    workspace: &'a Workspace,
    draft: &'a DraftKey,
    cancel: &'a Cancel,
}

impl Job<'_> {
    fn language(&self) -> Language {
        self.message.language()
    }

    /// `/get PATH`: a file, those that a pattern matches, or a folder as an archive.
    pub fn get(&self, argument: &str) -> Result<OutgoingMessage> {
        let language = self.language();
        if argument.is_empty() {
            return Err(Error::Usage(texts::get_usage(language).to_owned()));
        }
        if let Some(path) = argument.strip_prefix('!') {
            return self.get_outside(path.trim());
        }
        let found = self.find(in_workspace(argument))?;
        let to = self.message.address();
        let limit = self.gateway.delivery(&to).map(|it| it.upload_bytes());
        let limit = limit.unwrap_or(u64::MAX);
        let shown = Shown::new(self.gateway, self.message, self.draft);
        let mut outcome = OutgoingMessage::text(&to, "");
        let (mut lines, mut is_begun) = (Vec::new(), false);
        for path in &found {
            self.check_size(path, limit)?;
        }
        for path in &found {
            let is_folder = self.workspace.kind(path)? == Kind::Folder;
            let size = match is_folder {
                true => u64::MAX,
                false => self.size(path)?,
            };
            let name = name_of(path, self.workspace);
            if size <= limit {
                outcome.files.push(self.absolute(path));
                lines.push(texts::one_file(
                    language,
                    &inline_code(&name),
                    &format_bytes(size),
                ));
                continue;
            }
            let name = match is_folder {
                true => format!("{name}.tar.gz"),
                false => name,
            };
            let name = joinable(&name);
            if !is_begun {
                // A kill leaves it interrupted: it is not packed again at each start.
                self.gateway.parts.inbox.begin(&self.message.id)?;
                is_begun = true;
            }
            let packer = Packer::new(self.workspace, &name, limit, (&shown, self.cancel))?;
            let packed = match is_folder {
                true => pack::folder(packer, path)?,
                false => pack::file(packer, path)?,
            };
            lines.push(packed.describe(language, &name));
            let parts = packed.parts.iter().map(|part| self.absolute(part));
            outcome.made_files.extend(parts);
        }
        outcome.text = lines.join("\n");
        outcome.files.extend(outcome.made_files.iter().cloned());
        Ok(outcome)
    }

    /// The files and folders that an argument names.
    fn find(&self, argument: &str) -> Result<Vec<PathBuf>> {
        let language = self.language();
        if !argument.contains(WILD) {
            let kind = self.workspace.kind(Path::new(argument));
            kind.map_err(|error| self.name_way_outside(argument, error))?;
            return Ok(vec![PathBuf::from(argument)]);
        }
        let components: Vec<&str> = argument.split('/').collect();
        let fixed = components.iter().take_while(|part| !part.contains(WILD));
        let (base, pattern) = components.split_at(fixed.count());
        let base = match base {
            [] => PathBuf::from("."),
            [""] => PathBuf::from("/"),
            parts => PathBuf::from(parts.join("/")),
        };
        let (mut found, mut more) = (Vec::new(), 0_usize);
        self.workspace.walk(&base, &mut |seen| {
            let Some(path) = seen.path.to_str() else {
                return Next::Pass;
            };
            let parts: Vec<&str> = path.split('/').collect();
            let mut pairs = parts.iter().zip(pattern);
            if !pairs.all(|(name, pattern)| is_match(pattern, name)) {
                return Next::Pass;
            }
            if parts.len() < pattern.len() {
                return Next::Enter;
            }
            if seen.status.kind == Kind::File {
                if found.len() < GET_FILES_MAX {
                    found.push(base.join(seen.path))
                } else {
                    more += 1
                }
            }
            Next::Pass
        })?;
        if more > 0 {
            let count = GET_FILES_MAX + more;
            return Err(Error::Usage(texts::too_many(
                language,
                &count,
                &GET_FILES_MAX,
            )));
        }
        if found.is_empty() {
            return Err(Error::Usage(texts::no_match(language, &short(argument))));
        }
        Ok(found)
    }

    /// `/ls PATH`.
    pub fn list(&self, argument: &str) -> Result<OutgoingMessage> {
        let language = self.language();
        let path = match in_workspace(argument) {
            "" => ".",
            path => path,
        };
        let listed = list::folder(self.workspace, Path::new(path), &|modified| {
            let time = chrono::DateTime::from_timestamp(modified, 0).unwrap_or_default();
            let time = time.with_timezone(&chrono::Local);
            time.format("%Y-%m-%d %H:%M").to_string()
        })?;
        let text = match listed.lines.is_empty() {
            true => texts::empty_folder(language).to_owned(),
            false => code_block(&listed.lines.join("\n"), ""),
        };
        let text = match listed.more {
            0 => text,
            more => format!("{text}\n{}", texts::more_names(language, &more)),
        };
        Ok(OutgoingMessage::text(&self.message.address(), text))
    }

    /// `/put PATH`: stores the files of the message there.
    pub fn put(&self, argument: &str) -> Result<OutgoingMessage> {
        let language = self.language();
        // What could not be fetched is noted below.
        let (path, note) = argument.split_once('\n').unwrap_or((argument, ""));
        let (overwrites, path) = match path.trim().strip_prefix('!') {
            Some(path) => (true, path.trim()),
            None => (false, path.trim()),
        };
        let path = in_workspace(path);
        let files = &self.message.attachments;
        if files.is_empty() {
            let usage = texts::put_usage(language);
            return Err(Error::Usage(match note.trim() {
                "" => usage.to_owned(),
                note => format!("{}\n{usage}", short(note)),
            }));
        }
        // Without a path they get their own names.
        let is_folder = path.is_empty()
            || files.len() > 1
            || path.ends_with('/')
            || self.workspace.kind(Path::new(path)).ok() == Some(Kind::Folder);
        if !path.is_empty() {
            check_target(path, language)?;
        }
        let mut lines = Vec::new();
        for file in files {
            let target = match is_folder {
                true => Path::new(path).join(received_name(&file.path)),
                false => PathBuf::from(path),
            };
            let line = self.store(Path::new(&file.path), &target, overwrites);
            // Those before it are stored.
            lines.push(line.unwrap_or_else(|error| format_error(&error, language)));
        }
        Ok(OutgoingMessage::text(
            &self.message.address(),
            lines.join("\n"),
        ))
    }

    fn store(&self, file: &Path, target: &Path, overwrites: bool) -> Result<String> {
        let language = self.language();
        let shown = inline_code(&one_line(&target.to_string_lossy(), usize::MAX));
        if !overwrites && self.workspace.kind(target).is_ok() {
            return Err(Error::Usage(texts::put_exists(language, &shown)));
        }
        let _change = Hold::of_process().write()?;
        self.workspace.rename(file, target)?;
        let mut stored = self.workspace.open_read(target)?;
        let (bytes, hash) = digest(&mut stored, self.cancel)?;
        let bytes = format_bytes(bytes);
        Ok(texts::stored(language, &shown, &bytes, &inline_code(&hash)))
    }

    /// Fails when a file is larger than all parts together, before anything is written.
    fn check_size(&self, path: &Path, limit: u64) -> Result<()> {
        if self.workspace.kind(path)? == Kind::Folder {
            return Ok(());
        }
        let (size, most) = (self.size(path)?, limit.saturating_mul(GET_PARTS_MAX as u64));
        if size <= most {
            return Ok(());
        }
        let name = inline_code(&name_of(path, self.workspace));
        let (size, most) = (format_bytes(size), format_bytes(most));
        let language = self.language();
        Err(Error::Usage(texts::too_large(
            language, &name, &size, &most,
        )))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        let file = self.workspace.open_read(path)?;
        let metadata = file.metadata().map_err(Error::io("read", path))?;
        Ok(metadata.len())
    }

    fn absolute(&self, path: impl AsRef<Path>) -> String {
        self.hosted.absolute(&path.as_ref().to_string_lossy())
    }
}

/// A path without the `~/` that stands for the workspace, as in the prompt of commands.
pub fn in_workspace(path: &str) -> &str {
    match path.strip_prefix("~/") {
        Some("") => ".",
        Some(rest) => rest,
        None if path == "~" => ".",
        None => path,
    }
}

/// Fails for a path in the folder of what is about to be sent, which people put nothing into.
pub fn check_target(path: &str, language: Language) -> Result<()> {
    let is_ours = |part: Component<'_>| part.as_os_str() == pack::FOLDER;
    match Path::new(path).components().any(is_ours) {
        true => Err(Error::Usage(texts::put_ours(language, &short(path)))),
        false => Ok(()),
    }
}

/// The bytes of a file, and their SHA-256 in hexadecimal.
fn digest(file: &mut dyn Read, cancel: &Cancel) -> Result<(u64, String)> {
    let (mut context, mut bytes) = (Context::new(&SHA256), 0);
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, format_digest(context))),
            Ok(read) => {
                context.update(buffer.get(..read).unwrap_or_default());
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", "a file")(error)),
        }
    }
}

fn format_digest(context: Context) -> String {
    hex(context.finish().as_ref())
}

/// The name that people see for a file or a folder.
fn name_of(path: &Path, workspace: &Workspace) -> String {
    let own = path.file_name().or_else(|| workspace.path().file_name());
    let name = own.unwrap_or_default().to_string_lossy();
    let is_fine = |char: char| !char.is_control() && !matches!(char, '/' | '~');
    let name: String = name.chars().filter(|char| is_fine(*char)).collect();
    match name.is_empty() {
        true => "files".to_owned(),
        // As channels name it: the command that joins its parts has to find them.
        false => clean_file_name(&name),
    }
}

/// The name of something that may come in parts, such that channels change neither it nor those of its parts.
fn joinable(name: &str) -> String {
    const NUMBER: &str = ".001";
    let part = clean_file_name(&format!("{name}{NUMBER}"));
    part.strip_suffix(NUMBER).unwrap_or(&part).to_owned()
}

/// The sender's name of a received file, which is stored as `20261121-143005-NAME`.
fn received_name(path: &str) -> String {
    const PREFIX: usize = "20261121-143005-".len();
    let name = path.rsplit('/').next().unwrap_or(path);
    name.get(PREFIX..).unwrap_or(name).to_owned()
}

fn short(text: &str) -> String {
    inline_code(&ellipsize_chars(&one_line(text, usize::MAX), 80))
}

/// A number of bytes for people: `512 B`, `12 kB`, `1.2 MB`.
fn format_bytes(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let tenths = bytes / (unit / 10);
    if tenths < 100 && unit > 1_000 {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    } else {
        format!("{} {name}", bytes / unit)
    }
}

/// Whether a name matches a pattern in which `*` stands for anything and `?` for one character. A name that
/// begins with a dot is only matched by a pattern that does, as in a shell.
fn is_match(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    let mut star = None;
    while let Some(char) = name.get(in_name) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(expected) if *expected == '?' || expected == char => {
                at += 1;
                in_name += 1;
            }
            _ => match star.as_mut() {
                // The star takes one character more.
                Some((of_star, taken)) => {
                    *taken += 1;
                    (at, in_name) = (*of_star + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|char| *char == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_shown_with_two_figures() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (52_428, "52 kB"),
            (1_250_000, "1.2 MB"),
            (52_428_800, "52 MB"),
            (3_000_000_000, "3.0 GB"),
        ] {
            assert_eq!(format_bytes(bytes), expected);
        }
    }

    #[test]
    fn a_pattern_matches_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*", "a.txt", true),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("*.log", "a.log", true),
            ("*.log", "a.log.1", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xaybz", true),
            ("*a*b", "xaybz", false),
            ("", "", true),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_parts_of_a_file_arrive_under_the_names_that_join_them() {
        for name in [
            "a.tar.gz",
            ".env",
            "a:b*c",
            "[x] y",
            &"ü".repeat(200),
            "a b.",
            "...",
        ] {
            let name = joinable(name);
            let part = format!("{name}.001");
            assert_eq!(clean_file_name(&part), part);
        }
        assert_eq!(joinable("logs.tar.gz"), "logs.tar.gz");
    }

    #[test]
    fn a_received_file_has_the_name_that_it_was_sent_with() {
        assert_eq!(received_name("inbox/20261121-143005-a b.txt"), "a b.txt");
        assert_eq!(received_name("inbox/ä"), "ä");
    }

    proptest! {
        #[test]
        fn any_pattern_is_matched_without_a_panic(pattern in "[ab*?.]{0,12}", name in "[ab.]{0,12}") {
            let mut expected = String::from("^");
            for char in pattern.chars() {
                expected += match char {
                    '*' => ".*",
                    '?' => ".",
                    '.' => "\\.",
                    'a' => "a",
                    _ => "b",
                };
            }
            let regex = regex_lite::Regex::new(&(expected + "$")).unwrap();
            let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
            prop_assert_eq!(is_match(&pattern, &name), regex.is_match(&name) && !is_hidden);
        }
    }
}

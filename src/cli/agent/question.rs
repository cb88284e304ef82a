//! A question with what comes along: piped text, files, and words such as `@notes.txt`.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::INLINED_BYTES;
use super::input::Clip;
use super::texts;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::chat::IMAGE_BYTES;
use crate::base::message::{Attachment, Envelope, Media, SessionKey};
use crate::channels::intake::new_received_file;
use crate::cli::sessions::size;
use crate::cli::terminal::print;
use crate::sandbox::files::Workspace;
use crate::sys;
use crate::tools::FileType;

/// Files that can be attached to a question.
const ATTACHED_FILES: usize = 20;
/// Bytes of an attached file that is neither text nor an image; it is copied to the workspace. As
/// much as Telegram lets a bot fetch.
const ATTACHED_BYTES: u64 = 20_000_000;
/// Bytes at the beginning of a file by which its type is recognised.
const SNIFFED_BYTES: u64 = 512;

/// A question, with everything read that does not have to be stored.
#[derive(Debug, Default)]
pub struct Question {
    text: String,
    /// Files that are no text, open to be read.
    files: Vec<(PathBuf, Media, File)>,
}

impl Question {
    /// The words of the person, followed by the texts that come along. `files` are attached, and so is
    /// what a word of the text such as `@notes.txt` names; such a word that names no file is only text.
    ///
    /// Fails with [`Error::Usage`] when a file cannot be attached.
    pub fn new(text: &str, files: &[PathBuf], piped: Option<Clip>) -> Result<Self> {
        let mut paths = files.to_vec();
        paths.extend(mentions(text));
        if paths.len() > ATTACHED_FILES {
            return Err(Error::Usage(format!(
                "At most {ATTACHED_FILES} files can be attached to a question"
            )));
        }
        let mut question = Self::default();
        let mut texts = Vec::new();
        for path in paths {
            match open(&path)? {
                (file, FileType::Text) => texts.push((path, file)),
                (file, kind) => question.attach(path, file, kind)?,
            }
        }
        let share = INLINED_BYTES / (texts.len() + usize::from(piped.is_some())).max(1);
        question.text = text.trim().to_owned();
        for (path, file) in texts {
            let clip = Clip::read(file, share).map_err(|error| texts::unreadable(&path, error))?;
            question.inline(&path.display().to_string(), clip);
        }
        if let Some(piped) = piped.filter(|piped| piped.total > 0) {
            let piped = piped.shortened(share);
            if question.text.is_empty() {
                question.text = piped.into_text(STDIN)
            } else {
                question.inline(STDIN, piped)
            }
        }
        Ok(question)
    }

    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.files.is_empty()
    }

    /// The message for a session. Files that are outside the workspace are copied to where it has the
    /// files that came with messages from chats, so that the agent's tools can read them.
    pub fn into_message(self, session: &SessionKey, workspace: &Workspace) -> Result<Envelope> {
        let mut message = Envelope::typed(session, self.text.trim());
        for (path, media, file) in self.files {
            let path = match within(&path, workspace) {
                Some(path) => path,
                None => copy(&path, file, workspace)?,
            };
            message.attachments.push(Attachment { media, path });
        }
        Ok(message)
    }

    fn attach(&mut self, path: PathBuf, file: File, kind: FileType) -> Result<()> {
        let (media, most) = match kind {
            FileType::Image(_) => (Media::Photo, IMAGE_BYTES as u64),
            _ => (Media::Document, ATTACHED_BYTES),
        };
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        if bytes > most {
            let why = texts::too_large(&size(bytes), &size(most));
            return Err(texts::unreadable(&path, why));
        }
        self.files.push((path, media, file));
        Ok(())
    }

    /// Puts a text below what there is.
    fn inline(&mut self, name: &str, clip: Clip) {
        let text = clip.into_text(name);
        let gap = if self.text.is_empty() { "" } else { "\n\n" };
        let text = text.trim_end_matches('\n');
        self.text += &format!("{gap}--- {name} ---\n{text}\n--- end of {name} ---");
    }
}

const STDIN: &str = "standard input";

/// The files that words such as `@notes.txt` name. What stands behind a name may be punctuation. A word
/// that looks like a path and names nothing is reported: it may be a typing error.
fn mentions(text: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let words = text.split_whitespace();
    words.filter_map(|word| {
        let name = word.strip_prefix('@')?;
        let bare = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
        let mut names = [name, bare].into_iter().filter(|name| !name.is_empty());
        let is_file = |path: &PathBuf| !matches!(path.metadata(), Ok(found) if found.is_dir());
        let exists = |name: &&str| match Path::new(name).symlink_metadata() {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        let found = names.find(exists);
        if found.is_none() && bare.contains(['.', '/']) {
            print::notice(&texts::no_such_file(bare));
        }
        found.map(PathBuf::from).filter(is_file)
    })
}

/// Opens a file to be attached, and looks at what it is.
fn open(path: &Path) -> Result<(File, FileType)> {
    let failed = |error: std::io::Error| texts::unreadable(path, describe(&error));
    let metadata = path.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(texts::unreadable(path, texts::IS_FOLDER));
    }
    if !metadata.is_file() {
        return Err(texts::unreadable(path, texts::IS_NO_FILE));
    }
    let mut file = sys::file::open_to_read(path).map_err(failed)?;
    let mut head = Vec::new();
    (&mut file)
        .take(SNIFFED_BYTES)
        .read_to_end(&mut head)
        .and_then(|_| file.rewind())
        .map_err(failed)?;
    Ok((file, FileType::detect(&head)))
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// The path within the workspace; `None` for a file elsewhere.
fn within(path: &Path, workspace: &Workspace) -> Option<String> {
    let workspace = workspace.path().canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    Some(path.strip_prefix(workspace).ok()?.to_str()?.to_owned())
}

fn copy(path: &Path, file: File, workspace: &Workspace) -> Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (copied, mut to) = new_received_file(workspace, &name, Clock::System.now())?;
    // It may have grown since it was looked at.
    let written = std::io::copy(&mut file.take(ATTACHED_BYTES), &mut to);
    let flushed = written.and_then(|_| to.flush());
    flushed.map_err(Error::io("copy", path))?;
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_that_names_a_file_is_attached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "hello").unwrap();
        let (path, folder) = (path.display(), folder.path().display());
        let named = |text: String| {
            mentions(&text)
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(named(format!("what is in @{path}?")), [path.to_string()]);
        assert_eq!(named(format!("@{path}")), [path.to_string()]);
        for text in [
            format!("mail me@{path}"),
            format!("@{folder}"),
            format!("@{path}x"),
            "ask @ann about @, and @".to_owned(),
        ] {
            assert!(named(text.clone()).is_empty(), "{text}");
        }
    }
}

//! Documents that people send are read by a process of their own, which has nothing but its memory, the open file and a
//! pipe: no files, no network and no other processes, with limits of time, memory and output.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Resource;

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::sys::{process, seccomp};
use crate::text::documents::{self, DOCUMENT_BYTES, Kind, TEXT_BYTES, Text};

/// The hidden subcommand. `main` has to look for it before anything else.
pub const READ_DOCUMENT: &str = "__document";

/// How long one reading may take, on a slow board with a long document.
const READ_TIME: Duration = Duration::from_mins(1);
/// Seconds of processor time of one reading.
const CPU_SECONDS: u64 = 50;
/// Bytes of writable memory: the file, what it unpacks to, and its text.
const MEMORY_BYTES: u64 = 192 * 1024 * 1024;
/// Bytes that the reader may answer with: the text and a line before it.
const ANSWER_BYTES: usize = TEXT_BYTES + 64 * 1024;
/// Bytes taken from the pipe at once.
const PIPE_BYTES: usize = 16 * 1024;
/// How much a reader stands back when the processor is busy (0 to 19).
const NICENESS: i32 = 5;
/// A reader's chance to be killed when memory runs out (0 to 1000): it goes before the gateway.
const OOM_SCORE: &[u8] = b"700";

/// The words for the kinds, which the reader is started with.
const KINDS: [(Kind, &str); 3] = [
    (Kind::Pdf, "pdf"),
    (Kind::Office, "office"),
    (Kind::Table, "table"),
];

/// Reads a document from a page or sheet on, in a process of its own. The name is for errors.
pub fn read(
    mut file: File,
    name: &str,
    (kind, first): (Kind, usize),
    cancel: &Cancel,
) -> Result<Text> {
    let size = file.metadata().map_err(Error::io("read", name))?.len();
    if size > DOCUMENT_BYTES as u64 {
        return Err(Error::TooLarge {
            what: format!("the document {name}"),
            limit: DOCUMENT_BYTES,
        });
    }
    file.rewind().map_err(Error::io("read", name))?;
    let word = KINDS.iter().find(|(known, _)| *known == kind);
    let mut child = Command::new("/proc/self/exe")
        .arg(READ_DOCUMENT)
        .arg(word.map_or("", |(_, word)| word))
        .arg(first.to_string())
        .env_clear()
        .current_dir("/")
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(Error::io("start", "a reader of documents"))?;
    let answer = listen(&mut child, cancel);
    if answer.is_err() {
        // It has no children.
        let _ = child.kill();
    }
    let end = child
        .wait()
        .map_err(Error::io("wait for", "a reader of documents"))?;
    let failed = |why: &str| Err(Error::Failed(format!("failed to read {name}: {why}")));
    let answer = String::from_utf8_lossy(&answer?).into_owned();
    let (head, text) = answer.split_once('\n').unwrap_or((&answer, ""));
    if let Some(why) = head.strip_prefix("failed ") {
        return failed(why);
    }
    let mut parts = head.splitn(3, ' ');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(next), Some(is_partial), Some(about)) if end.success() => Ok(Text {
            about: about.to_owned(),
            text: text.to_owned(),
            next: next.parse().ok().filter(|next| *next > first),
            is_partial: is_partial == "true",
        }),
        _ => failed("it takes more time or memory than there is for a document"),
    }
}

/// Takes what the reader writes, until it ends.
fn listen(child: &mut Child, cancel: &Cancel) -> Result<Vec<u8>> {
    let broken = || Error::io("read from", "a reader of documents");
    let watch = Stopwatch::start();
    let mut answer = Vec::new();
    let mut buffer = vec![0; PIPE_BYTES];
    let Some(pipe) = &mut child.stdout else {
        return Ok(answer);
    };
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        if watch.elapsed() > READ_TIME || answer.len() > ANSWER_BYTES {
            return Err(Error::Failed(
                "the document takes more time than there is for one".to_owned(),
            ));
        }
        let [ready] = process::readable([pipe.as_fd()], Some(POLL)).map_err(broken())?;
        if ready {
            let length = pipe.read(&mut buffer).map_err(broken())?;
            if length == 0 {
                return Ok(answer);
            }
            answer.extend_from_slice(buffer.get(..length).unwrap_or_default());
        }
    }
}

/// The reader's side: confines itself, reads its input and writes the text. It must be called before anything else has
/// been set up.
pub fn main() -> ! {
    let mut arguments = std::env::args().skip(2);
    let word = arguments.next().unwrap_or_default();
    let kind = KINDS.iter().find(|(_, known)| *known == word);
    let first = arguments.next().and_then(|first| first.parse().ok());
    let answer = match (confine(), kind, first) {
        (Err(error), ..) => format!("failed the reader cannot be confined: {error}"),
        (Ok(()), Some((kind, _)), Some(first)) => answer(*kind, first),
        _ => "failed the reader was not started as it should be".to_owned(),
    };
    let written = std::io::stdout().write_all(answer.as_bytes());
    let flushed = written.and_then(|()| std::io::stdout().flush());
    std::process::exit(i32::from(flushed.is_err()));
}

fn answer(kind: Kind, first: usize) -> String {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    if let Err(error) = input.take(DOCUMENT_BYTES as u64).read_to_end(&mut bytes) {
        return format!("failed {error}");
    }
    match documents::read(kind, &bytes, first) {
        Ok(Text {
            about,
            text,
            next,
            is_partial,
        }) => format!("{} {is_partial} {about}\n{text}", next.unwrap_or(0)),
        Err(why) => format!("failed {why}"),
    }
}

/// Takes everything away from this process that reading does not need.
fn confine() -> std::io::Result<()> {
    // Where it stays as it is, the reader is still small.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let _ = rustix::process::nice(NICENESS);
    process::limit(Resource::Cpu, CPU_SECONDS)?;
    process::limit(Resource::Data, MEMORY_BYTES)?;
    process::limit(Resource::Fsize, 0)?;
    process::limit(Resource::Core, 0)?;
    process::limit(Resource::Nofile, 0)?;
    process::limit(Resource::Nproc, 0)?;
    process::set_undumpable()?;
    process::drop_capabilities()?;
    rustix::thread::set_no_new_privs(true)?;
    if seccomp::available() {
        seccomp::few::install()?;
    }
    Ok(())
}

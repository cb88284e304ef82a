//! Text of any length, shortened to its beginning and its end while it is read.

use std::io::{self, Read};
use std::os::fd::AsFd;

use crate::base::error::{Error, Result};
use crate::cli::agent::texts;
use crate::cli::sessions::size;
use crate::cli::terminal::print;
use crate::sys::process::readable;
use crate::tools::FileType;
use std::time::Duration;

/// Bytes of such a text that are read at a time.
const INPUT_BLOCK_BYTES: usize = 16 * 1024;
/// How long a pipe beside a question may stay silent until the person is told that it is read: less
/// than a slow command needs for its first line, and too long to stare at nothing.
const INPUT_PATIENCE: Duration = Duration::from_secs(3);

/// What was read of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Clip {
    /// The beginning, or all of it.
    pub head: Vec<u8>,
    /// The end, where something was left out before it.
    pub tail: Vec<u8>,
    /// Bytes of the whole.
    pub total: u64,
}

/// Reads standard input to its end and keeps at most `most` bytes. `is_beside` says that there is a
/// question without it: then the person hears when nothing comes.
pub fn read(most: usize, is_beside: bool) -> Result<Clip> {
    let stdin = io::stdin().lock();
    if is_beside && readable([stdin.as_fd()], Some(INPUT_PATIENCE)).is_ok_and(|[ready]| !ready) {
        print::complain(texts::WAITING_FOR_INPUT);
    }
    let clip = Clip::read(stdin, most).map_err(Error::io("read", "standard input"))?;
    match FileType::detect(&clip.head) {
        FileType::Text => Ok(clip),
        FileType::Image(kind) | FileType::Binary(kind) => Err(texts::not_text(kind)),
    }
}

impl Clip {
    /// Reads to the end and keeps at most `most` bytes, the first and the last ones.
    pub fn read(mut from: impl Read, most: usize) -> io::Result<Self> {
        let mut clip = Self::default();
        let mut block = vec![0; INPUT_BLOCK_BYTES];
        loop {
            let count = match from.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            clip.total += count as u64;
            let into_head = count.min(most - clip.head.len());
            clip.head.extend_from_slice(&block[..into_head]);
            clip.tail.extend_from_slice(&block[into_head..count]);
            // Now and then, so that not every block moves all of it.
            if clip.tail.len() > most + INPUT_BLOCK_BYTES {
                clip.tail.drain(..clip.tail.len() - most);
            }
        }
        if !clip.tail.is_empty() {
            let mut all = clip.head;
            let missing = (most - most / 2).saturating_sub(clip.tail.len());
            clip.tail
                .splice(..0, all[all.len() - missing..].iter().copied());
            clip.tail.drain(..clip.tail.len() - (most - most / 2));
            all.truncate(most / 2);
            clip.head = all;
        }
        Ok(clip)
    }

    /// The same with at most `most` bytes.
    pub fn shortened(mut self, most: usize) -> Self {
        if self.head.len() + self.tail.len() > most {
            self.head.append(&mut self.tail);
            self.tail = self.head.split_off(self.head.len() - (most - most / 2));
            self.head.truncate(most / 2);
        }
        self
    }

    /// The text, with a note where something was left out. Says on standard error that `name` was
    /// shortened.
    pub fn into_text(self, name: &str) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept == self.total {
            return head.into_owned();
        }
        // Whole lines, where there are any.
        let head = head.rfind('\n').map_or(&*head, |end| &head[..end]);
        let tail = String::from_utf8_lossy(&self.tail);
        let tail = tail.find('\n').map_or(&*tail, |end| &tail[end + 1..]);
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let note = texts::shortened(name, &size(self.total), &size(self.head.len() as u64));
        print::complain(&note);
        format!("{head}\n[… {left_out} bytes left out here …]\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ends_of_any_text_are_kept(length in 0_usize..200_000, most in 2_usize..70_000) {
            let text: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let clip = Clip::read(text.as_slice(), most).unwrap();
            prop_assert_eq!(clip.total, length as u64);
            prop_assert!(text.starts_with(&clip.head) && text.ends_with(&clip.tail));
            prop_assert_eq!(clip.head.len() + clip.tail.len(), length.min(most));
            let clip = clip.shortened(most / 2 + 1);
            prop_assert!(text.starts_with(&clip.head) && text.ends_with(&clip.tail));
            prop_assert_eq!(clip.head.len() + clip.tail.len(), length.min(most / 2 + 1));
        }
    }

    #[test]
    fn a_text_is_left_out_by_whole_lines() {
        let clip = Clip::read("one\ntwo\nthree\nfour\nfive\n".as_bytes(), 16).unwrap();
        assert_eq!(
            clip.into_text("it"),
            "one\ntwo\n[… 12 bytes left out here …]\nfive\n"
        );
        let clip = Clip::read("short".as_bytes(), 16).unwrap();
        assert_eq!(clip.into_text("it"), "short");
    }
}

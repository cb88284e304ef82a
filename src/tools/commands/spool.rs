//! Where the whole of an output goes that is too long to be held.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::limits::tools::SPILL_BYTES;
use crate::secret::Eraser;
use crate::tools::results::Results;

/// A file that is made when the first of the output comes. No secret gets into it.
pub(super) struct Spool<'a> {
    results: &'a Results,
    workspace: &'a Workspace,
    eraser: &'a Eraser,
    tool: &'static str,
    file: Option<Result<(PathBuf, File)>>,
    /// What is not written: a secret may go on in what comes next.
    waiting: Vec<u8>,
}

impl<'a> Spool<'a> {
    /// Nothing has come.
    pub fn new(
        results: &'a Results,
        workspace: &'a Workspace,
        eraser: &'a Eraser,
        tool: &'static str,
    ) -> Self {
        Self {
            results,
            workspace,
            eraser,
            tool,
            file: None,
            waiting: Vec::new(),
        }
    }

    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        let begin = || self.results.begin(self.workspace, self.tool);
        self.file.get_or_insert_with(begin);
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < SPILL_BYTES {
            return;
        }
        // A secret is within a line; a line that is longer than all this is cut somewhere.
        let end = self.waiting.iter().rposition(|byte| *byte == b'\n');
        self.flush(end.map_or(self.waiting.len(), |newline| newline + 1));
    }

    /// The file with the whole; none when there was nothing.
    pub fn finish(mut self) -> Option<Result<PathBuf>> {
        self.flush(self.waiting.len());
        Some(self.file?.map(|(path, _)| path))
    }

    fn flush(&mut self, end: usize) {
        let text = String::from_utf8_lossy(&self.waiting[..end]);
        let clean = self.eraser.clean(&text);
        if let Some(Ok((path, file))) = &mut self.file
            && let Err(error) = file.write_all(clean.as_bytes())
        {
            self.file = Some(Err(Error::io("write", path)(error)));
        }
        self.waiting.drain(..end);
    }
}

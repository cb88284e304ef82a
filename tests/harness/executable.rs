//! Programs and scripts that a story puts somewhere and starts.
//!
//! A file that anybody has open for writing cannot be started (execve(2), ETXTBSY). Stories run side by side in one
//! process, and a child that another story starts meanwhile has copies of all its descriptors until its execve: so
//! these files are written by a process of their own.

use std::path::Path;
use std::process::Command;

/// Copies a program; everybody may start it.
pub fn copy(from: impl AsRef<Path>, to: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(from.as_ref()).arg(to);
    assert!(install.status().unwrap().success(), "{install:?}");
}

/// Writes an executable shell script.
pub fn script(path: &Path, text: &str) {
    let mut draft = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut draft, format!("#!/bin/sh\n{text}").as_bytes()).unwrap();
    copy(draft.path(), path);
}

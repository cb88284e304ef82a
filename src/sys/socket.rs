//! Sockets with a path (unix(7)).

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Listens at a path, without blocking. `mode` are the permissions of the socket, such as `0o600`.
///
/// # Errors
///
/// Another program listens there, something other than a socket is there, or the folder cannot be written to.
pub fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    // A program that was killed has left it. Anything else is not ours to delete.
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::other("another program listens there"));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else_is() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("socket");
        let first = listen(&path, 0o600).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(listen(&path, 0o600).is_err(), "it is listened at");
        drop(first);
        listen(&path, 0o600).unwrap();
        let file = top.path().join("file");
        fs::write(&file, "mine").unwrap();
        assert!(listen(&file, 0o600).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"mine");
    }
}

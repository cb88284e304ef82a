//! Pseudoterminals: pty(7), ioctl_tty(2).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Winsize};

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

/// Both ends of a new terminal.
#[derive(Debug)]
pub struct Pair {
    /// The end that shows the screen and types.
    pub master: OwnedFd,
    /// The end of the programs.
    pub slave: OwnedFd,
    /// Where the programs' end is among the files.
    pub path: PathBuf,
}

/// Opens a new terminal of this size. Text is UTF-8, as it is everywhere here.
pub fn open(size: Size) -> io::Result<Pair> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let master = openpt(flags | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let slave = match ioctl_tiocgptpeer(&master, flags | OpenptFlags::CLOEXEC) {
        Ok(slave) => slave,
        // Kernels before 4.13 find it by its name only.
        Err(_) => {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, &name, flags, Mode::empty())?
        }
    };
    resize(&master, size)?;
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    modes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    Ok(Pair {
        master,
        slave,
        path: PathBuf::from(name.to_string_lossy().into_owned()),
    })
}

/// Makes a terminal the one of this process, which has to lead a session without one, and its input, output and
/// errors.
pub fn take(slave: &OwnedFd) -> io::Result<()> {
    rustix::process::ioctl_tiocsctty(slave)?;
    rustix::stdio::dup2_stdin(slave)?;
    rustix::stdio::dup2_stdout(slave)?;
    rustix::stdio::dup2_stderr(slave)?;
    Ok(())
}

/// Changes the size of a terminal; its programs get SIGWINCH.
pub fn resize(master: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}

/// Whether the program reads a line that it does not show, as for a password. Editors and shells turn the echo off
/// too, but read key by key.
pub fn hides_input(master: impl AsFd) -> bool {
    rustix::termios::tcgetattr(master).is_ok_and(|modes| {
        let local = modes.local_modes;
        local.contains(LocalModes::ICANON) && !local.contains(LocalModes::ECHO)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        columns: 40,
        rows: 20,
    };

    #[test]
    fn a_terminal_has_its_size_and_says_when_input_is_hidden() {
        let pair = open(SIZE).unwrap();
        assert!(pair.path.starts_with("/dev/pts"), "{:?}", pair.path);
        let size = rustix::termios::tcgetwinsize(&pair.slave).unwrap();
        assert_eq!((size.ws_col, size.ws_row), (40, 20));
        assert!(!hides_input(&pair.master));
        let mut modes = rustix::termios::tcgetattr(&pair.slave).unwrap();
        modes.local_modes -= LocalModes::ECHO;
        rustix::termios::tcsetattr(&pair.slave, OptionalActions::Now, &modes).unwrap();
        assert!(hides_input(&pair.master));
        modes.local_modes -= LocalModes::ICANON;
        rustix::termios::tcsetattr(&pair.slave, OptionalActions::Now, &modes).unwrap();
        assert!(!hides_input(&pair.master), "an editor reads key by key");
    }

    #[test]
    fn what_is_typed_is_read_and_what_is_written_is_shown() {
        let pair = open(SIZE).unwrap();
        rustix::io::write(&pair.master, b"hi\r").unwrap();
        let mut buffer = [0; 16];
        let length = rustix::io::read(&pair.slave, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"hi\n");
        let length = rustix::io::read(&pair.master, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"hi\r\n");
    }
}

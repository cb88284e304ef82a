//! How commands end.

use std::fmt;
use std::time::Duration;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It reached its time limit.
    TimedOut(Duration),
    /// It was stopped on request.
    Cancelled,
    /// It exceeded a bound, which is named.
    Stopped(String),
    /// Its supervisor was killed.
    Lost,
}

impl End {
    /// Whether the command succeeded.
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit status {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by signal {number} ({name})"),
                None => write!(f, "killed by signal {number}"),
            },
            Self::TimedOut(time) => write!(f, "timed out after {} s", time.as_secs()),
            Self::Cancelled => f.write_str("stopped"),
            Self::Stopped(why) => write!(f, "stopped: {why}"),
            Self::Lost => f.write_str("ended for an unknown reason (out of memory?)"),
        }
    }
}

/// The signals that usually end commands, explained.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGHUP => "SIGHUP: its terminal was closed",
        libc::SIGINT => "SIGINT: interrupted",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL: not a program for this processor",
        libc::SIGABRT => "SIGABRT: it aborted",
        libc::SIGBUS => "SIGBUS: invalid memory access",
        libc::SIGFPE => "SIGFPE: arithmetic error",
        libc::SIGKILL => "SIGKILL: possibly out of memory",
        libc::SIGSEGV => "SIGSEGV: invalid memory access",
        libc::SIGPIPE => "SIGPIPE: its output was closed",
        libc::SIGTERM => "SIGTERM: terminated",
        libc::SIGXCPU => "SIGXCPU: processor time limit reached",
        libc::SIGXFSZ => "SIGXFSZ: file size limit reached",
        libc::SIGSYS => "SIGSYS: forbidden system call",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_words() {
        assert_eq!(End::Exit(3).to_string(), "exit status 3");
        assert!(
            End::Signal(9)
                .to_string()
                .starts_with("killed by signal 9 (SIGKILL")
        );
        assert_eq!(End::Signal(60).to_string(), "killed by signal 60");
    }
}

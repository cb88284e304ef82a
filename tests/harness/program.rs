//! The real program, without the tester's environment.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::harness::PATIENCE;
use crate::harness::clock::VARIABLE;
use crate::harness::home::Home;

/// The program that is tested.
pub const PEACRAB: &str = env!("CARGO_BIN_EXE_peacrab");

/// A command line that is about to run.
pub struct Program {
    command: Command,
    stdin: String,
}

/// How the program ended.
#[derive(Debug)]
pub struct Output {
    /// The exit status; `None` after a signal.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl Program {
    /// `peacrab` with a home.
    pub fn new(home: &Home) -> Self {
        Self::of(PEACRAB, home)
    }

    /// Another program with the same environment: one that runs `peacrab` in a special place.
    pub fn of(program: &str, home: &Home) -> Self {
        let mut command = Command::new(program);
        clean(&mut command, home);
        Self {
            command,
            stdin: String::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Its standard input, a pipe. By default the pipe is empty.
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.to_owned();
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // A program that does not read its input may close the pipe.
        let _ = pipe.write_all(self.stdin.as_bytes());
        let stdout: ChildStdout = child.stdout.take().unwrap();
        let stderr: ChildStderr = child.stderr.take().unwrap();
        Running {
            stdout: collect(stdout),
            stderr: collect(stderr),
            child,
        }
    }

    /// The command, not started yet.
    pub(super) fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    pub fn run(self) -> Output {
        self.start().finish()
    }
}

/// A running program.
pub struct Running {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it like a power cut: SIGKILL. It is gone then, and so are its locks.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Output {
        let status = wait(&mut self.child);
        let stdout = self.stdout.join().unwrap();
        let stderr = self.stderr.join().unwrap();
        Output {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Output {
    /// Asserts the exit status, and prints all output if it differs.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that stderr contains all of these.
    #[track_caller]
    pub fn complains_of(&self, words: &[&str]) {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word:?} is missing in {self:#?}"
            );
        }
    }
}

/// Gives a command only the environment of a plain login.
pub fn clean(command: &mut Command, home: &Home) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("PEACRAB_HOME", home.path())
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("TERM", "xterm")
        .env("PEACRAB_TEST_WATCH_ROOT", home.board())
        .current_dir(home.path());
    if let Some(addresses) = home.sign_in() {
        command.env("PEACRAB_TEST_SIGN_IN", addresses);
    }
    if let Some(clock) = home.clock() {
        command.env(VARIABLE, clock);
    }
}

/// Waits for the end of a child, and kills it after a time limit.
pub fn wait(child: &mut Child) -> ExitStatus {
    if let Some(status) = child.try_wait().unwrap() {
        return status;
    }
    let pid = Pid::from_child(child);
    let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let patience = Timespec::try_from(PATIENCE).unwrap();
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)).unwrap();
    if ended == 0 {
        child.kill().unwrap();
        panic!("it did not end within {PATIENCE:?}");
    }
    child.wait().unwrap()
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
